//go:build linux

package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// Only the times of the rules are others, and no rule keeps its own.
func TestHurried(t *testing.T) {
	t.Parallel()
	rules, err := os.ReadFile("../../" + rulesFile)
	if err != nil {
		t.Fatal(err)
	}
	got := hurried(string(rules))
	if n := strings.Count(got, "\n        for: 1s\n"); n != strings.Count(got, "- alert: ") {
		t.Errorf("%d rules wait for a second, of %d", n, strings.Count(got, "- alert: "))
	}
	if left := regexp.MustCompile(`\[\d+[mh]\]`).FindString(got); left != "" {
		t.Errorf("a rule still looks back by %s", left)
	}
	if strings.Count(got, "\n") != strings.Count(string(rules), "\n") || strings.Count(got, "expr:") < 20 {
		t.Errorf("the rules are\n%s", got)
	}
}
