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

// readRequest is a request of the load, and a text that every response to it contains.
type readRequest struct {
	path  string
	keyed bool
	want  string
}

// readRequests cover the routes that a node serves from memory; only determination records come from the database.
var readRequests = []readRequest{
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
	readEvery  = 40 * time.Millisecond // for each node
	checkEvery = 100 * time.Millisecond
)

// readRepeatedly sends requests to a node at a steady rate. While the load goes through the balancer, it is any node
// that is up.
func (d *drill) readRepeatedly(ctx context.Context, own int) {
	for i := own; pause(ctx, readEvery); i++ {
		q, balanced := readRequests[i%len(readRequests)], d.balanced.Load()
		r := d.readNodes[own]
		if balanced {
			r = d.pick(i)
		}
		if r == nil {
			d.journal.recordRead("the balancer finds no node that is up")
			continue
		}
		before := r.lifecycle.Load()
		if !balanced && before%2 == 0 {
			continue
		}
		failure := d.checkResponse(ctx, r, q)
		if ctx.Err() != nil || failure != "" && !balanced && r.lifecycle.Load() != before {
			continue // the node was killed during the request
		}
		d.journal.recordRead(failure)
	}
}

// checkResponse sends a request and returns what is wrong with the response, or nothing.
func (d *drill) checkResponse(ctx context.Context, r *readNode, q readRequest) string {
	key := ""
	if q.keyed {
		key = d.key
	}
	a, err := r.get(ctx, q.path, key, freshAddress())
	if err == nil && (a.status != http.StatusOK || !bytes.Contains(a.body, []byte(q.want))) {
		err = fmt.Errorf("status %d: %s", a.status, process.Tail(a.body))
	}
	if err != nil {
		return fmt.Sprintf("%s %s: %v", r.name, q.path, err)
	}
	return ""
}

// pick is the balancer's choice: the nodes that are up, in turns.
func (d *drill) pick(turn int) *readNode {
	for i := range d.readNodes {
		if r := d.readNodes[(turn+i)%len(d.readNodes)]; r.up.Load() {
			return r
		}
	}
	return nil
}

// checkRepeatedly is the balancer's health check of a node. A node is up when it responds, with or without its
// database, as docs/operate.md describes.
func (d *drill) checkRepeatedly(ctx context.Context, r *readNode) {
	for pause(ctx, checkEvery) {
		h, err := r.health(ctx)
		r.up.Store(err == nil && (h.Status == "healthy" || h.Status == "unhealthy"))
	}
}

// pause waits, and returns false if the context ends first.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
