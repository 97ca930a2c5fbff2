//go:build linux

package main

import (
	"sync"
	"time"
)

// phase is a stretch of the drill, and what happened in it.
type phase struct {
	name         string
	begun        time.Time
	reads        int
	failed       int
	failure      string // the first
	writes       int    // rows that were acknowledged
	lostWrites   int
	hours        []time.Time // whose publication was acknowledged
	lost         int         // of them, and of the minutes
	doubled      int
	took         time.Duration // to a new publication on all nodes
	since        string        // what took is counted from
	overshoot    int
	mayOvershoot int
}

// tally takes down what happens, in the phase in which it does.
type tally struct {
	mu     sync.Mutex
	phases []*phase
}

// begin ends one phase and begins the next.
func (t *tally) begin(name string) *phase {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := &phase{name: name, begun: time.Now()}
	t.phases = append(t.phases, p)
	return p
}

// note changes the phase that is on.
func (t *tally) note(change func(p *phase)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	change(t.phases[len(t.phases)-1])
}

// read takes down a request, and what was wrong with its answer.
func (t *tally) read(failure string) {
	t.note(func(p *phase) {
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

// at is the phase that was on at a time.
func (t *tally) at(when time.Time) *phase {
	found := t.phases[0]
	for _, p := range t.phases {
		if !p.begun.After(when) {
			found = p
		}
	}
	return found
}
