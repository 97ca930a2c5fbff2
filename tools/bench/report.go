package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/assaydata/assay/tools/report"
)

// memoryLimit is the most Assay may hold after the load, the demo market and the limiter's addresses included.
const memoryLimit = 300e6

// serverReport is the result of one run beside nginx.
type serverReport struct {
	options options
	tools   tools
	at      time.Time
	results []result
	memory  memory
	steady  []*steadyRoute
	proofs  proofTimes
}

// result is one scenario's medians.
type result struct {
	scenario     scenario
	assay, nginx sample
}

func (r result) ratio() float64 { return r.assay.rate / r.nginx.rate }

// judge compares the result with the floors.
func (r serverReport) judge(v *verdicts) {
	for _, res := range r.results {
		if floor := res.scenario.floor; floor > 0 {
			v.add(res.ratio() >= floor, "%s: %.2f of nginx, at least %.2f", res.scenario.name, res.ratio(), floor)
		}
	}
	v.add(r.memory.resident < memoryLimit, "resident memory: %s, less than %s",
		megabytes(r.memory.resident), megabytes(memoryLimit))
	slow := slowest(r.steady)
	v.add(slow.sample.p99 < steadyLimit,
		"every route at %s requests a second: p99 of the slowest, %s, is %s, less than %s", thousands(steadyRate), slow.route,
		millis(slow.sample.p99), millis(steadyLimit))
	v.add(r.proofs.proof.p99 < proofLimit, "proofs at %s requests a second: the p99 is %s, less than %s (%s for /livez)",
		thousands(steadyRate), millis(r.proofs.proof.p99), millis(proofLimit), millis(r.proofs.livez.p99))
}

func (r serverReport) print(w io.Writer) {
	printTable(w, r.table())
	fmt.Fprintln(w, r.memoryLine())
	printTable(w, steadyTable(r.steady))
	printTable(w, proofTable(r.proofs))
}

// table is the result in cells; the first row is the heading.
func (r serverReport) table() [][]string {
	rows := [][]string{{
		"case", "Assay req/s", "nginx req/s", "ratio", "goal", "Assay p50", "Assay p99", "nginx p50", "nginx p99",
		"ratio of p99",
	}}
	for _, res := range r.results {
		a, n := res.assay, res.nginx
		goal := ""
		if res.scenario.goal > 0 {
			goal = fmt.Sprintf("%.2f", res.scenario.goal)
		}
		rows = append(rows, []string{
			res.scenario.name, thousands(a.rate), thousands(n.rate), fmt.Sprintf("%.2f", res.ratio()), goal,
			millis(a.p50), millis(a.p99), millis(n.p50), millis(n.p99), fmt.Sprintf("%.1f", float64(a.p99)/float64(n.p99)),
		})
	}
	return rows
}

func (r serverReport) memoryLine() string {
	return fmt.Sprintf("Assay's resident memory after the load: %s, peak %s.",
		megabytes(r.memory.resident), megabytes(r.memory.peak))
}

// markdown is what goes between the markers.
func (r serverReport) markdown() string {
	var b strings.Builder
	b.WriteString(heading(r.at, r.options.args))
	fmt.Fprintf(&b, "medians of %d rounds of %s, %d connections.\n\n", r.options.rounds, r.options.duration,
		serverConnections)
	versions := []string{goVersion(r.options.assay), nginxVersion(r.tools["nginx"]), wrkVersion(r.tools["wrk"])}
	b.WriteString(machineList(report.CPU(), versions...))
	b.WriteString(markdownTable(r.table()))
	fmt.Fprintf(&b, "\n%s\n\n", r.memoryLine())
	b.WriteString(markdownTable(steadyTable(r.steady)))
	b.WriteString("\n")
	b.WriteString(markdownTable(proofTable(r.proofs)))
	return b.String()
}
