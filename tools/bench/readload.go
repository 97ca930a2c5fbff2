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

// readLoad is the load on the price route: without publishing, and while hours are published one after the other.
type readLoad struct {
	quiet, busy sample
	hours       int // published while busy
}

// priceScenario requests a price that every published hour changes.
var priceScenario = scenario{name: "read", path: "/api/gpu/H200"}

// measureReadLoad serves the data folder under load and publishes at the same time by command, as an operator would.
//
// The server automatically publishes everything after the last published hour. So the last hour before now is published
// first: the hours in between are left for the measurement.
func (e *engine) measureReadLoad(ctx context.Context, data string) (r readLoad, err error) {
	hours := e.nextHours(e.hoursToPublish())
	if _, err := e.importPiece(ctx, data, hours, 0, hours.rows); err != nil {
		return r, err
	}
	if err := e.publishLastHour(ctx, data); err != nil {
		return r, err
	}
	server, err := startServer(ctx, e.options.assay, e.dir, append([]string{"serve", "--dir", data}, withoutHorizon...)...)
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
	return e.loadQuietAndBusy(ctx, data, hours.from, wrk, server)
}

// caughtUp is an error until the server has published the days it owes at its start, which are not measured.
func (a *assayServer) caughtUp(context.Context) error {
	text, err := os.ReadFile(a.Log)
	if err == nil && !strings.Contains(string(text), `"msg":"published"`) {
		err = fmt.Errorf("%s does not say that the server has caught up", filepath.Base(a.Log))
	}
	return err
}

// loadQuietAndBusy loads the server without publishing, and then while hours are published.
func (e *engine) loadQuietAndBusy(
	ctx context.Context, data string, hour time.Time, wrk loader, server *assayServer,
) (r readLoad, err error) {
	scenarios := []scenario{priceScenario}
	if err := server.fetchBodies(ctx, scenarios); err != nil {
		return r, err
	}
	s, t := scenarios[0], target{process: server.Process, base: server.base}
	if !e.short {
		if _, err := loadOnce(ctx, wrk, s, t, time.Second); err != nil { // see loadInTurns
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
	progress("reads: %s a second without publishing, %s while %d hours were published",
		thousands(r.quiet.rate), thousands(r.busy.rate), r.hours)
	return r, server.Await(ctx, 10*time.Second, func(ctx context.Context) error { return server.priceChanged(ctx, s) })
}

// priceChanged is an error while the price is still the scenario's: then no reader has seen what was published.
func (a *assayServer) priceChanged(ctx context.Context, s scenario) error {
	got, err := fetch(ctx, a.base, s)
	if err == nil && bytes.Equal(got, s.body) {
		err = fmt.Errorf("GET %s: hours were published, and the response is still %s", s.path, got)
	}
	return err
}

// pendingLoad is a load in the background; its result is set when done is closed.
type pendingLoad struct {
	done   chan struct{}
	sample sample
	err    error
}

func startLoad(ctx context.Context, wrk loader, s scenario, t target, d time.Duration) *pendingLoad {
	p := &pendingLoad{done: make(chan struct{})}
	go func() {
		defer close(p.done)
		runtime.LockOSThread() // the thread has to outlive wrk, see process.Main
		defer runtime.UnlockOSThread()
		p.sample, p.err = loadOnce(ctx, wrk, s, t, d)
	}()
	return p
}

// publishDuring publishes hour after hour while the load runs, and counts those it finished before the load ended. The
// load has ended when it returns.
func (e *engine) publishDuring(
	ctx context.Context, data string, hour time.Time, load *pendingLoad,
) (hours int, err error) {
	defer func() { <-load.done }()
	for ; hours < e.hoursToPublish(); hours++ {
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
