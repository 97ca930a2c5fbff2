package main

import (
	"fmt"
	"strconv"
	"strings"
)

// The program ends each of these commands with a line of text. The parsers find a number by the words after it, so
// other numbers in the line do no harm.

// imported is what "imported: 1,000 new, 5 known before, 0 rejected (0.5 s, 2,000 rows/s)" says.
type imported struct {
	added, known, rejected, rate int
}

func parseImported(out string) (i imported, err error) {
	return i, parseLine(out, "imported: ", map[string]*int{
		" new": &i.added, " known before": &i.known, " rejected": &i.rejected, " rows/s": &i.rate,
	})
}

// published is what "published: 36 values from … to …" says.
type published struct {
	values int
}

func parsePublished(out string) (p published, err error) {
	return p, parseLine(out, "published: ", map[string]*int{" values": &p.values})
}

// verified is what "verified: 36 values from 1,000 transactions, 1 signed day (0.1 s, 10,000 transactions/s)" says.
type verified struct {
	values, transactions, rate int
}

func parseVerified(out string) (v verified, err error) {
	return v, parseLine(out, "verified: ", map[string]*int{
		" values": &v.values, " transactions,": &v.transactions, " transactions/s": &v.rate,
	})
}

// parseLine finds the line with the prefix, and in it each number by the words that follow.
func parseLine(out, prefix string, numbers map[string]*int) error {
	for line := range strings.Lines(out) {
		rest, found := strings.CutPrefix(line, prefix)
		if !found {
			continue
		}
		for words, into := range numbers {
			var err error
			if *into, err = numberBefore(rest, words); err != nil {
				return fmt.Errorf("parse %q: %w", line, err)
			}
		}
		return nil
	}
	return fmt.Errorf("no line that begins with %q in %q", prefix, out)
}

// numberBefore reads a number such as 1,234,567 directly before the words.
func numberBefore(line, words string) (int, error) {
	before, _, found := strings.Cut(line, words)
	if !found {
		return 0, fmt.Errorf("no %q in it", words)
	}
	digits := before[strings.LastIndexAny(before, " (")+1:]
	return strconv.Atoi(strings.ReplaceAll(digits, ",", ""))
}
