package publish

import (
	"context"
	"fmt"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/proof"
	"github.com/assaydata/assay/internal/store"
)

// step is the making of one version: what it builds on, and what it has made so far.
type step struct {
	store       *store.DB
	schedule    index.Schedule
	state       store.State
	publishedAt int64

	windows    *index.Windows
	calculator index.Calculator
	batch      []assay.Transaction // of the stretch at hand
	digests    []assay.Hash        // of the batch

	made    map[store.SeriesKey][]assay.Determination
	records int
}

// begin fixes what is known.
func (p *Publisher) begin(ctx context.Context) (*step, error) {
	s := &step{store: p.Store, made: map[store.SeriesKey][]assay.Determination{}}
	var err error
	if s.schedule, err = LoadSchedule(ctx, p.Store); err != nil {
		return nil, err
	}
	if s.state, err = p.Store.State(ctx); err != nil {
		return nil, err
	}
	s.windows = index.NewWindows(s.schedule, assay.Grains...)
	s.publishedAt = max(p.Now().UnixMilli(), s.state.PublishedAt) // a clock set back must not turn the order round
	return s, nil
}

// window determines what is due of the stretch [from, to), which ends with a day or with what is due, and so holds whole
// slots of either grain. Each determined slot goes to take; published is false when the methodology publishes nothing.
func (s *step) window(ctx context.Context, due store.Coverage, from, to int64, take func(d assay.Determination, published bool)) (err error) {
	if len(due) == 0 {
		return nil
	}
	if s.batch, err = Known(ctx, s.store, s.batch[:0], from, to, s.state.Receipt); err != nil {
		return err
	}
	s.calculator.Load(s.batch)
	s.digests = s.digests[:0]
	for i := range s.batch {
		s.digests = append(s.digests, proof.Transaction(&s.batch[i]))
	}
	return s.windows.Each(s.batch, func(w index.Window) error {
		for _, span := range due[store.CoverageKey{GPU: w.GPU, Grain: w.Grain}] {
			if w.At > span.From && w.At <= span.To {
				d, published := Determine(&s.calculator, s.schedule, w, s.batch, s.digests)
				d.Receipt, d.PublishedAt = s.state.Receipt, s.publishedAt
				take(d, published)
			}
		}
		return nil
	})
}

// Known reads the transactions executed in [from, to) as they were known at a receipt, in the order of index.Order.
func Known(ctx context.Context, db *store.DB, dst []assay.Transaction, from, to, receipt int64) ([]assay.Transaction, error) {
	batch, err := db.AppendWindow(ctx, dst, from, to)
	if err != nil {
		return nil, err
	}
	events, err := db.Verifications(ctx, from, to)
	if err != nil {
		return nil, err
	}
	batch = index.Known(batch, events, receipt)
	index.Order(batch)
	return batch, nil
}

// Slot names a slot of a series.
type Slot struct {
	store.SeriesKey
	At int64
}

// SlotOf is the slot that a determination is of.
func SlotOf(d *assay.Determination) Slot {
	return Slot{SeriesKey: store.SeriesKey{Line: d.Line, Grain: d.Grain}, At: d.At}
}

func (s Slot) String() string {
	return fmt.Sprintf("%s %s %s at %s", s.GPU, s.Region, s.Grain, assay.FormatInstant(s.At))
}

// Determine computes a window of the batch that the calculator has loaded, as a record without its place in time and
// chain. Publishing and checking both do it here.
func Determine(c *index.Calculator, schedule index.Schedule, w index.Window, batch []assay.Transaction, digests []assay.Hash) (d assay.Determination, published bool) {
	d, published = c.Compute(w.Rows, schedule.At(w.At))
	d.Line, d.Grain, d.At, d.From = w.Line, w.Grain, w.At, schedule.WindowStart(w.Grain, w.At)
	d.Inputs = proof.Inputs(batch, digests, w.Rows)
	return d, published
}

// seal puts a published determination at the end of its chain.
func (s *step) seal(d assay.Determination, published bool) {
	if published {
		s.chain(d)
	}
}

func (s *step) chain(d assay.Determination) {
	key := store.SeriesKey{Line: d.Line, Grain: d.Grain}
	proof.Seal(&d, s.state.Heads[key])
	s.state.Heads[key] = d.Hash
	s.made[key] = append(s.made[key], d)
	s.records++
}

// publication is what the step has made, and the time it is all there is for.
func (s *step) publication(covers store.Coverage) store.Publication {
	p := store.Publication{
		Methodology: s.schedule.At(s.publishedAt).Version, Receipt: s.state.Receipt, PublishedAt: s.publishedAt, Covers: covers,
	}
	for key, records := range s.made {
		p.Series = append(p.Series, store.SeriesRecords{Line: key.Line, Grain: key.Grain, Records: records})
	}
	return p
}
