package sharedlimit

import (
	"context"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/assaydata/assay/internal/limit"
)

const second = int64(1_000_000) // of the script: microseconds

// timed is the script on a real server with the test's clock. Its times are far above zero, like those of the server.
type timed struct {
	t      *testing.T
	client redis.UniversalClient
	script *redis.Script
	key    string
}

func newTimed(t *testing.T) *timed {
	t.Helper()
	const clock, given = "redis.call('TIME')", "{ ARGV[#ARGV - 1], ARGV[#ARGV] }"
	if strings.Count(windowScript, clock) != 1 {
		t.Fatalf("the script reads the clock %d times", strings.Count(windowScript, clock))
	}
	n := openPatient(t, anyServer(t))
	script := strings.Replace(windowScript, clock, given, 1)
	return &timed{t: t, client: n.client, script: redis.NewScript(script)}
}

// newWindow uses an empty window from now on.
func (s *timed) newWindow() {
	s.key = "assay:limit:test:{" + strconv.FormatUint(rand.Uint64(), 36) + "}"
	key := s.key
	s.t.Cleanup(func() { s.client.Del(context.Background(), key) })
}

const year2026 = 1_790_000_000 * second

// calls makes requests at the given times, all in one round trip.
func (s *timed) calls(most int, window int64, times ...int64) (decisions []limit.Decision) {
	s.t.Helper()
	return s.callsOf(func(int) int { return 1 }, most, window, times...)
}

// callsOf makes requests of different costs.
func (s *timed) callsOf(cost func(i int) int, most int, window int64, times ...int64) (decisions []limit.Decision) {
	s.t.Helper()
	if err := s.script.Load(s.t.Context(), s.client).Err(); err != nil {
		s.t.Fatal(err)
	}
	pipe := s.client.Pipeline()
	for i, at := range times {
		at += year2026
		s.script.EvalSha(s.t.Context(), pipe, []string{s.key}, most, window, cost(i), "node", "007", "yes", 0,
			at/second, at%second)
	}
	replies, err := pipe.Exec(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	for _, reply := range replies {
		n, err := reply.(*redis.Cmd).Int64Slice()
		if err != nil {
			s.t.Fatal(err)
		}
		decisions = append(decisions, limit.Decision{
			Allowed:   n[0] == 1,
			Remaining: int(n[1]),
			Reset:     time.Duration(n[2]) * time.Microsecond,
		})
	}
	return decisions
}

func TestWindow_DecidesAsInProcess(t *testing.T) {
	t.Parallel()
	s := newTimed(t)
	rng := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		s.newWindow()
		most := 1 + rng.IntN(70)
		window := 100*second + rng.Int64N(1000*second) // long: the server must not delete the key during the test
		pace := 1 + rng.Int64N(1+3*window/int64(most)) // from far too fast to slow enough
		times, now := make([]int64, 400), int64(0)
		for i := range times {
			now += rng.Int64N(pace + 1)
			if rng.IntN(100) == 0 {
				now += rng.Int64N(3 * window)
			}
			times[i] = now
		}
		inProcess := limit.New[int](most, time.Duration(window)*time.Microsecond, 1, nil)
		dearest := 1 + rng.IntN(most)
		cost := func(i int) int { return 1 + i*i%dearest }
		for i, got := range s.callsOf(cost, most, window, times...) {
			if want := inProcess.AllowMany(0, times[i]*1000, cost(i)); got != want {
				t.Fatalf("limit %d in %d, call %d at %d: got %+v, want %+v", most, window, i, times[i], got, want)
			}
		}
	}
}

func TestWindow_ResetIsTrue(t *testing.T) {
	t.Parallel()
	s := newTimed(t)
	s.newWindow()
	rng := rand.New(rand.NewPCG(3, 4))
	refused := 0
	for now := int64(0); refused < 50; now += rng.Int64N(second) {
		d := s.calls(20, 20*second, now)[0]
		if d.Allowed {
			continue
		}
		refused++
		reset := now + d.Reset.Microseconds()
		if then := s.calls(20, 20*second, reset-1, reset); then[0].Allowed || !then[1].Allowed {
			t.Fatalf("refused at %d with reset %v; a microsecond before that %+v, and then %+v", now, d.Reset, then[0], then[1])
		}
		now = reset
	}
}

func TestWindow_ServersClockSetBack(t *testing.T) {
	t.Parallel()
	s := newTimed(t)
	s.newWindow()
	s.calls(3, 60*second, 1000*second, 1010*second, 1020*second)
	got := s.calls(3, 60*second, 500*second, 560*second-1, 560*second)
	if got[0].Allowed || got[0].Reset != time.Minute {
		t.Errorf("just after: %+v, want a refusal for a minute", got[0])
	}
	if got[1].Allowed || !got[2].Allowed {
		t.Errorf("a minute later: %+v, then %+v; want a refusal, then an empty window", got[1], got[2])
	}
	if ttl := s.client.PTTL(t.Context(), s.key).Val(); ttl <= 0 || ttl > 61*time.Second {
		t.Errorf("the window is kept for %v", ttl)
	}
}

func TestWindow_NodesWithDifferentLimits(t *testing.T) {
	t.Parallel()
	s := newTimed(t)
	s.newWindow()
	s.calls(5, 60*second, 0, 1*second, 2*second, 3*second, 4*second)
	got := s.calls(2, 60*second, 10*second, 63*second-1, 63*second, 64*second-1)
	if got[0].Allowed || got[0].Remaining != 0 || got[0].Reset != 53*time.Second {
		t.Errorf("a lower limit after five: %+v, want a refusal until three have left", got[0])
	}
	if got[1].Allowed || !got[2].Allowed || got[3].Allowed {
		t.Errorf("around the reset: %+v", got[1:])
	}
}
