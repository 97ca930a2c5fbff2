package publish

import (
	"context"
	"fmt"
	"slices"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
)

// Restatement says what is determined anew, by whom and why.
type Restatement struct {
	GPU      string
	From, To int64 // slots whose windows lie in [From, To)
	Reason   string
	Actor    string
}

// Restated tells what a restatement came to.
type Restated struct {
	Version int64 // 0 when nothing has changed
	Slots   int   // revisions made
	Moved   int   // of those, with another value than before
	Settled int   // entries of the late list that it took up
}

// Restate determines time anew that was determined before, with all that is known now, under the methodology that governs
// it. Slots whose inputs have changed get a new revision; the others stay as they are.
func (p *Publisher) Restate(ctx context.Context, r Restatement) (done Restated, err error) {
	err = p.locked(ctx, func(ctx context.Context) error {
		done, err = p.restateLocked(ctx, r)
		return err
	})
	return done, err
}

func (p *Publisher) restateLocked(ctx context.Context, r Restatement) (done Restated, err error) {
	s, err := p.begin(ctx)
	if err != nil {
		return done, err
	}
	due := s.restated(r)
	if len(due) == 0 {
		return done, fmt.Errorf("nothing of %s is published from %s to %s", r.GPU, assay.FormatInstant(r.From), assay.FormatInstant(r.To))
	}
	last, err := p.lastRevisions(ctx, due)
	if err != nil {
		return done, err
	}
	from, finish := bounds(due)
	for to := from; to < finish; {
		end := min(s.schedule.NextSlot(assay.Daily, to), finish)
		err := s.window(ctx, clip(due, store.Span{From: to, To: end}), to, end, func(d assay.Determination, published bool) {
			s.revise(d, published, last, &done)
		})
		if err != nil {
			return done, err
		}
		to = end
	}
	if done.Settled, err = p.settled(ctx, r.GPU, due); err != nil {
		return done, err
	}
	if done.Slots == 0 && done.Settled == 0 {
		return done, nil
	}
	publication := s.publication(due)
	publication.Reason, publication.Actor = r.Reason, r.Actor
	if done.Version, err = p.Store.Publish(ctx, publication); err != nil {
		return Restated{}, fmt.Errorf("restate %s: %w", r.GPU, err)
	}
	p.Log.Info("restated", "version", done.Version, "gpu", r.GPU, "from", assay.FormatInstant(from), "to", assay.FormatInstant(finish),
		"revisions", done.Slots, "moved", done.Moved, "reason", r.Reason, "actor", r.Actor)
	return done, nil
}

// settled counts what is late and will not be any more: also where it changes no value, it has been looked at.
func (p *Publisher) settled(ctx context.Context, gpu string, due store.Coverage) (n int, err error) {
	inside := func(grain assay.Grain, at int64) bool {
		return slices.ContainsFunc(due[store.CoverageKey{GPU: gpu, Grain: grain}], func(s store.Span) bool { return at >= s.From && at < s.To })
	}
	err = p.Store.EachLate(ctx, func(l *store.Late) error {
		if l.GPU == gpu && (l.Hourly && inside(assay.Hourly, l.ExecutedAt) || l.Daily && inside(assay.Daily, l.ExecutedAt)) {
			n++
		}
		return nil
	})
	return n, err
}

// restated is what of the coverage a restatement is about, in whole slots.
func (s *step) restated(r Restatement) store.Coverage {
	due := store.Coverage{}
	for _, grain := range assay.Grains {
		key := store.CoverageKey{GPU: r.GPU, Grain: grain}
		wanted := store.Span{From: s.schedule.NextSlot(grain, r.From-1), To: s.schedule.LastSlot(grain, r.To)}
		for _, covered := range s.state.Coverage[key] {
			span := store.Span{From: max(covered.From, wanted.From), To: min(covered.To, wanted.To)}
			if span.From < span.To {
				due[key] = append(due[key], span)
			}
		}
	}
	return due
}

// lastRevisions reads the newest record of every slot that is due.
func (p *Publisher) lastRevisions(ctx context.Context, due store.Coverage) (map[Slot]assay.Determination, error) {
	last := map[Slot]assay.Determination{}
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
			for i := range records {
				last[SlotOf(&records[i].Determination)] = records[i].Determination
			}
		}
	}
	return last, nil
}

// revise makes the next revision of a slot, if there is anything new about it.
func (s *step) revise(d assay.Determination, published bool, last map[Slot]assay.Determination, done *Restated) {
	var before *assay.Determination
	if known, ok := last[SlotOf(&d)]; ok {
		before = &known
	}
	if !Revises(before, &d, published) {
		return
	}
	done.Slots++
	if before == nil || before.HasValue != d.HasValue || before.Value != d.Value {
		done.Moved++
	}
	s.chain(d)
}

// Revises tells whether a determination becomes a record, after the one before it of the same slot, or nil, and numbers
// it. Publishing and checking both ask here.
func Revises(before, d *assay.Determination, published bool) bool {
	switch {
	case before == nil:
		return published
	case before.Inputs == d.Inputs, !published && !before.HasValue:
		return false // nothing new, or nothing as before
	}
	d.Revision = before.Revision + 1
	return true
}
