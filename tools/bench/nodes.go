package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// nodesRun measures nodes that share a PostgreSQL database.
type nodesRun struct {
	options
	tools    tools
	dir      string
	server   *postgres
	redis    string
	onSQLite *engine // each with its own database, with the same rows
	onServer *engine
}

// readNodes is the number of nodes that read, besides the one that publishes.
const readNodes = 3

// marketBegin is the time of the first row. Publishing goes hour by hour, so a short run has fewer hours.
func (o options) marketBegin() time.Time {
	if o.short {
		return marketEnd.AddDate(0, -1, 0)
	}
	return marketBegin
}

// changeCount is the number of publications and of keys whose delay is measured.
func (o options) changeCount() int {
	if o.short {
		return 3
	}
	return 50
}

// The most bytes a row takes: the file, both databases, and the peer's, which is removed before they are full. The
// write-ahead log of PostgreSQL takes max_wal_size, and somewhat more under a fast load.
const (
	nodesRowBytes = 900
	walBytes      = 1500e6
)

func measureNodes(ctx context.Context, o options, tools tools, dir string) (measurement, error) {
	if err := checkHours(time.Now(), o.changeCount()); err != nil {
		return nil, err
	}
	if err := checkSpace(dir, int64(o.fileRows())*nodesRowBytes+walBytes+otherBytes); err != nil {
		return nil, err
	}
	server, err := findPostgres(ctx, tools["psql"], o.short)
	if err != nil {
		return nil, err
	}
	redis := os.Getenv(redisVariable)
	if redis == "" {
		return nil, errors.New(redisVariable + " is not set; run the benchmark under scripts/with-services")
	}
	database, err := server.make(ctx)
	if err != nil {
		return nil, err
	}
	defer server.remove(ctx, database)
	n := &nodesRun{options: o, tools: tools, dir: dir, server: server, redis: redis}
	n.onSQLite = &engine{options: o, tools: tools, dir: dir}
	n.onServer = &engine{
		options: o,
		tools:   tools,
		dir:     dir,
		market:  newMarket(1),
		hour:    marketEnd,
		env:     []string{"ASSAY_STORE=" + server.in(database)},
	}
	return n.measure(ctx)
}

func (n *nodesRun) measure(ctx context.Context) (measurement, error) {
	r := nodesReport{options: n.options, tools: n.tools, server: n.server, at: time.Now()}
	var err error
	if r.file, err = n.measureFile(ctx); err != nil {
		return nil, err
	}
	if r.reads, err = n.measureReads(ctx); err != nil {
		return nil, err
	}
	r.delays, err = n.measureDelays(ctx)
	return r, err
}

// The folder of the SQLite database, and the folder of the signing key for PostgreSQL.
func (n *nodesRun) sqliteFolder() string { return filepath.Join(n.dir, "sqlite") }
func (n *nodesRun) keyFolder() string    { return filepath.Join(n.dir, "postgres") }

// postgresFileTimings are the times of the commands on one file.
type postgresFileTimings struct {
	rows                      int
	firstImport, secondImport timing // rows, into PostgreSQL
	psqlImport, sqliteImport  timing // rows
	publish, sqlitePublish    timing // values
	verify, sqliteVerify      timing // transactions
}

// measureFile makes a file and runs all commands on it, on both engines. It keeps both databases.
func (n *nodesRun) measureFile(ctx context.Context) (f postgresFileTimings, err error) {
	file := filepath.Join(n.dir, "whole.csv")
	defer os.Remove(file)
	f.rows = n.fileRows()
	progress("%s rows: writing the file", thousands(float64(f.rows)))
	if err := n.onServer.market.writeFile(ctx, file, period{n.marketBegin(), marketEnd, f.rows}, 0, f.rows); err != nil {
		return f, err
	}
	if err := n.onServer.init(ctx, n.keyFolder()); err != nil {
		return f, err
	}
	if err := n.onSQLite.init(ctx, n.sqliteFolder()); err != nil {
		return f, err
	}
	for _, step := range n.fileSteps(ctx, &f, file) {
		if err := n.server.checkpoint(ctx); err != nil {
			return f, err
		}
		t, err := step.run()
		if err != nil {
			return f, fmt.Errorf("%s: %w", step.name, err)
		}
		progress("%s: %s", step.name, t)
		*step.into = t
	}
	if f.publish.count != f.sqlitePublish.count {
		return f, fmt.Errorf("%d values were published on PostgreSQL, and %d on SQLite", f.publish.count,
			f.sqlitePublish.count)
	}
	return f, nil
}

func (n *nodesRun) fileSteps(ctx context.Context, f *postgresFileTimings, file string) []step {
	server, sqlite := n.onServer, n.onSQLite
	importing := func(e *engine, folder string, want imported) func() (timing, error) {
		return func() (timing, error) { return e.importFile(ctx, folder, file, want) }
	}
	publishing := func(e *engine, folder string) func() (timing, error) {
		return func() (timing, error) { return e.publish(ctx, folder, time.Time{}, marketEnd) }
	}
	verifying := func(e *engine, folder string) func() (timing, error) {
		return func() (timing, error) { return e.verify(ctx, folder, f.rows) }
	}
	keys, folder := n.keyFolder(), n.sqliteFolder()
	return []step{
		{"import into PostgreSQL", &f.firstImport, importing(server, keys, imported{added: f.rows})},
		{"import by psql", &f.psqlImport, func() (timing, error) { return n.server.importFile(ctx, file, f.rows) }},
		{"import into SQLite", &f.sqliteImport, importing(sqlite, folder, imported{added: f.rows})},
		{"import again into PostgreSQL", &f.secondImport, importing(server, keys, imported{known: f.rows})},
		{"publish on PostgreSQL", &f.publish, publishing(server, keys)},
		{"publish on SQLite", &f.sqlitePublish, publishing(sqlite, folder)},
		{"verify on PostgreSQL", &f.verify, verifying(server, keys)},
		{"verify on SQLite", &f.sqliteVerify, verifying(sqlite, folder)},
	}
}

// start starts a node with the given role.
func (e *engine) start(ctx context.Context, name, data, role string, flags ...string) (*assayServer, error) {
	args := append([]string{"serve", "--role", role, "--dir", data, "--key-limit", "1000000"}, flags...)
	return startNode(ctx, node{name: name, program: e.options.assay, dir: e.dir, command: args, env: e.env})
}

// createKey makes a key for all data and returns its text.
func (e *engine) createKey(ctx context.Context, data string) (string, error) {
	out, _, err := e.assay(ctx, "key", "create", "--dir", data, "--tier", "full", "--name", "bench")
	return strings.TrimSpace(out), err
}

// comparison is the load of one scenario on two nodes in turns.
type comparison struct {
	scenario      scenario
	first, second sample  // medians
	ratio         float64 // median of the ratios of the rounds
}

// nodeState is the start time and memory of a node.
type nodeState struct {
	start  time.Duration
	memory memory
}

// reads are the loads on nodes with the same data.
type reads struct {
	engines          []comparison // PostgreSQL, SQLite
	limits           comparison   // with Redis, without
	fallbacks        int64        // how often the node counted instead of Redis
	postgres, sqlite nodeState
}

// readScenarios are those scenarios of the server's measurement that differ most.
func readScenarios(key string, now time.Time) (chosen []scenario) {
	for _, s := range newScenarios(apiKeys{Full: key}, now) {
		if s.name == "price" || s.name == "90 days" || s.name == "hourly, all, gzip" {
			chosen = append(chosen, s)
		}
	}
	return chosen
}

func (n *nodesRun) measureReads(ctx context.Context) (r reads, err error) {
	wrk, err := newLoader(n.tools["wrk"], n.dir)
	if err != nil {
		return r, err
	}
	keys, err := n.createKeys(ctx)
	if err != nil {
		return r, err
	}
	server, err := n.onServer.start(ctx, "postgres", n.keyFolder(), "read")
	if err != nil {
		return r, err
	}
	defer server.Stop()
	if err := n.measureEngines(ctx, wrk, &r, server, keys); err != nil {
		return r, err
	}
	return r, n.measureLimits(ctx, wrk, &r, server)
}

// createKeys makes a key on each engine: first on PostgreSQL, then on SQLite.
func (n *nodesRun) createKeys(ctx context.Context) (keys [2]string, err error) {
	if keys[0], err = n.onServer.createKey(ctx, n.keyFolder()); err != nil {
		return keys, err
	}
	keys[1], err = n.onSQLite.createKey(ctx, n.sqliteFolder())
	return keys, err
}

// measureEngines loads a node on PostgreSQL and one on SQLite. Their responses must be equal byte for byte.
func (n *nodesRun) measureEngines(
	ctx context.Context, wrk loader, r *reads, server *assayServer, keys [2]string,
) error {
	sqlite, err := n.onSQLite.start(ctx, "sqlite", n.sqliteFolder(), "read")
	if err != nil {
		return err
	}
	defer sqlite.Stop()
	now := time.Now()
	cases := [2][]scenario{readScenarios(keys[0], now), readScenarios(keys[1], now)}
	if err := server.fetchBodies(ctx, cases[0]); err != nil {
		return err
	}
	if err := sqlite.fetchBodies(ctx, cases[1]); err != nil {
		return err
	}
	for i, s := range cases[0] {
		if !bytes.Equal(s.plain, cases[1][i].plain) {
			return fmt.Errorf("%s: the response on PostgreSQL is %.300s, on SQLite %.300s", s.path, s.plain, cases[1][i].plain)
		}
		if n.short && i > 0 {
			continue // one load shows that it runs
		}
		p, err := n.compare(ctx, wrk, [2]scenario{s, cases[1][i]}, [2]*assayServer{server, sqlite})
		if err != nil {
			return err
		}
		r.engines = append(r.engines, p)
	}
	r.postgres.start, r.sqlite.start = server.start, sqlite.start
	if r.postgres.memory, err = server.memory(); err != nil {
		return err
	}
	r.sqlite.memory, err = sqlite.memory()
	return err
}

// compare loads two nodes in turns, each with its own key.
func (n *nodesRun) compare(ctx context.Context, wrk loader, s [2]scenario, nodes [2]*assayServer) (comparison, error) {
	targets := []target{{process: nodes[0].Process, base: nodes[0].base}, {process: nodes[1].Process, base: nodes[1].base}}
	samples, err := loadInTurns(ctx, wrk, n.options, s[:], targets)
	if err != nil {
		return comparison{}, err
	}
	var ratios []float64
	for round := range samples[0] {
		ratios = append(ratios, samples[0][round].rate/samples[1][round].rate)
	}
	c := comparison{s[0], medians(samples[0]), medians(samples[1]), median(ratios)}
	return c, c.checkSane()
}

// implausible is a ratio that no busy neighbor explains, not even in a short run: something other than a node was
// measured.
const implausible = 50

func (c comparison) checkSane() error {
	if c.ratio < 1.0/implausible || c.ratio > implausible {
		return fmt.Errorf("%s: %s and %s requests a second, a ratio of %.3f", c.scenario.name, thousands(c.first.rate),
			thousands(c.second.rate), c.ratio)
	}
	return nil
}

// measureLimits loads a node that counts in Redis, by leases, and one that counts in its own memory.
func (n *nodesRun) measureLimits(ctx context.Context, wrk loader, r *reads, alone *assayServer) error {
	shared, err := n.onServer.start(ctx, "redis", n.keyFolder(), "read", "--limits", n.redis)
	if err != nil {
		return err
	}
	defer shared.Stop()
	cases := readScenarios("", time.Now())[:1] // the price, whose limit is by address
	if err := shared.fetchBodies(ctx, cases); err != nil {
		return err
	}
	if r.limits, err = n.compare(ctx, wrk, [2]scenario{cases[0], cases[0]}, [2]*assayServer{shared, alone}); err != nil {
		return err
	}
	r.fallbacks, err = shared.fallbacks(ctx)
	return err
}
