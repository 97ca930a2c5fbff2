package index

import (
	"bufio"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assaydata/assay"
)

// TestScripts runs testdata/*.txt; weighted-average.txt says how they are written.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts (%v)", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { runScript(t, file) })
	}
}

func runScript(t *testing.T, file string) {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := script{methodology: Plain()}
	lines := bufio.NewScanner(f)
	for number := 1; lines.Scan(); number++ {
		if err := s.run(lines.Text()); err != nil {
			t.Errorf("%s:%d: %s: %v", file, number, lines.Text(), err)
		}
	}
	if lines.Err() != nil || s.checks == 0 {
		t.Errorf("%s: %d checks (%v)", file, s.checks, lines.Err())
	}
}

// script is what has been loaded so far.
type script struct {
	methodology Methodology
	loaded      []assay.Transaction
	checks      int
}

var columns = regexp.MustCompile(` {2,}`)

func (s *script) run(line string) error {
	if line == "" || line[0] == '#' {
		return nil
	}
	words := columns.Split(line, -1)
	verb, args := words[0], words[1:]
	switch {
	case verb == "clear" && len(args) == 0:
		s.loaded = nil
		return nil
	case verb == "load" && len(args) == 8:
		return s.load(args)
	case verb == "eval" && len(args) == 5:
		s.checks++
		return s.eval(args)
	case verb == "window" && len(args) == 3:
		s.checks++
		return s.window(args)
	}
	return fmt.Errorf("%q with %d columns is no command", verb, len(args))
}

func (s *script) load(args []string) error {
	t := assay.Transaction{GPU: args[1], Region: args[2], Provider: args[6], Verified: args[7] == "verified"}
	if t.Region == "-" {
		t.Region = ""
	}
	if !t.Verified && args[7] != "unverified" {
		return fmt.Errorf("%q is neither verified nor unverified", args[7])
	}
	var price int64
	var errs [4]error
	t.ExecutedAt, _, errs[0] = assay.ParseInstant(args[0])
	price, errs[1] = assay.ParseDecimal(args[3], 9)
	t.GPUs, errs[2] = assay.ParseDecimal(args[4], 0)
	t.HourMicros, errs[3] = assay.ParseDecimal(args[5], 6)
	t.Price = assay.Nanos(price)
	s.loaded = append(s.loaded, t)
	return cmp.Or(errs[:]...)
}

// eval computes the value twice, from the window's rentals and from a stream of all of them.
func (s *script) eval(args []string) error {
	grain, err := assay.ParseGrain(args[0])
	if err != nil {
		return err
	}
	line := assay.Line{GPU: args[1], Region: args[2]}
	at, _, err := assay.ParseInstant(strings.TrimPrefix(args[3], "at "))
	if err != nil {
		return err
	}
	want := strings.TrimPrefix(args[4], "= ")
	if got := s.fromWindow(grain, line, at); got != want {
		return fmt.Errorf("the window's rentals give %s", got)
	}
	if got := s.fromStream(grain, line, at); got != want {
		return fmt.Errorf("the stream gives %s", got)
	}
	return nil
}

const none = "none"

func (s *script) fromWindow(grain assay.Grain, line assay.Line, at int64) string {
	if s.methodology.LastSlot(grain, at) != at {
		return none
	}
	start := s.methodology.WindowStart(grain, at)
	var inside []assay.Transaction
	for _, t := range s.loaded {
		if t.GPU == line.GPU && (line.Region == assay.Global || t.Region == line.Region) && t.ExecutedAt >= start && t.ExecutedAt < at {
			inside = append(inside, t)
		}
	}
	if v, ok := Compute(inside, s.methodology); ok {
		return v.Value.String()
	}
	return none
}

func (s *script) fromStream(grain assay.Grain, line assay.Line, at int64) string {
	stream := NewAccumulator(s.methodology, grain)
	sorted := slices.SortedStableFunc(slices.Values(s.loaded), func(a, b assay.Transaction) int { return cmp.Compare(a.ExecutedAt, b.ExecutedAt) })
	for i := range sorted {
		stream.Add(&sorted[i])
	}
	for _, taken := range stream.Take() {
		for _, p := range taken.Points {
			if taken.Line == line && p.At == at {
				return p.Value.String()
			}
		}
	}
	return none
}

func (s *script) window(args []string) error {
	grain, err := assay.ParseGrain(args[0])
	if err != nil {
		return err
	}
	at, _, err := assay.ParseInstant(args[1])
	if err != nil {
		return err
	}
	want, err := time.ParseDuration(strings.TrimPrefix(args[2], "= "))
	if err != nil {
		return err
	}
	if s.methodology.LastSlot(grain, at) != at {
		return fmt.Errorf("no %s window ends there", grain)
	}
	if got := time.Duration(at-s.methodology.WindowStart(grain, at)) * time.Millisecond; got != want {
		return fmt.Errorf("it is %s long", got)
	}
	return nil
}
