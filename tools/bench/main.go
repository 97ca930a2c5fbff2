// Command bench measures Assay from outside and compares it with a peer on the same machine in the same minute: the
// server with nginx sending the same responses, and the index engine with the sqlite3 shell on the same rows. It also
// compares the server with what people would use instead of it.
//
//	make build && scripts/need nginx wrk sqlite3
//	go run ./tools/bench                              # the server: about six minutes
//	go run ./tools/bench -engine                      # the engine: about a quarter of an hour, 4 GB
//	scripts/with-services go run ./tools/bench -nodes # PostgreSQL, several nodes, Redis: about ten minutes, 6 GB
//	make bench-peers                                  # VictoriaMetrics, Express…: about a quarter of an hour
//	go run ./tools/bench -reach                       # 20,000 streams: two minutes, after ulimit -n 30000
//	go run ./tools/bench -update docs/performance.md  # also write the table into the document
//	go run ./tools/bench -short                       # seconds: does it run at all
//
// # How the server is measured
//
// The real binary serves the demo market from a temporary folder. Each response is fetched once and written to a
// file, and nginx serves that file: its rate is what the machine can do with these bytes when nothing has to be
// decided. Then wrk loads Assay, nginx, nginx, Assay and so on, so that a slow minute of the machine affects both.
// The medians over the rounds are compared.
//
// Everything the server does for a caller stays switched on: the limiter, the key check, the log. The limiter allows 60
// requests a minute from an address, so the load comes from many addresses (see wrk.lua). nginx gets exactly the same
// requests. A single response that is refused, cut short or lost fails the run: a fast refusal is not a fast response.
//
// At the end all routes that the server describes are requested together at a steady rate (steady.go).
//
// # How the engine is measured
//
// The commands run as an operator runs them, one process each, on synthetic transactions with random ids (market.go).
// Times are wall-clock times of the whole process; where the program reports a rate, the report shows both. The peer
// of import is the sqlite3 shell, which loads the same file under a unique index, equally durable. Verifying and
// publishing have no peer; the shell reading one column of the same database shows what the machine can do. growth.go
// measures the cost of publishing an hour in one growing database, readload.go what readers notice of it while the
// server is under load.
//
// # How several nodes are measured
//
// The same commands run on PostgreSQL (nodes.go). The peer is psql, whose \copy loads the same file into a table with
// a primary key on the same server with the same settings; SQLite is shown for comparison. Then a node on PostgreSQL
// and one on SQLite are loaded in turns; their responses must be equal byte for byte. The same is done with and
// without shared limits. Finally one node publishes and three read: delays.go polls all of them to measure how long a
// publication or a key takes to reach them.
//
// # How the peers are measured
//
// VictoriaMetrics, a service with Express and PostgreSQL, a program of Go's standard library and nginx get the
// published values of one GPU model, each through its own interface (peers.go, victoria.go, express.go). Their
// responses must have the same values as Assay's. Then wrk loads all of them in turns.
//
// # How streams are measured
//
// One node has 20,000 open streams of this process (reach.go). An hour is published by command, and the kernel notes
// when its events arrive at each socket (streams_linux.go), so that the work of 20,000 readers on the same machine is
// not measured. The time counts from published_at of the event, before the transaction is committed.
//
// # How to read the results
//
// Read the ratio. Requests per second depend on the machine, and wrk uses the same cores. A ratio of 0.5 means that
// Assay serves half as many requests as nginx sends copies of a file. The latencies are those of 64 connections that
// send the next request as soon as they have a response, so they are times under full load, not of a single request.
//
// The floors (scenario.go, report.go, enginereport.go, nodesreport.go) are there to catch a lost optimization, not a
// noisy neighbor: measure again on a quiet machine before you believe a failure. Beside the peers they are goals
// (peers.go). With -short only errors fail, never a number.
package main

import (
	"cmp"
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
	before   string // an earlier program
	rounds   int
	duration time.Duration
	short    bool
	update   string
	engine   bool
	nodes    bool
	peers    bool
	reach    bool
	sizes    []int    // stored transactions to measure publishing at, growing
	hourRows int      // transactions of an hour that is published
	args     []string // the command line, for the report
}

func parseOptions(args []string) (options, error) {
	o := options{args: args}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.StringVar(&o.assay, "assay", "bin/assay", "the `binary` to measure")
	flags.StringVar(&o.before, "before", "", "with -engine: an earlier `binary`, to measure beside it")
	flags.IntVar(&o.rounds, "rounds", 5, "number of measurements of each case, 1 to 50")
	flags.DurationVar(&o.duration, "duration", 5*time.Second, "length of one measurement, whole seconds, 1s to 60s")
	flags.BoolVar(&o.short, "short", false, "one round of one second; no number fails the run")
	flags.BoolVar(&o.engine, "engine", false, "measure import, publish and verify instead of the server beside nginx")
	flags.Func("rows", "with -engine: increasing `sizes` of the database to publish at; "+
		"import, verify and -nodes use the middle one (default 1000000,5000000,20000000)",
		func(text string) (err error) {
			o.sizes, err = parseSizes(text)
			return err
		})
	flags.StringVar(&o.update, "update", "", "write the result between the markers of this Markdown `file`")
	flags.BoolVar(&o.nodes, "nodes", false,
		"measure PostgreSQL, nodes that share it, and shared limits; run it under scripts/with-services")
	flags.BoolVar(&o.peers, "peers", false,
		"compare with what people would use instead; make bench-peers installs it, and runs this under scripts/with-services")
	flags.BoolVar(&o.reach, "reach", false, "measure a node with 20,000 open streams")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.before != "" && !o.engine {
		return o, errors.New("-before: only with -engine")
	}
	if len(o.sizes) > 0 && !o.engine && !o.nodes {
		return o, errors.New("-rows: only with -engine or -nodes")
	}
	o.fill()
	return o, o.check(flags.Args())
}

// fill sets the defaults and what follows from -short.
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

// suites is how many of them are asked for.
func (o options) suites() (count int) {
	for _, chosen := range []bool{o.engine, o.nodes, o.peers, o.reach} {
		if chosen {
			count++
		}
	}
	return count
}

// parseSizes reads "1000000,5000000".
func parseSizes(text string) (sizes []int, err error) {
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 1 || len(sizes) > 0 && n <= sizes[len(sizes)-1] {
			return nil, errors.New("want increasing whole numbers, such as 1000000,5000000")
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
	case o.suites() > 1:
		return errors.New("-engine, -nodes, -peers and -reach: one at a time")
	case o.short && o.update != "":
		return errors.New("-short and -update: one second is too short for the document")
	}
	return nil
}

// The sections of the document for the results.
const (
	serverSection report.Section = "bench"
	engineSection report.Section = "engine"
	nodesSection  report.Section = "nodes"
	peersSection  report.Section = "peers"
	reachSection  report.Section = "reach"
)

// suite is one group of measurements with its section in the document.
type suite struct {
	section report.Section
	needs   []string
	measure func(ctx context.Context, o options, tools tools, dir string) (measurement, error)
}

func (o options) suite() suite {
	if o.engine {
		return suite{engineSection, []string{"sqlite3", "wrk"}, measureEngine}
	}
	if o.nodes {
		return suite{nodesSection, []string{"psql", "wrk"}, measureNodes}
	}
	if o.peers {
		return suite{peersSection, []string{"nginx", "node", "psql", "wrk"}, measurePeers}
	}
	if o.reach {
		return suite{reachSection, []string{"wrk"}, measureReach}
	}
	return suite{serverSection, []string{"nginx", "wrk"}, measureServer}
}

// run runs the whole benchmark. Everything it started has ended when it returns.
func run(ctx context.Context, o options) error {
	s := o.suite()
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
func measureServer(ctx context.Context, o options, tools tools, dir string) (measurement, error) {
	start := startDemo
	now := time.Now()
	if o.short {
		start, now = startPrepared, preparedNow
	}
	assay, err := start(ctx, o.assay, dir)
	if err != nil {
		return nil, err
	}
	defer assay.Stop()
	scenarios := newScenarios(assay.keys, now)
	if o.short {
		scenarios = distinctScenarios(scenarios)
	}
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
	wrk.connections = serverConnections
	r := serverReport{options: o, tools: tools, at: time.Now()}
	for i, s := range scenarios {
		pair := []target{{process: assay.Process, base: assay.base}, {process: nginx.Process, base: nginx.bases[i]}}
		res, err := measure(ctx, wrk, o, s, pair)
		if err != nil {
			return nil, err
		}
		r.results = append(r.results, res)
	}
	if r.memory, err = assay.memory(); err != nil {
		return nil, err
	}
	if r.steady, err = assay.measureSteady(ctx, 2*o.duration, now); err != nil {
		return nil, err
	}
	r.proofs, err = assay.measureProofs(ctx, 2*o.duration)
	return r, err
}

// target is one of the servers under load.
type target struct {
	process *process.Process
	base    string
	label   string // if the name of the process is not enough
}

func (t target) name() string { return cmp.Or(t.label, t.process.Name) }

// measure loads Assay and nginx in turns and returns the medians.
func measure(ctx context.Context, wrk loader, o options, s scenario, pair []target) (result, error) {
	samples, err := loadInTurns(ctx, wrk, o, []scenario{s, s}, pair)
	if err != nil {
		return result{}, err
	}
	return result{scenario: s, assay: medians(samples[0]), nginx: medians(samples[1])}, nil
}

// loadInTurns loads the targets in turns, each with its own request, and returns the samples of all rounds by target.
func loadInTurns(
	ctx context.Context, wrk loader, o options, s []scenario, targets []target,
) (samples [][]sample, err error) {
	if !o.short {
		for i, t := range targets { // warm up connections, caches and the garbage collector
			if _, err := loadOnce(ctx, wrk, s[i], t, time.Second); err != nil {
				return nil, err
			}
		}
	}
	samples = make([][]sample, len(targets))
	for round := range o.rounds {
		for turn := range targets {
			i := (round + turn) % len(targets) // alternate which one is first, in case that matters
			got, err := loadOnce(ctx, wrk, s[i], targets[i], o.duration)
			if err != nil {
				return nil, err
			}
			samples[i] = append(samples[i], got)
		}
		rates := make([]string, len(targets))
		for i, t := range targets {
			rates[i] = fmt.Sprintf("%s %s req/s", t.name(), thousands(samples[i][round].rate))
		}
		progress("%s, round %d of %d: %s", s[0].name, round+1, o.rounds, strings.Join(rates, ", "))
	}
	return samples, nil
}

func loadOnce(ctx context.Context, wrk loader, s scenario, t target, d time.Duration) (sample, error) {
	got, err := wrk.load(ctx, t.base, s, d)
	for longer := 2 * d; errors.Is(err, errNoResponse) && longer <= time.Minute; longer *= 2 {
		got, err = wrk.load(ctx, t.base, s, longer) // on a busy machine a peer may need longer for all connections
	}
	if err != nil {
		return got, t.process.Explain(fmt.Errorf("%s, %s: %w", s.name, t.name(), err))
	}
	return got, t.process.TrimLog()
}

// tools are the paths of the programs that the benchmark runs, by name.
type tools map[string]string

// findTools checks that the server and the named tools exist.
func findTools(assay string, names ...string) (tools, error) {
	if _, err := exec.LookPath(assay); err != nil {
		return nil, fmt.Errorf("find the server: %w; run make build", err)
	}
	found := tools{}
	for _, name := range names {
		if found[name] = findTool(name); found[name] == "" {
			return nil, fmt.Errorf("%s not found; run scripts/need %s", name, strings.Join(names, " "))
		}
	}
	return found, nil
}

// findTool also looks where Debian puts daemons, which is not on every user's PATH.
func findTool(name string) string {
	for _, candidate := range []string{name, "/usr/sbin/" + name} {
		if path, err := exec.LookPath(candidate); err == nil {
			return path
		}
	}
	return ""
}
