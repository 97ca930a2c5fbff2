package store

import (
	"bytes"
	"cmp"
	"context"
	"database/sql/driver"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/assaydata/assay"
)

// AllRevisions reads the revisions of all series that versions up to one have added, each series in the order of
// instant and number. It is Revisions for a server that starts: many times as fast, since it reads packed points.
//
// If packed points are damaged, or there are not as many as the chains have records, the error is an ErrDamaged.
// Revisions does not depend on them.
func (db *DB) AllRevisions(ctx context.Context, upTo int64) (all map[SeriesKey][]assay.Revision, err error) {
	err = db.readRaw(ctx, func(tx *tx, scan rawScan) error {
		r, err := newRevisionsReader(tx, upTo)
		if err != nil {
			return err
		}
		if err := r.readPacked(scan); err != nil {
			return err
		}
		if err := r.readUnpacked(tx); err != nil {
			return err
		}
		all, err = r.finish()
		return err
	})
	return all, err
}

// revisionsReader sorts points by series.
type revisionsReader struct {
	upTo   int64
	series []readSeries // in the order of their numbers
	last   int          // the position of the series of the last point
}

// readSeries is what was read of a series.
type readSeries struct {
	SeriesKey
	id        int64
	records   int64 // the length of its chain
	read      int64 // points of any version
	revisions []assay.Revision
	unordered bool
}

// mostPrepared bounds the space for points that is prepared for a series, in case the length of its chain is damaged:
// more than ten years of hours.
const mostPrepared = 100_000

func newRevisionsReader(tx *tx, upTo int64) (*revisionsReader, error) {
	r := &revisionsReader{upTo: upTo}
	err := tx.each(`SELECT series_id, records, `+seriesNames+` FROM series `+joinSeriesNames+` ORDER BY series_id`, nil,
		func(scan scanFunc) error {
			var s readSeries
			err := scan(&s.id, &s.records, &s.GPU, &s.Region, (*grainText)(&s.Grain))
			s.revisions = make([]assay.Revision, 0, min(max(0, s.records), mostPrepared))
			r.series = append(r.series, s)
			return err
		})
	return r, err
}

// rowsAhead is how many rows of packed points are read while others are unpacked.
const rowsAhead = 8

// readPacked reads all packed points. One goroutine reads rows, and another unpacks them.
func (r *revisionsReader) readPacked(scan rawScan) error {
	rows := make(chan packedRow, rowsAhead)
	var failure error
	var unpacking sync.WaitGroup
	unpacking.Go(func() {
		for row := range rows {
			if failure == nil {
				failure = row.each(r.add)
			}
		}
	})
	err := eachPacked(scan, math.MaxInt64, func(row packedRow) error {
		row.body = bytes.Clone(row.body) // PostgreSQL's driver reads the next row into the same memory
		rows <- row
		return nil
	})
	close(rows)
	unpacking.Wait()
	return cmp.Or(err, failure)
}

// eachPacked calls f with the rows of packed points up to a version, in their order.
func eachPacked(scan rawScan, upTo int64, f func(packedRow) error) error {
	query := `SELECT version, part, points, checksum, body FROM packed_points WHERE version <= $1 ORDER BY version, part`
	return scan(query, []any{upTo}, func(values []driver.Value) error {
		var numbers [4]int64
		for i := range numbers {
			n, ok := values[i].(int64)
			if !ok {
				return fmt.Errorf("%w: packed points of publication %v: a column has the wrong type", ErrDamaged, values[0])
			}
			numbers[i] = n
		}
		body, ok := values[4].([]byte)
		row := packedRow{numbers[0], numbers[1], numbers[2], numbers[3], body}
		if !ok {
			return row.damaged("cannot be read")
		}
		return f(row)
	})
}

// EachPacked calls f with the packed points up to a version, in any order. Rows are only added, so what it reads does
// not depend on what is published meanwhile.
func (db *DB) EachPacked(ctx context.Context, upTo int64, f func(SeriesKey, assay.Revision)) error {
	return db.readRaw(ctx, func(tx *tx, scan rawScan) error {
		keys, err := readSeriesKeys(tx)
		if err != nil {
			return err
		}
		return eachPacked(scan, upTo, func(row packedRow) error {
			return row.each(func(p *packedPoint) error {
				key, ok := keys[p.series]
				if !ok {
					return errNoSeries(p)
				}
				f(key, p.Revision)
				return nil
			})
		})
	})
}

func errNoSeries(p *packedPoint) error {
	return fmt.Errorf("%w: there is a packed point of series %d, which does not exist", ErrDamaged, p.series)
}

// readUnpacked reads the points of versions that a program of an earlier release has published since.
func (r *revisionsReader) readUnpacked(tx *tx) error {
	packed, err := packedUpTo(tx)
	if err != nil {
		return err
	}
	newest, err := tx.counter("publication")
	if err != nil {
		return err
	}
	for version := packed + 1; version <= newest; version++ {
		points, err := pointsOf(tx, version)
		if err != nil {
			return err
		}
		for i := range points {
			if err := r.add(&points[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// add adds a point to its series.
func (r *revisionsReader) add(p *packedPoint) error {
	s := r.find(p.series)
	if s == nil {
		return errNoSeries(p)
	}
	s.read++
	if p.Version > r.upTo {
		return nil
	}
	if n := len(s.revisions); n > 0 && inSlotOrder(s.revisions[n-1], p.Revision) >= 0 {
		s.unordered = true // a restatement, or a file of old rows
	}
	s.revisions = append(s.revisions, p.Revision)
	return nil
}

// find returns a series, or nil. It is nearly always that of the last point or one of the next two.
func (r *revisionsReader) find(id int64) *readSeries {
	for i := r.last; i < min(r.last+3, len(r.series)); i++ {
		if r.series[i].id == id {
			r.last = i
			return &r.series[i]
		}
	}
	i, ok := slices.BinarySearchFunc(r.series, id, func(s readSeries, id int64) int { return cmp.Compare(s.id, id) })
	if !ok {
		return nil
	}
	r.last = i
	return &r.series[i]
}

// finish checks that every series is whole, and puts its revisions in order.
func (r *revisionsReader) finish() (map[SeriesKey][]assay.Revision, error) {
	all := make(map[SeriesKey][]assay.Revision, len(r.series))
	for i := range r.series {
		s := &r.series[i]
		if s.read != s.records {
			return nil, fmt.Errorf("%w: %s %s %s: %d points are packed, but the chain has %d records",
				ErrDamaged, s.GPU, s.Region, s.Grain, s.read, s.records)
		}
		if s.unordered {
			slices.SortFunc(s.revisions, inSlotOrder)
		}
		all[s.SeriesKey] = s.revisions
	}
	return all, nil
}

// inSlotOrder compares revisions by instant and number.
func inSlotOrder(a, b assay.Revision) int {
	return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Number, b.Number))
}
