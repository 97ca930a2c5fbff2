package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// reading is what readers get while nothing is published and while hours are, one after the other.
type reading struct {
	quiet, busy sample
	hours       int // published while busy
}

// readingScenario asks for a price that every published hour changes.
var readingScenario = scenario{name: "read", path: "/api/gpu/H200"}

// measureReading serves the data folder under load and publishes meanwhile by the command, as an operator would.
//
// The server publishes by itself what follows the end of what is published. So the last hour before now, which is empty,
// is published first: what lies between is left to us.
func (e *engine) measureReading(ctx context.Context, data string) (r reading, err error) {
	hours := e.takeHours(e.readingHours())
	if _, err := e.loadPiece(ctx, data, hours, 0, hours.rows); err != nil {
		return r, err
	}
	now := time.Now().UTC().Truncate(time.Hour)
	if _, err := e.publish(ctx, data, now.Add(-time.Hour), now); err != nil {
		return r, err
	}
	server, err := startServer(ctx, e.options.assay, e.dir, "serve", "--dir", data)
	if err != nil {
		return r, err
	}
	defer server.Stop()
	if err := server.Await(ctx, time.Minute, server.caughtUp); err != nil {
		return r, err
	}
	wrk, err := newLoader(e.tools["wrk"], e.dir)
	if err != nil {
		return r, err
	}
	return e.readTwice(ctx, data, hours.from, wrk, server)
}

// caughtUp waits for the days that the server publishes at its start, which are not what is measured.
func (a *assayServer) caughtUp(context.Context) error {
	text, err := os.ReadFile(a.Log)
	if err == nil && !strings.Contains(string(text), `"msg":"published"`) {
		err = fmt.Errorf("%s does not tell that the server has caught up", filepath.Base(a.Log))
	}
	return err
}

// readTwice loads the server while nothing else happens and then while hours are published.
func (e *engine) readTwice(ctx context.Context, data string, hour time.Time, wrk loader, server *assayServer) (r reading, err error) {
	scenarios := []scenario{readingScenario}
	if err := server.fetchBodies(ctx, scenarios); err != nil {
		return r, err
	}
	s, t := scenarios[0], target{server.Process, server.base}
	if !e.short {
		if _, err := loadOnce(ctx, wrk, s, t, time.Second); err != nil { // see measure
			return r, err
		}
	}
	if r.quiet, err = loadOnce(ctx, wrk, s, t, e.duration); err != nil {
		return r, err
	}
	load := startLoad(ctx, wrk, s, t, e.duration)
	r.hours, err = e.publishDuring(ctx, data, hour, load)
	if err != nil {
		return r, err
	}
	if r.busy, err = load.sample, load.err; err != nil {
		return r, err
	}
	say("reads: %s a second in quiet, %s while %d hours were published", thousands(r.quiet.rate), thousands(r.busy.rate), r.hours)
	return r, server.Await(ctx, 10*time.Second, func(ctx context.Context) error { return server.moved(ctx, s) })
}

// moved tells whether the price is another than the scenario's: else nobody has read what was published.
func (a *assayServer) moved(ctx context.Context, s scenario) error {
	got, err := fetch(ctx, a.base, s)
	if err == nil && bytes.Equal(got, s.body) {
		err = fmt.Errorf("GET %s: hours were published, and the answer is still %s", s.path, got)
	}
	return err
}

// pendingLoad is a load that runs beside us; its result is there when done is closed.
type pendingLoad struct {
	done   chan struct{}
	sample sample
	err    error
}

func startLoad(ctx context.Context, wrk loader, s scenario, t target, d time.Duration) *pendingLoad {
	p := &pendingLoad{done: make(chan struct{})}
	go func() {
		defer close(p.done)
		runtime.LockOSThread() // the thread has to outlive wrk, see main
		defer runtime.UnlockOSThread()
		p.sample, p.err = loadOnce(ctx, wrk, s, t, d)
	}()
	return p
}

// publishDuring publishes hour after hour while the load runs, and counts those that were done before it ended. The load
// has ended when it returns.
func (e *engine) publishDuring(ctx context.Context, data string, hour time.Time, load *pendingLoad) (hours int, err error) {
	defer func() { <-load.done }()
	for ; hours < e.readingHours(); hours++ {
		if _, err := e.publishHour(ctx, data, hour.Add(time.Duration(hours)*time.Hour)); err != nil {
			return hours, err
		}
		select {
		case <-load.done:
			return hours, nil
		default:
		}
	}
	return hours, fmt.Errorf("all %d hours were published before the load ended", hours)
}
