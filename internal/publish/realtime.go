package publish

import (
	"cmp"
	"context"
	"math"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/tracing"
)

// realtimeBack is how far back missed prints are made: as far as the API shows them.
const realtimeBack = assay.Day

// Missed prints may be millions. realtimeLoad is the time whose transactions are in memory at once, besides those of
// the window before it, and realtimePiece about how many prints one transaction of the database stores: few enough to
// hold the write lock for less than a second. realtimePause follows a large one: a writer that waits for SQLite's lock
// tries ten times a second, and would hardly ever find the moment between two transactions.
const (
	realtimeLoad  = assay.Hour
	realtimePiece = 30_000
	realtimePause = 150 * time.Millisecond
)

// Realtime makes the prints of the minutes that are due since the last print. A minute waits for rows that are on their
// way as long as a slot does, so that the print at the end of an hour is the value of the hour.
func (p *Publisher) Realtime(ctx context.Context) error { return p.realtime(ctx, math.MaxInt64) }

// realtime makes those that end no later than the limit.
func (p *Publisher) realtime(ctx context.Context, limit int64) (err error) {
	ctx, end := tracing.Start(ctx, "print in real time")
	defer func() { end(err) }()
	schedule, err := LoadSchedule(ctx, p.Store)
	if err != nil {
		return err
	}
	counters, err := p.Store.Counters(ctx)
	if err != nil {
		return err
	}
	now := p.Now().UnixMilli()
	last := min(now-schedule.At(now).Delay(), limit) / assay.Minute * assay.Minute
	first := max(counters.Realtime, last-realtimeBack) + assay.Minute
	if first > last {
		return nil
	}
	ends, err := p.Store.SeriesEnds(ctx)
	if err != nil {
		return err
	}
	for first <= last {
		end := min(last, first+realtimeLoad-assay.Minute)
		batch, err := Known(ctx, p.Store, nil, first-assay.RealtimeWindow, end, counters.Receipt)
		if err != nil {
			return err
		}
		if err := p.print(ctx, schedule, ends, batch, first, end); err != nil {
			return err
		}
		first = end + assay.Minute
	}
	return nil
}

// print makes the prints of every minute from first to last, and stores them in pieces. Series that have ended get
// none.
func (p *Publisher) print(
	ctx context.Context, schedule index.Schedule, ends map[string]int64, batch []assay.Transaction, first, last int64,
) error {
	var calculator index.Calculator
	var prints []store.LinePrint
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
			if end, ends := ends[line.GPU]; ends && at > end {
				continue
			}
			d, ok := calculator.Compute(inWindow, schedule.At(at).For(assay.Hourly))
			if !ok {
				continue
			}
			prints = append(prints, store.LinePrint{Line: line, RealtimePrint: assay.RealtimePrint{
				At: at, Value: d.Value, Transactions: d.Transactions, HourMicros: d.HourMicros,
			}})
		}
		if len(prints) >= cmp.Or(p.pieceSize, realtimePiece) || at == last {
			if err := p.Store.AppendRealtime(ctx, prints, at); err != nil {
				return err
			}
			p.made.prints.add(len(prints))
			if len(prints) >= realtimePiece {
				if err := pause(ctx, realtimePause); err != nil {
					return err
				}
			}
			prints = prints[:0]
		}
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
