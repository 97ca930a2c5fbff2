package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/assaydata/assay/tools/report"
)

// peersReport is the result of one run beside what people would use instead.
type peersReport struct {
	options  options
	at       time.Time
	versions []string
	load     string // of the machine, before the run
	results  []peersResult
}

// peersResult is how all servers responded to one request; Assay is the first.
type peersResult struct {
	ask     ask
	servers []peerSample
}

// peerSample is a server's medians and the size of its response.
type peerSample struct {
	name   string
	sample sample
	size   int
}

// ratio is how many times as many requests Assay serves.
func (r peersResult) ratio(s peerSample) float64 { return r.servers[0].sample.rate / s.sample.rate }

// least is the ratio to the fastest of the servers whose names begin so, if there is one.
func (r peersResult) least(name string) (least float64, found bool) {
	for _, s := range r.servers[1:] {
		if ratio := r.ratio(s); strings.HasPrefix(s.name, name) && (!found || ratio < least) {
			least, found = ratio, true
		}
	}
	return least, found
}

// judge compares the ratios with the goals.
func (r peersReport) judge(v *verdicts) {
	for _, res := range r.results {
		for _, name := range slices.Sorted(maps.Keys(res.ask.goals)) {
			ratio, found := res.least(name)
			goal := res.ask.goals[name]
			v.add(found && ratio >= goal, "%s: %.1f times %s, at least %.1f", res.ask.scenario.name, ratio, name, goal)
		}
	}
}

func (r peersReport) print(w io.Writer) { printTable(w, r.table()) }

// table is the result in cells; the first row is the heading. Each request has a row of its own, above its servers.
func (r peersReport) table() [][]string {
	rows := [][]string{{"request, server", "req/s", "p50", "p99", "bytes", "Assay / it"}}
	for _, res := range r.results {
		rows = append(rows, []string{res.title(), "", "", "", "", ""})
		for i, s := range res.servers {
			ratio := ""
			if i > 0 {
				ratio = fmt.Sprintf("%.2f", res.ratio(s))
			}
			rows = append(rows, []string{
				s.name, thousands(s.sample.rate), millis(s.sample.p50), millis(s.sample.p99), thousands(float64(s.size)), ratio,
			})
		}
	}
	return rows
}

// title names the request, with the number of values if there are several.
func (r peersResult) title() string {
	if n := len(r.ask.values); n > 1 {
		return fmt.Sprintf("**%s: %s values**", r.ask.scenario.name, thousands(float64(n)))
	}
	return "**" + r.ask.scenario.name + "**"
}

// markdown is what goes between the markers.
func (r peersReport) markdown() string {
	machine := fmt.Sprintf("%s, load average before the run %s", report.CPU(), r.load)
	return heading(r.at, r.options.args) + r.body(machineList(machine, r.versions...))
}

// body is the report without the date and the machine.
func (r peersReport) body(machine string) string {
	return fmt.Sprintf("medians of %d rounds of %s in turns, %d connections.\n\n%s%s", r.options.rounds,
		r.options.duration, wrkConnections, machine, markdownTable(r.table()))
}
