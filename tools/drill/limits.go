//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"
)

const (
	limitWindow = time.Minute
	limitMost   = 60 // the public limit, by address
	greedyPause = 40 * time.Millisecond
	greedy      = "198.51.100.7"
)

// admission is a request that was let through: the node decided on it somewhere between the two times.
type admission struct{ sent, answered time.Time }

// exceed has one client ask all nodes in turn for far more than its limit, and gives what it was admitted. Nodes that live let it
// through or say that it was too much.
func (d *drill) exceed(work context.Context) (admitted []admission) {
	for i := 0; every(work, greedyPause); i++ {
		r, sent := d.readers[i%len(d.readers)], time.Now()
		before := r.life.Load()
		a, err := r.ask(work, "/api/gpu-types", "", greedy)
		switch {
		case work.Err() != nil:
		case err == nil && a.status == http.StatusOK:
			admitted = append(admitted, admission{sent, time.Now()})
		case before%2 == 1 && r.life.Load() == before && a.status != http.StatusTooManyRequests:
			d.log.read(fmt.Sprintf("%s to a client beyond its limit: status %d, %v", r.name, a.status, err))
		}
	}
	return admitted
}

// overshoots gives, for each admission, how many more than the limit were certainly admitted in the window that ends with it.
func overshoots(admitted []admission) []int {
	over, first := make([]int, len(admitted)), 0
	for i, a := range admitted {
		for first <= i && a.answered.Sub(admitted[first].sent) >= limitWindow {
			first++
		}
		over[i] = max(0, i-first+1-limitMost)
	}
	return over
}

// countOvershoots enters the largest overshoot of each phase, and what the documentation allows: nothing while Redis counts.
// Where a node has begun to count by itself within the window, each node may have admitted the limit; a node that was started
// meanwhile has forgotten what it admitted before, and counts as one more.
func (t *tally) countOvershoots(admitted []admission, fallbacks, restarts []time.Time) {
	for i, over := range overshoots(admitted) {
		p := t.at(admitted[i].answered)
		p.overshoot = max(p.overshoot, over)
	}
	for i, p := range t.phases {
		during := func(at time.Time) bool {
			return at.After(p.begun.Add(-limitWindow)) && (i+1 == len(t.phases) || at.Before(t.phases[i+1].begun))
		}
		if !slices.ContainsFunc(fallbacks, during) {
			continue
		}
		nodes := readNodes
		for _, at := range restarts {
			if during(at) {
				nodes++
			}
		}
		p.mayOvershoot = limitMost * (nodes - 1)
	}
}

// fellBack is what a node logs when it begins to count by itself.
const fellBack = "Redis is slow or away"

// fallbacks reads in the nodes' logs when they have begun to count by themselves. /health tells it too, but forgets with the node.
func (d *drill) fallbacks() (times []time.Time, err error) {
	for _, r := range d.readers {
		text, err := os.ReadFile(r.process.Log)
		if err != nil {
			return nil, err
		}
		for line := range bytes.Lines(text) {
			var entry struct {
				Time time.Time
				Msg  string
			}
			if json.Unmarshal(line, &entry) == nil && strings.HasPrefix(entry.Msg, fellBack) { // its first line is no JSON
				times = append(times, entry.Time)
			}
		}
	}
	return times, nil
}
