package publish

import (
	"context"
	"fmt"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/proof"
	"github.com/assaydata/assay/internal/store"
)

// step makes one version: the state it builds on, and its records so far.
type step struct {
	db       *store.DB
	schedule index.Schedule
	state    store.State

	windows    *index.Windows
	calculator index.Calculator
	batch      []assay.Transaction // of the span being computed
	digests    []assay.Hash        // of the batch

	made    map[store.SeriesKey][]assay.Determination
	records int
}

// begin reads what the version builds on.
func (p *Publisher) begin(ctx context.Context) (*step, error) {
	schedule, err := LoadSchedule(ctx, p.Store)
	if err != nil {
		return nil, err
	}
	state, err := p.Store.State(ctx)
	if err != nil {
		return nil, err
	}
	return &step{
		db: p.Store, schedule: schedule, state: state,
		windows: index.NewWindows(schedule, assay.Grains...),
		made:    map[store.SeriesKey][]assay.Determination{},
	}, nil
}

// compute determines the slots of a span that are due. The span ends with a day or with all that is due, so it holds
// whole slots of both grains. Take receives each determination; published is false if the methodology publishes
// nothing.
func (s *step) compute(
	ctx context.Context, due store.Coverage, span store.Span, take func(d assay.Determination, published bool),
) error {
	due = clip(due, span)
	if len(due) == 0 {
		return nil
	}
	if err := s.load(ctx, span); err != nil {
		return err
	}
	return s.windows.Each(s.batch, func(w index.Window) error {
		for _, span := range due[store.CoverageKey{GPU: w.GPU, Grain: w.Grain}] {
			if w.At > span.From && w.At <= span.To {
				d, published := Determine(&s.calculator, s.schedule, w, s.batch, s.digests)
				d.DelaySeconds, d.Receipt = s.schedule.At(w.At).DelaySeconds, s.state.Receipt
				take(d, published)
			}
		}
		return nil
	})
}

func (s *step) load(ctx context.Context, span store.Span) (err error) {
	s.batch, err = Known(ctx, s.db, s.batch[:0], span.From, span.To, s.state.Receipt)
	if err != nil {
		return err
	}
	s.calculator.Load(s.batch)
	s.digests = s.digests[:0]
	for i := range s.batch {
		s.digests = append(s.digests, proof.Transaction(&s.batch[i]))
	}
	return nil
}

// Known reads the transactions executed in [from, to) as they were known at a receipt, in the order of index.Order.
func Known(
	ctx context.Context, db *store.DB, dst []assay.Transaction, from, to, receipt int64,
) ([]assay.Transaction, error) {
	batch, err := db.AppendWindow(ctx, dst, from, to)
	if err != nil {
		return nil, err
	}
	amendments, err := db.Amendments(ctx, from, to)
	if err != nil {
		return nil, err
	}
	batch = index.Known(batch, amendments, receipt)
	index.Order(batch, nil)
	return batch, nil
}

// Slot names a slot of a series.
type Slot struct {
	store.SeriesKey
	At int64
}

// SlotOf is the slot of a determination.
func SlotOf(d *assay.Determination) Slot {
	return Slot{SeriesKey: store.SeriesKey{Line: d.Line, Grain: d.Grain}, At: d.At}
}

func (s Slot) String() string {
	return fmt.Sprintf("%s %s %s at %s", s.GPU, s.Region, s.Grain, assay.FormatInstant(s.At))
}

// Determine computes a window of the batch that the calculator has loaded. The publication, revision and chain fields
// of the result are empty. Publishing and verifying share this function.
func Determine(
	c *index.Calculator, schedule index.Schedule, w index.Window, batch []assay.Transaction, digests []assay.Hash,
) (d assay.Determination, published bool) {
	d, published = c.Compute(w.Rows, schedule.At(w.At).For(w.Grain))
	d.Line, d.Grain, d.At, d.From = w.Line, w.Grain, w.At, schedule.WindowStart(w.Grain, w.At)
	d.Inputs = proof.Inputs(batch, digests, w.Rows)
	return d, published
}

// publish adds a published determination to the version.
func (s *step) publish(d assay.Determination, published bool) {
	if published {
		s.appendRecord(d)
	}
}

// appendRecord appends a determination to those of its series. commit seals them.
func (s *step) appendRecord(d assay.Determination) {
	key := store.SeriesKey{Line: d.Line, Grain: d.Grain}
	s.made[key] = append(s.made[key], d)
	s.records++
}
