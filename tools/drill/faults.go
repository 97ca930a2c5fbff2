//go:build linux

package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/assaydata/assay/tools/process"
)

// fault breaks something, has it mended, and waits until all is well again. It enters how long a new publication took.
type fault struct {
	name  string
	short bool // belongs to the short form, and not to the long one
	do    func(*drill, context.Context, *phase) error
}

var faults = []fault{
	{"nothing is broken", false, (*drill).steady},
	{"primary killed", false, (*drill).losePrimary},
	{"publisher killed", false, (*drill).losePublisher},
	{"Redis killed", false, (*drill).loseRedis},
	{"read node killed", false, (*drill).loseReader},
	{"read node cut off from the store", false, (*drill).cutReader},
	{"rolling restart of the read nodes", false, (*drill).rollingRestart},

	{"primary, publisher and Redis killed at once", true, (*drill).loseAlmostAll},
	{"read node killed, another cut off", true, (*drill).loseAndCutReader},
}

const (
	stretch      = 15 * time.Second // of time in which a long fault is left as it is
	restartAfter = time.Second      // as RestartSec=1 of systemd
	fromLoss     = "the loss"
)

func (d *drill) steady(ctx context.Context, p *phase) (err error) {
	every(ctx, stretch)
	p.since = "any moment"
	p.took, err = d.awaitPublication(ctx, time.Now())
	return err
}

// killPrimary kills the primary together with its Patroni, as when a machine is lost.
func (d *drill) killPrimary(ctx context.Context) (*node, error) {
	old, err := d.awaitPrimary(ctx, len(d.Nodes))
	if err != nil {
		return nil, err
	}
	if err := old.lose(); err != nil {
		return nil, fmt.Errorf("kill the primary %s: %w", old.Name, err)
	}
	return old, nil
}

// awaitFailover waits for another primary with a synchronous follower.
func (d *drill) awaitFailover(ctx context.Context, old *node) error {
	now, err := d.awaitPrimary(ctx, len(d.Nodes)-1)
	if err == nil && now == old {
		err = fmt.Errorf("%s was killed and is still the primary: there was no failover", old.Name)
	}
	return err
}

func (d *drill) losePrimary(ctx context.Context, p *phase) error {
	old, err := d.killPrimary(ctx)
	if err != nil {
		return err
	}
	p.since = fromLoss
	if p.took, err = d.awaitPublication(ctx, time.Now()); err != nil {
		return err
	}
	if err := d.awaitFailover(ctx, old); err != nil {
		return err
	}
	if err := old.start(); err != nil { // as a follower
		return err
	}
	old.lost = false
	_, err = d.awaitPrimary(ctx, len(d.Nodes))
	return err
}

// losePublisher kills the publisher at the worst moment: it is not there when a minute is due.
func (d *drill) losePublisher(ctx context.Context, p *phase) error {
	due := time.Now().Truncate(time.Minute).Add(time.Minute)
	if time.Until(due) < 2*restartAfter {
		due = due.Add(time.Minute)
	}
	every(ctx, time.Until(due.Add(-restartAfter/2)))
	d.publisher.Kill()
	every(ctx, restartAfter)
	if err := d.startPublisher(); err != nil {
		return err
	}
	var err error
	p.since = "the minute was due"
	p.took, err = d.awaitPrint(ctx, due)
	return err
}

func (d *drill) loseRedis(ctx context.Context, p *phase) (err error) {
	d.redis.Kill()
	p.since = fromLoss
	if p.took, err = d.awaitPublication(ctx, time.Now()); err != nil {
		return err
	}
	every(ctx, stretch)
	if err := d.redisAgain(ctx); err != nil {
		return err
	}
	every(ctx, limitWindow+restartAfter) // from here on, nothing that a node has counted alone is left in a window
	return nil
}

// redisAgain starts Redis, which has forgotten everything, and waits until every node has it count again.
func (d *drill) redisAgain(ctx context.Context) error {
	if err := d.startRedis(ctx); err != nil {
		return err
	}
	return d.awaitShared(ctx)
}

func (d *drill) awaitShared(ctx context.Context) error {
	return process.Await(ctx, "all nodes count in Redis", patience, func(ctx context.Context) error {
		for _, r := range d.readers {
			h, err := r.health(ctx)
			if err != nil {
				return err
			}
			if h.Limits.Mode != "shared" {
				return fmt.Errorf("%s is %s and counts by %q", r.name, h.Status, h.Limits.Mode)
			}
		}
		return nil
	})
}

func (d *drill) loseReader(ctx context.Context, p *phase) (err error) {
	r := d.readers[0]
	r.lose()
	p.since = fromLoss
	if p.took, err = d.awaitPublication(ctx, time.Now()); err != nil {
		return err
	}
	every(ctx, restartAfter)
	return d.readerAgain(ctx, r)
}

// readerAgain starts a node, and waits until it shows what is published from then on.
func (d *drill) readerAgain(ctx context.Context, r *reader) error {
	if err := d.startReader(r); err != nil {
		return err
	}
	if err := d.awaitReader(ctx, r); err != nil {
		return err
	}
	_, err := d.awaitPublication(ctx, time.Now())
	return err
}

func (d *drill) cutReader(ctx context.Context, p *phase) (err error) {
	r := d.readers[1]
	if err := r.cutOff(); err != nil {
		return err
	}
	if err := d.awaitStale(ctx, r); err != nil {
		return err
	}
	every(ctx, stretch)
	if err := r.reconnect(); err != nil {
		return err
	}
	p.since = "the healing"
	if p.took, err = d.awaitPublication(ctx, time.Now()); err != nil {
		return err
	}
	return d.awaitWell(ctx, r)
}

// awaitStale waits until a node that is cut off says so, in its health and in its answers.
func (d *drill) awaitStale(ctx context.Context, r *reader) error {
	return r.awaitWords(ctx, "says that it is cut off", func(h health, stale string) bool {
		return h.code == http.StatusServiceUnavailable && h.Status == "unhealthy" && stale != ""
	})
}

// awaitWell waits until a node says that nothing is wrong any more.
func (d *drill) awaitWell(ctx context.Context, r *reader) error {
	return r.awaitWords(ctx, "is well", func(h health, stale string) bool {
		return h.code == http.StatusOK && h.Status == "healthy" && stale == ""
	})
}

// awaitWords waits for what a node says of itself: its health, and X-Assay-Stale of an answer.
func (r *reader) awaitWords(ctx context.Context, what string, good func(h health, stale string) bool) error {
	return process.Await(ctx, r.name+" "+what, patience, func(ctx context.Context) error {
		h, err := r.health(ctx)
		if err != nil {
			return err
		}
		a, err := r.ask(ctx, questions[0].path, "", freshAddress())
		if err == nil && !good(h, a.stale) {
			err = fmt.Errorf("its health is %d, %s, and X-Assay-Stale is %q", h.code, h.Status, a.stale)
		}
		return err
	})
}

// rollingRestart restarts every read node. The load goes through a balancer then, which tries no request again, so that each
// request that a node refuses or breaks off is a failed read.
func (d *drill) rollingRestart(ctx context.Context, p *phase) (err error) {
	d.balanced.Store(true)
	defer d.balanced.Store(false)
	every(ctx, stretch/3)
	for _, r := range d.readers {
		r.life.Add(1)
		r.process.Stop()
		if err := d.readerAgain(ctx, r); err != nil {
			return err
		}
	}
	p.since = "the last was back"
	p.took, err = d.awaitPublication(ctx, time.Now())
	every(ctx, stretch/3)
	return err
}

// loseAlmostAll kills three things at once, and has them come back while there is no primary.
func (d *drill) loseAlmostAll(ctx context.Context, p *phase) error {
	old, err := d.killPrimary(ctx)
	if err != nil {
		return err
	}
	lost := time.Now()
	d.publisher.Kill()
	d.redis.Kill()
	every(ctx, restartAfter)
	if err := d.startPublisher(); err != nil {
		return err
	}
	every(ctx, stretch/3)
	if err := d.startRedis(ctx); err != nil {
		return err
	}
	p.since = fromLoss
	if p.took, err = d.awaitPublication(ctx, lost); err != nil {
		return err
	}
	if err := d.awaitFailover(ctx, old); err != nil {
		return err
	}
	return d.awaitShared(ctx)
}

// loseAndCutReader leaves one node that has everything.
func (d *drill) loseAndCutReader(ctx context.Context, p *phase) error {
	killed, cut := d.readers[0], d.readers[1]
	killed.lose()
	if err := cut.cutOff(); err != nil {
		return err
	}
	var err error
	p.since = fromLoss
	if p.took, err = d.awaitPublication(ctx, time.Now()); err != nil {
		return err
	}
	if err := d.awaitStale(ctx, cut); err != nil {
		return err
	}
	if err := cut.reconnect(); err != nil {
		return err
	}
	if err := d.readerAgain(ctx, killed); err != nil {
		return err
	}
	return d.awaitWell(ctx, cut)
}
