// Package usage counts requests by key, route, status and day, and keeps the counts in the store.
//
// A request must not wait for its being counted. So Count only raises a number in memory, under a lock that it nearly always
// finds free: the numbers are spread over shards, and each request picks one by chance, which also spares a busy key from
// queueing behind itself. Every few seconds the numbers of all shards are added to the store in one transaction. What could
// not be written stays and is written the next time; what a clean stop finds is written by the last Flush. Only a process
// that is killed loses what it counted since the last one.
//
// The store keeps sums, so several nodes may count the same key. It holds ids of keys, never their texts.
package usage

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
)

const (
	shards = 16 // a power of two, some times the cores of a small server
	// shardCells bounds a shard: a key that calls every route with every outcome has a few hundred cells a day. All shards
	// full are about 30 MB.
	shardCells = 16_384
	// maxWaiting bounds what waits for a store that cannot be written.
	maxWaiting = 262_144
	flushEvery = 5 * time.Second
	// readWait is how long a reader waits for the newest counts to be written, before it does without.
	readWait = time.Second
)

// Counter counts requests. It is safe for concurrent use.
type Counter struct {
	Store *store.DB
	Log   *slog.Logger

	shards  [shards]shard
	writing chan struct{}  // holds one entry while somebody flushes; made by New
	waiting map[cell]tally // what the store has not taken yet; for who flushes
}

// cell is what is counted together.
type cell struct {
	day    int64
	keyID  string
	route  string
	status int
}

// tally is a number of requests and the instant of the last one.
type tally struct{ requests, last int64 }

func (t tally) plus(o tally) tally { return tally{t.requests + o.requests, max(t.last, o.last)} }

// shard is a part of the numbers under one lock.
type shard struct {
	mu     sync.Mutex
	counts map[cell]tally // guarded by mu
	lost   int64          // requests for which there was no room; guarded by mu
	spare  map[cell]tally // empty, to take the place of counts; for who flushes
	_      [64]byte       // keeps neighbours off the same line of the processor's cache
}

// New makes a counter.
func New(db *store.DB, log *slog.Logger) *Counter {
	c := &Counter{Store: db, Log: log, writing: make(chan struct{}, 1), waiting: map[cell]tally{}}
	for i := range c.shards {
		c.shards[i].counts, c.shards[i].spare = map[cell]tally{}, map[cell]tally{}
	}
	return c
}

// Count counts one request of a key that ended at an instant.
func (c *Counter) Count(keyID, route string, status int, now int64) {
	c.shards[rand.Uint32()%shards].add(cell{assay.StartOfDay(now), keyID, route, status}, tally{1, now}) //nolint:gosec // G404: any spread will do
}

func (s *shard) add(at cell, t tally) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, known := s.counts[at]
	if !known && len(s.counts) >= shardCells {
		s.lost += t.requests
		return
	}
	s.counts[at] = found.plus(t)
}

// take gives away what a shard has counted.
func (s *shard) take() (counts map[cell]tally, lost int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts, lost = s.counts, s.lost
	s.counts, s.lost = s.spare, 0
	return counts, lost
}

// Run writes the counts every few seconds until the context ends. What is counted after that is for a last Flush.
func (c *Counter) Run(ctx context.Context) error {
	ticker := time.NewTicker(flushEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			if err := c.Flush(ctx); err != nil && ctx.Err() == nil {
				c.Log.Error("write the usage", "error", err)
			}
		}
	}
}

// Flush writes what was counted. What it cannot write, it keeps.
func (c *Counter) Flush(ctx context.Context) error {
	select {
	case c.writing <- struct{}{}:
		defer func() { <-c.writing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	c.collect()
	if len(c.waiting) == 0 {
		return nil
	}
	rows, lastUsed := make([]store.UsageCount, 0, len(c.waiting)), map[string]int64{}
	for at, t := range c.waiting {
		rows = append(rows, store.UsageCount{Day: at.day, KeyID: at.keyID, Route: at.route, Status: at.status, Requests: t.requests})
		lastUsed[at.keyID] = max(lastUsed[at.keyID], t.last)
	}
	if err := c.Store.AddUsage(ctx, rows, lastUsed); err != nil {
		return err
	}
	clear(c.waiting)
	return nil
}

// collect adds what the shards have counted to what waits.
func (c *Counter) collect() {
	var lost int64
	for i := range c.shards {
		s := &c.shards[i]
		counts, more := s.take()
		lost += more
		for at, t := range counts {
			found, known := c.waiting[at]
			if !known && len(c.waiting) >= maxWaiting {
				lost += t.requests
				continue
			}
			c.waiting[at] = found.plus(t)
		}
		clear(counts)
		s.spare = counts
	}
	if lost > 0 {
		c.Log.Error("there was no room to count all requests", "lost", lost)
	}
}

// Of picks whose usage is read.
type Of = store.UsageOf

// Settle writes what was counted just now, for somebody who is about to read it. While the store is busy, the last few
// seconds may be missing from what is read.
func (c *Counter) Settle(ctx context.Context) {
	wait, cancel := context.WithTimeout(ctx, readWait)
	defer cancel()
	if err := c.Flush(wait); err != nil && ctx.Err() == nil {
		c.Log.Warn("write the usage before it is read", "error", err)
	}
}

// Read gives what keys have used on the days from the first to the last, what was counted just now included.
func (c *Counter) Read(ctx context.Context, of Of, first, last int64) ([]store.UsageCount, error) {
	c.Settle(ctx)
	return c.Store.Usage(ctx, of, first, last)
}
