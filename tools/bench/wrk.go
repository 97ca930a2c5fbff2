package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/assaydata/assay/tools/process"
)

// Two threads and 32 connections keep two cores busy without long queues. Beside nginx there are twice as many: a tail
// shows under load.
const (
	wrkThreads        = 2 // wrk.lua has addresses for two
	wrkConnections    = 32
	serverConnections = 64
)

//go:embed wrk.lua
var wrkScript []byte

// loader runs wrk.
type loader struct {
	program, script string
	connections     int
}

func newLoader(program, dir string) (loader, error) {
	script := filepath.Join(dir, "wrk.lua")
	return loader{program, script, wrkConnections}, os.WriteFile(script, wrkScript, 0o600)
}

// load sends the scenario's request as fast as it is served. A single response that is not complete is an error.
func (l loader) load(ctx context.Context, base string, s scenario, d time.Duration) (sample, error) {
	ctx, cancel := context.WithTimeout(ctx, d+30*time.Second)
	defer cancel()
	if err := os.WriteFile(l.paths(), []byte(pathList(s)), 0o600); err != nil {
		return sample{}, err
	}
	cmd := exec.CommandContext(ctx, l.program, l.args(base, s, d)...)
	cmd.SysProcAttr = process.EndWithParent(syscall.SIGKILL, nil)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		return sample{}, fmt.Errorf("run wrk: %w: %s", err, strings.TrimSpace(errOut.String()))
	}
	t, err := parseTally(out.String())
	if err != nil {
		return sample{}, err
	}
	return t.sample(), t.check(s.smallest())
}

// paths is the file of the paths that wrk.lua requests at random.
func (l loader) paths() string { return l.script + ".paths" }

// pathList are the paths of a scenario with ranges, one a line.
func pathList(s scenario) (list string) {
	for _, r := range s.ranges {
		list += r.path + "\n"
	}
	return list
}

func (l loader) args(base string, s scenario, d time.Duration) []string {
	args := []string{
		fmt.Sprintf("-t%d", wrkThreads),
		fmt.Sprintf("-c%d", l.connections),
		fmt.Sprintf("-d%ds", int(d.Seconds())),
		"--timeout", "60s", // a stall on a shared machine is slow, not wrong
		"--latency",
		"-s", l.script,
		base + s.path, "--",
	}
	if s.ranges != nil {
		args = append(args, "@"+l.paths())
	}
	for _, h := range s.headers() {
		args = append(args, h.name+": "+h.value)
	}
	return args
}

// tally is the line wrk.lua prints, in its order. Times are in microseconds.
type tally struct {
	requests, bytes, duration, p50, p99 int64
	status                              int64 // responses with a status above 399
	connect, read, write, timeout       int64 // socket errors
}

func parseTally(out string) (tally, error) {
	var t tally
	_, line, found := strings.Cut(out, "bench: ")
	if !found {
		return t, fmt.Errorf("wrk printed no result line: %q", out)
	}
	_, err := fmt.Sscan(line, &t.requests, &t.bytes, &t.duration, &t.p50, &t.p99,
		&t.status, &t.connect, &t.read, &t.write, &t.timeout)
	if err != nil {
		return t, fmt.Errorf("parse wrk's result line %q: %w", line, err)
	}
	return t, nil
}

// errNoResponse also means that every response took longer than the load.
var errNoResponse = errors.New("there was no response")

// check returns an error unless every response was good and complete. The size finds what wrk does not count as an
// error: an empty 204, a redirect.
func (t tally) check(bodySize int) error {
	switch {
	case t.connect+t.read+t.write+t.timeout > 0:
		return fmt.Errorf("socket errors: %d connect, %d read, %d write, %d timeout", t.connect, t.read, t.write, t.timeout)
	case t.status > 0:
		return fmt.Errorf("%d of %d responses had an error status (if it is 429, the server does not take client "+
			"addresses from X-Forwarded-For)", t.status, t.requests)
	case t.requests == 0 || t.duration == 0:
		return errNoResponse
	case t.bytes/t.requests < int64(bodySize):
		return fmt.Errorf("responses had %d bytes on average, the body alone has %d", t.bytes/t.requests, bodySize)
	}
	return nil
}

// sample is the result of one load, or the medians of several.
type sample struct {
	rate     float64 // requests per second
	p50, p99 time.Duration
}

func (t tally) sample() sample {
	return sample{
		rate: float64(t.requests) / max(float64(t.duration)/1e6, 1e-6),
		p50:  time.Duration(t.p50) * time.Microsecond,
		p99:  time.Duration(t.p99) * time.Microsecond,
	}
}

// medians takes the median of each number separately.
func medians(samples []sample) sample {
	return sample{
		rate: medianOf(samples, func(s sample) float64 { return s.rate }),
		p50:  medianOf(samples, func(s sample) time.Duration { return s.p50 }),
		p99:  medianOf(samples, func(s sample) time.Duration { return s.p99 }),
	}
}

func medianOf[T number](samples []sample, of func(sample) T) T {
	values := make([]T, len(samples))
	for i, s := range samples {
		values[i] = of(s)
	}
	return median(values)
}

type number interface{ ~int64 | ~float64 }

// median is the middle value, or the mean of the middle two. It needs at least one value.
func median[T number](values []T) T {
	values = slices.Sorted(slices.Values(values))
	upper := len(values) / 2
	if len(values)%2 == 1 {
		return values[upper]
	}
	return (values[upper-1] + values[upper]) / 2
}
