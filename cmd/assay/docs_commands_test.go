package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// shellBlock is a block of shell lines in a document.
	shellBlock = regexp.MustCompile("(?ms)^ *```sh\n(.*?)^ *```$")

	// indentedCommand is a command that a document shows by indenting it.
	indentedCommand = regexp.MustCompile(`(?m)^    (assay .*)$`)

	// shellWord is a word of a shell line, quoted or not.
	shellWord = regexp.MustCompile(`'[^']*'|"[^"]*"|[^\s'"]+`)
)

// TestDocs_Commands checks that every assay command that a document shows exists, with its flags.
func TestDocs_Commands(t *testing.T) {
	t.Parallel()
	files := documents(t)
	for _, pattern := range []string{"../../docs/decisions/*.md", "../../[A-Z]*.md"} {
		more, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, more...)
	}
	slices.Sort(files)
	checked := 0
	for _, file := range slices.Compact(files) {
		if filepath.Base(file) == "CHANGELOG.md" {
			continue // its commands are those of their release
		}
		t.Run(strings.TrimPrefix(file, "../../"), func(t *testing.T) {
			for _, line := range shellLines(readDocument(t, file)) {
				words := shellWord.FindAllString(line, -1)
				if len(words) > 1 && filepath.Base(words[0]) == "assay" {
					checkCommand(t, line, words[1:])
					checked++
				}
			}
		})
	}
	if checked < 25 {
		t.Errorf("found %d commands in the documents: at least 25 are expected", checked)
	}
}

// shellLines lists the commands of a document, without comments.
func shellLines(text string) (lines []string) {
	for _, block := range shellBlock.FindAllStringSubmatch(text, -1) {
		for line := range strings.Lines(block[1]) {
			line, _, _ = strings.Cut(line, " #")
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	for _, match := range indentedCommand.FindAllStringSubmatch(text, -1) {
		lines = append(lines, match[1])
	}
	return lines
}

// checkCommand finds a command by its words, and its flags.
func checkCommand(t *testing.T, line string, words []string) {
	t.Helper()
	root := newRootCommand(&streams{in: os.Stdin, out: io.Discard, err: io.Discard})
	found, _, err := root.Find(words)
	switch {
	case err != nil:
		t.Errorf("%s: %v", line, err)
		return
	case found == root || found.Hidden:
		t.Errorf("%s: no such command", line)
		return
	}
	for _, word := range words {
		name, isFlag := strings.CutPrefix(word, "--")
		name, _, _ = strings.Cut(name, "=")
		if isFlag && found.Flag(name) == nil {
			t.Errorf("%s: %s has no flag --%s", line, found.CommandPath(), name)
		}
	}
}
