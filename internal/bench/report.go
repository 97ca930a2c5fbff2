package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// memoryLimit is the most Assay may hold after the load, the demo market and the limiter's addresses included.
const memoryLimit = 300e6

// report is everything one run of the benchmark found.
type report struct {
	options options
	tools   tools
	at      time.Time
	results []result
	memory  memory
}

// result is one scenario's medians.
type result struct {
	scenario     scenario
	assay, nginx sample
}

func (r result) ratio() float64 { return r.assay.rate / r.nginx.rate }

// publish prints the report, writes it down where -update says, and judges it.
func (r report) publish(w io.Writer) error {
	printTable(w, r.table())
	fmt.Fprintln(w, r.memoryLine())
	if r.options.update != "" {
		if err := updateFile(r.options.update, r.markdown()); err != nil {
			return err
		}
	}
	if r.options.short {
		fmt.Fprintln(w, "-short: everything ran without an error; the numbers are not judged.")
		return nil
	}
	return r.judge(w)
}

// judge prints a line for each floor and fails when one is not reached.
func (r report) judge(w io.Writer) error {
	failed := 0
	verdict := func(ok bool, format string, args ...any) {
		word := "pass"
		if !ok {
			word = "FAIL"
			failed++
		}
		fmt.Fprintf(w, word+"  "+format+"\n", args...)
	}
	for _, res := range r.results {
		if floor := res.scenario.floor; floor > 0 {
			verdict(res.ratio() >= floor, "%s: %.2f of nginx, at least %.2f", res.scenario.name, res.ratio(), floor)
		}
	}
	verdict(r.memory.resident < memoryLimit, "resident memory: %s, less than %s",
		megabytes(r.memory.resident), megabytes(memoryLimit))
	if failed > 0 {
		return fmt.Errorf("%d of the floors not reached", failed)
	}
	return nil
}

// table is the result in cells, with the heading in the first row.
func (r report) table() [][]string {
	rows := [][]string{{"case", "Assay req/s", "nginx req/s", "ratio", "Assay p50", "Assay p99", "nginx p50", "nginx p99"}}
	for _, res := range r.results {
		a, n := res.assay, res.nginx
		rows = append(rows, []string{
			res.scenario.name, thousands(a.rate), thousands(n.rate), fmt.Sprintf("%.2f", res.ratio()),
			millis(a.p50), millis(a.p99), millis(n.p50), millis(n.p99),
		})
	}
	return rows
}

func (r report) memoryLine() string {
	return fmt.Sprintf("Assay's resident memory after the load: %s, at its peak %s.",
		megabytes(r.memory.resident), megabytes(r.memory.peak))
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

// markdown is what goes between the markers.
func (r report) markdown() string {
	var b strings.Builder
	command := strings.Join(append([]string{"go run ./internal/bench"}, os.Args[1:]...), " ")
	fmt.Fprintf(&b, "Measured on %s by `%s`:\n", r.at.UTC().Format(time.DateOnly), command)
	fmt.Fprintf(&b, "medians of %d rounds of %s, %d connections.\n\n", r.options.rounds, r.options.duration, wrkConnections)
	fmt.Fprintf(&b, "- %s\n", cpu())
	fmt.Fprintf(&b, "- %s, %s, %s\n\n", goVersion(r.options.assay), nginxVersion(r.tools.nginx), wrkVersion(r.tools.wrk))
	b.WriteString(markdownTable(r.table()))
	fmt.Fprintf(&b, "\n%s\n", r.memoryLine())
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
