package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// The result lives between these two lines of a Markdown file.
const (
	beginMarker = "<!-- bench:begin -->"
	endMarker   = "<!-- bench:end -->"
)

// checkMarkers finds out before the measurement whether its result can be written down.
func checkMarkers(path string) error {
	if path == "" {
		return nil
	}
	_, err := replaceBlock(path, "")
	return err
}

func updateFile(path, block string) error {
	text, err := replaceBlock(path, block)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

// replaceBlock is the file's text with the block between its markers. A missing file is an empty one.
func replaceBlock(path, block string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	changed, err := between(string(text), block)
	if err != nil {
		return "", fmt.Errorf("update %s: %w", path, err)
	}
	return changed, nil
}

// between puts the block between the markers of the text, which are added at its end where there are none.
func between(text, block string) (string, error) {
	begin, end := strings.Index(text, beginMarker), strings.Index(text, endMarker)
	block = beginMarker + "\n" + block + endMarker
	switch {
	case begin < 0 && end < 0:
		if text != "" {
			text = strings.TrimRight(text, "\n") + "\n\n"
		}
		return text + block + "\n", nil
	case begin < 0 || end < begin:
		return "", fmt.Errorf("want %s and then %s", beginMarker, endMarker)
	}
	return text[:begin] + block + text[end+len(endMarker):], nil
}
