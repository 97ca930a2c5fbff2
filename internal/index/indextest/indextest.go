// Package indextest is the plain-text language of the scenario files that index and publish are tested with: what both
// understand alike. Each line is a command; its columns stand apart by two spaces or more; # begins a comment.
package indextest

import (
	"bufio"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/assaydata/assay"
)

// Runner carries out the commands of one file. Checked tells whether the command was one that can fail a test.
type Runner interface {
	Run(verb string, args []string) (checked bool, err error)
}

// Run runs every file of testdata, each with a runner of its own.
func Run(t *testing.T, newRunner func(t *testing.T) Runner) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios (%v)", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { runFile(t, file, newRunner(t)) })
	}
}

var columns = regexp.MustCompile(` {2,}`)

func runFile(t *testing.T, file string, r Runner) {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, checks := bufio.NewScanner(f), 0
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimRight(lines.Text(), " ")
		if line == "" || line[0] == '#' {
			continue
		}
		words := columns.Split(line, -1)
		checked, err := r.Run(words[0], words[1:])
		if err != nil {
			t.Errorf("%s:%d: %s: %v", file, number, line, err)
		}
		if checked {
			checks++
		}
	}
	if lines.Err() != nil || checks == 0 {
		t.Errorf("%s: %d checks (%v)", file, checks, lines.Err())
	}
}

// ErrUnknown says that a command is not one of the language.
func ErrUnknown(verb string, args []string) error {
	return fmt.Errorf("%q with %d columns is no command", verb, len(args))
}

// Transaction reads the columns of a load line: executed at, GPU, region, price, GPUs, hours, provider, verified or not.
func Transaction(args []string) (t assay.Transaction, err error) {
	if len(args) != 8 {
		return t, fmt.Errorf("a rental has 8 columns, not %d", len(args))
	}
	t = assay.Transaction{GPU: args[1], Region: args[2], Provider: args[6], Verified: args[7] == "verified"}
	if t.Region == "-" {
		t.Region = ""
	}
	if !t.Verified && args[7] != "unverified" {
		return t, fmt.Errorf("%q is neither verified nor unverified", args[7])
	}
	var price int64
	var errs [4]error
	t.ExecutedAt, _, errs[0] = assay.ParseInstant(args[0])
	price, errs[1] = assay.ParseDecimal(args[3], 9)
	t.GPUs, errs[2] = assay.ParseDecimal(args[4], 0)
	t.HourMicros, errs[3] = assay.ParseDecimal(args[5], 6)
	t.Price = assay.Nanos(price)
	return t, cmp.Or(errs[:]...)
}

// Slot names a slot of a series.
type Slot struct {
	assay.Line
	Grain assay.Grain
	At    int64
}

// ParseSlot reads the columns that name a slot: grain, GPU, region, and the end of the window after the word at.
func ParseSlot(args []string) (s Slot, err error) {
	if len(args) != 4 {
		return s, fmt.Errorf("a slot has 4 columns, not %d", len(args))
	}
	s.Line = assay.Line{GPU: args[1], Region: args[2]}
	if s.Grain, err = assay.ParseGrain(args[0]); err != nil {
		return s, err
	}
	s.At, err = Instant(args[3], "at ")
	return s, err
}

// Instant reads an instant that stands behind a word.
func Instant(text, word string) (int64, error) {
	rest, ok := strings.CutPrefix(text, word)
	if !ok {
		return 0, fmt.Errorf("%q does not begin with %q", text, word)
	}
	ms, _, err := assay.ParseInstant(rest)
	return ms, err
}

// Methodology gives the text of a methodology with the rules of a methodology line, one a column:
//
//	minimum 3 transactions 2 providers
//	winsorise 5 95
//	cap 40
//
// What is not said is as in version 1.0.0.
func Methodology(version string, rules []string) (string, error) {
	transactions, providers, outliers := 1, 1, ""
	for _, rule := range rules {
		var lower, upper string
		switch verb, _, _ := strings.Cut(rule, " "); verb {
		case "minimum":
			if _, err := fmt.Sscanf(rule, "minimum %d transactions %d providers", &transactions, &providers); err != nil {
				return "", fmt.Errorf("%q: %w", rule, err)
			}
		case "winsorise":
			if _, err := fmt.Sscanf(rule, "winsorise %s %s", &lower, &upper); err != nil {
				return "", fmt.Errorf("%q: %w", rule, err)
			}
			outliers += fmt.Sprintf("[winsorise]\nlower = %s\nupper = %s\n", lower, upper)
		case "cap":
			if _, err := fmt.Sscanf(rule, "cap %s", &upper); err != nil {
				return "", fmt.Errorf("%q: %w", rule, err)
			}
			outliers += fmt.Sprintf("[cap]\nprovider_share = %s\n", upper)
		default:
			return "", fmt.Errorf("%q is no rule: there are minimum, winsorise and cap", rule)
		}
	}
	return fmt.Sprintf(`version   = %q
effective = 2000-01-01T00:00:00Z
decimals  = 4
[fixing]
zone = "America/New_York"
time = "16:00"
[minimum]
transactions = %d
providers    = %d
%s`, version, transactions, providers, outliers), nil
}

// CheckFacts compares what a record says with the facts of a record line, such as "= revision 1, transactions 3".
func CheckFacts(d *assay.Determination, want string) error {
	all := facts(d)
	for fact := range strings.SplitSeq(strings.TrimPrefix(want, "= "), ", ") {
		name, value, _ := strings.Cut(fact, " ")
		got, ok := all[name]
		if !ok {
			return fmt.Errorf("a record says nothing about %q", name)
		}
		if got != value {
			return fmt.Errorf("the record says %s %s", name, got)
		}
	}
	return nil
}

// facts are the words for what a record says.
func facts(d *assay.Determination) map[string]string {
	return map[string]string{
		"revision":     fmt.Sprint(d.Revision),
		"methodology":  d.Methodology,
		"from":         assay.FormatInstant(d.From),
		"transactions": fmt.Sprint(d.Transactions),
		"gpu-hours":    assay.Nanos(d.HourMicros * 1000).String(),
		"providers":    fmt.Sprint(d.Providers),
		"hhi":          fmt.Sprint(d.HHI),
		"lowest":       d.Low.String(),
		"highest":      d.High.String(),
		"median":       d.Median.String(),
		"excluded":     fmt.Sprint(d.Excluded.Unverified + d.Excluded.Withdrawn),
		"unverified":   fmt.Sprint(d.Excluded.Unverified),
		"withdrawn":    fmt.Sprint(d.Excluded.Withdrawn),
		"winsorised":   fmt.Sprint(d.Adjusted.Winsorised),
		"capped":       fmt.Sprint(d.Adjusted.Capped),
	}
}
