package main

import (
	"fmt"
	"io"
	"time"

	"github.com/assaydata/assay/tools/report"
)

// reachReport is the result of one run with streams.
type reachReport struct {
	options options
	tools   tools
	at      time.Time
	reach   reach
}

// ratio is the median of the rounds' shares of the requests per second without streams.
func (r reachReport) ratio() float64 {
	var ratios []float64
	for i, without := range r.reach.reads {
		ratios = append(ratios, r.reach.readsWith[i].rate/without.rate)
	}
	return median(ratios)
}

func (r reachReport) judge(v *verdicts) {
	v.add(r.reach.with.resident < streamMemoryLimit, "%s streams: %s resident, less than %s",
		thousands(float64(r.reach.streams)), megabytes(r.reach.with.resident), megabytes(streamMemoryLimit))
	v.add(r.reach.alone.at(0.99) < arrivalLimit, "a publication has arrived at 99 %% of the streams after %s, "+
		"less than %s", millis(r.reach.alone.at(0.99)), millis(arrivalLimit))
	v.add(r.ratio() >= leastReads, "reads with streams: %.2f of those without, at least %.2f", r.ratio(), leastReads)
}

func (r reachReport) print(w io.Writer) {
	for _, table := range r.tables() {
		printTable(w, table)
		fmt.Fprintln(w)
	}
}

func (r reachReport) markdown() string {
	text := heading(r.at, r.options.args) + fmt.Sprintf(
		"one node with %s streams of a Full key, without filters; %d rounds of %s.\n\n",
		thousands(float64(r.reach.streams)), r.options.rounds, r.options.duration)
	text += machineList(report.CPU(), goVersion(r.options.assay), wrkVersion(r.tools["wrk"]))
	for i, table := range r.tables() {
		if i > 0 {
			text += "\n"
		}
		text += markdownTable(table)
	}
	return text
}

func (r reachReport) tables() [][][]string {
	perStream := float64(r.reach.with.resident-r.reach.before.resident) / float64(r.reach.streams)
	without, with := medians(r.reach.reads), medians(r.reach.readsWith)
	arrived := func(name string, a arrivals) []string {
		return []string{name, millis(a.at(0.5)), millis(a.at(0.99)), millis(a.at(1)), thousands(float64(len(a.after)))}
	}
	return [][][]string{
		{
			{"memory", "resident"},
			{"without streams", megabytes(r.reach.before.resident)},
			{"with all streams, after " + fmt.Sprint(r.reach.events) + " publications", megabytes(r.reach.with.resident)},
			{"a stream", fmt.Sprintf("%.1f KB", perStream/1000)},
		},
		{
			{"from a publication's time to the arrival at a stream", "p50", "p99", "max", "arrivals"},
			arrived("without reads", r.reach.alone),
			arrived("while prices are read as fast as possible", r.reach.loaded),
		},
		{
			{"prices read, a publication in the middle", "req/s", "p99"},
			{"without streams", thousands(without.rate), millis(without.p99)},
			{"with all streams", thousands(with.rate), millis(with.p99)},
			{"share, median of the rounds", fmt.Sprintf("%.2f", r.ratio()), ""},
		},
	}
}
