package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// section names the part of a Markdown file that a result is written to: what lies between its two markers.
type section string

const (
	serverSection section = "bench"
	engineSection section = "engine"
	nodesSection  section = "nodes"
)

func (s section) begin() string { return "<!-- " + string(s) + ":begin -->" }
func (s section) end() string   { return "<!-- " + string(s) + ":end -->" }

// checkMarkers finds out before the measurement whether its result can be written down.
func checkMarkers(path string, s section) error {
	if path == "" {
		return nil
	}
	_, err := replaceBlock(path, s, "")
	return err
}

func updateFile(path string, s section, block string) error {
	text, err := replaceBlock(path, s, block)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

// replaceBlock is the file's text with the block between the section's markers. A missing file is an empty one.
func replaceBlock(path string, s section, block string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	changed, err := between(string(text), s, block)
	if err != nil {
		return "", fmt.Errorf("update %s: %w", path, err)
	}
	return changed, nil
}

// between puts the block between the section's markers in the text, which are added at its end where there are none.
func between(text string, s section, block string) (string, error) {
	begin, end := strings.Index(text, s.begin()), strings.Index(text, s.end())
	block = s.begin() + "\n" + block + s.end()
	switch {
	case begin < 0 && end < 0:
		if text != "" {
			text = strings.TrimRight(text, "\n") + "\n\n"
		}
		return text + block + "\n", nil
	case begin < 0 || end < begin:
		return "", fmt.Errorf("want %s and then %s", s.begin(), s.end())
	}
	return text[:begin] + block + text[end+len(s.end()):], nil
}
