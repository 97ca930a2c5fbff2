package publish

import (
	"context"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/store"
)

// realtimeBack is how far back missed prints are made: as far as the API shows them.
const realtimeBack = assay.Day

// Realtime makes the prints of the minutes that have ended since the last print.
func (p *Publisher) Realtime(ctx context.Context) error {
	schedule, err := LoadSchedule(ctx, p.Store)
	if err != nil {
		return err
	}
	counters, err := p.Store.Counters(ctx)
	if err != nil {
		return err
	}
	last := p.Now().UnixMilli() / assay.Minute * assay.Minute
	first := max(counters.Realtime, last-realtimeBack) + assay.Minute
	if first > last {
		return nil
	}
	batch, err := Known(ctx, p.Store, nil, first-assay.RealtimeWindow, last, counters.Receipt)
	if err != nil {
		return err
	}
	return p.Store.AppendRealtime(ctx, realtimePrints(schedule, batch, first, last), last)
}

// realtimePrints computes the prints of every minute from first to last.
func realtimePrints(schedule index.Schedule, batch []assay.Transaction, first, last int64) (prints []store.LinePrint) {
	var calculator index.Calculator
	rows := map[assay.Line][]int32{}
	calculator.Load(batch)
	begin, end := 0, 0 // rows of the batch that are in the window
	for at := first; at <= last; at += assay.Minute {
		for begin < len(batch) && batch[begin].ExecutedAt < at-assay.RealtimeWindow {
			begin++
		}
		for end < len(batch) && batch[end].ExecutedAt < at {
			end++
		}
		for line := range rows {
			rows[line] = rows[line][:0]
		}
		for i := begin; i < end; i++ {
			for line := range batch[i].Lines() {
				rows[line] = append(rows[line], int32(i))
			}
		}
		for line, inWindow := range rows {
			d, ok := calculator.Compute(inWindow, schedule.At(at))
			if !ok {
				continue
			}
			prints = append(prints, store.LinePrint{Line: line, RealtimePrint: assay.RealtimePrint{
				At: at, Value: d.Value, Transactions: d.Transactions, HourMicros: d.HourMicros,
			}})
		}
	}
	return prints
}
