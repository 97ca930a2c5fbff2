//go:build linux

package main

import (
	"fmt"
	"os"
	"strings"
)

// The markers between which the result stands.
const (
	beginMarker = "<!-- drill:begin -->"
	endMarker   = "<!-- drill:end -->"
)

func updateFile(path, block string) error {
	text, err := replaceBlock(path, block)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

// replaceBlock is the file's text with the block between the markers.
func replaceBlock(path, block string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	before, rest, begun := strings.Cut(string(text), beginMarker)
	_, after, ended := strings.Cut(rest, endMarker)
	if !begun || !ended {
		return "", fmt.Errorf("update %s: want %s and then %s", path, beginMarker, endMarker)
	}
	return before + beginMarker + "\n" + block + endMarker + after, nil
}
