//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/assaydata/assay/tools/target"
)

// outcome is how a request ended.
type outcome uint8

const (
	served    outcome = iota // 2xx and 3xx
	unchanged                // 304
	rejected                 // 4xx, except 429
	limited                  // 429
	busy                     // 503 with Retry-After
	refused                  // by the transport, before a route: a plain status or the end of the connection
	outcomes
)

func outcomeOf(r *request, a *received) outcome {
	switch {
	case a == nil || r.broken && isRefusal(a):
		return refused
	case a.status == http.StatusNotModified:
		return unchanged
	case a.status == http.StatusTooManyRequests:
		return limited
	case a.status >= 500:
		return busy
	case a.status >= 400:
		return rejected
	}
	return served
}

// tally counts outcomes by caller.
type tally struct {
	counts [roles][outcomes]atomic.Int64
	total  atomic.Int64
}

func (t *tally) count(r *request, a *received) {
	t.counts[r.role][outcomeOf(r, a)].Add(1)
	t.total.Add(1)
}

// workers is how many connections the campaign has at a time.
const workers = 12

// mostFailures is when a campaign gives up: the first failures say enough.
const mostFailures = 20

// campaign sends exchanges, counted by number, until enough requests have been sent.
type campaign struct {
	server    string
	generator *generator
	checker   *checker
	next      atomic.Uint64 // number of the next exchange

	mu       sync.Mutex
	failures []error
}

// run sends at least so many requests.
func (c *campaign) run(ctx context.Context, requests int64, t *tally) error {
	return c.carryAll(ctx, &c.next, c.generator.exchange, requests, 0, t)
}

// carryAll sends exchanges, at most rate requests a second (0: as fast as possible), until enough requests were sent or
// none are left.
func (c *campaign) carryAll(
	ctx context.Context, next *atomic.Uint64, exchange func(number uint64) *exchange, requests int64, rate int, t *tally,
) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	before := len(c.failures)
	begun := time.Now()
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			carrier := c.newCarrier(t.count)
			defer carrier.close()
			for ctx.Err() == nil && t.total.Load() < requests {
				e := exchange(next.Add(1) - 1)
				if e == nil {
					return
				}
				if err := carrier.carry(ctx, e); err != nil && ctx.Err() == nil && c.fail(err) {
					stop()
				}
				if rate > 0 {
					target.Pause(ctx, time.Until(begun.Add(time.Duration(t.total.Load())*time.Second/time.Duration(rate))))
				}
			}
		})
	}
	group.Wait()
	return errors.Join(c.failures[before:]...)
}

func (c *campaign) newCarrier(count func(*request, *received)) *carrier {
	return &carrier{server: c.server, check: c.checker.check, count: count, client: target.NewClient(proxyFrom)}
}

// only sends one exchange and shows it.
func (c *campaign) only(ctx context.Context, number uint64) error {
	show := func(r *request, a *received) {
		shown := "none"
		if a != nil {
			shown = a.shown()
		}
		fmt.Printf("request  %s\n  response %s\n", r.shown(), shown)
	}
	carrier := c.newCarrier(show)
	defer carrier.close()
	return carrier.carry(ctx, c.generator.exchange(number))
}

// fail reports and remembers a failure, and tells that it is the last.
func (c *campaign) fail(err error) bool {
	progress("%v", err)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failures = append(c.failures, err)
	return len(c.failures) >= mostFailures
}
