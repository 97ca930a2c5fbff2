package sharedlimit

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// callTimeout is how long a request waits for Redis, and also how long a round trip may take. It leaves 5 of the 20
	// milliseconds, within which a node has to fall back, to the scheduler.
	callTimeout = 15 * time.Millisecond
	// dialTimeout is longer: connections are also made by probes, which no request waits for.
	dialTimeout = time.Second

	firstPause   = 100 * time.Millisecond // before the first probe after a failure
	longestPause = 2 * time.Second
	steadyAfter  = 10 * time.Second // a failure later than this after the last one is a new one: pauses start short again
)

// Mode says who counts.
type Mode string

// The modes.
const (
	Shared Mode = "shared" // Redis, for all nodes together
	Local  Mode = "local"  // this node alone
)

// Redis is the connection that the limiters of a node share, and whether it can be relied on at the moment. The mode
// of a nil *Redis is always Local.
type Redis struct {
	Wait time.Duration // how long a request waits for Redis; Open sets callTimeout. Not to be changed once requests come

	dialTimeout time.Duration // also bounds a probe

	client  redis.UniversalClient
	script  *redis.Script
	log     *slog.Logger
	shared  atomic.Bool
	counts  counts
	lost    chan struct{} // holds one entry when Run has to probe Redis
	lanes   sync.Map      // address of a server → *lane
	senders sync.WaitGroup
	opened  time.Time

	calls sync.Pool // calls whose callers have read the result

	id, digits string               // of this node, for Redis; several nodes may have the same digits
	now        func() time.Duration // the clock of the leases, which is monotonic
	sequence   atomic.Int64         // of calls about leases
	hears      atomic.Bool          // other nodes can ask for leases
	epoch      atomic.Int64         // grows when Redis may have lost its data: earlier leases are void
	byName     leaseIndex
	posted     atomic.Int64  // calls in the background that are not finished
	delivered  chan struct{} // holds one entry when such a call has finished
	tablesMu   sync.Mutex
	tables     []leaseSet // one for each limiter; guarded by tablesMu

	open context.Context // ends with Close
	end  context.CancelFunc
}

// Open connects to the Redis at an address (see parseAddress), or to a cluster if the address names several servers.
// It is not an error if Redis does not respond: the node counts alone until Run, which the caller must start, has
// reached it.
func Open(ctx context.Context, address string, log *slog.Logger) (*Redis, error) {
	options, err := parseAddress(address)
	if err != nil {
		return nil, err
	}
	return connect(ctx, options, log), nil
}

// connect makes the first probe. A Redis that does not respond is left to Run.
func connect(ctx context.Context, options *redis.UniversalOptions, log *slog.Logger) *Redis {
	r := newRedis(ctx, options, log)
	if err := r.probe(ctx); err != nil {
		r.lost <- struct{}{}
		r.log.Warn("the limits are counted by this node alone until Redis answers", "error", err)
		return r
	}
	r.shared.Store(true)
	return r
}

// Check returns why the Redis at an address cannot count limits, or nil. The error does not contain the address, which
// may have a password.
func Check(ctx context.Context, address string) error {
	options, err := parseAddress(address)
	if err != nil {
		return err
	}
	r := newRedis(ctx, options, slog.New(slog.DiscardHandler))
	return errors.Join(r.probe(ctx), r.Close())
}

// newRedis does not connect yet.
func newRedis(ctx context.Context, options *redis.UniversalOptions, log *slog.Logger) *Redis {
	redis.SetLogger(silence{}) // it would write to standard error, in its own format; failures are returned as errors too
	r := &Redis{
		Wait:        callTimeout,
		dialTimeout: options.DialTimeout,
		client:      redis.NewUniversalClient(options),
		script:      redis.NewScript(windowScript),
		log:         log,
		lost:        make(chan struct{}, 1),
		opened:      time.Now(),
		calls:       sync.Pool{New: newCall},
		delivered:   make(chan struct{}, 1),
	}
	r.now = r.since
	r.id, r.digits = newID()
	r.open, r.end = context.WithCancel(context.WithoutCancel(ctx))
	return r
}

// newID returns a name that no other node has, and three digits for the entries of a list, which are short.
func newID() (id, digits string) {
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	n := binary.LittleEndian.Uint64(random[:])
	return strconv.FormatUint(n, 36), fmt.Sprintf("%03d", 1+n%999)
}

type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}

// Close gives the leases back and ends the connections. No limiter may be used any more.
func (r *Redis) Close() error {
	r.releaseAll()
	r.end()
	r.senders.Wait()
	return r.client.Close()
}

// since is the time on a monotonic clock.
func (r *Redis) since() time.Duration { return time.Since(r.opened) }

// Mode says who counts now.
func (r *Redis) Mode() Mode {
	if r != nil && r.shared.Load() {
		return Shared
	}
	return Local
}

// Run looks after the leases, and probes Redis whenever it was lost, until it responds in time. It returns when the
// context ends.
func (r *Redis) Run(ctx context.Context) error {
	var others sync.WaitGroup
	defer others.Wait()
	others.Go(func() { r.listen(ctx) })
	others.Go(func() { r.sweepRepeatedly(ctx) })
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

// fallBack makes the node use its own limiters.
func (r *Redis) fallBack(err error) {
	if !r.shared.CompareAndSwap(true, false) {
		return // another request was first
	}
	r.counts.fallbacks.Add(1)
	r.log.Warn("Redis is slow or away: the limits are counted by this node alone", "error", err)
	r.lost <- struct{}{} // does not block: Run has taken the last entry before it set the mode to shared again
}

// probe checks that Redis works, and fast enough. Every server of a cluster must, or requests would find out which do
// not. The first call may have to connect or to load the script; the second shows what a request would see.
func (r *Redis) probe(ctx context.Context) error {
	patient, cancel := context.WithTimeout(ctx, r.dialTimeout)
	defer cancel()
	if err := r.load(patient); err != nil {
		return err
	}
	one := request{name: keyPrefix + "{probe}", most: 1, window: time.Millisecond, cost: 1}
	if err := r.try(patient, one); err != nil {
		return err
	}
	quick, cancel := context.WithTimeout(ctx, r.Wait)
	defer cancel()
	return r.try(quick, one)
}

// try makes a round trip for one call.
func (r *Redis) try(ctx context.Context, q request) error {
	command := r.command(ctx, q)
	_ = r.client.Process(ctx, command)
	_, err := readReply(command)
	return err
}

// ask waits for the reply to a call, at most so long. It does not depend on the request's context: a caller that leaves
// says nothing about Redis. After an error the node has to decide.
func (r *Redis) ask(q request, most time.Duration) (reply, error) {
	l, err := r.lane(q.name)
	if err != nil {
		r.fallBack(err)
		return reply{}, err
	}
	return l.ask(q, most)
}
