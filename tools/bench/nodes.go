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

// nodesRun measures what changes when the database is one of PostgreSQL, and nodes share it.
type nodesRun struct {
	options
	tools    tools
	dir      string
	server   *postgres
	redis    string
	onSQLite *engine // each with a database of its own, and the same rows in both
	onServer *engine
}

// readNodes is how many nodes read beside the one that publishes.
const readNodes = 3

// marketBegin is where the rows begin. Publishing is done hour by hour, so a short run has fewer of them.
func (o options) marketBegin() time.Time {
	if o.short {
		return marketEnd.AddDate(0, -1, 0)
	}
	return marketBegin
}

// steps is how many publications and keys are waited for.
func (o options) steps() int {
	if o.short {
		return 3
	}
	return 50
}

// Bytes a row takes at most: the file, both databases, and the peer's, which goes before the last are full. The log of
// PostgreSQL takes max_wal_size, and somewhat more when it is written fast.
const (
	nodesRowBytes = 900
	walBytes      = 1500e6
)

func measureNodes(ctx context.Context, o options, tools tools, dir string) (finding, error) {
	if err := checkHours(time.Now(), o.steps()); err != nil {
		return nil, err
	}
	if err := checkSpace(dir, int64(o.wholeRows())*nodesRowBytes+walBytes+otherBytes); err != nil {
		return nil, err
	}
	server, err := findPostgres(ctx, tools["psql"], o.short)
	if err != nil {
		return nil, err
	}
	redis := os.Getenv(redisVariable)
	if redis == "" {
		return nil, errors.New(redisVariable + " names no server; run it under scripts/with-services")
	}
	database, err := server.make(ctx)
	if err != nil {
		return nil, err
	}
	defer server.remove(ctx, database)
	n := &nodesRun{options: o, tools: tools, dir: dir, server: server, redis: redis}
	n.onSQLite = &engine{options: o, tools: tools, dir: dir}
	n.onServer = &engine{options: o, tools: tools, dir: dir, market: newMarket(1), hour: marketEnd, env: []string{"ASSAY_STORE=" + server.in(database)}}
	return n.measure(ctx)
}

func (n *nodesRun) measure(ctx context.Context) (finding, error) {
	r := nodesReport{options: n.options, tools: n.tools, server: n.server, at: time.Now()}
	var err error
	if r.file, err = n.measureFile(ctx); err != nil {
		return nil, err
	}
	if r.reads, err = n.measureReads(ctx); err != nil {
		return nil, err
	}
	r.waits, err = n.measureWaits(ctx)
	return r, err
}

// The folder of SQLite's database, and that of the signing key beside PostgreSQL's.
func (n *nodesRun) sqliteFolder() string { return filepath.Join(n.dir, "sqlite") }
func (n *nodesRun) keyFolder() string    { return filepath.Join(n.dir, "postgres") }

// fileTimings is what became of one file.
type fileTimings struct {
	rows                   int
	load, again            timing // rows, into PostgreSQL
	psqlLoad, sqliteLoad   timing // rows
	publish, sqlitePublish timing // values
	verify, sqliteVerify   timing // transactions
}

// measureFile makes a file and takes it through all the commands, on either engine. Both databases stay.
func (n *nodesRun) measureFile(ctx context.Context) (f fileTimings, err error) {
	file := filepath.Join(n.dir, "whole.csv")
	defer os.Remove(file)
	f.rows = n.wholeRows()
	say("%s rows: writing the file", thousands(float64(f.rows)))
	if err := n.onServer.market.writeFile(ctx, file, stretch{n.marketBegin(), marketEnd, f.rows}, 0, f.rows); err != nil {
		return f, err
	}
	if err := errors.Join(n.onServer.initKeys(ctx, n.keyFolder()), n.onSQLite.initKeys(ctx, n.sqliteFolder())); err != nil {
		return f, err
	}
	for _, step := range n.fileSteps(ctx, &f, file) {
		if err := n.server.settle(ctx); err != nil {
			return f, err
		}
		t, err := step.run()
		if err != nil {
			return f, fmt.Errorf("%s: %w", step.name, err)
		}
		say("%s: %s in %.1f s, %s a second", step.name, thousands(float64(t.count)), t.took.Seconds(), thousands(t.rate()))
		*step.into = t
	}
	if f.publish.count != f.sqlitePublish.count {
		return f, fmt.Errorf("%d values were published on PostgreSQL, and %d on SQLite", f.publish.count, f.sqlitePublish.count)
	}
	return f, nil
}

func (n *nodesRun) fileSteps(ctx context.Context, f *fileTimings, file string) []wholeStep {
	server, sqlite, keys, folder := n.onServer, n.onSQLite, n.keyFolder(), n.sqliteFolder()
	return []wholeStep{
		{"import into PostgreSQL", &f.load, func() (timing, error) { return server.load(ctx, keys, file, imported{added: f.rows}) }},
		{"import by psql", &f.psqlLoad, func() (timing, error) { return n.server.load(ctx, file, f.rows) }},
		{"import into SQLite", &f.sqliteLoad, func() (timing, error) { return sqlite.load(ctx, folder, file, imported{added: f.rows}) }},
		{"import again into PostgreSQL", &f.again, func() (timing, error) { return server.load(ctx, keys, file, imported{known: f.rows}) }},
		{"publish on PostgreSQL", &f.publish, func() (timing, error) { return server.publish(ctx, keys, time.Time{}, marketEnd) }},
		{"publish on SQLite", &f.sqlitePublish, func() (timing, error) { return sqlite.publish(ctx, folder, time.Time{}, marketEnd) }},
		{"verify on PostgreSQL", &f.verify, func() (timing, error) { return server.verify(ctx, keys, f.rows) }},
		{"verify on SQLite", &f.sqliteVerify, func() (timing, error) { return sqlite.verify(ctx, folder, f.rows) }},
	}
}

// start starts a node of the given role.
func (e *engine) start(ctx context.Context, name, data, role string, flags ...string) (*assayServer, error) {
	args := append([]string{"serve", "--role", role, "--dir", data, "--key-limit", "1000000"}, flags...)
	return startNode(ctx, node{name: name, program: e.options.assay, dir: e.dir, command: args, env: e.env})
}

// createKey makes a key for all data and gives its text.
func (e *engine) createKey(ctx context.Context, data string) (string, error) {
	out, _, err := e.assay(ctx, "key", "create", "--dir", data, "--tier", "full", "--name", "bench")
	return strings.TrimSpace(out), err
}

// comparison is one kind of request to two nodes in turns.
type comparison struct {
	scenario      scenario
	first, second sample  // medians
	ratio         float64 // median over the rounds, each of which has a ratio of its own
}

// nodeState is what a node takes.
type nodeState struct {
	start  time.Duration
	memory memory
}

// reads are loads on nodes that have the same data.
type reads struct {
	engines          []comparison // PostgreSQL, SQLite
	limits           comparison   // with Redis, without
	fallbacks        int64        // how often the node counted in place of Redis
	postgres, sqlite nodeState
}

// readScenarios are the cases of the server's own measurement that differ most.
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
	keys, err := n.sameKey(ctx)
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

// sameKey makes a key on either engine: first PostgreSQL's, then SQLite's.
func (n *nodesRun) sameKey(ctx context.Context) (keys [2]string, err error) {
	if keys[0], err = n.onServer.createKey(ctx, n.keyFolder()); err != nil {
		return keys, err
	}
	keys[1], err = n.onSQLite.createKey(ctx, n.sqliteFolder())
	return keys, err
}

// measureEngines loads a node on PostgreSQL and one on SQLite. Their answers must be equal to the byte.
func (n *nodesRun) measureEngines(ctx context.Context, wrk loader, r *reads, server *assayServer, keys [2]string) error {
	sqlite, err := n.onSQLite.start(ctx, "sqlite", n.sqliteFolder(), "read")
	if err != nil {
		return err
	}
	defer sqlite.Stop()
	now := time.Now()
	cases := [2][]scenario{readScenarios(keys[0], now), readScenarios(keys[1], now)}
	if err := errors.Join(server.fetchBodies(ctx, cases[0]), sqlite.fetchBodies(ctx, cases[1])); err != nil {
		return err
	}
	for i, s := range cases[0] {
		if !bytes.Equal(s.plain, cases[1][i].plain) {
			return fmt.Errorf("%s: PostgreSQL answers %.300s, SQLite %.300s", s.path, s.plain, cases[1][i].plain)
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
	targets := [2]target{{nodes[0].Process, nodes[0].base}, {nodes[1].Process, nodes[1].base}}
	samples, err := loadInTurns(ctx, wrk, n.options, s, targets)
	if err != nil {
		return comparison{}, err
	}
	var ratios []float64
	for round := range samples[0] {
		ratios = append(ratios, samples[0][round].rate/samples[1][round].rate)
	}
	c := comparison{s[0], medians(samples[0]), medians(samples[1]), middle(ratios)}
	return c, c.checkSane()
}

// senseless is a ratio that no busy neighbour explains, not even in a short run: something else was measured than a node.
const senseless = 50

func (c comparison) checkSane() error {
	if c.ratio < 1.0/senseless || c.ratio > senseless {
		return fmt.Errorf("%s: %s and %s requests a second, a ratio of %.3f", c.scenario.name, thousands(c.first.rate), thousands(c.second.rate), c.ratio)
	}
	return nil
}

// measureLimits loads a node that asks Redis about every caller, and one that counts by itself.
func (n *nodesRun) measureLimits(ctx context.Context, wrk loader, r *reads, alone *assayServer) error {
	shared, err := n.onServer.start(ctx, "redis", n.keyFolder(), "read", "--limits", n.redis)
	if err != nil {
		return err
	}
	defer shared.Stop()
	cases := readScenarios("", time.Now())[:1] // the price, which is limited by address
	if err := shared.fetchBodies(ctx, cases); err != nil {
		return err
	}
	if r.limits, err = n.compare(ctx, wrk, [2]scenario{cases[0], cases[0]}, [2]*assayServer{shared, alone}); err != nil {
		return err
	}
	r.fallbacks, err = shared.fallbacks(ctx)
	return err
}
