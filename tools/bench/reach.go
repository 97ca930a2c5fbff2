package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// The goals of a node with many streams.
const (
	manyStreams       = 20_000
	streamMemoryLimit = 600e6 // bytes, resident, with all streams
	arrivalLimit      = 300 * time.Millisecond
	leastReads        = 0.80 // share of the requests per second without streams
)

// reach is what was measured of a node with streams.
type reach struct {
	streams       int
	before, with  memory        // without streams, and after all publications
	opened        time.Duration // how long it took to open them
	events        int           // publications that were sent to all streams
	alone, loaded arrivals      // of publications without reads, and under the reads
	reads         []sample      // without streams
	readsWith     []sample      // with streams, while a publication is sent
}

// otherFiles are what a node and this process have open besides streams: the load of reads, and the database.
const otherFiles = 1000

// streamCount is the number of streams: fewer than wanted if no process may open so many files.
func (o options) streamCount() (int, error) {
	if o.short {
		return 500, nil
	}
	files, err := allowDescriptors(manyStreams + otherFiles)
	return files - otherFiles, err
}

// settle is how long a publication has to arrive at all streams before they are read.
func (o options) settle() time.Duration {
	if o.short {
		return time.Second
	}
	return 3 * time.Second
}

// measureReach measures a node on SQLite that reads. Hours are published by command, so that nothing else happens.
func measureReach(ctx context.Context, o options, tools tools, dir string) (measurement, error) {
	hours := (2 + publicationsAlone) * o.rounds
	if err := checkHours(time.Now(), hours); err != nil {
		return nil, err
	}
	e := &engine{options: o, tools: tools, dir: dir, market: newMarket(1), hour: marketEnd}
	data := filepath.Join(dir, "reach")
	first, err := e.prepareHours(ctx, data, hours)
	if err != nil {
		return nil, err
	}
	key, err := e.createKey(ctx, data)
	if err != nil {
		return nil, err
	}
	streams, err := o.streamCount()
	if err != nil {
		return nil, err
	}
	server, err := e.start(ctx, "node", data, "read",
		"--streams-per-key", strconv.Itoa(streams), "--max-connections", strconv.Itoa(streams+otherFiles/2))
	if err != nil {
		return nil, err
	}
	defer server.Stop()
	m := &reachRun{engine: e, data: data, key: key, hour: first, server: server, found: reach{streams: streams}}
	return m.measure(ctx)
}

// publicationsAlone is how many publications are sent to the streams without reads, in each round.
const publicationsAlone = 3

// prepareHours makes a database with a month of published hours, and imports hours to publish.
func (e *engine) prepareHours(ctx context.Context, data string, count int) (first time.Time, err error) {
	if err := e.init(ctx, data); err != nil {
		return first, err
	}
	month := period{marketEnd.AddDate(0, -1, 0), marketEnd, 31 * 24 * e.hourRows / 10}
	if _, err := e.importPiece(ctx, data, month, 0, month.rows); err != nil {
		return first, err
	}
	if _, err := e.publish(ctx, data, time.Time{}, marketEnd); err != nil {
		return first, err
	}
	hours := e.nextHours(count)
	_, err = e.importPiece(ctx, data, hours, 0, hours.rows)
	return hours.from, err
}

// reachRun measures one node.
type reachRun struct {
	*engine
	data, key string
	hour      time.Time // the next to publish
	server    *assayServer
	wrk       loader
	found     reach
}

func (m *reachRun) measure(ctx context.Context) (_ measurement, err error) {
	if m.wrk, err = newLoader(m.tools["wrk"], m.dir); err != nil {
		return nil, err
	}
	s := []scenario{priceScenario}
	if err := m.server.fetchBodies(ctx, s); err != nil {
		return nil, err
	}
	t := target{process: m.server.Process, base: m.server.base}
	if _, err := loadOnce(ctx, m.wrk, s[0], t, time.Second); err != nil { // see loadInTurns
		return nil, err
	}
	if m.found.before, err = m.server.memory(); err != nil {
		return nil, err
	}
	for round := range m.rounds {
		if err := m.measureRound(ctx, t); err != nil {
			return nil, err
		}
		last := len(m.found.reads) - 1
		progress("round %d of %d: %s reads a second without streams, %s with", round+1, m.rounds,
			thousands(m.found.reads[last].rate), thousands(m.found.readsWith[last].rate))
	}
	return reachReport{options: m.options, tools: m.tools, at: time.Now(), reach: m.found}, nil
}

// measureRound reads without streams and with them, and publishes an hour during each load and one without a load.
func (m *reachRun) measureRound(ctx context.Context, t target) error {
	without, err := m.loadAndPublish(ctx, t)
	if err != nil {
		return err
	}
	m.found.reads = append(m.found.reads, without)
	begun := time.Now()
	all, err := openStreams(ctx, m.server.base, m.key, m.found.streams)
	if err != nil {
		return m.server.Explain(err)
	}
	defer all.Close()
	m.found.opened = max(m.found.opened, time.Since(begun))
	for range publicationsAlone {
		if err := m.publishNext(ctx); err != nil {
			return err
		}
		if err := m.collect(ctx, all, &m.found.alone); err != nil {
			return err
		}
	}
	with, err := m.loadAndPublish(ctx, t)
	if err != nil {
		return err
	}
	m.found.readsWith = append(m.found.readsWith, with)
	if err := m.collect(ctx, all, &m.found.loaded); err != nil {
		return err
	}
	m.found.with, err = m.server.memory()
	return err
}

// loadAndPublish publishes an hour in the middle of a load.
func (m *reachRun) loadAndPublish(ctx context.Context, t target) (sample, error) {
	load := startLoad(ctx, m.wrk, priceScenario, t, m.duration)
	select {
	case <-load.done:
		return load.sample, load.err
	case <-time.After(m.duration / 3):
	}
	err := m.publishNext(ctx)
	<-load.done
	if err == nil {
		err = load.err
	}
	return load.sample, err
}

func (m *reachRun) publishNext(ctx context.Context) error {
	_, err := m.publishHour(ctx, m.data, m.hour)
	m.hour = m.hour.Add(time.Hour)
	return err
}

// collect waits until a publication has arrived, and adds when it did.
func (m *reachRun) collect(ctx context.Context, all *streams, into *arrivals) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(m.settle()):
	}
	got, err := all.collect()
	if err != nil {
		return m.server.Explain(err)
	}
	progress("a publication has arrived: %s", got)
	m.found.events++
	into.after = append(into.after, got.after...)
	into.skipped += got.skipped
	return nil
}

// at is the time by which a share of the streams had the publication.
func (a arrivals) at(share float64) time.Duration {
	sorted := slices.Sorted(slices.Values(a.after))
	return sorted[min(len(sorted)-1, int(share*float64(len(sorted))))]
}

func (a arrivals) String() string {
	return fmt.Sprintf("p50 %s, p99 %s, max %s", millis(a.at(0.5)), millis(a.at(0.99)), millis(a.at(1)))
}
