// Package publish is the writer's loop. It finds the slots that have ended and are not published yet, computes them
// from the stored transactions, and publishes their records and coverage together as one version.
//
// Coverage makes this safe to repeat. A slot inside it is determined for good, with a value or without, and the store
// refuses to cover the same time twice. So a crash loses nothing, and a second publisher duplicates nothing. A
// transaction that arrives after its slot was published changes nothing until an operator restates the slot
// (restate.go).
//
// One publisher works at a time: each version is made under the store's lock. It knows the transactions up to the last
// receipt at its start; a transaction that arrives while it computes is late.
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
	"github.com/assaydata/assay/internal/tracing"
)

// Publisher computes and publishes.
type Publisher struct {
	Store *store.DB
	Key   ed25519.PrivateKey // signs the manifests; without it, none are made
	// ReadKey, if not nil, reads the key again when another one has taken its place.
	ReadKey func() (ed25519.PrivateKey, error)

	Now func() time.Time
	Log *slog.Logger

	// Lead is how long before its instant a version is written, so that readers have it then; 0 writes it whenever it is
	// ready.
	Lead time.Duration
	// Horizon is how far past the newest transaction Run publishes; 0 is without a limit.
	Horizon time.Duration
	// TrustClock is for a market that is made up, as that of a demo: its clock may jump, and no gap hides anything.
	TrustClock bool
	// Report, if not nil, is called after each pass of Run.
	Report func(State, string)

	versionSize int // replaces versionRecords in tests
	pieceSize   int // replaces realtimePiece in tests

	waitMost time.Duration // replaces longestWait in tests

	made      made
	published int64 // the instant of the newest version that this publisher has made
	recorded  recorded
	settling  settlingRows
}

// versionRecords is the approximate number of records in one version of a backfill: enough to be fast, few enough to
// hold the write lock for less than a second.
const versionRecords = 60_000

// CatchUp publishes the slots that are due since the end of the coverage. A GPU without coverage gets none.
func (p *Publisher) CatchUp(ctx context.Context) (records int, err error) {
	now := p.Now().UnixMilli()
	return p.publishDue(ctx, nil, sinceCoverage(func(string) int64 { return now }))
}

// Backfill publishes the slots whose windows lie in [from, to), are due and are not covered yet. Progress, if not
// nil, is called with the instant up to which slots are computed.
func (p *Publisher) Backfill(ctx context.Context, from, to int64, progress func(at int64)) (records int, err error) {
	return p.publishDue(ctx, progress, func(s *step, key store.CoverageKey, now int64) []store.Span {
		wanted := store.Span{
			From: s.schedule.NextSlot(key.Grain, from-1),
			To:   min(s.schedule.LastSlot(key.Grain, to), s.schedule.LastDue(key.Grain, now)),
		}
		return subtract(wanted, s.state.Coverage[key])
	})
}

// spanChooser chooses which time of a GPU and grain is due.
type spanChooser func(s *step, key store.CoverageKey, now int64) []store.Span

// sinceCoverage chooses the time from the end of the coverage to now. A GPU without coverage starts with the slot
// that was running at its first instant.
func sinceCoverage(first func(gpu string) int64) spanChooser {
	return func(s *step, key store.CoverageKey, now int64) []store.Span {
		start := first(key.GPU) // also for a GPU with coverage: Run notes when it first appears
		from := s.state.Coverage.End(key)
		if from == 0 {
			from = min(s.schedule.LastSlot(key.Grain, start), s.firstWhole(key))
		}
		return []store.Span{{From: from, To: s.schedule.LastDue(key.Grain, now)}}
	}
}

// firstWhole is the start of the first slot of a grain that lies after the start of the GPU's coverage in either
// grain. So a backfill of hours also starts the days.
func (s *step) firstWhole(key store.CoverageKey) int64 {
	first := int64(math.MaxInt64)
	for _, grain := range assay.Grains {
		if spans := s.state.Coverage[store.CoverageKey{GPU: key.GPU, Grain: grain}]; len(spans) > 0 {
			first = min(first, s.schedule.NextSlot(key.Grain, spans[0].From-1))
		}
	}
	return first
}

// publishDue publishes what is due, one version at a time, each under the publisher's lock.
func (p *Publisher) publishDue(
	ctx context.Context, progress func(at int64), choose spanChooser,
) (records int, err error) {
	for more := true; more; {
		err := p.withLock(ctx, func(ctx context.Context) (err error) {
			var n int
			n, more, err = p.publishVersion(ctx, progress, choose)
			records += n
			return err
		})
		if errors.Is(err, store.ErrOvertaken) { // another publisher was faster: see what is left
			more = true
			continue
		}
		if err != nil {
			return records, err
		}
	}
	return records, nil
}

// withLock works under the publisher's lock. If the lock is lost, it returns that as the error, and not the end of the
// context that the loss caused.
func (p *Publisher) withLock(ctx context.Context, work func(context.Context) error) error {
	held, unlock, err := p.Store.LockPublisher(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	err = work(held)
	if err != nil && held.Err() != nil && ctx.Err() == nil {
		return context.Cause(held)
	}
	return err
}

// publishVersion publishes the earliest of what is due as one version. More tells whether anything is left.
func (p *Publisher) publishVersion(
	ctx context.Context, progress func(at int64), choose spanChooser,
) (records int, more bool, err error) {
	ctx, end := tracing.Start(ctx, "publish a version")
	defer func() { end(err) }()
	s, err := p.begin(ctx)
	if err != nil {
		return 0, false, err
	}
	due, err := p.due(ctx, s, choose)
	if err != nil || len(due) == 0 {
		return 0, false, err
	}
	from, finish := bounds(due)
	to := from
	for to < finish && s.records < cmp.Or(p.versionSize, versionRecords) {
		end := min(s.schedule.NextSlot(assay.Daily, to), finish)
		if err := s.compute(ctx, due, store.Span{From: to, To: end}, s.publish); err != nil {
			return 0, false, err
		}
		to = end
		if progress != nil {
			progress(end)
		}
	}
	covers := clip(due, store.Span{From: from, To: to})
	notices, err := s.notices(ctx, covers, p.Now().UnixMilli())
	if err != nil {
		return 0, false, err
	}
	version, err := p.commit(ctx, s, store.Publication{Covers: covers, Notices: notices})
	if err != nil {
		return 0, false, fmt.Errorf("publish %s to %s: %w", assay.FormatInstant(from), assay.FormatInstant(to), err)
	}
	p.made.values.add(s.records)
	p.Log.Info("published", "version", version,
		"from", assay.FormatInstant(from), "to", assay.FormatInstant(to), "values", s.records)
	return s.records, to < finish, nil
}

// due is the time to publish, by GPU and grain. Series that have ended, as a notice says, get no more.
func (p *Publisher) due(ctx context.Context, s *step, choose spanChooser) (store.Coverage, error) {
	catalog, err := p.Store.Catalog(ctx)
	if err != nil {
		return nil, err
	}
	ends, err := p.Store.SeriesEnds(ctx)
	if err != nil {
		return nil, err
	}
	due, now := store.Coverage{}, p.Now().UnixMilli()
	for _, grain := range assay.Grains {
		for _, gpu := range catalog.GPUs {
			key := store.CoverageKey{GPU: gpu.Name, Grain: grain}
			for _, span := range choose(s, key, now) {
				if end, ok := ends[gpu.Name]; ok {
					span.To = min(span.To, s.schedule.LastSlot(grain, end))
				}
				if span.From < span.To {
					due[key] = append(due[key], span)
				}
			}
		}
	}
	return due, nil
}

// standardSchema is the first schema of databases that begin with methodology 2.0.0. Earlier ones began with 1.0.0, and
// keep it, also if they have published nothing yet.
const standardSchema = 30

// LoadSchedule reads the methodology's versions. A database without any adopts the built-in one.
func LoadSchedule(ctx context.Context, db *store.DB) (index.Schedule, error) {
	files, err := db.Methodologies(ctx)
	if err != nil {
		return nil, err
	}
	if len(files) > 0 {
		return index.ParseSchedule(files)
	}
	schema, err := db.FirstSchema(ctx)
	if err != nil {
		return nil, err
	}
	text := index.PlainText()
	if schema >= standardSchema {
		text = index.StandardText()
	}
	m, err := index.ParseMethodology(text)
	if err != nil {
		return nil, err
	}
	file := assay.MethodologyFile{Version: m.Version, Effective: m.Effective, Text: text}
	if err := db.AdoptMethodology(ctx, file, 0); err != nil {
		return nil, err
	}
	return index.Schedule{m}, nil
}
