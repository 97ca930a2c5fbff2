//go:build linux

package main

import (
	"sync"
	"time"
)

// phase is a part of the drill, and what happened in it.
type phase struct {
	name             string
	begun            time.Time
	reads            int
	failed           int
	failure          string // the first
	writes           int    // rows that were acknowledged
	lostWrites       int
	hours            []time.Time // with an acknowledged publication
	lost             int         // of them, and of the minutes
	duplicated       int
	took             time.Duration // to a new publication on all nodes
	since            string        // what took is counted from
	overshoot        int
	allowedOvershoot int
	mixed            bool // nodes of two releases run, which may count in different ways
}

// journal records what happens in each phase.
type journal struct {
	mu     sync.Mutex
	phases []*phase
}

// begin ends one phase and begins the next.
func (j *journal) begin(name string) *phase {
	j.mu.Lock()
	defer j.mu.Unlock()
	p := &phase{name: name, begun: time.Now()}
	j.phases = append(j.phases, p)
	return p
}

// record changes the current phase.
func (j *journal) record(change func(p *phase)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	change(j.phases[len(j.phases)-1])
}

// recordRead counts a request, and what was wrong with its response.
func (j *journal) recordRead(failure string) {
	j.record(func(p *phase) {
		p.reads++
		if failure == "" {
			return
		}
		p.failed++
		if p.failure == "" {
			p.failure = failure
		}
	})
}

// phaseAt is the phase at a time.
func (j *journal) phaseAt(when time.Time) *phase {
	found := j.phases[0]
	for _, p := range j.phases {
		if !p.begun.After(when) {
			found = p
		}
	}
	return found
}
