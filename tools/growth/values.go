//go:build linux

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/proof"
	"github.com/assaydata/assay/internal/store"
)

// startModels is how many models the market of the measured starts has, each with a global line and one in every
// region.
const startModels = 50

// dayValues is how many values a day has: 24 hours and the day itself of every line.
const dayValues = startModels * (1 + regions) * 25

// startBegin is the first day of that market.
var startBegin = time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC)

// values publishes values through the store, without transactions: to compute 20 million from transactions would take
// hours, and a server that starts reads only what was published. Each version is a day.
type values struct {
	db     *store.DB
	random *rand.Rand
	heads  map[store.SeriesKey]assay.Hash
	price  map[assay.Line]assay.Nanos
	lines  []assay.Line
	end    int64 // of the last day
	count  int
}

func newValues(ctx context.Context, db *store.DB) (*values, error) {
	v := &values{
		db: db, heads: map[store.SeriesKey]assay.Hash{}, price: map[assay.Line]assay.Nanos{}, end: startBegin.UnixMilli(),
		random: rand.New(rand.NewPCG(1, 2)), //nolint:gosec // G404: the same prices in every run
	}
	var added assay.Catalog
	for r := range regions {
		added.Regions = append(added.Regions, region(r))
	}
	for m := range startModels {
		added.GPUs = append(added.GPUs, assay.GPU{Name: model(m), Free: true})
		for _, name := range append([]string{assay.Global}, added.Regions...) {
			v.lines = append(v.lines, assay.Line{GPU: model(m), Region: name})
		}
	}
	return v, db.AddToCatalog(ctx, added)
}

// grow publishes days until there are that many values.
func (v *values) grow(ctx context.Context, size int) error {
	for v.count < size {
		if err := v.publishDay(ctx); err != nil {
			return fmt.Errorf("publish the day after %s: %w", assay.FormatInstant(v.end), err)
		}
	}
	return nil
}

func (v *values) publishDay(ctx context.Context) error {
	from, to := v.end, v.end+assay.Day
	p := store.Publication{Methodology: "2.0.0", PublishedAt: to, Covers: store.Coverage{}}
	for _, line := range v.lines {
		hours := store.SeriesRecords{Line: line, Grain: assay.Hourly}
		for at := from + assay.Hour; at <= to; at += assay.Hour {
			v.movePrice(line)
			hours.Records = append(hours.Records, v.record(line, assay.Hourly, at, assay.Hour))
		}
		day := store.SeriesRecords{Line: line, Grain: assay.Daily}
		day.Records = append(day.Records, v.record(line, assay.Daily, to, assay.Day))
		p.Series = append(p.Series, v.chain(hours, to), v.chain(day, to))
	}
	for m := range startModels {
		for _, grain := range assay.Grains {
			p.Covers[store.CoverageKey{GPU: model(m), Grain: grain}] = []store.Span{{From: from, To: to}}
		}
	}
	if _, err := v.db.Publish(ctx, p); err != nil {
		return err
	}
	v.end, v.count = to, v.count+dayValues
	return nil
}

// movePrice moves the price of a line by up to half a percent. It has four decimals, as published values do.
func (v *values) movePrice(line assay.Line) {
	const unit = assay.One / 10_000
	price, ok := v.price[line]
	if !ok {
		price = assay.One + assay.Nanos(v.random.Int64N(40_000))*unit
	}
	most := int64(price/unit) / 200
	v.price[line] = max(assay.One/10, price+assay.Nanos(v.random.Int64N(2*most+1)-most)*unit)
}

// record is the determination of a line's price.
func (v *values) record(line assay.Line, grain assay.Grain, at, length int64) assay.Determination {
	price := v.price[line]
	return assay.Determination{
		Line: line, Grain: grain, At: at, From: at - length, Methodology: "2.0.0", HasValue: true, Value: price,
		Transactions: 12, HourMicros: 96_000_000, Providers: 5, HHI: 2400, Low: price, High: price, Median: price,
	}
}

// chain seals records after the head of their series.
func (v *values) chain(s store.SeriesRecords, publishedAt int64) store.SeriesRecords {
	key := store.SeriesKey{Line: s.Line, Grain: s.Grain}
	for i := range s.Records {
		s.Records[i].PublishedAt = publishedAt
		proof.Seal(&s.Records[i], v.heads[key])
		v.heads[key] = s.Records[i].Hash
	}
	return s
}

// readHeads reads the heads of the chains again, after another program has published.
func (v *values) readHeads(ctx context.Context) error {
	state, err := v.db.State(ctx)
	v.heads = state.Heads
	return err
}
