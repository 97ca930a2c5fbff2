package publish

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
)

// Restatement says which published time is recomputed, by whom and why.
type Restatement struct {
	GPU      string
	From, To int64 // slots whose windows lie in [From, To)
	Late     bool  // instead of these: everything late, of all GPU models
	Reason   string
	Actor    string

	// Preview makes it a trial: it is called for each slot that would get a new revision, and nothing is published.
	// before is nil if the slot has no value yet.
	Preview func(before, after *assay.Determination)
}

// Restated is the result of a restatement.
type Restated struct {
	Version int64 // 0 if nothing has changed
	Slots   int   // revisions made
	Moved   int   // of those, with another value than before
	Settled int   // entries that left the late list
}

// Restate recomputes published slots with all transactions known now, under the methodology that governs them. A slot
// whose inputs have changed gets a new revision; the others stay as they are.
func (p *Publisher) Restate(ctx context.Context, r Restatement) (done Restated, err error) {
	err = p.withLock(ctx, func(ctx context.Context) error {
		done, err = p.publishRestatement(ctx, r)
		return err
	})
	return done, err
}

func (p *Publisher) publishRestatement(ctx context.Context, r Restatement) (done Restated, err error) {
	s, err := p.begin(ctx)
	if err != nil {
		return done, err
	}
	due, err := p.restatable(ctx, s, r)
	if err != nil || len(due) == 0 {
		return done, err
	}
	done, err = p.revise(ctx, s, due, r.Preview)
	if err != nil {
		return done, err
	}
	done.Settled, err = p.countSettled(ctx, due)
	if err != nil || done.Slots == 0 && done.Settled == 0 || r.Preview != nil {
		return done, err
	}
	notices, err := s.notices(ctx, nil, p.Now().UnixMilli())
	if err != nil {
		return Restated{}, err
	}
	done.Version, err = p.commit(ctx, s, store.Publication{
		Covers: due, Reason: r.Reason, Actor: r.Actor, Notices: notices,
	})
	if err != nil {
		return Restated{}, fmt.Errorf("restate %s: %w", strings.Join(gpusOf(due), ", "), err)
	}
	from, to := bounds(due)
	p.Log.Info("restated", "version", done.Version, "gpu", gpusOf(due),
		"from", assay.FormatInstant(from), "to", assay.FormatInstant(to),
		"revisions", done.Slots, "moved", done.Moved, "reason", r.Reason, "actor", r.Actor)
	return done, nil
}

// restatable is what a restatement recomputes. It is empty only if nothing is late.
func (p *Publisher) restatable(ctx context.Context, s *step, r Restatement) (store.Coverage, error) {
	if r.Late {
		return p.late(ctx, s)
	}
	due := s.covered(r)
	if len(due) == 0 {
		return nil, fmt.Errorf("nothing of %s is published from %s to %s",
			r.GPU, assay.FormatInstant(r.From), assay.FormatInstant(r.To))
	}
	return due, nil
}

// late is the time of all slots that late changes are about.
func (p *Publisher) late(ctx context.Context, s *step) (store.Coverage, error) {
	due := store.Coverage{}
	err := p.Store.EachLate(ctx, func(l *store.Late) error {
		for grain, pending := range map[assay.Grain]bool{assay.Hourly: l.Hourly, assay.Daily: l.Daily} {
			if pending {
				key := store.CoverageKey{GPU: l.GPU, Grain: grain}
				window := store.Span{From: s.schedule.LastSlot(grain, l.ExecutedAt), To: s.schedule.NextSlot(grain, l.ExecutedAt)}
				due[key] = append(due[key], window)
			}
		}
		return nil
	})
	for key, spans := range due {
		slices.SortFunc(spans, func(a, b store.Span) int { return cmp.Compare(a.From, b.From) })
		due[key] = slices.Compact(spans)
	}
	return due, err
}

func gpusOf(due store.Coverage) []string {
	gpus := map[string]bool{}
	for key := range due {
		gpus[key.GPU] = true
	}
	return slices.Sorted(maps.Keys(gpus))
}

// covered is the part of the coverage that a restatement is about, in whole slots.
func (s *step) covered(r Restatement) store.Coverage {
	due := store.Coverage{}
	for _, grain := range assay.Grains {
		key := store.CoverageKey{GPU: r.GPU, Grain: grain}
		wanted := store.Span{From: s.schedule.NextSlot(grain, r.From-1), To: s.schedule.LastSlot(grain, r.To)}
		for _, span := range s.state.Coverage[key] {
			span = intersect(span, wanted)
			if span.From < span.To {
				due[key] = append(due[key], span)
			}
		}
	}
	return due
}

// revise recomputes what is due, and makes a revision of each slot whose inputs have changed.
func (p *Publisher) revise(
	ctx context.Context, s *step, due store.Coverage, preview func(before, after *assay.Determination),
) (done Restated, err error) {
	last, err := p.lastRevisions(ctx, due)
	if err != nil {
		return done, err
	}
	from, finish := bounds(due)
	for from < finish {
		to := min(s.schedule.NextSlot(assay.Daily, from), finish)
		err := s.compute(ctx, due, store.Span{From: from, To: to}, func(d assay.Determination, published bool) {
			before := last[SlotOf(&d)]
			if s.reviseSlot(&d, published, before, &done) && preview != nil {
				preview(before, &d)
			}
		})
		if err != nil {
			return done, err
		}
		from = to
	}
	return done, nil
}

// lastRevisions reads the newest record of every slot that is due.
func (p *Publisher) lastRevisions(ctx context.Context, due store.Coverage) (map[Slot]*assay.Determination, error) {
	last := map[Slot]*assay.Determination{}
	chains, err := p.Store.Chains(ctx)
	if err != nil {
		return nil, err
	}
	for _, chain := range chains {
		for _, span := range due[store.CoverageKey{GPU: chain.GPU, Grain: chain.Grain}] {
			records, err := p.Store.SeriesRecords(ctx, chain.SeriesKey, span.From+1, span.To+1)
			if err != nil {
				return nil, err
			}
			for i := range records { // a later revision of the same slot overwrites
				d := &records[i].Determination
				last[SlotOf(d)] = d
			}
		}
	}
	return last, nil
}

func (s *step) reviseSlot(d *assay.Determination, published bool, before *assay.Determination, done *Restated) bool {
	if !Revises(before, d, published) {
		return false
	}
	done.Slots++
	if before == nil || before.HasValue != d.HasValue || before.Value != d.Value {
		done.Moved++
	}
	s.appendRecord(*d)
	return true
}

// Revises tells whether a determination becomes a record after the last record of its slot, which may be nil, and
// sets its revision number. Publishing and verifying share this function.
func Revises(before, d *assay.Determination, published bool) bool {
	switch {
	case before == nil:
		return published
	case before.Inputs == d.Inputs, !published && !before.HasValue:
		return false // the same inputs, or still no value
	}
	d.Revision = before.Revision + 1
	return true
}

// countSettled counts the entries of the late list that the restatement removes, including those that change no value.
func (p *Publisher) countSettled(ctx context.Context, due store.Coverage) (n int, err error) {
	inside := func(gpu string, grain assay.Grain, at int64) bool {
		spans := due[store.CoverageKey{GPU: gpu, Grain: grain}]
		return slices.ContainsFunc(spans, func(s store.Span) bool { return at >= s.From && at < s.To })
	}
	err = p.Store.EachLate(ctx, func(l *store.Late) error {
		hour := l.Hourly && inside(l.GPU, assay.Hourly, l.ExecutedAt)
		if hour || l.Daily && inside(l.GPU, assay.Daily, l.ExecutedAt) {
			n++
		}
		return nil
	})
	return n, err
}
