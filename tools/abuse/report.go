//go:build linux

package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/assaydata/assay/tools/report"
)

// The goals.
const (
	mostMemory = 1.2 // of that after the warm-up
	mostDelay  = 5   // times the reader's p99 without an attack
)

// conclude prints the report, judges it, and writes it into the document if the goals are met.
func (r *results) conclude() error {
	text := r.markdown()
	fmt.Print(text)
	if err := r.check(); err != nil {
		return err
	}
	if r.options.update == "" {
		return nil
	}
	machine := fmt.Sprintf("- %s, load %s at the end\n\n", report.CPU(), report.Load())
	return section.Update(r.options.update, report.By(r.begun, "./tools/abuse", r.options.args)+machine+text)
}

// check returns an error that names every missed goal.
func (r *results) check() error {
	missed := r.failures
	miss := func(format string, args ...any) { missed = append(missed, fmt.Errorf(format, args...)) }
	for _, a := range r.allReadings() {
		if a.Failed > 0 {
			miss("attack %s: %d of the reader's %d requests failed, the first: %s", a.name, a.Failed, a.Count, a.First)
		}
	}
	if !r.options.short {
		r.checkNumbers(miss)
	}
	return errors.Join(missed...)
}

// checkNumbers judges what is measured rather than counted.
func (r *results) checkNumbers(miss func(format string, args ...any)) {
	for _, a := range r.attacks {
		if a.sent < a.want {
			miss("attack %s: only %d of %d requests were sent in time", a.name, a.sent, a.want)
		}
		if a.P99 >= mostDelay*r.quiet.P99 {
			miss("attack %s: the reader's p99 is %s, %.1f times the %s without an attack", a.name, millis(a.P99),
				float64(a.P99)/float64(r.quiet.P99), millis(r.quiet.P99))
		}
	}
	for _, m := range r.memory {
		if float64(m.resident) > mostMemory*float64(r.memory[0].resident) {
			miss("%s of memory after %s, %s after the warm-up", megabytes(m.resident), m.after, megabytes(r.memory[0].resident))
		}
	}
}

// markdown is the report.
func (r *results) markdown() string {
	var b strings.Builder
	r.writeRequests(&b)
	r.writeMemory(&b)
	r.writeAttacks(&b)
	return b.String()
}

func (r *results) writeRequests(b *strings.Builder) {
	sent := r.requests.total.Load()
	fmt.Fprintf(b, "%s hostile requests from 100,000 addresses with %s keys (seed %d) in %s, %s a second:\n\n",
		thousands(sent), thousands(int64(r.options.scale.keys)), r.options.seed, r.took.Round(time.Second),
		thousands(perSecond(sent, r.took)))
	b.WriteString("| caller | requests | served | 304 | refused (4xx) | 429 | 503 with `Retry-After` | not HTTP |\n" +
		"|---|--:|--:|--:|--:|--:|--:|--:|\n")
	var all [outcomes]int64
	for who := range roles {
		var row [outcomes]int64
		for i := range row {
			row[i] = r.requests.counts[who][i].Load()
			all[i] += row[i]
		}
		writeRow(b, who.String(), row)
	}
	writeRow(b, "all", all)
	fmt.Fprintf(b, "\nResponses outside the description: %d. ", r.outside)
	fmt.Fprintf(b, "Panics, errors and secrets in the %s lines of the log: %d.\n\n", thousands(r.lines), r.logged)
}

func writeRow(b *strings.Builder, name string, row [outcomes]int64) {
	sum := int64(0)
	for _, n := range row {
		sum += n
	}
	fmt.Fprintf(b, "| %s | %s |", name, thousands(sum))
	for _, n := range row {
		fmt.Fprintf(b, " %s |", thousands(n))
	}
	b.WriteString("\n")
}

func (r *results) writeMemory(b *strings.Builder) {
	b.WriteString("Memory of the server: ")
	for i, m := range r.memory {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(b, "%s after %s", megabytes(m.resident), m.after)
	}
	b.WriteString(".\n\n")
}

func (r *results) writeAttacks(b *strings.Builder) {
	b.WriteString("| attack | connections opened | requests | reader's requests | failed | p50 | p99 | of quiet " +
		"| taken by the host |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, a := range r.allReadings() {
		fmt.Fprintf(b, "| %s | %s | %s | %s | %d | %s | %s | %.1f× | %.1f %% |\n", a.name, thousands(a.opened),
			thousands(a.sent), thousands(int64(a.Count)), a.Failed, millis(a.P50), millis(a.P99),
			float64(a.P99)/float64(r.quiet.P99), 100*a.taken)
	}
}

func perSecond(n int64, d time.Duration) int64 { return int64(float64(n) / max(d.Seconds(), 0.001)) }

func millis(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d.Microseconds())/1000) }

func megabytes(bytes int64) string { return fmt.Sprintf("%.0f MB", float64(bytes)/1e6) }

// allReadings is what the reader has noticed, first without an attack.
func (r *results) allReadings() []attacked {
	return append([]attacked{r.quiet}, r.attacks...)
}
