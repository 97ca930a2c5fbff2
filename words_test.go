package assay_test

import (
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// avoided are words and phrases that readers stumble over, and what to write instead. Patterns match whole words in
// any case.
var avoided = []struct {
	pattern string
	write   string
	allow   string // a line that matches this pattern may contain the word
}{
	{pattern: `anew`, write: "again"},
	{pattern: `(goes|go|going|went|gone) on`, write: "continues"},
	{pattern: `nobody`, write: "no one", allow: `chown nobody|--reuid|id -g nobody|user nobody|"nobody"|are nobody`},
	{pattern: `somebody`, write: "someone"},
	{pattern: `anybody`, write: "anyone"},
	{pattern: `whoever`, write: "any caller, the user who …"},
	{pattern: `in so many words`, write: "(say what the message says)"},
	{pattern: `(is|are|was|were) not there`, write: "is missing, does not exist"},
	{pattern: `that (is|are) there`, write: "existing"},
	{pattern: `in hand`, write: "(name the thing)"},
	{pattern: `(is|are|was|were) told`, write: "gets, receives"},
	{pattern: `hears`, write: "receives, notices"},
	{pattern: `has it that`, write: "says"},
	{pattern: `(leans?|leaning) on`, write: "depends on"},
	{pattern: `the house`, write: "the codebase"},
	{pattern: `rooms|(a|the|its|each|every|another|which) room`, write: "package"},
	{pattern: `for want of`, write: "without"},
	{pattern: `content[- ]codings?`, write: "content encoding"},
	{pattern: `kinds? of GPUs?|GPU kinds?`, write: "GPU model"},
	{pattern: `behaviours?|colours?|licences?|optimis\w+|organis\w+|recognis\w+|favour\w*|catalogues?`, write: "the American spelling"},
}

// unchecked are the folders and files whose words are not checked. This file has to contain the words.
var unchecked = []string{
	"words_test.go",
}

func isChecked(file string) bool {
	return !slices.ContainsFunc(unchecked, func(name string) bool {
		return file == name || strings.HasPrefix(file, name+"/")
	})
}

// anyAvoided matches if a text has any of the avoided words, and saves the search for each of them.
var anyAvoided = func() *regexp.Regexp {
	var patterns []string
	for _, a := range avoided {
		patterns = append(patterns, a.pattern)
	}
	return regexp.MustCompile(`(?i)\b(` + strings.Join(patterns, "|") + `)\b`)
}()

// wordFinder finds one avoided phrase.
type wordFinder struct {
	word, allow *regexp.Regexp
	write       string
}

func wordFinders() (finders []wordFinder) {
	for _, a := range avoided {
		f := wordFinder{word: regexp.MustCompile(`(?i)\b(` + a.pattern + `)\b`), write: a.write}
		if a.allow != "" {
			f.allow = regexp.MustCompile(a.allow)
		}
		finders = append(finders, f)
	}
	return finders
}

// find lists the avoided words of a text that starts at a line, one message each.
func (f wordFinder) find(file string, line int, text string) (found []string) {
	for each := range strings.Lines(text) {
		if f.allow == nil || !f.allow.MatchString(each) {
			for _, word := range f.word.FindAllString(each, -1) {
				found = append(found, fmt.Sprintf("%s:%d: %q: write %q", file, line, word, f.write))
			}
		}
		line++
	}
	return found
}

// passage is a piece of a file that people read, and its first line.
type passage struct {
	line int
	text string
}

// TestWords keeps words out of everything that people read: documents, comments, messages, the API description, the
// pages.
func TestWords(t *testing.T) {
	t.Parallel()
	finders := wordFinders()
	for _, file := range readableFiles(t) {
		for _, p := range passages(t, file) {
			if !anyAvoided.MatchString(p.text) {
				continue
			}
			for _, f := range finders {
				for _, message := range f.find(file, p.line, p.text) {
					t.Error(message)
				}
			}
		}
	}
}

// readableFiles lists the files with text for people.
func readableFiles(t *testing.T) (files []string) {
	t.Helper()
	tree := os.DirFS(".")
	err := fs.WalkDir(tree, ".", func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && file != "." && !isSourceFolder(file):
			return fs.SkipDir
		case !entry.IsDir() && isChecked(file) && isReadable(file):
			files = append(files, file)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// isSourceFolder excludes folders that hold only what tools made.
func isSourceFolder(folder string) bool {
	base := path.Base(folder)
	return base != "node_modules" && base != "dist" && base != "bin" && base != "test-results" && base != ".git" &&
		base != "assay-demo" && folder != "tools/lint" && folder != "ui/generated" &&
		folder != "sdk/typescript/src/generated"
}

func isReadable(file string) bool {
	switch path.Ext(file) {
	case ".go", ".md", ".svelte", ".ts", ".html", ".css", ".yml", ".yaml", ".sql", ".lua", ".cfg", ".txtar":
		return true
	}
	return file == "Makefile" || path.Dir(file) == "scripts"
}

// passages are the parts of a file that people read: of Go code the comments and, outside tests, the texts; of
// scripts for the whole program the comments; of other files everything.
func passages(t *testing.T, file string) []passage {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case path.Ext(file) == ".go":
		return goPassages(file, text)
	case path.Ext(file) == ".txtar":
		return commentLines(string(text))
	case file == "CHANGELOG.md":
		recent, _, _ := strings.Cut(string(text), "\n## [0.4.0]") // released notes stay as they are
		return []passage{{1, recent}}
	}
	return []passage{{1, string(text)}}
}

func goPassages(file string, text []byte) (list []passage) {
	files := token.NewFileSet()
	source := files.AddFile(file, -1, len(text))
	var s scanner.Scanner
	s.Init(source, text, nil, scanner.ScanComments)
	for {
		pos, tok, literal := s.Scan()
		switch {
		case tok == token.EOF:
			return list
		case tok == token.COMMENT || tok == token.STRING && !strings.HasSuffix(file, "_test.go"):
			list = append(list, passage{source.Line(pos), literal})
		}
	}
}

func commentLines(text string) (list []passage) {
	line := 0
	for each := range strings.Lines(text) {
		line++
		if strings.HasPrefix(each, "#") {
			list = append(list, passage{line, each})
		}
	}
	return list
}

func TestWords_Found(t *testing.T) {
	t.Parallel()
	text := "package shop\n\n// The door opens anew.\nvar door = `a\nwhoever comes`\n"
	var got []string
	for _, p := range goPassages("shop.go", []byte(text)) {
		for _, f := range wordFinders() {
			got = append(got, f.find("shop.go", p.line, p.text)...)
		}
	}
	want := []string{
		`shop.go:3: "anew": write "again"`,
		`shop.go:5: "whoever": write "any caller, the user who …"`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
	if got := goPassages("shop_test.go", []byte(text)); len(got) != 1 {
		t.Errorf("a test has %d passages, want its comment only: %v", len(got), got)
	}
}
