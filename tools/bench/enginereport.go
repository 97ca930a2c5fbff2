package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/assaydata/assay/tools/report"
)

// The goals of the engine. Rates use wall-clock time.
const (
	importFloor = 100_000   // rows a second
	verifyFloor = 1_000_000 // transactions a second, on two cores
	// growthLimit is how many times as long an hour may take with the largest size as with the smallest. If the cost
	// grew with the stored transactions, it would be twenty times as long; the limit allows for a deeper tree and a
	// colder cache.
	growthLimit = 2.0
	// beforeLimit is how many times as long the publication of an hour may take as with an earlier program.
	beforeLimit = 1.3
)

// engineReport is the result of one run of the engine.
type engineReport struct {
	options  options
	tools    tools
	at       time.Time
	file     fileTimings
	growth   []growth
	readLoad readLoad
}

func (r engineReport) judge(v *verdicts) {
	load, verify := r.file.firstImport.rate(), r.growth[len(r.growth)-1].now.verify.rate()
	v.add(load >= importFloor, "import: %s rows a second, at least %s", thousands(load), thousands(importFloor))
	v.add(verify >= verifyFloor, "verify: %s transactions a second, at least %s",
		thousands(verify), thousands(verifyFloor))
	_, publish := r.growthRatios()
	v.add(publish <= growthLimit, "publishing an hour: %.2f times as long with the largest size, at most %.2f", publish,
		growthLimit)
	if r.options.before != "" {
		ratio := r.growth[len(r.growth)-1].publishRatio()
		v.add(ratio <= beforeLimit, "publishing an hour: %.2f times as long as with the program before, at most %.2f", ratio,
			beforeLimit)
	}
}

// publishRatio is how many times as long the publication of an hour takes as with the program before.
func (g *growth) publishRatio() float64 {
	return float64(g.now.publishTime) / float64(g.before.publishTime)
}

func (r engineReport) print(w io.Writer) {
	for _, table := range r.tables() {
		printTable(w, table)
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w, r.growthLine())
}

func (r engineReport) markdown() string {
	machine := machineList(report.CPU(), goVersion(r.options.assay), sqliteVersion(r.tools["sqlite3"]),
		wrkVersion(r.tools["wrk"]))
	return heading(r.at, r.options.args) + r.body(machine)
}

// body is the report without the date and the machine.
func (r engineReport) body(machine string) string {
	var b strings.Builder
	fmt.Fprintf(&b,
		"one file of %s transactions; medians of %d hours of %s transactions; reads for %s, %d connections.\n\n",
		thousands(float64(r.file.rows)), r.options.rounds, thousands(float64(r.options.hourRows)), r.options.duration,
		wrkConnections)
	b.WriteString(machine)
	tables := r.tables()
	b.WriteString(markdownTable(tables[0]))
	b.WriteString("\n" + markdownTable(tables[1]))
	fmt.Fprintf(&b, "\n%s\n", r.growthLine())
	b.WriteString("\n" + markdownTable(tables[2]))
	return b.String()
}

// tables are the three parts of the result in cells; the first row of each is its heading.
func (r engineReport) tables() [3][][]string {
	return [3][][]string{r.fileTable(), r.growthTable(), r.readLoadTable()}
}

func (r engineReport) fileTable() [][]string {
	w := r.file
	return [][]string{
		{"one file", "seconds", "per second", "reported per second", "sqlite3 per second", "ratio"},
		w.firstImport.row("import, rows", &w.sqliteImport),
		w.secondImport.row("import again, known rows", nil),
		w.publish.row(fmt.Sprintf("publish, %s values", thousands(float64(w.publish.count))), nil),
		w.verify.row("verify, transactions", &w.sqliteRead),
	}
}

// row is a row of the first table; the peer may be nil.
func (t timing) row(name string, peer *timing) []string {
	reported, other, ratio := "", "", ""
	if t.reported > 0 {
		reported = thousands(float64(t.reported))
	}
	if peer != nil {
		other, ratio = thousands(peer.rate()), fmt.Sprintf("%.2f", t.rate()/peer.rate())
	}
	return []string{name, fmt.Sprintf("%.1f", t.took.Seconds()), thousands(t.rate()), reported, other, ratio}
}

func (r engineReport) growthTable() [][]string {
	rows := [][]string{{
		"stored transactions", "import of an hour", "publication of an hour, processor time", "verified per second",
	}}
	if r.options.before != "" {
		rows[0] = append(rows[0], "publication before", "ratio", "verified before")
	}
	for _, g := range r.growth {
		row := []string{
			thousands(float64(g.stored)), millis(g.now.importTime), millis(g.now.publishTime),
			thousands(g.now.verify.rate()),
		}
		if r.options.before != "" {
			row = append(row, millis(g.before.publishTime), fmt.Sprintf("%.2f", g.publishRatio()),
				thousands(g.before.verify.rate()))
		}
		rows = append(rows, row)
	}
	return rows
}

// growthRatios are how many times as long an hour takes with the largest size as with the smallest.
func (r engineReport) growthRatios() (load, publish float64) {
	small, large := r.growth[0].now, r.growth[len(r.growth)-1].now
	return float64(large.importTime) / float64(small.importTime), float64(large.publishTime) / float64(small.publishTime)
}

func (r engineReport) growthLine() string {
	small, large := r.growth[0], r.growth[len(r.growth)-1]
	load, publish := r.growthRatios()
	return fmt.Sprintf(
		"With %.0f times as much stored, an hour takes %.2f times as long to import and %.2f times as long to publish.",
		float64(large.stored)/float64(small.stored), load, publish)
}

func (r engineReport) readLoadTable() [][]string {
	row := func(name string, s sample, hours int) []string {
		return []string{name, thousands(s.rate), millis(s.p50), millis(s.p99), fmt.Sprint(hours)}
	}
	return [][]string{
		{"reads of `" + priceScenario.path + "`", "req/s", "p50", "p99", "hours published"},
		row("without publishing", r.readLoad.quiet, 0),
		row("while hours are published", r.readLoad.busy, r.readLoad.hours),
	}
}
