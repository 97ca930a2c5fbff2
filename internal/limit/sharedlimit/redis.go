package sharedlimit

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/assaydata/assay/internal/limit"
)

const (
	// callTimeout is how long a request waits for Redis, and also how long a round trip may take. It leaves 5 of the 20
	// milliseconds, within which a node has to fall back, to the scheduler.
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

// Redis is the connection that the limiters of a node share, and whether it can be relied on at the moment. A nil *Redis is
// none: its mode is always Local.
type Redis struct {
	Wait time.Duration // how long a request waits for Redis; Open says callTimeout, and it stays as it is once requests come

	dialTimeout time.Duration // also bounds a probe

	client  redis.UniversalClient
	script  *redis.Script
	log     *slog.Logger
	shared  atomic.Bool
	counts  counts
	lost    chan struct{} // holds one when Run has to win Redis back
	lanes   sync.Map      // address of a server → *lane
	senders sync.WaitGroup
	opened  time.Time

	questions sync.Pool // of those whose callers have their answer

	open context.Context // ends with Close
	end  context.CancelFunc
}

// Open connects to the Redis at an address (see parseAddress), or to a cluster if the address names several nodes. One that
// does not answer is no error: the node counts by itself until it does. Run must be called for that.
func Open(ctx context.Context, address string, log *slog.Logger) (*Redis, error) {
	options, err := parseAddress(address)
	if err != nil {
		return nil, err
	}
	return connect(ctx, options, log), nil
}

// connect makes the first probe. A Redis that does not respond is left to Run.
func connect(ctx context.Context, options *redis.UniversalOptions, log *slog.Logger) *Redis {
	redis.SetLogger(silence{}) // it would write to standard error, in its own format; every failure is also returned as an error
	r := &Redis{
		Wait:        callTimeout,
		dialTimeout: options.DialTimeout,
		client:      redis.NewUniversalClient(options),
		script:      redis.NewScript(windowScript),
		log:         log,
		lost:        make(chan struct{}, 1),
		opened:      time.Now(),
		questions:   sync.Pool{New: newQuestion},
	}
	r.open, r.end = context.WithCancel(context.WithoutCancel(ctx))
	if err := r.probe(ctx); err != nil {
		r.lost <- struct{}{}
		r.log.Warn("the limits are counted by this node alone until Redis answers", "error", err)
		return r
	}
	r.shared.Store(true)
	return r
}

type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}

// Close ends the connections. Nobody may ask any more.
func (r *Redis) Close() error {
	r.end()
	r.senders.Wait()
	return r.client.Close()
}

// since is the time on a clock that nobody sets back.
func (r *Redis) since() time.Duration { return time.Since(r.opened) }

// Mode tells who counts now.
func (r *Redis) Mode() Mode {
	if r != nil && r.shared.Load() {
		return Shared
	}
	return Local
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
	r.counts.fallbacks.Add(1)
	r.log.Warn("Redis is slow or away: the limits are counted by this node alone", "error", err)
	r.lost <- struct{}{} // there is room: Run has taken the last before the mode was shared again
}

// probe asks whether Redis does its work, and fast enough. Every node of a cluster must, or requests would find out which do
// not. The first call may have to make a connection or to load the script; the second shows what a request would meet.
func (r *Redis) probe(ctx context.Context) error {
	patient, cancel := context.WithTimeout(ctx, r.dialTimeout)
	defer cancel()
	if err := r.load(patient); err != nil {
		return err
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

// allow decides on a request within Wait. It does not depend on the request's own context: a caller who leaves says nothing
// about Redis. After an error the node has to decide.
func (r *Redis) allow(name string, most int, window time.Duration) (limit.Decision, error) {
	l, err := r.lane(name)
	if err != nil {
		r.fallBack(err)
		return limit.Decision{}, err
	}
	return l.ask(name, most, window)
}

// decide asks for one decision by itself.
func (r *Redis) decide(ctx context.Context, name string, most int, window time.Duration) (limit.Decision, error) {
	command := r.command(ctx, name, most, window)
	_ = r.client.Process(ctx, command)
	return decision(command)
}
