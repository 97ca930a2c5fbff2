package sharedlimit

import (
	"context"
	_ "embed"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/assaydata/assay/internal/limit"
)

const (
	// callTimeout is how long a request waits for Redis. It leaves 5 of the 20 milliseconds, within which a node has to fall
	// back, to the scheduler.
	callTimeout = 15 * time.Millisecond
	// dialTimeout is longer: connections are also made by probes, which no request waits for.
	dialTimeout = time.Second

	firstPause   = 100 * time.Millisecond // before Redis is asked again after a failure
	longestPause = 2 * time.Second
	steadyAfter  = 10 * time.Second // a failure later than this after the last is not taken for the same
)

// Mode says who counts.
type Mode string

// The modes.
const (
	Shared Mode = "shared" // Redis, for all nodes together
	Local  Mode = "local"  // this node, by itself
)

//go:embed window.lua
var windowScript string

// Redis is the connection that the limiters of a node share, and whether it can be relied on at the moment. A nil *Redis is
// none: its mode is always Local.
type Redis struct {
	Wait time.Duration // how long a request waits for Redis; Open says callTimeout, and it stays as it is once requests come

	client    redis.UniversalClient
	script    *redis.Script
	log       *slog.Logger
	shared    atomic.Bool
	fallbacks atomic.Int64
	lost      chan struct{} // holds one when Run has to win Redis back
}

// Open connects to the Redis at an address (see parseAddress), or to a cluster if the address names several nodes. One that
// does not answer is no error: the node counts by itself until it does. Run must be called for that.
func Open(ctx context.Context, address string, log *slog.Logger) (*Redis, error) {
	options, err := parseAddress(address)
	if err != nil {
		return nil, err
	}
	redis.SetLogger(silence{}) // it would write to standard error, in a form of its own; what fails is told by its error
	r := &Redis{
		Wait: callTimeout, client: redis.NewUniversalClient(options), script: redis.NewScript(windowScript), log: log, lost: make(chan struct{}, 1),
	}
	if err := r.probe(ctx); err != nil {
		r.lost <- struct{}{}
		r.log.Warn("the limits are counted by this node alone until Redis answers", "error", err)
		return r, nil
	}
	r.shared.Store(true)
	return r, nil
}

type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}

// Close ends the connections.
func (r *Redis) Close() error { return r.client.Close() }

// Mode tells who counts now.
func (r *Redis) Mode() Mode {
	if r != nil && r.shared.Load() {
		return Shared
	}
	return Local
}

// Fallbacks is how often this node has turned to its own limiters.
func (r *Redis) Fallbacks() int64 {
	if r == nil {
		return 0
	}
	return r.fallbacks.Load()
}

// Run wins Redis back whenever it was lost, until the context ends.
func (r *Redis) Run(ctx context.Context) error {
	pause, regained := firstPause, time.Now()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-r.lost:
		}
		if time.Since(regained) > steadyAfter {
			pause = firstPause
		}
		for waited := false; !waited || r.probe(ctx) != nil; waited = true {
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(pause):
			}
			pause = min(2*pause, longestPause)
		}
		regained = time.Now()
		r.shared.Store(true)
		r.log.Info("the limits are shared through Redis again")
	}
}

// fallBack turns the node to its own limiters.
func (r *Redis) fallBack(err error) {
	if !r.shared.CompareAndSwap(true, false) {
		return // another request was first
	}
	r.fallbacks.Add(1)
	r.log.Warn("Redis is slow or away: the limits are counted by this node alone", "error", err)
	r.lost <- struct{}{} // there is room: Run has taken the last before the mode was shared again
}

// probe asks whether Redis does its work, and fast enough. Every node of a cluster must, or requests would find out which do
// not. The first call may have to make a connection or to load the script; the second shows what a request would meet.
func (r *Redis) probe(ctx context.Context) error {
	patient, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if cluster, ok := r.client.(*redis.ClusterClient); ok {
		err := cluster.ForEachMaster(patient, func(ctx context.Context, node *redis.Client) error { return r.script.Load(ctx, node).Err() })
		if err != nil {
			return err
		}
	}
	const name = "assay:limit:{probe}"
	if _, err := r.decide(patient, name, 1, time.Millisecond); err != nil {
		return err
	}
	quick, cancel := context.WithTimeout(ctx, r.Wait)
	defer cancel()
	_, err := r.decide(quick, name, 1, time.Millisecond)
	return err
}

// allow decides on a request within callTimeout. It does not depend on the request's own context: a caller who leaves says
// nothing about Redis.
func (r *Redis) allow(name string, most int, window time.Duration) (limit.Decision, error) {
	ctx, cancel := context.WithTimeout(context.Background(), r.Wait)
	defer cancel()
	return r.decide(ctx, name, most, window)
}

func (r *Redis) decide(ctx context.Context, name string, most int, window time.Duration) (limit.Decision, error) {
	answer, err := r.script.Run(ctx, r.client, []string{name}, most, window.Microseconds()).Int64Slice()
	if err != nil {
		return limit.Decision{}, err
	}
	if len(answer) != 3 {
		return limit.Decision{}, fmt.Errorf("the script answered %d numbers, not 3", len(answer))
	}
	return limit.Decision{Allowed: answer[0] == 1, Remaining: int(answer[1]), Reset: time.Duration(answer[2]) * time.Microsecond}, nil
}
