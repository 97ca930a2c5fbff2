// Package indextest is the common part of the plain-text language in which the scenarios of index and publish are
// written. Each line is a command; two or more spaces separate its columns; # begins a comment.
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

// Runner runs the commands of one file. Checked tells whether the command compares anything.
type Runner interface {
	Run(verb string, args []string) (checked bool, err error)
}

// Run runs every file of testdata as a parallel subtest, each with a new runner.
func Run(t *testing.T, newRunner func(t *testing.T) Runner) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios (%v)", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			runFile(t, file, newRunner(t))
		})
	}
}

var columns = regexp.MustCompile(` {2,}`)

func runFile(t *testing.T, file string, r Runner) {
	t.Helper()
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

// ErrUnknown reports a command that does not exist.
func ErrUnknown(verb string, args []string) error {
	return fmt.Errorf("there is no command %q with %d columns", verb, len(args))
}

// Transaction parses the columns of a load line: executed at, GPU, region, price, GPUs, hours, provider, verified or
// not.
func Transaction(args []string) (t assay.Transaction, err error) {
	if len(args) != 8 {
		return t, fmt.Errorf("a transaction has 8 columns, not %d", len(args))
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

// ParseSlot parses the columns that name a slot: grain, GPU, region, and the end of the window after the word at.
func ParseSlot(args []string) (s Slot, err error) {
	if len(args) != 4 {
		return s, fmt.Errorf("a slot has 4 columns, not %d", len(args))
	}
	s.Line = assay.Line{GPU: args[1], Region: args[2]}
	s.Grain, err = assay.ParseGrain(args[0])
	if err != nil {
		return s, err
	}
	s.At, err = Instant(args[3], "at ")
	return s, err
}

// Instant parses an instant after a prefix such as "at ".
func Instant(text, prefix string) (int64, error) {
	rest, ok := strings.CutPrefix(text, prefix)
	if !ok {
		return 0, fmt.Errorf("%q does not begin with %q", text, prefix)
	}
	ms, _, err := assay.ParseInstant(rest)
	return ms, err
}

// Methodology is the text of a methodology with the rules of a methodology line, one per column:
//
//	minimum 3 transactions 2 providers
//	winsorize 5 95
//	cap 40
//
// Everything else is as in version 1.0.0, except that a slot is published when it ends.
func Methodology(version string, rules []string) (string, error) {
	transactions, providers, outliers := 1, 1, ""
	for _, rule := range rules {
		var lower, upper string
		switch verb, _, _ := strings.Cut(rule, " "); verb {
		case "minimum":
			if _, err := fmt.Sscanf(rule, "minimum %d transactions %d providers", &transactions, &providers); err != nil {
				return "", fmt.Errorf("%q: %w", rule, err)
			}
		case "winsorize":
			if _, err := fmt.Sscanf(rule, "winsorize %s %s", &lower, &upper); err != nil {
				return "", fmt.Errorf("%q: %w", rule, err)
			}
			outliers += fmt.Sprintf("[winsorise]\nlower = %s\nupper = %s\n", lower, upper)
		case "cap":
			if _, err := fmt.Sscanf(rule, "cap %s", &upper); err != nil {
				return "", fmt.Errorf("%q: %w", rule, err)
			}
			outliers += fmt.Sprintf("[cap]\nprovider_share = %s\n", upper)
		default:
			return "", fmt.Errorf("there is no rule %q: use minimum, winsorize or cap", rule)
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
[publication]
delay = "0s"
%s`, version, transactions, providers, outliers), nil
}

// CheckFacts compares a record with the facts of a record line, such as "= revision 1, transactions 3".
func CheckFacts(d *assay.Determination, want string) error {
	all := facts(d)
	for fact := range strings.SplitSeq(strings.TrimPrefix(want, "= "), ", ") {
		name, value, _ := strings.Cut(fact, " ")
		got, ok := all[name]
		if !ok {
			return fmt.Errorf("a record has no fact %q", name)
		}
		if got != value {
			return fmt.Errorf("the record has %s %s", name, got)
		}
	}
	return nil
}

// facts are the facts of a record, by name.
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
		"winsorized":   fmt.Sprint(d.Adjusted.Winsorized),
		"capped":       fmt.Sprint(d.Adjusted.Capped),
	}
}
