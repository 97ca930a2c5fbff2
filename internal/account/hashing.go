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
	running chan struct{} // taken by those that hash

	before func() // called before each hash; nil, except in tests
}

// waitingPerHasher is how many callers may wait for one that hashes.
const waitingPerHasher = 32

// errBusy refuses a caller when as many wait as may.
var errBusy = &assay.Error{
	Kind: assay.Unavailable, Code: "busy", RetryAfter: 2 * time.Second,
	Message: "Too many sign-ins at the moment. Retry in 2 seconds.",
}

func (q *hashQueue) init() {
	hashers := min(max(1, runtime.GOMAXPROCS(0)/2), maxHashers)
	q.running = make(chan struct{}, hashers)
	q.places = make(chan struct{}, hashers*(1+waitingPerHasher))
}

// run calls compute when it is this caller's turn. A caller whose context ends leaves the queue.
func (q *hashQueue) run(ctx context.Context, compute func() error) error {
	q.once.Do(q.init)
	select {
	case q.places <- struct{}{}:
	default:
		return errBusy
	}
	defer func() { <-q.places }()
	select {
	case q.running <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-q.running }()
	if q.before != nil {
		q.before()
	}
	if err := compute(); err != nil {
		return fmt.Errorf("hash a password: %w", err)
	}
	return nil
}
