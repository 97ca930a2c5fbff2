// Package publish is the writer's loop. It finds the slots that have ended and that nobody has determined yet, computes
// them from the stored transactions, and publishes points and coverage together as one version.
//
// Coverage is what makes this safe to repeat: a slot inside it is determined for good, with a value or without, and the
// store refuses to cover the same time twice. So a crash loses nothing, a second publisher doubles nothing, and a
// transaction that arrives after its slot was published changes nothing by itself.
package publish

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/store"
)

// Publisher computes and publishes.
type Publisher struct {
	Store       *store.DB
	Methodology index.Methodology
	Now         func() time.Time
	Log         *slog.Logger

	size int // points of a version when not versionPoints; a test's is small
}

// versionPoints is about how many points one version of a backfill carries: enough to be fast, few enough that the
// write lock is held for less than a second.
const versionPoints = 60_000

// retryAfter is how long the loop waits after a failed pass.
const retryAfter = time.Second

// Run publishes every slot as it ends, first catching up on what ended while nobody was publishing. A GPU without any
// coverage starts with the slot that is running. Run returns when the context ends.
func (p *Publisher) Run(ctx context.Context) error {
	started := p.Now().UnixMilli()
	for {
		next := p.Methodology.NextSlot(assay.Hourly, p.Now().UnixMilli()) // days end on the hour too
		_, err := p.catchUp(ctx, started)
		wait := min(time.UnixMilli(next).Sub(p.Now()), longestWait) // none, when a slot has ended meanwhile
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

// longestWait bounds the wait for the next slot, so that a clock set forward is noticed.
const longestWait = 10 * time.Second

// CatchUp publishes what has ended since the coverage ends. It does nothing for a GPU that has no coverage.
func (p *Publisher) CatchUp(ctx context.Context) (points int, err error) {
	return p.catchUp(ctx, p.Now().UnixMilli())
}

// catchUp is CatchUp, with GPUs that have no coverage starting at the slot that ran at the given instant.
func (p *Publisher) catchUp(ctx context.Context, started int64) (points int, err error) {
	return p.determine(ctx, nil, func(coverage store.Coverage, key store.CoverageKey, now int64) []store.Span {
		from := coverage.End(key)
		if from == 0 {
			from = p.Methodology.LastSlot(key.Grain, started)
		}
		return []store.Span{{From: from, To: p.Methodology.LastSlot(key.Grain, now)}}
	})
}

// Backfill publishes the slots whose windows lie in [from, to) and have ended, except those that are covered. The
// progress function, if there is one, hears how far it has come.
func (p *Publisher) Backfill(ctx context.Context, from, to int64, progress func(at int64)) (points int, err error) {
	return p.determine(ctx, progress, func(coverage store.Coverage, key store.CoverageKey, now int64) []store.Span {
		wanted := store.Span{
			From: p.Methodology.NextSlot(key.Grain, from-1),
			To:   p.Methodology.LastSlot(key.Grain, min(to, now)),
		}
		return subtract(wanted, coverage[key])
	})
}

// chooser tells which spans of a GPU and grain are wanted.
type chooser func(coverage store.Coverage, key store.CoverageKey, now int64) []store.Span

// determine publishes what is wanted. When another publisher has covered part of it meanwhile, it looks anew at what is
// left: going on behind the refused version would leave a hole.
func (p *Publisher) determine(ctx context.Context, progress func(at int64), wanted chooser) (points int, err error) {
	for {
		due, err := p.due(ctx, wanted)
		if err != nil {
			return points, err
		}
		n, err := p.publish(ctx, due, progress)
		points += n
		if !errors.Is(err, store.ErrOvertaken) {
			return points, err
		}
	}
}

// subtract is what is left of a span without the given ones, which are apart and in order.
func subtract(span store.Span, covered []store.Span) (left []store.Span) {
	for _, c := range covered {
		if c.From > span.From {
			left = append(left, store.Span{From: span.From, To: min(c.From, span.To)})
		}
		span.From = max(span.From, c.To)
	}
	return append(left, span)
}

// due asks for each GPU and grain which spans to publish.
func (p *Publisher) due(ctx context.Context, wanted chooser) (store.Coverage, error) {
	catalog, err := p.Store.Catalog(ctx)
	if err != nil {
		return nil, err
	}
	coverage, err := p.Store.Coverage(ctx)
	if err != nil {
		return nil, err
	}
	due, now := store.Coverage{}, p.Now().UnixMilli()
	for _, grain := range assay.Grains {
		for _, gpu := range catalog.GPUs {
			key := store.CoverageKey{GPU: gpu.Name, Grain: grain}
			for _, span := range wanted(coverage, key, now) {
				if span.From < span.To {
					due[key] = append(due[key], span)
				}
			}
		}
	}
	return due, nil
}

// publish determines everything that is due, in the order of time, a version every so many points. It reads one fixing
// day at a time: days end on the hour, so a step holds whole slots of either grain.
func (p *Publisher) publish(ctx context.Context, due store.Coverage, progress func(at int64)) (points int, err error) {
	accumulators := map[assay.Grain]*index.Accumulator{}
	for _, grain := range assay.Grains {
		accumulators[grain] = index.NewAccumulator(p.Methodology, grain)
	}
	begin, finish := bounds(due)
	for done := begin; begin < finish; {
		end := min(p.Methodology.NextSlot(assay.Daily, begin), finish)
		if err := p.accumulate(ctx, accumulators, due, begin, end); err != nil {
			return points, err
		}
		begin = end
		if progress != nil {
			progress(end)
		}
		if accumulators[assay.Hourly].Len() < cmp.Or(p.size, versionPoints) && end < finish {
			continue
		}
		n, err := p.version(ctx, accumulators, clip(due, store.Span{From: done, To: end}))
		points += n
		if err != nil {
			return points, err
		}
		done = end
	}
	return points, nil
}

// bounds is the stretch from the first to the last instant that is due.
func bounds(due store.Coverage) (from, to int64) {
	from = math.MaxInt64
	for key, spans := range due {
		from, to = min(from, spans[0].From), max(to, due.End(key))
	}
	return from, to
}

// clip is what is due inside a span.
func clip(due store.Coverage, within store.Span) store.Coverage {
	clipped := store.Coverage{}
	for key, spans := range due {
		for _, s := range spans {
			s = store.Span{From: max(s.From, within.From), To: min(s.To, within.To)}
			if s.From < s.To {
				clipped[key] = append(clipped[key], s)
			}
		}
	}
	return clipped
}

// accumulate feeds the transactions of [from, to) to the grains for which they are due.
func (p *Publisher) accumulate(ctx context.Context, accumulators map[assay.Grain]*index.Accumulator, due store.Coverage, from, to int64) error {
	due = clip(due, store.Span{From: from, To: to})
	if len(due) == 0 {
		return nil
	}
	return p.Store.EachVerified(ctx, from, to, func(t *assay.Transaction) error {
		for _, grain := range assay.Grains {
			for _, span := range due[store.CoverageKey{GPU: t.GPU, Grain: grain}] {
				if t.ExecutedAt >= span.From && t.ExecutedAt < span.To {
					accumulators[grain].Add(t)
				}
			}
		}
		return nil
	})
}

// version writes one version: all accumulated points, and what they cover.
func (p *Publisher) version(ctx context.Context, accumulators map[assay.Grain]*index.Accumulator, covers store.Coverage) (points int, err error) {
	publication := store.Publication{Methodology: p.Methodology.Version, Covers: covers}
	for _, grain := range assay.Grains {
		for _, l := range accumulators[grain].Take() {
			publication.Series = append(publication.Series, store.SeriesPoints{Line: l.Line, Grain: grain, Points: l.Points})
			points += len(l.Points)
		}
	}
	from, to := bounds(covers)
	version, err := p.Store.Publish(ctx, publication)
	if err != nil {
		return 0, fmt.Errorf("publish %s to %s: %w", assay.FormatInstant(from), assay.FormatInstant(to), err)
	}
	p.Log.Info("published", "version", version, "from", assay.FormatInstant(from), "to", assay.FormatInstant(to), "points", points)
	return points, nil
}
