//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/assaydata/assay/tools/process"
	"github.com/assaydata/assay/tools/relay"
)

// fault breaks something, repairs it, and waits until everything works again. It notes how long a new publication took.
type fault struct {
	name  string
	short bool // only in the short form; the others are only in the long one
	do    func(*drill, context.Context, *phase) error
}

// rollingUpgrade is the first fault of a drill that begins with the release before.
var rollingUpgrade = fault{"rolling upgrade from the release before", false, (*drill).upgrade}

var faults = []fault{
	{"no fault", false, (*drill).steady},
	{"primary killed", false, (*drill).failOver},
	{"primary killed during `assay migrate`", false, (*drill).failOverMigrating},
	{"publisher killed", false, (*drill).killPublisher},
	{"publisher cut off but alive, another takes over", false, (*drill).cutPublisher},
	{"Redis killed", false, (*drill).killRedis},
	{"read node killed", false, (*drill).killReadNode},
	{"read node cut off from the database", false, (*drill).cutReadNode},
	{"database's name no longer resolves for a read node", false, (*drill).loseName},
	{"rolling restart of the read nodes", false, (*drill).rollingRestart},

	{"primary, publisher and Redis killed at once", true, (*drill).killPrimaryPublisherAndRedis},
	{"read node killed, another cut off", true, (*drill).killAndCutReadNodes},
}

const (
	faultTime    = 15 * time.Second // how long a long fault lasts
	restartAfter = time.Second      // like RestartSec=1 of systemd
	fromLoss     = "the loss"
)

func (d *drill) steady(ctx context.Context, p *phase) (err error) {
	pause(ctx, faultTime)
	p.since = "any moment"
	p.took, err = d.awaitPublication(ctx, time.Now())
	return err
}

// killPrimary kills the primary together with its Patroni, as if the machine failed.
func (d *drill) killPrimary(ctx context.Context) (*node, error) {
	old, err := d.awaitPrimary(ctx, len(d.Nodes))
	if err != nil {
		return nil, err
	}
	if err := old.kill(); err != nil {
		return nil, fmt.Errorf("kill the primary %s: %w", old.Name, err)
	}
	return old, nil
}

// awaitFailover waits for another primary with a synchronous follower.
func (d *drill) awaitFailover(ctx context.Context, old *node) error {
	return process.Await(ctx, "another primary", patience, func(ctx context.Context) error {
		now, err := d.primary(ctx, len(d.Nodes)-1)
		if err == nil && now == old { // until its lease ends
			err = fmt.Errorf("%s was killed and is still the primary: no failover happened", old.Name)
		}
		return err
	})
}

func (d *drill) failOver(ctx context.Context, p *phase) error {
	old, err := d.killPrimary(ctx)
	if err != nil {
		return err
	}
	return d.afterFailover(ctx, p, old, time.Now())
}

// afterFailover waits for a publication on a new primary, and starts the old one as a follower.
func (d *drill) afterFailover(ctx context.Context, p *phase, old *node, lost time.Time) error {
	if err := d.awaitFailover(ctx, old); err != nil {
		return err
	}
	if _, err := d.awaitPublication(ctx, time.Now()); err != nil {
		return err
	}
	p.since, p.took = fromLoss, time.Since(lost)
	if err := old.start(); err != nil { // as a follower
		return err
	}
	old.lost = false
	_, err := d.awaitPrimary(ctx, len(d.Nodes))
	return err
}

// killPublisher kills the publisher at the worst moment: it is down when a minute is due.
func (d *drill) killPublisher(ctx context.Context, p *phase) error {
	due := time.Now().Truncate(time.Minute).Add(time.Minute)
	if time.Until(due) < 2*restartAfter {
		due = due.Add(time.Minute)
	}
	pause(ctx, time.Until(due.Add(-restartAfter/2)))
	d.publisher.Kill()
	pause(ctx, restartAfter)
	if err := d.startPublisher(); err != nil {
		return err
	}
	var err error
	p.since = "the minute was due"
	p.took, err = d.awaitPrint(ctx, due)
	return err
}

// cutPublisher cuts the publisher off from the database while it runs, lets another one take over, and reconnects the
// first: both are alive then, and want to publish the same minute.
func (d *drill) cutPublisher(ctx context.Context, p *phase) error {
	if err := d.between.Set(relay.Silent); err != nil {
		return err
	}
	other, err := d.serve("standby", d.url(), d.standby, "--role", "publish")
	if err != nil {
		return err
	}
	defer other.Stop()
	due := time.Now().Truncate(time.Minute).Add(time.Minute)
	p.since = "the minute was due"
	if p.took, err = d.awaitPrint(ctx, due); err != nil {
		return err
	}
	if err := d.between.Set(relay.None); err != nil {
		return err
	}
	if _, err := d.awaitPrint(ctx, due.Add(time.Minute)); err != nil {
		return err
	}
	other.Stop()
	_, err = d.awaitPrint(ctx, due.Add(2*time.Minute))
	return err
}

func (d *drill) killRedis(ctx context.Context, p *phase) (err error) {
	d.redis.Kill()
	p.since = fromLoss
	if p.took, err = d.awaitPublication(ctx, time.Now()); err != nil {
		return err
	}
	pause(ctx, faultTime)
	if err := d.restartRedis(ctx); err != nil {
		return err
	}
	pause(ctx, limitWindow+restartAfter) // after that, no window includes requests that a node counted alone
	return nil
}

// restartRedis starts an empty Redis and waits until every node counts in it again.
func (d *drill) restartRedis(ctx context.Context) error {
	if err := d.startRedis(ctx); err != nil {
		return err
	}
	return d.awaitSharedLimits(ctx)
}

func (d *drill) awaitSharedLimits(ctx context.Context) error {
	return process.Await(ctx, "all nodes counting in Redis", patience, func(ctx context.Context) error {
		for _, r := range d.readNodes {
			h, err := r.health(ctx)
			if err != nil {
				return err
			}
			if h.Limits.Mode != "shared" {
				return fmt.Errorf("%s is %s and counts in mode %q", r.name, h.Status, h.Limits.Mode)
			}
		}
		return nil
	})
}

func (d *drill) killReadNode(ctx context.Context, p *phase) (err error) {
	r := d.readNodes[0]
	r.kill()
	p.since = fromLoss
	if p.took, err = d.awaitPublication(ctx, time.Now()); err != nil {
		return err
	}
	pause(ctx, restartAfter)
	return d.restartReadNode(ctx, r)
}

// restartReadNode starts a node and waits until it shows a publication made since then.
func (d *drill) restartReadNode(ctx context.Context, r *readNode) error {
	if err := d.startReadNode(r); err != nil {
		return err
	}
	if err := d.awaitReadNode(ctx, r); err != nil {
		return err
	}
	_, err := d.awaitPublication(ctx, time.Now())
	return err
}

func (d *drill) cutReadNode(ctx context.Context, p *phase) (err error) {
	r := d.readNodes[1]
	if err := r.cutOff(); err != nil {
		return err
	}
	if err := d.awaitStale(ctx, r); err != nil {
		return err
	}
	pause(ctx, faultTime)
	if err := r.reconnect(); err != nil {
		return err
	}
	p.since = "the reconnection"
	if p.took, err = d.awaitPublication(ctx, time.Now()); err != nil {
		return err
	}
	return d.awaitHealthy(ctx, r)
}

// awaitStale waits until a node that is cut off says so, in its health and in its responses.
func (d *drill) awaitStale(ctx context.Context, r *readNode) error {
	return r.awaitState(ctx, "reporting that it is cut off", func(h health, stale string) bool {
		return h.code == http.StatusServiceUnavailable && h.Status == "unhealthy" && stale != ""
	})
}

// awaitHealthy waits until a node reports that it is healthy again.
func (d *drill) awaitHealthy(ctx context.Context, r *readNode) error {
	return r.awaitState(ctx, "healthy", func(h health, stale string) bool {
		return h.code == http.StatusOK && h.Status == "healthy" && stale == ""
	})
}

// awaitState waits for a state that the node reports: its health, and X-Assay-Stale in a response.
func (r *readNode) awaitState(ctx context.Context, what string, good func(h health, stale string) bool) error {
	return process.Await(ctx, r.name+" "+what, patience, func(ctx context.Context) error {
		h, err := r.health(ctx)
		if err != nil {
			return err
		}
		a, err := r.get(ctx, readRequests[0].path, "", freshAddress())
		if err == nil && !good(h, a.stale) {
			err = fmt.Errorf("its health is %d, %s, and X-Assay-Stale is %q", h.code, h.Status, a.stale)
		}
		return err
	})
}

// rollingRestart restarts every read node. The load goes through a balancer then, which retries nothing, so each
// request that a node refuses or aborts is a failed read.
func (d *drill) rollingRestart(ctx context.Context, p *phase) (err error) {
	d.balanced.Store(true)
	defer d.balanced.Store(false)
	pause(ctx, faultTime/3)
	for _, r := range d.readNodes {
		r.lifecycle.Add(1)
		r.process.Stop()
		if err := d.restartReadNode(ctx, r); err != nil {
			return err
		}
	}
	p.since = "the last restart"
	p.took, err = d.awaitPublication(ctx, time.Now())
	pause(ctx, faultTime/3)
	return err
}

// upgrade follows docs/upgrading.md: it upgrades the tables while all nodes of the release before run, and then
// restarts them one after the other with the program under test, the publisher last.
func (d *drill) upgrade(ctx context.Context, p *phase) (err error) {
	p.mixed = true
	d.balanced.Store(true)
	defer d.balanced.Store(false)
	pause(ctx, faultTime/3)
	d.program.Store(d.options.assay)
	if _, err := d.assay(ctx, "db", "upgrade"); err != nil {
		return err
	}
	for _, r := range d.readNodes { // of the release before, with the new tables
		if _, err := d.awaitPublication(ctx, time.Now()); err != nil {
			return err
		}
		if err := d.readRecord(ctx, r); err != nil {
			return err
		}
	}
	for _, r := range d.readNodes {
		r.lifecycle.Add(1)
		r.process.Stop()
		if err := d.restartReadNode(ctx, r); err != nil {
			return err
		}
		if err := d.readRecord(ctx, r); err != nil {
			return err
		}
	}
	d.publisher.Stop()
	if err := d.startPublisher(); err != nil {
		return err
	}
	p.since = "the last restart"
	if p.took, err = d.awaitPublication(ctx, time.Now()); err != nil {
		return err
	}
	_, err = d.awaitPrint(ctx, d.due)
	pause(ctx, limitWindow+restartAfter) // after that, no window includes requests to nodes of the release before
	return err
}

// readRecord reads the record of an hour that was published at the start, which a node has to read from the database.
func (d *drill) readRecord(ctx context.Context, r *readNode) error {
	hour := d.begun.Add(unpublished + 24*time.Hour).Format(time.RFC3339)
	a, err := r.get(ctx, "/api/gpu/H100%20SXM/determination?timestamp="+hour, d.key, freshAddress())
	if err == nil && (a.status != http.StatusOK || !bytes.Contains(a.body, []byte(`"hash":"`))) {
		err = fmt.Errorf("status %d: %s", a.status, process.Tail(a.body))
	}
	if err != nil {
		return fmt.Errorf("%s: the record of %s: %w", r.name, hour, err)
	}
	return nil
}

// killPrimaryPublisherAndRedis kills three servers at once, and restarts two of them while there is no primary.
func (d *drill) killPrimaryPublisherAndRedis(ctx context.Context, p *phase) error {
	old, err := d.killPrimary(ctx)
	if err != nil {
		return err
	}
	lost := time.Now()
	d.publisher.Kill()
	d.redis.Kill()
	pause(ctx, restartAfter)
	if err := d.startPublisher(); err != nil {
		return err
	}
	pause(ctx, faultTime/3)
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
	return d.awaitSharedLimits(ctx)
}

// killAndCutReadNodes kills one read node and cuts another off; one is left intact.
func (d *drill) killAndCutReadNodes(ctx context.Context, p *phase) error {
	killed, cut := d.readNodes[0], d.readNodes[1]
	killed.kill()
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
	if err := d.restartReadNode(ctx, killed); err != nil {
		return err
	}
	return d.awaitHealthy(ctx, cut)
}
