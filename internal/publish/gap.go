package publish

import (
	"context"
	"fmt"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
)

// longestGap is how long no publisher may have run before someone must say that nothing is missing.
const longestGap = 5 * time.Minute

// gapGuard notices a time in which no publisher ran and nothing was received: before a restore, or while the machine
// was down. What was executed then may still be imported. So what has ended since waits until it is known to be
// complete: every expected source declares it, or an operator says so by publishing.
type gapGuard struct {
	p    *Publisher
	last time.Time  // of the last pass that did its work, by a clock that does not jump
	gap  store.Span // empty if there is none
}

// worked notes that a pass did its work, or knew why not: once the time before the first pass is known, the time until
// the next one is no gap.
func (g *gapGuard) worked() {
	if !g.last.IsZero() {
		g.last = time.Now()
	}
}

// limit returns the instant up to which slots may be published because of a gap, and why.
func (g *gapGuard) limit(ctx context.Context, covered int64) (limit int64, reason string, err error) {
	if g.p.TrustClock {
		return noLimit, "", nil
	}
	// The first pass asks, too, and one after a clock was set back that had made the gap longer than it is.
	if time.Since(g.last) > longestGap || g.gap.To > g.p.Now().UnixMilli() {
		if g.gap, err = g.find(ctx, covered); err != nil {
			return 0, "", err
		}
		g.last = time.Now()
	}
	if g.gap == (store.Span{}) {
		return noLimit, "", nil
	}
	complete, err := g.p.completeUntil(ctx)
	if err != nil {
		return 0, "", err
	}
	if max(complete, covered) >= g.gap.To-longestGap.Milliseconds() {
		g.gap = store.Span{}
		return noLimit, "", nil
	}
	return g.gap.From, fmt.Sprintf("Nothing was published from %s to %s, and transactions of that time may be missing. "+
		"Publishing continues when every expected source is complete, or after 'assay publish'.",
		assay.FormatInstant(g.gap.From), assay.FormatInstant(g.gap.To)), nil
}

// find returns the time since a publisher last ran; an empty one if transactions were received all along.
func (g *gapGuard) find(ctx context.Context, covered int64) (gap store.Span, err error) {
	counters, err := g.p.Store.Counters(ctx)
	if err != nil {
		return gap, err
	}
	gap = store.Span{From: max(counters.Realtime, covered), To: g.p.Now().UnixMilli()}
	silence, err := g.p.Store.LongestSilence(ctx, gap)
	if err != nil || gap.From == 0 || silence <= longestGap.Milliseconds() {
		return store.Span{}, err
	}
	return gap, nil
}

// completeUntil is the instant before which nothing is missing, as an operator or every expected source has said.
func (p *Publisher) completeUntil(ctx context.Context) (int64, error) {
	word, err := p.Store.LastWord(ctx, p.Now().UnixMilli())
	if err != nil {
		return 0, err
	}
	expected, err := p.Store.ExpectedSources(ctx)
	if err != nil || len(expected) == 0 {
		return word, err
	}
	declared := noLimit
	for _, s := range expected {
		declared = min(declared, s.CompleteUntil)
	}
	return max(word, declared), nil
}
