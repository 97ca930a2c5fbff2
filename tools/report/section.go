// Package report writes down what was measured, and on what: the benchmark and the drill keep their figures in the documents,
// each between two markers, so that the text around them is written by hand.
package report

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// Section names the part of a Markdown file that a result is written to: what lies between its two markers.
type Section string

func (s Section) begin() string { return "<!-- " + string(s) + ":begin -->" }
func (s Section) end() string   { return "<!-- " + string(s) + ":end -->" }

// Check finds out before the measurement whether its result can be written down; no path is no file to write.
func (s Section) Check(path string) error {
	if path == "" {
		return nil
	}
	_, err := replaceBlock(path, s, "")
	return err
}

// Update writes the result.
func (s Section) Update(path, block string) error {
	text, err := replaceBlock(path, s, block)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

// replaceBlock is the file's text with the block between the section's markers. A missing file is an empty one.
func replaceBlock(path string, s Section, block string) (string, error) {
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
func between(text string, s Section, block string) (string, error) {
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
