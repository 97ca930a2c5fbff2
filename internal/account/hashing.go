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

// run calls compute when it is the caller's turn. A caller whose context ends leaves the queue.
func (q *hashQueue) run(ctx context.Context, known bool, compute func() error) error {
	q.once.Do(q.init)
	if !known {
		if !enter(q.unknown) {
			return errBusy
		}
		defer leave(q.unknown)
	}
	if !enter(q.places) {
		return errBusy
	}
	defer leave(q.places)
	select {
	case q.running <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer leave(q.running)
	if q.before != nil {
		q.before()
	}
	if err := compute(); err != nil {
		return fmt.Errorf("hash a password: %w", err)
	}
	return nil
}

// enter takes a place if one is free.
func enter(places chan struct{}) bool {
	select {
	case places <- struct{}{}:
		return true
	default:
		return false
	}
}

func leave(places chan struct{}) { <-places }
