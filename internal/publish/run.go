package publish

import (
	"cmp"
	"context"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/tracing"
)

// retryAfter is how long the loop waits after a failed pass.
const retryAfter = time.Second

// longestWait bounds the wait for the next pass, so that a clock set forward is noticed.
const longestWait = 10 * time.Second

// Run publishes every slot when it is due, makes the real-time prints, and signs each day that has ended. It first
// catches up on slots that ended earlier. A GPU without coverage starts with the slot that is running; a GPU that is
// added to the catalog later starts with the slot that runs then. Run returns when the context ends.
//
// What Run publishes is final, so it holds back what it cannot know: slots past the horizon, slots that an expected
// source has delivered nothing for, and everything while the clock is in doubt or a gap is open.
func (p *Publisher) Run(ctx context.Context) error {
	seen := firstSeen{since: p.Now().UnixMilli(), gpus: map[string]int64{}}
	guards, report := guards{clock: newClockGuard(p), gap: gapGuard{p: p}, sources: sourceGuard{p: p}}, reporter{p: p}
	for {
		now := p.Now()
		delay, held, err := p.pass(ctx, &guards, &seen)
		next := now.Add(-delay).Truncate(time.Minute).Add(time.Minute + delay)
		// It is not positive if something became due during the pass.
		wait := min(next.Sub(p.Now()), cmp.Or(p.waitMost, longestWait))
		if ctx.Err() == nil {
			report.passed(held, err)
		}
		if err != nil {
			wait = retryAfter
		} else {
			guards.gap.worked()
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
	ctx context.Context, guards *guards, seen *firstSeen,
) (delay time.Duration, held string, err error) {
	ctx, end := tracing.Work(ctx, "publish what is due")
	defer func() { end(err) }()
	if held, err = guards.clock.check(ctx); err != nil || held != "" {
		return 0, held, err
	}
	schedule, err := LoadSchedule(ctx, p.Store)
	if err != nil {
		return 0, "", err
	}
	now := p.Now().UnixMilli()
	waits := schedule.At(now).Delay()
	limit, held, err := p.allowed(ctx, guards, schedule.LastDue(assay.Hourly, now))
	if err != nil {
		return 0, "", err
	}
	first := seen.at(now, limit < now)
	if _, err := p.publishDue(ctx, nil, within(limit, sinceCoverage(first))); err != nil {
		return 0, "", err
	}
	if err := p.realtime(ctx, limit); err != nil {
		return 0, "", err
	}
	if _, err := p.RecordValues(ctx); err != nil {
		return 0, "", err
	}
	if err := p.Sign(ctx); err != nil {
		return 0, "", err
	}
	return time.Duration(waits) * time.Millisecond, held, nil
}

// allowed returns the instant up to which Run may publish, and why it must hold something back. Hours are due up to
// another instant.
func (p *Publisher) allowed(ctx context.Context, guards *guards, due int64) (limit int64, held string, err error) {
	if p.Horizon == 0 {
		return noLimit, "", nil
	}
	coverage, err := p.Store.Coverage(ctx)
	if err != nil {
		return 0, "", err
	}
	covered := int64(0)
	for key := range coverage {
		if key.Grain == assay.Hourly {
			covered = max(covered, coverage.End(key))
		}
	}
	if limit, held, err = p.Limit(ctx); err != nil || limit == 0 {
		return limit, held, err
	}
	if due <= max(limit, covered) {
		held = ""
	}
	if ended, err := p.allEnded(ctx, due); err != nil || ended {
		return limit, "", err // nothing is missing
	}
	if lower, reason, err := guards.gap.limit(ctx, covered); err != nil || lower < limit {
		return lower, reason, err // no transaction is missing before it
	}
	if lower, reason, err := guards.sources.limit(ctx, covered, due); err != nil || lower < limit {
		return lower, reason, err
	}
	return limit, held, nil
}

// allEnded tells whether the series of every GPU model have ended, as notices say.
func (p *Publisher) allEnded(ctx context.Context, due int64) (bool, error) {
	ends, err := p.Store.SeriesEnds(ctx)
	if err != nil || len(ends) == 0 {
		return false, err
	}
	catalog, err := p.Store.Catalog(ctx)
	for _, gpu := range catalog.GPUs {
		if end, ok := ends[gpu.Name]; !ok || end > due {
			return false, err
		}
	}
	return true, err
}

// guards say what Run must hold back.
type guards struct {
	clock   *clockGuard
	gap     gapGuard
	sources sourceGuard
}

// firstSeen is when the loop first saw each GPU while it published. A GPU that waits for the first transaction of a
// feed starts with the slot in which it arrives: hours before would be empty for good.
type firstSeen struct {
	since int64 // when the loop started; 0 from the first pass that publishes, or must not
	gpus  map[string]int64
}

// at gives the lookup for a pass that starts now. The GPUs of the first pass count as seen when the loop started.
func (s *firstSeen) at(now int64, held bool) func(gpu string) int64 {
	if held {
		s.since = 0
	}
	first := cmp.Or(s.since, now)
	s.since = 0
	return func(gpu string) int64 {
		if at, ok := s.gpus[gpu]; ok || held {
			return cmp.Or(at, now)
		}
		s.gpus[gpu] = first
		return first
	}
}
