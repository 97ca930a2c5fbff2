package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// growth is the cost of an hour at one database size: the median times of importing its rows and of publishing it. Then
// everything is verified.
type growth struct {
	stored                  int
	importTime, publishTime time.Duration
	verify                  timing // transactions
}

// measureGrowth grows one database to each of the sizes, publishes all of it, and then measures the hours that follow.
func (e *engine) measureGrowth(ctx context.Context, data string) (all []growth, err error) {
	if err := e.init(ctx, data); err != nil {
		return nil, err
	}
	stored := 0
	for _, size := range e.sizes {
		progress("growing to %s stored transactions", thousands(float64(size)))
		if err := e.grow(ctx, data, stored, size); err != nil {
			return nil, fmt.Errorf("grow to %d: %w", size, err)
		}
		stored = size
		g, err := e.measureHours(ctx, data)
		if err != nil {
			return nil, fmt.Errorf("%d stored: %w", size, err)
		}
		g.stored = size
		if g.verify, err = e.verify(ctx, data, size+(len(all)+1)*e.rounds*e.hourRows); err != nil {
			return nil, fmt.Errorf("verify %d: %w", size, err)
		}
		progress("%s stored: an hour's import %s, its publication %s; verified at %s transactions a second",
			thousands(float64(size)), millis(g.importTime), millis(g.publishTime), thousands(g.verify.rate()))
		all = append(all, g)
	}
	return all, nil
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

// measureHours imports and publishes the next hours, one at a time.
func (e *engine) measureHours(ctx context.Context, data string) (growth, error) {
	var imports, publishes []time.Duration
	for range e.rounds {
		hour := e.nextHours(1)
		imported, err := e.importPiece(ctx, data, hour, 0, hour.rows)
		if err != nil {
			return growth{}, err
		}
		publish, err := e.publishHour(ctx, data, hour.from)
		if err != nil {
			return growth{}, err
		}
		imports, publishes = append(imports, imported.took), append(publishes, publish.took)
	}
	return growth{importTime: median(imports), publishTime: median(publishes)}, nil
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
