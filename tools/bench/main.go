// Command bench measures Assay from outside, beside a peer, on the same machine, in the same minute: the server beside
// nginx on the same answers, and the index engine beside the sqlite3 shell on the same rows.
//
//	make build && scripts/need nginx wrk sqlite3
//	go run ./tools/bench                              # the server: about six minutes
//	go run ./tools/bench -engine                      # the engine: about a quarter of an hour, 4 GB
//	scripts/with-services go run ./tools/bench -nodes # PostgreSQL, several nodes, Redis: about ten minutes, 6 GB
//	go run ./tools/bench -update docs/performance.md  # and write the table down
//	go run ./tools/bench -short                       # seconds: does it run at all
//
// # Method of the server
//
// The real binary serves the demo market from a temporary folder. Each answer is fetched from it once and written to a
// file, and nginx serves that file: what nginx reaches is what the machine can do with these bytes when nothing has to be
// decided. Then wrk loads Assay, nginx, nginx, Assay and so on, so that a slow minute of the machine hits both, and the
// medians over the rounds are compared.
//
// Everything the server does for a caller stays switched on: the limiter, the key check, the log. The limiter allows 60
// calls a minute from an address, so the load comes from millions of addresses (see wrk.lua); nginx is sent exactly the
// same requests. A single answer that is refused, cut short or lost fails the run: a fast refusal is not a fast answer.
//
// At the end every route that the server describes is asked at a steady rate, all together (steady.go).
//
// # Method of the engine
//
// The commands are run as an operator runs them, one process each, on made-up transactions with random ids (market.go). A
// time is that of the clock from the start of the process to its end; where the program tells a rate itself, it stands
// beside. Import has a peer that does the same job: the sqlite3 shell loads the same file under a unique index, equally
// durable. Nobody else verifies or publishes; the shell reading one column of the same database is a yardstick for the
// machine, not a peer. What publishing an hour costs is measured in one growing database (growth.go), and what readers
// notice of it with the server under load (reading.go).
//
// # Method of the nodes
//
// The same commands are run with a database of PostgreSQL (nodes.go). Its peer is psql, whose \copy loads the same file into a
// table with a primary key, on the same server with the same settings; SQLite stands beside. Then a node on PostgreSQL and one on
// SQLite are loaded in turns; their answers must be equal to the byte. So are a node with shared limits and one without. At last
// one node publishes and three read: how long a publication or a key takes to reach all of them is measured by asking them all
// the time (visible.go).
//
// # How to read it
//
// Read the ratio. Requests per second depend on the machine, and wrk takes its part of the same cores. A ratio of 0.5
// means that Assay answers half as many requests as nginx sends copies of a file. The latencies are those of 32
// connections that ask again as soon as they are answered, so they are times under full load, not of a single call.
//
// The floors (scenario.go, report.go, enginereport.go, nodesreport.go) are there to catch a lost optimisation, not a noisy
// neighbour: measure again on a quiet machine before believing a failure. With -short only errors fail, never a number.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/assaydata/assay/tools/process"
	"github.com/assaydata/assay/tools/report"
)

func main() { process.Main("bench", parseOptions, run) }

type options struct {
	assay    string
	rounds   int
	duration time.Duration
	short    bool
	update   string
	engine   bool
	nodes    bool
	sizes    []int    // stored transactions to measure publishing at, growing
	hourRows int      // transactions of an hour that is published
	args     []string // as given, to be written down with the result
}

func parseOptions(args []string) (options, error) {
	o := options{args: args}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.StringVar(&o.assay, "assay", "bin/assay", "the `binary` to measure")
	flags.IntVar(&o.rounds, "rounds", 5, "how often each case is measured, 1 to 50")
	flags.DurationVar(&o.duration, "duration", 5*time.Second, "length of one measurement, whole seconds, 1s to 60s")
	flags.BoolVar(&o.short, "short", false, "one round of one second; no number fails the run")
	flags.BoolVar(&o.engine, "engine", false, "measure import, publish and verify instead of the server beside nginx")
	flags.Func("rows", "with -engine: stored `sizes` to publish at, growing; import and verify take the middle one, as all of -nodes does "+
		"(default 1000000,5000000,20000000)",
		func(text string) (err error) {
			o.sizes, err = parseSizes(text)
			return err
		})
	flags.StringVar(&o.update, "update", "", "write the result between the markers of this Markdown `file`")
	flags.BoolVar(&o.nodes, "nodes", false, "measure PostgreSQL, nodes that share it, and shared limits; run it under scripts/with-services")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if len(o.sizes) > 0 && !o.engine && !o.nodes {
		return o, errors.New("-rows: only with -engine or -nodes")
	}
	o.fill()
	return o, o.check(flags.Args())
}

// fill sets what was left open, and what -short decides.
func (o *options) fill() {
	sizes := []int{1_000_000, 5_000_000, 20_000_000}
	o.hourRows = 2000
	if o.short {
		sizes = []int{5000, 10_000, 20_000}
		o.rounds, o.duration, o.hourRows = 1, time.Second, 200
	}
	if len(o.sizes) == 0 {
		o.sizes = sizes
	}
}

// parseSizes reads "1000000,5000000".
func parseSizes(text string) (sizes []int, err error) {
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 1 || len(sizes) > 0 && n <= sizes[len(sizes)-1] {
			return nil, errors.New("want whole numbers that grow, such as 1000000,5000000")
		}
		sizes = append(sizes, n)
	}
	return sizes, nil
}

func (o options) check(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("unexpected argument %q", rest[0])
	case o.rounds < 1 || o.rounds > 50:
		return fmt.Errorf("-rounds %d: want 1 to 50", o.rounds)
	case o.duration < time.Second || o.duration > time.Minute || o.duration%time.Second != 0:
		return fmt.Errorf("-duration %s: want whole seconds, 1s to 60s", o.duration)
	case o.engine && o.nodes:
		return errors.New("-engine and -nodes: one at a time")
	case o.short && o.update != "":
		return errors.New("-short and -update: one second is too short to be written down")
	}
	return nil
}

// The sections of the document that results are written to.
const (
	serverSection report.Section = "bench"
	engineSection report.Section = "engine"
	nodesSection  report.Section = "nodes"
)

// subject is something that can be measured.
type subject struct {
	section report.Section // where its result is written
	needs   []string
	measure func(ctx context.Context, o options, tools tools, dir string) (finding, error)
}

func (o options) subject() subject {
	if o.engine {
		return subject{engineSection, []string{"sqlite3", "wrk"}, measureEngine}
	}
	if o.nodes {
		return subject{nodesSection, []string{"psql", "wrk"}, measureNodes}
	}
	return subject{serverSection, []string{"nginx", "wrk"}, measureServer}
}

// run is the whole benchmark. Whatever it started is gone when it returns.
func run(ctx context.Context, o options) error {
	s := o.subject()
	tools, err := findTools(o.assay, s.needs...)
	if err != nil {
		return err
	}
	if err := s.section.Check(o.update); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "assay-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	found, err := s.measure(ctx, o, tools, dir)
	if err != nil {
		return err
	}
	return conclude(os.Stdout, o, s.section, found)
}

// measureServer compares the server with nginx.
func measureServer(ctx context.Context, o options, tools tools, dir string) (finding, error) {
	assay, err := startDemo(ctx, o.assay, dir)
	if err != nil {
		return nil, err
	}
	defer assay.Stop()
	scenarios := newScenarios(assay.keys, time.Now())
	if err := assay.fetchBodies(ctx, scenarios); err != nil {
		return nil, err
	}
	nginx, err := startNginx(ctx, tools["nginx"], dir, scenarios)
	if err != nil {
		return nil, err
	}
	defer nginx.Stop()

	wrk, err := newLoader(tools["wrk"], dir)
	if err != nil {
		return nil, err
	}
	r := serverReport{options: o, tools: tools, at: time.Now()}
	for i, s := range scenarios {
		pair := [2]target{{assay.Process, assay.base}, {nginx.Process, nginx.bases[i]}}
		res, err := measure(ctx, wrk, o, s, pair)
		if err != nil {
			return nil, err
		}
		r.results = append(r.results, res)
	}
	if r.memory, err = assay.memory(); err != nil {
		return nil, err
	}
	r.steady, err = assay.measureSteady(ctx, 2*o.duration, time.Now())
	return r, err
}

// target is one of the two servers under load.
type target struct {
	process *process.Process
	base    string
}

// measure loads the pair in turns and gives the medians.
func measure(ctx context.Context, wrk loader, o options, s scenario, pair [2]target) (result, error) {
	samples, err := loadInTurns(ctx, wrk, o, [2]scenario{s, s}, pair)
	if err != nil {
		return result{}, err
	}
	return result{scenario: s, assay: medians(samples[0]), nginx: medians(samples[1])}, nil
}

// loadInTurns loads the pair in turns, each with a request of its own, and gives what each round came to.
func loadInTurns(ctx context.Context, wrk loader, o options, s [2]scenario, pair [2]target) (samples [2][]sample, err error) {
	if !o.short {
		for i, t := range pair { // connections, caches and the garbage collector find their pace
			if _, err := loadOnce(ctx, wrk, s[i], t, time.Second); err != nil {
				return samples, err
			}
		}
	}
	for round := range o.rounds {
		for turn := range pair {
			i := (round + turn) % len(pair) // the first of a round is the second of the next, should it matter to be first
			got, err := loadOnce(ctx, wrk, s[i], pair[i], o.duration)
			if err != nil {
				return samples, err
			}
			samples[i] = append(samples[i], got)
		}
		say("%s, round %d of %d: %s %s req/s, %s %s req/s", s[0].name, round+1, o.rounds,
			pair[0].process.Name, thousands(samples[0][round].rate), pair[1].process.Name, thousands(samples[1][round].rate))
	}
	return samples, nil
}

func loadOnce(ctx context.Context, wrk loader, s scenario, t target, d time.Duration) (sample, error) {
	got, err := wrk.load(ctx, t.base, s, d)
	if err != nil {
		return got, t.process.Explain(fmt.Errorf("%s, %s: %w", s.name, t.process.Name, err))
	}
	return got, t.process.TrimLog()
}

// tools are the programs this one drives, by name.
type tools map[string]string

// findTools makes sure that the server and the named tools are there.
func findTools(assay string, names ...string) (tools, error) {
	if _, err := exec.LookPath(assay); err != nil {
		return nil, fmt.Errorf("find the server: %w; run make build", err)
	}
	found := tools{}
	for _, name := range names {
		if found[name] = lookTool(name); found[name] == "" {
			return nil, fmt.Errorf("%s not found; run scripts/need %s", name, strings.Join(names, " "))
		}
	}
	return found, nil
}

// lookTool also looks where Debian puts daemons, which is not on everybody's PATH.
func lookTool(name string) string {
	for _, candidate := range []string{name, "/usr/sbin/" + name} {
		if path, err := exec.LookPath(candidate); err == nil {
			return path
		}
	}
	return ""
}
