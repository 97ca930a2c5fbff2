package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// growth is the cost of an hour at one database size, for the program and, if there is one, an earlier program.
type growth struct {
	stored      int
	now, before hourCost
}

// hourCost is the cost of an hour: the median times of importing its rows and of publishing it. Then everything is
// verified.
type hourCost struct {
	importTime, publishTime time.Duration
	verify                  timing // transactions
}

// measureGrowth grows one database to each of the sizes, publishes all of it, and then measures the hours that follow.
// An earlier program does the same with its own database, hour by hour in turns.
func (e *engine) measureGrowth(ctx context.Context, data string) (all []growth, err error) {
	growing := []*growingDatabase{{engine: e, data: data}}
	if e.before != "" {
		before := *e
		before.options.assay, before.market = e.before, newMarket(1)
		growing = append(growing, &growingDatabase{engine: &before, data: data + "-before"})
	}
	for _, d := range growing {
		if err := d.init(ctx, d.data); err != nil {
			return nil, err
		}
	}
	for _, size := range e.sizes {
		progress("growing to %s stored transactions", thousands(float64(size)))
		costs, err := e.measureSize(ctx, growing, size)
		if err != nil {
			return nil, fmt.Errorf("%d stored: %w", size, err)
		}
		g := growth{stored: size, now: costs[0]}
		progress("%s stored: %s", thousands(float64(size)), g.now)
		if len(costs) > 1 {
			g.before = costs[1]
			progress("with the program before: %s", g.before)
		}
		all = append(all, g)
	}
	return all, nil
}

func (c hourCost) String() string {
	return fmt.Sprintf("an hour's import %s, its publication %s; verified at %s transactions a second",
		millis(c.importTime), millis(c.publishTime), thousands(c.verify.rate()))
}

// growingDatabase is a database of one of the programs.
type growingDatabase struct {
	*engine
	data   string
	stored int // rows of the market
	hours  int // published one by one
}

// measureSize grows the databases to a size, and measures an hour and a verification of each.
func (e *engine) measureSize(ctx context.Context, growing []*growingDatabase, size int) ([]hourCost, error) {
	imports, publishes := make([][]time.Duration, len(growing)), make([][]time.Duration, len(growing))
	for _, d := range growing {
		if err := d.grow(ctx, d.data, d.stored, size); err != nil {
			return nil, fmt.Errorf("grow: %w", err)
		}
		d.stored = size
	}
	for range e.rounds {
		for i, d := range growing {
			imported, published, err := d.measureHour(ctx, d.data)
			if err != nil {
				return nil, err
			}
			d.hours++
			imports[i], publishes[i] = append(imports[i], imported), append(publishes[i], published)
		}
	}
	costs := make([]hourCost, len(growing))
	for i, d := range growing {
		verify, err := d.verify(ctx, d.data, d.stored+d.hours*d.hourRows)
		if err != nil {
			return nil, fmt.Errorf("verify: %w", err)
		}
		costs[i] = hourCost{median(imports[i]), median(publishes[i]), verify}
	}
	return costs, nil
}

// pieceRows limits the rows of one file, so that the disk need not hold everything twice.
const pieceRows = 1_000_000

// grow imports the rows [first, last) of the largest size and publishes them. It publishes no further than they reach:
// otherwise the rows of the next size would be late and change nothing.
func (e *engine) grow(ctx context.Context, data string, first, last int) error {
	market := period{marketBegin, marketEnd, e.sizes[len(e.sizes)-1]}
	for ; first < last; first += pieceRows {
		if _, err := e.importPiece(ctx, data, market, first, min(first+pieceRows, last)); err != nil {
			return err
		}
	}
	t, err := e.publish(ctx, data, time.Time{}, market.reach(last))
	if err == nil && t.count == 0 {
		err = errors.New("no value was published")
	}
	return err
}

// importPiece writes the rows [first, last) of a period to a file and imports it; the import is timed.
func (e *engine) importPiece(ctx context.Context, data string, s period, first, last int) (timing, error) {
	file := filepath.Join(e.dir, "piece.csv")
	defer os.Remove(file)
	if err := e.market.writeFile(ctx, file, s, first, last); err != nil {
		return timing{}, err
	}
	return e.importFile(ctx, data, file, imported{added: last - first})
}

// measureHour imports and publishes the next hour. The publication is measured in processor time: a publisher waits
// until every node can show what it has published, and that is no work.
func (e *engine) measureHour(ctx context.Context, data string) (importTime, publishTime time.Duration, err error) {
	hour := e.nextHours(1)
	imported, err := e.importPiece(ctx, data, hour, 0, hour.rows)
	if err != nil {
		return 0, 0, err
	}
	publish, err := e.publishHour(ctx, data, hour.from)
	return imported.took, publish.used, err
}

// nextHours returns the n hours after everything stored, each with its rows.
func (e *engine) nextHours(n int) period {
	s := period{e.hour, e.hour.Add(time.Duration(n) * time.Hour), n * e.hourRows}
	e.hour = s.to
	return s
}

// publishHour publishes an hour that has transactions and is not yet published.
func (e *engine) publishHour(ctx context.Context, data string, hour time.Time) (timing, error) {
	t, err := e.publish(ctx, data, hour, hour.Add(time.Hour))
	if err == nil && t.count == 0 {
		err = errors.New("no value was published for " + hour.Format(time.RFC3339))
	}
	return t, err
}
