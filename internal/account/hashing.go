package account

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/assaydata/assay"
)

// maxHashers bounds how many passwords are hashed at once however many cores there are: each takes 19 MiB.
const maxHashers = 4

// hashQueue bounds the hashing of passwords, which takes a core and 19 MiB for about 50 ms. Half of the cores stay free
// for reads, and no more callers wait than get their turn within about two seconds.
type hashQueue struct {
	once    sync.Once
	places  chan struct{} // taken by the callers that wait or hash
	unknown chan struct{} // of those, taken by callers that this server does not know
	running chan struct{} // taken by those that hash

	before func() // called before each hash; nil, except in tests
}

// waitingPerHasher is how many callers may wait for one that hashes, and keptForKnown how many of the places only known
// callers get: however many strangers guess, someone who has signed in before finds one.
const (
	waitingPerHasher = 32
	keptForKnown     = 8
)

// errBusy refuses a caller when as many wait as may.
var errBusy = &assay.Error{
	Kind: assay.Unavailable, Code: "busy", RetryAfter: 2 * time.Second,
	Message: "Too many sign-ins at the moment. Retry in 2 seconds.",
}

func (q *hashQueue) init() {
	hashers := min(max(1, runtime.GOMAXPROCS(0)/2), maxHashers)
	q.running = make(chan struct{}, hashers)
	q.places = make(chan struct{}, hashers*(1+waitingPerHasher))
	q.unknown = make(chan struct{}, hashers*(1+waitingPerHasher-keptForKnown))
}

// place is the place of a caller in the queue.
type place struct {
	queue *hashQueue
	known bool // the caller is signed in, or has been on the same device
}

// enter takes a place, or refuses the caller. It comes before everything else that a sign-in costs, so that a flood of
// guesses takes little from reads.
func (q *hashQueue) enter(known bool) (place, error) {
	q.once.Do(q.init)
	if !known && !take(q.unknown) {
		return place{}, errBusy
	}
	if !take(q.places) {
		if !known {
			give(q.unknown)
		}
		return place{}, errBusy
	}
	return place{q, known}, nil
}

// leave gives the place back.
func (p place) leave() {
	give(p.queue.places)
	if !p.known {
		give(p.queue.unknown)
	}
}

// run calls compute when it is the caller's turn. A caller whose context ends loses it.
func (p place) run(ctx context.Context, compute func() error) error {
	q := p.queue
	select {
	case q.running <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer give(q.running)
	if q.before != nil {
		q.before()
	}
	if err := compute(); err != nil {
		return fmt.Errorf("hash a password: %w", err)
	}
	return nil
}

// take takes a place if one is free.
func take(places chan struct{}) bool {
	select {
	case places <- struct{}{}:
		return true
	default:
		return false
	}
}

func give(places chan struct{}) { <-places }
