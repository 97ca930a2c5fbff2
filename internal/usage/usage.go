// Package usage counts requests by key, route, status and day, and keeps the counts in the store.
//
// A request must not wait until it is counted. So Count only raises a number in memory, under a lock that is nearly
// always free: the numbers are spread over shards, and each request picks one at random, so that requests of a busy key
// do not queue for one lock. Every few seconds the numbers of all shards are added to the store in one transaction.
// Counts that could not be written stay and are written the next time; after a clean stop, the last Flush writes the
// rest. Only a process that is killed loses what it counted since the last Flush.
//
// A reader does not wait for the next write either: what this node has not written yet is added to what the store has.
// What other nodes have not written yet is missing for these few seconds.
//
// The store keeps sums, so several nodes may count the same key. It holds ids of keys, never their texts. Days older
// than the operator wants are removed.
package usage

import (
	"cmp"
	"context"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
)

const (
	shards = 16 // a power of two, several times the cores of a small server
	// shardCells bounds a shard: a key that calls every route with every outcome has a few hundred cells a day. All shards
	// full are about 30 MB.
	shardCells = 16_384
	// maxWaiting bounds the cells that wait while the store cannot be written.
	maxWaiting = 262_144
	flushEvery = 5 * time.Second
	// readWait is how long a reader waits until the newest counts are written; then it reads without them.
	readWait = time.Second
)

// Counter counts requests. It is safe for concurrent use.
type Counter struct {
	Store *store.DB
	Log   *slog.Logger
	Now   func() time.Time

	KeepDays  int   // older days are removed; 0 keeps all
	forgotten int64 // the day on which that was last done

	shards  [shards]shard
	writing chan struct{}  // holds one entry while the store is written or read; made by New
	mu      sync.Mutex     // never held while the store is used
	waiting map[cell]tally // not written yet, also what is being written; guarded by mu
}

// cell is what is counted together.
type cell struct {
	day    int64
	keyID  string
	route  string
	status int
}

// with is the row of a cell.
func (c cell) with(t tally) store.UsageCount {
	return store.UsageCount{Day: c.day, KeyID: c.keyID, Route: c.route, Status: c.status, Requests: t.requests}
}

// cellOf is the cell of a row.
func cellOf(u store.UsageCount) cell {
	return cell{day: u.Day, keyID: u.KeyID, route: u.Route, status: u.Status}
}

// tally is a number of requests and the instant of the last one.
type tally struct{ requests, last int64 }

func (t tally) plus(o tally) tally {
	return tally{requests: t.requests + o.requests, last: max(t.last, o.last)}
}

// shard is a part of the numbers under one lock.
type shard struct {
	mu     sync.Mutex
	counts map[cell]tally // guarded by mu
	lost   int64          // requests not counted because the shard was full; guarded by mu
	spare  map[cell]tally // empty, to replace counts; guarded by the counter's mu
	_      [64]byte       // keeps neighbors off the same line of the processor's cache
}

// New makes a counter.
func New(db *store.DB, log *slog.Logger, now func() time.Time) *Counter {
	c := &Counter{Store: db, Log: log, Now: now, writing: make(chan struct{}, 1), waiting: map[cell]tally{}}
	for i := range c.shards {
		c.shards[i].counts, c.shards[i].spare = map[cell]tally{}, map[cell]tally{}
	}
	return c
}

// Count counts one request of a key that ended at an instant.
func (c *Counter) Count(keyID, route string, status int, now int64) {
	s := &c.shards[rand.Uint32()%shards] //nolint:gosec // G404: any spread will do
	s.add(cell{day: assay.StartOfDay(now), keyID: keyID, route: route, status: status}, tally{requests: 1, last: now})
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

// take returns what a shard has counted, and empties it.
func (s *shard) take() (counts map[cell]tally, lost int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts, lost = s.counts, s.lost
	s.counts, s.lost = s.spare, 0
	return counts, lost
}

// Run writes the counts every few seconds until the context ends. What is counted after that needs a last Flush.
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
			if err := c.forget(ctx); err != nil && ctx.Err() == nil {
				c.Log.Error("remove old usage", "error", err)
			}
		}
	}
}

// forget removes days that are no longer kept, once a day.
func (c *Counter) forget(ctx context.Context) error {
	today := assay.StartOfDay(c.Now().UnixMilli())
	if c.KeepDays == 0 || today == c.forgotten {
		return nil
	}
	if err := c.Store.ForgetUsage(ctx, today-int64(c.KeepDays)*assay.Day); err != nil {
		return err
	}
	c.forgotten = today
	return nil
}

// Flush writes what was counted. It keeps what it cannot write.
func (c *Counter) Flush(ctx context.Context) error {
	select {
	case c.writing <- struct{}{}:
		defer func() { <-c.writing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	rows, lastUsed := c.unwritten()
	if len(rows) == 0 {
		return nil
	}
	if err := c.Store.AddUsage(ctx, rows, lastUsed); err != nil {
		return err
	}
	c.forgetWritten(rows)
	return nil
}

// unwritten returns everything that waits to be written.
func (c *Counter) unwritten() (rows []store.UsageCount, lastUsed map[string]int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.collect()
	rows = make([]store.UsageCount, 0, len(c.waiting))
	for at, t := range c.waiting {
		rows = append(rows, at.with(t))
	}
	return rows, c.lastUses()
}

// forgetWritten subtracts what was written from what waits: readers may have collected more in the meantime.
func (c *Counter) forgetWritten(rows []store.UsageCount) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, u := range rows {
		at := cellOf(u)
		left := c.waiting[at]
		if left.requests -= u.Requests; left.requests > 0 {
			c.waiting[at] = left
		} else {
			delete(c.waiting, at)
		}
	}
}

// collect moves what the shards have counted to waiting. The caller holds mu.
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
		c.Log.Error("could not count all requests: too many different keys and routes", "lost", lost)
	}
}

// LastUsed returns when keys were last used, of those whose last use this node has not written yet. It waits for no
// store. A use is in the store before it leaves this map, so a caller that needs the last use of a key calls LastUsed
// first, then reads the store, and takes the later of the two.
func (c *Counter) LastUsed() map[string]int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.collect()
	return c.lastUses()
}

// lastUses returns the last use of each key that waits to be written. The caller holds mu.
func (c *Counter) lastUses() map[string]int64 {
	last := map[string]int64{}
	for at, t := range c.waiting {
		last[at.keyID] = max(last[at.keyID], t.last)
	}
	return last
}

// Of picks whose usage is read.
type Of = store.UsageOf

// Read returns what keys have used from the first day to the last, including what this node counted just now. It adds
// that to what is stored rather than to store it first: a read must not cost a write. While the counts are being
// written, it waits; if that takes too long, they may be missing.
func (c *Counter) Read(ctx context.Context, of Of, first, last int64) ([]store.UsageCount, error) {
	wait, cancel := context.WithTimeout(ctx, readWait)
	defer cancel()
	var pending []store.UsageCount
	select {
	case c.writing <- struct{}{}:
		defer func() { <-c.writing }() // until the stored ones are read, so that nothing counts twice
		var err error
		if pending, err = c.pending(ctx, of, first, last); err != nil {
			return nil, err
		}
	case <-wait.Done():
	}
	stored, err := c.Store.Usage(ctx, of, first, last)
	if err != nil || len(pending) == 0 {
		return stored, err
	}
	return sum(append(stored, pending...)), nil
}

// pending returns what waits to be written of some keys.
func (c *Counter) pending(ctx context.Context, of Of, first, last int64) (rows []store.UsageCount, err error) {
	wanted := func(keyID string) bool { return of.KeyID == "" || keyID == of.KeyID }
	if of.AccountID != 0 {
		owned, err := c.Store.KeysOf(ctx, of.AccountID)
		if err != nil {
			return nil, err
		}
		inAccount := map[string]bool{}
		for _, k := range owned {
			inAccount[k.ID] = wanted(k.ID)
		}
		wanted = func(keyID string) bool { return inAccount[keyID] }
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.collect()
	for at, t := range c.waiting {
		if at.day >= first && at.day <= last && wanted(at.keyID) {
			rows = append(rows, at.with(t))
		}
	}
	return rows, nil
}

// sum joins the counts of the same cell. The order is that of the store.
func sum(rows []store.UsageCount) (joined []store.UsageCount) {
	slices.SortFunc(rows, func(a, b store.UsageCount) int {
		return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.KeyID, b.KeyID), cmp.Compare(a.Route, b.Route),
			cmp.Compare(a.Status, b.Status))
	})
	for _, r := range rows {
		if n := len(joined); n > 0 && sameCell(joined[n-1], r) {
			joined[n-1].Requests += r.Requests
		} else {
			joined = append(joined, r)
		}
	}
	return joined
}

func sameCell(a, b store.UsageCount) bool {
	a.Requests = b.Requests
	return a == b
}
