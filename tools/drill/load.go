//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/assaydata/assay/tools/process"
)

// question is a request of the load, and what every answer to it holds.
type question struct {
	path  string
	keyed bool
	want  string
}

// questions are of all kinds that a node answers from memory: the determination records alone are read from the store.
var questions = []question{
	{"/api/gpu/H100%20SXM", false, `"index_value":`},
	{"/api/gpu/H100%20SXM/hourly", true, `"index_value":`},
	{"/api/daily-index", false, `"index_value":`},
	{"/api/gpu/H100%20SXM/history?datetime=2025-01-01", true, `"time_difference":`},
	{"/api/gpu-types", false, `"gpu_name":"H100 SXM"`},
	{"/api/gpu/H100%20SXM/realtime", true, `"latest":{`},
	{"/api/publications/latest", false, `"version":`},
	{"/api/gpu/H100%20SXM/index-history", false, `"access":"public-3mo"`},
}

const (
	readEvery  = 40 * time.Millisecond // of one reader; every node has one
	checkEvery = 100 * time.Millisecond
)

// read asks a node at a steady rate. While the load goes through a balancer, it is whichever node is up.
func (d *drill) read(ctx context.Context, own int) {
	for i := own; every(ctx, readEvery); i++ {
		q, balanced := questions[i%len(questions)], d.balanced.Load()
		r := d.readers[own]
		if balanced {
			r = d.pick(i)
		}
		if r == nil {
			d.log.read("the balancer finds no node up")
			continue
		}
		before := r.life.Load()
		if !balanced && before%2 == 0 {
			continue
		}
		failure := d.question(ctx, r, q)
		if ctx.Err() != nil || failure != "" && !balanced && r.life.Load() != before {
			continue // it was lost meanwhile
		}
		d.log.read(failure)
	}
}

// question gives what is wrong with the answer, or nothing.
func (d *drill) question(ctx context.Context, r *reader, q question) string {
	key := ""
	if q.keyed {
		key = d.key
	}
	a, err := r.ask(ctx, q.path, key, freshAddress())
	if err == nil && (a.status != http.StatusOK || !bytes.Contains(a.body, []byte(q.want))) {
		err = fmt.Errorf("status %d: %s", a.status, process.Tail(a.body))
	}
	if err != nil {
		return fmt.Sprintf("%s %s: %v", r.name, q.path, err)
	}
	return ""
}

// pick is the balancer's choice: in turns among those that are up.
func (d *drill) pick(turn int) *reader {
	for i := range d.readers {
		if r := d.readers[(turn+i)%len(d.readers)]; r.up.Load() {
			return r
		}
	}
	return nil
}

// check is the balancer's look at a node. It is up when it answers, with or without its database, as docs/operate.md has it.
func (d *drill) check(ctx context.Context, r *reader) {
	for every(ctx, checkEvery) {
		h, err := r.health(ctx)
		r.up.Store(err == nil && (h.Status == "healthy" || h.Status == "unhealthy"))
	}
}

// every waits, and tells whether to go on.
func every(ctx context.Context, pause time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(pause):
		return true
	}
}
