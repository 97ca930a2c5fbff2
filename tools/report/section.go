// Package report writes measured figures, with the date, the command and the machine, into documents. Each result has a
// section between two markers; the text around it is written by hand.
package report

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// Section names a part of a Markdown file between two markers.
type Section string

func (s Section) begin() string { return "<!-- " + string(s) + ":begin -->" }
func (s Section) end() string   { return "<!-- " + string(s) + ":end -->" }

// Check returns an error if the file cannot take the result, so that it shows before the measurement. An empty path is
// no file.
func (s Section) Check(path string) error {
	if path == "" {
		return nil
	}
	_, err := replaceBlock(path, s, "")
	return err
}

// Update writes the result into the file.
func (s Section) Update(path, block string) error {
	text, err := replaceBlock(path, s, block)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

// replaceBlock returns the file's text with the block between the section's markers. A missing file counts as empty.
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

// between puts the block between the section's markers, which it adds at the end of the text if they are missing.
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
