// Package publish is the writer's loop. It finds the slots that have ended and that nobody has determined yet, computes
// them from the stored transactions, and publishes points and coverage together as one version.
//
// Coverage is what makes this safe to repeat: a slot inside it is determined for good, with a value or without, and the
// store refuses to cover the same time twice. So a crash loses nothing, a second publisher doubles nothing, and a
// transaction that arrives after its slot was published changes nothing by itself.
package publish

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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
		_, err := p.catchUp(ctx, started)
		wait := p.untilNextSlot()
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

// untilNextSlot is the time to the next end of an hour; days end on the hour too.
func (p *Publisher) untilNextSlot() time.Duration {
	now := p.Now()
	return min(time.UnixMilli(p.Methodology.NextSlot(assay.Hourly, now.UnixMilli())).Sub(now), longestWait)
}

// CatchUp publishes what has ended since the coverage ends. It does nothing for a GPU that has no coverage.
func (p *Publisher) CatchUp(ctx context.Context) (points int, err error) {
	return p.catchUp(ctx, p.Now().UnixMilli())
}

// catchUp is CatchUp, with GPUs that have no coverage starting at the slot that ran at the given instant.
func (p *Publisher) catchUp(ctx context.Context, started int64) (points int, err error) {
	due, err := p.due(ctx, func(coverage store.Coverage, key store.CoverageKey, now int64) []store.Span {
		from := coverage.End(key)
		if from == 0 {
			from = p.Methodology.LastSlot(key.Grain, started)
		}
		return []store.Span{{From: from, To: p.Methodology.LastSlot(key.Grain, now)}}
	})
	if err != nil {
		return 0, err
	}
	return p.publishAll(ctx, due, nil)
}

// Backfill publishes the slots whose windows lie in [from, to) and have ended, except those that are covered. The
// progress function, if there is one, hears how far it has come.
func (p *Publisher) Backfill(ctx context.Context, from, to int64, progress func(at int64)) (points int, err error) {
	due, err := p.due(ctx, func(coverage store.Coverage, key store.CoverageKey, now int64) []store.Span {
		wanted := store.Span{
			From: p.Methodology.NextSlot(key.Grain, from-1),
			To:   p.Methodology.LastSlot(key.Grain, min(to, now)),
		}
		return subtract(wanted, coverage[key])
	})
	if err != nil {
		return 0, err
	}
	return p.publishAll(ctx, due, progress)
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

// task is a stretch of time and who is to be determined in it.
type task struct {
	store.Span
	keys []store.CoverageKey
}

// due asks for each GPU and grain which spans to publish, and groups those that have the same span.
func (p *Publisher) due(ctx context.Context, spans func(store.Coverage, store.CoverageKey, int64) []store.Span) ([]task, error) {
	catalog, err := p.Store.Catalog(ctx)
	if err != nil {
		return nil, err
	}
	coverage, err := p.Store.Coverage(ctx)
	if err != nil {
		return nil, err
	}
	now := p.Now().UnixMilli()
	var tasks []task
	for _, grain := range assay.Grains {
		for _, gpu := range catalog.GPUs {
			key := store.CoverageKey{GPU: gpu.Name, Grain: grain}
			for _, span := range spans(coverage, key, now) {
				if span.From < span.To {
					tasks = addTask(tasks, span, key)
				}
			}
		}
	}
	return tasks, nil
}

func addTask(tasks []task, span store.Span, key store.CoverageKey) []task {
	for i := range tasks {
		if tasks[i].Span == span && tasks[i].keys[0].Grain == key.Grain {
			tasks[i].keys = append(tasks[i].keys, key)
			return tasks
		}
	}
	return append(tasks, task{span, []store.CoverageKey{key}})
}

func (p *Publisher) publishAll(ctx context.Context, tasks []task, progress func(int64)) (points int, err error) {
	for _, t := range tasks {
		n, err := p.publish(ctx, t, progress)
		points += n
		if err != nil {
			return points, err
		}
	}
	return points, nil
}

// publish determines the slots of one task, in the order of time, a version every so many points.
func (p *Publisher) publish(ctx context.Context, t task, progress func(int64)) (points int, err error) {
	grain := t.keys[0].Grain
	wanted := make(map[string]bool, len(t.keys))
	for _, key := range t.keys {
		wanted[key.GPU] = true
	}
	accumulator := index.NewAccumulator(p.Methodology, grain)
	for begin := t.From; begin < t.To; {
		// One fixing day at a time: days end on the hour, so a step holds whole slots of either grain.
		end := min(p.Methodology.NextSlot(assay.Daily, begin), t.To)
		err := p.Store.EachVerified(ctx, begin, end, func(tr *assay.Transaction) error {
			if wanted[tr.GPU] {
				accumulator.Add(tr)
			}
			return nil
		})
		if err != nil {
			return points, err
		}
		begin = end
		if progress != nil {
			progress(end)
		}
		if accumulator.Len() < versionPoints && end < t.To {
			continue
		}
		n, err := p.version(ctx, accumulator.Take(), t.keys, store.Span{From: t.From, To: end})
		points += n
		if err != nil {
			return points, err
		}
		t.From = end
	}
	return points, nil
}

// version writes one version: the points of a span for all the keys of a task.
func (p *Publisher) version(ctx context.Context, lines []index.LinePoints, keys []store.CoverageKey, span store.Span) (points int, err error) {
	publication := store.Publication{Methodology: p.Methodology.Version, Covers: map[store.CoverageKey]store.Span{}}
	for _, key := range keys {
		publication.Covers[key] = span
	}
	for _, l := range lines {
		publication.Series = append(publication.Series, store.SeriesPoints{Line: l.Line, Grain: keys[0].Grain, Points: l.Points})
		points += len(l.Points)
	}
	version, err := p.Store.Publish(ctx, publication)
	if errors.Is(err, store.ErrOvertaken) {
		return 0, nil // the other publisher has determined these slots; the next pass goes on behind them
	}
	if err != nil {
		return 0, fmt.Errorf("publish %s to %s: %w", assay.FormatInstant(span.From), assay.FormatInstant(span.To), err)
	}
	p.Log.Info("published", "version", version, "grain", keys[0].Grain.String(),
		"from", assay.FormatInstant(span.From), "to", assay.FormatInstant(span.To), "points", points)
	return points, nil
}
