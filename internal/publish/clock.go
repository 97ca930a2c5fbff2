package publish

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// largestStep is by how much the clock may jump, or differ from the database's, before nothing is published by it.
const largestStep = time.Minute

// clockGuard notices a clock that jumps ahead, or differs from the database's. What is published because of that is
// empty for good, and every row that follows is late. A clock that is set back is harmless: what it covers again is
// covered already.
type clockGuard struct {
	p          *Publisher
	elapsed    func() time.Duration // since the guard was made, whatever the clock says
	offset     time.Duration        // of the clock to elapsed, when it was last trusted
	difference time.Duration        // to the database's clock that an operator has accepted
	doubted    int64                // what the clock said when it was first in doubt; 0 while it is trusted
}

func newClockGuard(p *Publisher) *clockGuard {
	made := time.Now()
	g := &clockGuard{p: p, elapsed: func() time.Duration { return time.Since(made) }}
	g.offset = g.currentOffset()
	return g
}

func (g *clockGuard) currentOffset() time.Duration {
	return time.Duration(g.p.Now().UnixMilli())*time.Millisecond - g.elapsed()
}

// check returns why nothing may be published by the clock; an empty text if something may. A clock in doubt is trusted
// again when it is right, when the database's clock agrees with it, or when the operator confirms it.
func (g *clockGuard) check(ctx context.Context) (held string, err error) {
	step := g.currentOffset() - g.offset
	ahead, witness, err := g.p.aheadOfDatabase(ctx)
	if err != nil {
		return "", err
	}
	if (ahead - g.difference).Abs() > largestStep {
		held = disagreement(ahead)
	} else if step > largestStep && !witness {
		held = fmt.Sprintf("The clock has jumped ahead by %s.", step.Round(time.Second))
	}
	if held != "" {
		now := g.p.Now().UnixMilli()
		if g.doubted == 0 {
			g.doubted = now
		}
		confirmed, err := g.p.Store.PublishingConfirmed(ctx, g.doubted, now)
		if err != nil {
			return "", err
		}
		if !confirmed {
			return held + " Publishing continues when it is right, or after 'assay publish --confirm'.", nil
		}
		g.difference = ahead
	}
	if step.Abs() > largestStep {
		g.p.Log.Warn("the clock was set, and is trusted", "by", step.Round(time.Millisecond).String())
	}
	if ahead.Abs() <= largestStep {
		g.difference = 0
	}
	g.offset, g.doubted = g.offset+step, 0 // small differences must not add up to a jump
	return "", nil
}

// CheckClock is an error if the clock differs from the database's.
func (p *Publisher) CheckClock(ctx context.Context) error {
	ahead, _, err := p.aheadOfDatabase(ctx)
	if err == nil && ahead.Abs() > largestStep {
		err = errors.New(disagreement(ahead))
	}
	return err
}

// aheadOfDatabase is how far the clock is ahead of that of the database; ok is false if the database has none.
func (p *Publisher) aheadOfDatabase(ctx context.Context) (ahead time.Duration, ok bool, err error) {
	if p.TrustClock {
		return 0, true, nil
	}
	at, ok, err := p.Store.Clock(ctx)
	if err != nil || !ok {
		return 0, false, err
	}
	return p.Now().Sub(at), true, nil
}

func disagreement(ahead time.Duration) string {
	if ahead < 0 {
		return fmt.Sprintf("The clock is %s behind the database's.", (-ahead).Round(time.Second))
	}
	return fmt.Sprintf("The clock is %s ahead of the database's.", ahead.Round(time.Second))
}
