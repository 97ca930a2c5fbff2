//go:build linux

package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/assaydata/assay/tools/report"
)

// results is what the faults cost.
type results struct {
	phases    []*phase
	rows, ids int64 // in the database
	wantRows  int64
	verify    string // output of assay verify
	verifyErr error
}

// check returns an error that names every missed goal.
func (r *results) check() error {
	var missed []error
	miss := func(p *phase, format string, args ...any) {
		missed = append(missed, fmt.Errorf("%s: %s", p.name, fmt.Sprintf(format, args...)))
	}
	writes, hours := 0, 0
	for _, p := range r.phases {
		writes, hours = writes+p.writes, hours+len(p.hours)
		if p.reads == 0 {
			miss(p, "no reads, so the phase shows nothing")
		}
		if p.failed > 0 {
			miss(p, "%d failed reads, the first: %s", p.failed, p.failure)
		}
		if p.lostWrites > 0 {
			miss(p, "%d acknowledged writes lost", p.lostWrites)
		}
		if p.lost > 0 || p.duplicated > 0 {
			miss(p, "%d publications lost and %d duplicated", p.lost, p.duplicated)
		}
		if p.overshoot > p.allowedOvershoot {
			miss(p, "%d requests admitted beyond the limit, %d allowed", p.overshoot, p.allowedOvershoot)
		}
	}
	if writes == 0 || hours == 0 {
		missed = append(missed, fmt.Errorf("%d acknowledged writes and %d acknowledged hours show nothing", writes, hours))
	}
	if r.rows != r.wantRows || r.ids != r.wantRows {
		missed = append(missed,
			fmt.Errorf("%d transactions and %d ids in the database, want %d of each", r.rows, r.ids, r.wantRows))
	}
	if r.verifyErr != nil {
		missed = append(missed, r.verifyErr)
	}
	return errors.Join(missed...)
}

// table is the results table in Markdown.
func (r *results) table() string {
	var b strings.Builder
	b.WriteString("| fault | failed / reads | lost / acknowledged writes | lost / acknowledged hours | duplicated " +
		"| new publication on all nodes | over the limit (allowed) |\n")
	b.WriteString("|---|--:|--:|--:|--:|---|--:|\n")
	for _, p := range r.phases {
		if p.since == "" {
			continue
		}
		fmt.Fprintf(&b, "| %s | %d / %d | %d / %d | %d / %d | %d | %.1f s after %s | %d (%d) |\n",
			p.name, p.failed, p.reads, p.lostWrites, p.writes, p.lost, len(p.hours), p.duplicated,
			p.took.Seconds(), p.since, p.overshoot, p.allowedOvershoot)
	}
	fmt.Fprintf(&b, "\n`assay verify` at the end: %s.\n", r.verify)
	return b.String()
}

// heading is the date, the command and the machine.
func (r *results) heading(args []string) string {
	return report.By(time.Now(), "./tools/drill",
		args) + fmt.Sprintf("- %s, load %s at the end\n\n", report.CPU(), report.Load())
}
