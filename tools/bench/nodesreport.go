package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/assaydata/assay/tools/report"
)

// The goals of several nodes on PostgreSQL.
const (
	postgresImportFloor = 120_000 // rows a second, deduplicated, by the clock
	delayLimit          = time.Second
	leastEqual          = 0.95 // share of SQLite's requests per second that counts as equal
	mostEqual           = 1.05
	leastShared         = 0.80 // share of the requests per second of a node that counts alone
)

// nodesReport is the result of one run of nodes.
type nodesReport struct {
	options options
	tools   tools
	server  *postgres
	at      time.Time
	file    postgresFileTimings
	reads   reads
	delays  delays
}

func (r nodesReport) judge(v *verdicts) {
	load := r.file.firstImport.rate()
	v.add(load >= postgresImportFloor, "import into PostgreSQL: %s rows a second, at least %s", thousands(load),
		thousands(postgresImportFloor))
	for _, w := range r.delayRows() {
		v.add(w.sinceStart.max < delayLimit, "%s: on all nodes at most %s after the command's start, less than %s",
			w.name, millis(w.sinceStart.max), millis(delayLimit))
	}
	for _, c := range r.reads.engines {
		v.add(c.ratio >= leastEqual && c.ratio <= mostEqual, "%s: %.2f of SQLite's requests a second, %.2f to %.2f",
			c.scenario.name, c.ratio, leastEqual, mostEqual)
	}
	v.add(r.reads.limits.ratio >= leastShared, "limits in Redis: %.2f of the requests a second without, at least %.2f",
		r.reads.limits.ratio, leastShared)
}

func (r nodesReport) print(w io.Writer) {
	fmt.Fprintln(w, r.settingsLine())
	for _, table := range r.tables() {
		printTable(w, table)
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w, r.fallbacksLine())
}

func (r nodesReport) markdown() string {
	machine := machineList(report.CPU(), goVersion(r.options.assay), "PostgreSQL "+r.server.version,
		wrkVersion(r.tools["wrk"]))
	return heading(r.at, r.options.args) + r.body(machine)
}

// body is the report without the date and the machine.
func (r nodesReport) body(machine string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "one file of %s transactions; medians of %d rounds of %s, %d connections.\n\n",
		thousands(float64(r.file.rows)), r.options.rounds, r.options.duration, wrkConnections)
	b.WriteString(strings.TrimSuffix(machine, "\n") + "- " + r.settingsLine() + "\n\n")
	tables := r.tables()
	for _, table := range tables {
		b.WriteString(markdownTable(table) + "\n")
	}
	b.WriteString(r.fallbacksLine() + "\n")
	return b.String()
}

func (r nodesReport) settingsLine() string { return "PostgreSQL settings: " + r.server.settings }

func (r nodesReport) fallbacksLine() string {
	return fmt.Sprintf("Under this load the node counted requests itself, instead of in Redis, %s times.",
		thousands(float64(r.reads.fallbacks)))
}

// tables are the parts of the result in cells; the first row of each is its heading.
func (r nodesReport) tables() [][][]string {
	return [][][]string{r.fileTable(), r.delayTable(), r.readTable(), r.nodeTable(), r.limitsTable()}
}

func (r nodesReport) fileTable() [][]string {
	f := r.file
	row := func(name string, t timing, psql, sqlite *timing) []string {
		cells := []string{name, fmt.Sprintf("%.1f", t.took.Seconds()), thousands(t.rate())}
		for _, other := range []*timing{psql, sqlite} {
			if other == nil {
				cells = append(cells, "", "")
				continue
			}
			cells = append(cells, thousands(other.rate()), fmt.Sprintf("%.2f", t.rate()/other.rate()))
		}
		return cells
	}
	return [][]string{
		{"one file", "seconds", "per second", "psql `\\copy` per second", "ratio", "on SQLite per second", "ratio"},
		row("import, rows", f.firstImport, &f.psqlImport, &f.sqliteImport),
		row("import again, known rows", f.secondImport, nil, nil),
		row(fmt.Sprintf("publish, %s values", thousands(float64(f.publish.count))), f.publish, nil, &f.sqlitePublish),
		row("verify, transactions", f.verify, nil, &f.sqliteVerify),
	}
}

// delayRow summarizes the delays of one type of change.
type delayRow struct {
	name                    string
	count                   int
	sinceStart, sinceReturn summary
}

func (r nodesReport) delayRows() (rows []delayRow) {
	add := func(name string, all []delay) {
		rows = append(rows, delayRow{
			name, len(all),
			summarize(all, func(w delay) time.Duration { return w.sinceStart }),
			summarize(all, func(w delay) time.Duration { return w.sinceReturn }),
		})
	}
	add("a publication", r.delays.publications)
	add("a new key", r.delays.newKeys)
	add("a revoked key", r.delays.revokedKeys)
	return rows
}

func (r nodesReport) delayTable() [][]string {
	rows := [][]string{{
		fmt.Sprintf("delay until all %d read nodes have it", readNodes), "count",
		"from the command's start: median", "p99", "max", "from its return: median", "p99", "max",
	}}
	for _, w := range r.delayRows() {
		cells := []string{w.name, fmt.Sprint(w.count)}
		for _, s := range []summary{w.sinceStart, w.sinceReturn} {
			cells = append(cells, millis(s.median), millis(s.p99), millis(s.max))
		}
		rows = append(rows, cells)
	}
	return rows
}

func (c comparison) row() []string {
	return []string{
		c.scenario.name, thousands(c.first.rate), thousands(c.second.rate), fmt.Sprintf("%.2f", c.ratio),
		millis(c.first.p99), millis(c.second.p99),
	}
}

func (r nodesReport) readTable() [][]string {
	rows := [][]string{{"reads", "on PostgreSQL req/s", "on SQLite req/s", "ratio", "on PostgreSQL p99", "on SQLite p99"}}
	for _, c := range r.reads.engines {
		rows = append(rows, c.row())
	}
	return rows
}

func (r nodesReport) nodeTable() [][]string {
	row := func(name string, s nodeState) []string {
		start := fmt.Sprintf("%.1f s", s.start.Seconds())
		return []string{name, start, megabytes(s.memory.resident), megabytes(s.memory.peak)}
	}
	return [][]string{
		{"a read node", "first response after", "resident memory after the load", "peak memory"},
		row("on PostgreSQL", r.reads.postgres),
		row("on SQLite", r.reads.sqlite),
	}
}

func (r nodesReport) limitsTable() [][]string {
	return [][]string{
		{"limits counted", "in Redis, req/s", "by each node, req/s", "ratio", "in Redis, p99", "by each node, p99"},
		r.reads.limits.row(),
	}
}
