//go:build linux

package main

import (
	"context"
	"fmt"
	"net/http"
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
// Where a node has counted by itself within the window, each node may have admitted the limit; a node that was started
// meanwhile has forgotten what it admitted before, and counts as one more.
func (t *tally) countOvershoots(admitted []admission, restarts []time.Time) {
	for i, over := range overshoots(admitted) {
		p := t.at(admitted[i].answered)
		p.overshoot = max(p.overshoot, over)
	}
	for i, p := range t.phases {
		alone := p.fallbacks > 0
		for j, earlier := range t.phases[:i] {
			alone = alone || earlier.fallbacks > 0 && p.begun.Sub(t.phases[j+1].begun) < limitWindow
		}
		if !alone {
			continue
		}
		nodes := readNodes
		for _, at := range restarts {
			if at.After(p.begun.Add(-limitWindow)) && (i+1 == len(t.phases) || at.Before(t.phases[i+1].begun)) {
				nodes++
			}
		}
		p.mayOvershoot = limitMost * (nodes - 1)
	}
}

// countFallbacks takes down how often nodes have counted by themselves since it was called last.
func (d *drill) countFallbacks(ctx context.Context) {
	for _, r := range d.readers {
		h, err := r.health(ctx)
		if err != nil || h.Status != "healthy" {
			continue // another time
		}
		d.log.note(func(p *phase) { p.fallbacks += h.Limits.Fallbacks - r.fallbacks })
		r.fallbacks = h.Limits.Fallbacks
	}
}
