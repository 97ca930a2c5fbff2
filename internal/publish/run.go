package publish

import (
	"context"
	"time"
)

// retryAfter is how long the loop waits after a failed pass.
const retryAfter = time.Second

// longestWait bounds the wait for the next pass, so that a clock set forward is noticed.
const longestWait = 10 * time.Second

// Run publishes every slot when it is due, makes the real-time prints, and signs each day that has ended. It first
// catches up on slots that ended earlier. A GPU without coverage starts with the slot that is running; a GPU that is
// added to the catalog later starts with the slot that runs then. Run returns when the context ends.
//
// What Run publishes is final, so it holds back what it cannot know: slots past the horizon, and everything while the
// clock is in doubt.
func (p *Publisher) Run(ctx context.Context) error {
	seen := firstSeen{started: p.Now().UnixMilli(), gpus: map[string]int64{}}
	guard, report := newClockGuard(p), reporter{p: p}
	for {
		now := p.Now()
		delay, held, err := p.pass(ctx, guard, seen.at(now.UnixMilli()))
		next := now.Add(-delay).Truncate(time.Minute).Add(time.Minute + delay)
		wait := min(next.Sub(p.Now()), longestWait) // not positive if something became due during the pass
		if ctx.Err() == nil {
			report.passed(held, err)
		}
		if err != nil {
			wait = retryAfter
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

// pass does everything that is due, and returns how long after its end a minute is due, and why something that is due
// was held back.
func (p *Publisher) pass(
	ctx context.Context, guard *clockGuard, first func(gpu string) int64,
) (delay time.Duration, held string, err error) {
	if held, err = guard.check(ctx); err != nil || held != "" {
		return 0, held, err
	}
	limit, reason, err := p.Limit(ctx)
	if err != nil {
		return 0, "", err
	}
	cut := limit == 0
	if _, err := p.publishDue(ctx, nil, within(limit, sinceCoverage(first), &cut)); err != nil {
		return 0, "", err
	}
	if cut {
		held = reason
	}
	if err := p.realtime(ctx, limit); err != nil {
		return 0, "", err
	}
	if err := p.Sign(ctx); err != nil {
		return 0, "", err
	}
	schedule, err := LoadSchedule(ctx, p.Store)
	if err != nil {
		return 0, "", err
	}
	return time.Duration(schedule.At(p.Now().UnixMilli()).Delay()) * time.Millisecond, held, nil
}

// firstSeen remembers when the loop first saw each GPU.
type firstSeen struct {
	started int64
	gpus    map[string]int64
}

// at gives the lookup for a pass that starts now. The GPUs of the first pass count as seen when the loop started.
func (s *firstSeen) at(now int64) func(gpu string) int64 {
	if len(s.gpus) == 0 {
		now = s.started
	}
	return func(gpu string) int64 {
		if _, ok := s.gpus[gpu]; !ok {
			s.gpus[gpu] = now
		}
		return s.gpus[gpu]
	}
}
