// Package publish is the writer's loop. It finds the slots that have ended and that nobody has determined yet, computes
// them from the stored transactions, and publishes records and coverage together as one version.
//
// Coverage is what makes this safe to repeat: a slot inside it is determined for good, with a value or without, and the
// store refuses to cover the same time twice. So a crash loses nothing, a second publisher doubles nothing, and a
// transaction that arrives after its slot was published changes nothing by itself: restate.go determines time anew, when
// an operator says so.
//
// One publisher works at a time: each step holds the store's lock. A step fixes at its start what is known, by the number
// of the last receipt; what arrives while it computes is late.
package publish

import (
	"cmp"
	"context"
	"crypto/ed25519"
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
	Store *store.DB
	Key   ed25519.PrivateKey // signs the manifests; nil: none are made
	Now   func() time.Time
	Log   *slog.Logger

	size int // records of a version when not versionRecords; a test's is small
}

// versionRecords is about how many records one version of a backfill carries: enough to be fast, few enough that the
// write lock is held for less than a second.
const versionRecords = 60_000

// retryAfter is how long the loop waits after a failed pass.
const retryAfter = time.Second

// Run publishes every slot as it ends, first catching up on what ended while nobody was publishing; makes the real-time
// prints; and signs each day that has ended. A GPU without any coverage starts with the slot that is running, one that is
// added to the catalog meanwhile with the slot that runs then. Run returns when the context ends.
func (p *Publisher) Run(ctx context.Context) error {
	s := sightings{p.Now().UnixMilli(), map[string]int64{}}
	for {
		now := p.Now()
		next := now.Truncate(time.Minute).Add(time.Minute)
		err := p.pass(ctx, s.from(now.UnixMilli()))
		wait := min(next.Sub(p.Now()), longestWait) // none, when a minute has ended meanwhile
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

// sightings tell when the loop first saw a GPU.
type sightings struct {
	started int64
	first   map[string]int64
}

// from gives the instant at which a GPU was first seen. All that the first look shows have been there from the start.
func (s *sightings) from(now int64) func(gpu string) int64 {
	if len(s.first) == 0 {
		now = s.started
	}
	return func(gpu string) int64 {
		if _, ok := s.first[gpu]; !ok {
			s.first[gpu] = now
		}
		return s.first[gpu]
	}
}

// longestWait bounds the wait for the next minute, so that a clock set forward is noticed.
const longestWait = 10 * time.Second

// pass does everything that is due.
func (p *Publisher) pass(ctx context.Context, seen func(gpu string) int64) error {
	if _, err := p.catchUpSince(ctx, seen); err != nil {
		return err
	}
	if err := p.Realtime(ctx); err != nil {
		return err
	}
	return p.Sign(ctx)
}

// CatchUp publishes what has ended since the coverage ends. It does nothing for a GPU that has no coverage.
func (p *Publisher) CatchUp(ctx context.Context) (records int, err error) {
	return p.catchUp(ctx, p.Now().UnixMilli())
}

// catchUp is CatchUp, with GPUs that have no coverage starting at the slot that ran at the given instant.
func (p *Publisher) catchUp(ctx context.Context, started int64) (records int, err error) {
	return p.catchUpSince(ctx, func(string) int64 { return started })
}

// catchUpSince is catchUp with an instant for each GPU.
func (p *Publisher) catchUpSince(ctx context.Context, seen func(gpu string) int64) (records int, err error) {
	return p.determine(ctx, nil, func(s *step, key store.CoverageKey, now int64) []store.Span {
		from, first := s.state.Coverage.End(key), seen(key.GPU)
		if from == 0 {
			from = min(s.schedule.LastSlot(key.Grain, first), s.firstWhole(key))
		}
		return []store.Span{{From: from, To: s.schedule.LastSlot(key.Grain, now)}}
	})
}

// firstWhole is where the first slot of a grain begins that lies behind the beginning of the GPU's coverage in the other
// grain: a backfill of some hours is the beginning of the days as well.
func (s *step) firstWhole(key store.CoverageKey) int64 {
	first := int64(math.MaxInt64)
	for _, grain := range assay.Grains {
		if spans := s.state.Coverage[store.CoverageKey{GPU: key.GPU, Grain: grain}]; len(spans) > 0 {
			first = min(first, s.schedule.NextSlot(key.Grain, spans[0].From-1))
		}
	}
	return first
}

// Backfill publishes the slots whose windows lie in [from, to) and have ended, except those that are covered. The
// progress function, if there is one, hears how far it has come.
func (p *Publisher) Backfill(ctx context.Context, from, to int64, progress func(at int64)) (records int, err error) {
	return p.determine(ctx, progress, func(s *step, key store.CoverageKey, now int64) []store.Span {
		wanted := store.Span{
			From: s.schedule.NextSlot(key.Grain, from-1),
			To:   s.schedule.LastSlot(key.Grain, min(to, now)),
		}
		return subtract(wanted, s.state.Coverage[key])
	})
}

// chooser tells which spans of a GPU and grain are wanted.
type chooser func(s *step, key store.CoverageKey, now int64) []store.Span

// determine publishes what is wanted, a version a step, until nothing is.
func (p *Publisher) determine(ctx context.Context, progress func(at int64), wanted chooser) (records int, err error) {
	for {
		n, more, err := p.determineStep(ctx, progress, wanted)
		records += n
		if errors.Is(err, store.ErrOvertaken) {
			continue
		}
		if err != nil || !more {
			return records, err
		}
	}
}

// determineStep publishes the first of what is due as one version; more tells that there may be some left.
func (p *Publisher) determineStep(ctx context.Context, progress func(at int64), wanted chooser) (records int, more bool, err error) {
	err = p.locked(ctx, func(ctx context.Context) error {
		records, more, err = p.determineLocked(ctx, progress, wanted)
		return err
	})
	return records, more, err
}

// locked works under the publisher's lock. Work that ends because the lock is lost says so: it is no end of the program.
func (p *Publisher) locked(ctx context.Context, work func(context.Context) error) error {
	held, unlock, err := p.Store.LockPublisher(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err = work(held); err != nil && held.Err() != nil && ctx.Err() == nil {
		return context.Cause(held)
	}
	return err
}

func (p *Publisher) determineLocked(ctx context.Context, progress func(at int64), wanted chooser) (records int, more bool, err error) {
	s, err := p.begin(ctx)
	if err != nil {
		return 0, false, err
	}
	due, err := p.due(ctx, s, wanted)
	if err != nil || len(due) == 0 {
		return 0, false, err
	}
	from, finish := bounds(due)
	to := from
	for to < finish && s.records < cmp.Or(p.size, versionRecords) {
		end := min(s.schedule.NextSlot(assay.Daily, to), finish)
		if err := s.window(ctx, clip(due, store.Span{From: to, To: end}), to, end, s.seal); err != nil {
			return 0, false, err
		}
		to = end
		if progress != nil {
			progress(end)
		}
	}
	version, err := p.Store.Publish(ctx, s.publication(clip(due, store.Span{From: from, To: to})))
	if err != nil {
		return 0, false, fmt.Errorf("publish %s to %s: %w", assay.FormatInstant(from), assay.FormatInstant(to), err)
	}
	p.Log.Info("published", "version", version, "from", assay.FormatInstant(from), "to", assay.FormatInstant(to), "values", s.records)
	return s.records, to < finish, nil
}

// due asks for each GPU and grain which spans to publish.
func (p *Publisher) due(ctx context.Context, s *step, wanted chooser) (store.Coverage, error) {
	catalog, err := p.Store.Catalog(ctx)
	if err != nil {
		return nil, err
	}
	due, now := store.Coverage{}, p.Now().UnixMilli()
	for _, grain := range assay.Grains {
		for _, gpu := range catalog.GPUs {
			key := store.CoverageKey{GPU: gpu.Name, Grain: grain}
			for _, span := range wanted(s, key, now) {
				if span.From < span.To {
					due[key] = append(due[key], span)
				}
			}
		}
	}
	return due, nil
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

// LoadSchedule reads the methodology's versions. A database without any adopts the one that is shipped.
func LoadSchedule(ctx context.Context, db *store.DB) (index.Schedule, error) {
	files, err := db.Methodologies(ctx)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		plain := index.Plain()
		if err := db.AdoptMethodology(ctx, assay.MethodologyFile{Version: plain.Version, Effective: plain.Effective, Text: index.PlainText()}); err != nil {
			return nil, err
		}
		return index.Schedule{plain}, nil
	}
	return index.ParseSchedule(files)
}
