package publish

import (
	"context"
	"time"
)

// retryAfter is how long the loop waits after a failed pass.
const retryAfter = time.Second

// longestWait bounds the wait for the next minute, so that a clock set forward is noticed.
const longestWait = 10 * time.Second

// Run publishes every slot when it ends, makes the real-time prints, and signs each day that has ended. It first
// catches up on slots that ended earlier. A GPU without coverage starts with the slot that is running; a GPU that is
// added to the catalog later starts with the slot that runs then. Run returns when the context ends.
func (p *Publisher) Run(ctx context.Context) error {
	seen := firstSeen{started: p.Now().UnixMilli(), gpus: map[string]int64{}}
	for {
		now := p.Now()
		next := now.Truncate(time.Minute).Add(time.Minute)
		err := p.pass(ctx, seen.at(now.UnixMilli()))
		wait := min(next.Sub(p.Now()), longestWait) // not positive if the minute ended during the pass
		if err != nil && ctx.Err() == nil {
			p.Log.Error("publish", "error", err)
			wait = retryAfter
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

// pass does everything that is due.
func (p *Publisher) pass(ctx context.Context, first func(gpu string) int64) error {
	if _, err := p.publishDue(ctx, nil, sinceCoverage(first)); err != nil {
		return err
	}
	if err := p.Realtime(ctx); err != nil {
		return err
	}
	return p.Sign(ctx)
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
