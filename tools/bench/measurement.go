package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/assaydata/assay/tools/report"
)

// measurement is the result of a run.
type measurement interface {
	print(w io.Writer)
	markdown() string // for the section of the document
	judge(v *verdicts)
}

// conclude prints a result, writes it into the document of -update, and judges it.
func conclude(w io.Writer, o options, s report.Section, f measurement) error {
	f.print(w)
	if o.update != "" {
		if err := s.Update(o.update, f.markdown()); err != nil {
			return err
		}
	}
	if o.short {
		fmt.Fprintln(w, "-short: everything ran without an error; numbers are not judged.")
		return nil
	}
	v := verdicts{w: w}
	f.judge(&v)
	return v.err()
}

// verdicts prints a line for each floor and counts those that were missed.
type verdicts struct {
	w      io.Writer
	failed int
}

func (v *verdicts) add(ok bool, format string, args ...any) {
	word := "pass"
	if !ok {
		word = "FAIL"
		v.failed++
	}
	fmt.Fprintf(v.w, word+"  "+format+"\n", args...)
}

func (v *verdicts) err() error {
	if v.failed > 0 {
		return fmt.Errorf("%d floors missed", v.failed)
	}
	return nil
}

// heading is the date and the command.
func heading(at time.Time, args []string) string { return report.By(at, "./tools/bench", args) }

// machineList is the machine and the versions of the programs.
func machineList(cpu string, versions ...string) string {
	return fmt.Sprintf("- %s\n- %s\n\n", cpu, strings.Join(versions, ", "))
}

func printTable(w io.Writer, rows [][]string) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(tw, strings.Join(row, "\t"))
	}
	tw.Flush()
}

// markdownTable aligns the first column left and the numbers right.
func markdownTable(rows [][]string) string {
	var b strings.Builder
	for i, row := range rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			b.WriteString("|---|" + strings.Repeat("--:|", len(row)-1) + "\n")
		}
	}
	return b.String()
}

func millis(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d.Microseconds())/1000) }

func megabytes(bytes int64) string { return fmt.Sprintf("%.0f MB", float64(bytes)/1e6) }

// thousands is 1234567.8 as 1,234,568.
func thousands(v float64) string {
	digits := strconv.FormatFloat(v, 'f', 0, 64)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
