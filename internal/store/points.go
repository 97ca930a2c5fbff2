package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/assaydata/assay"
)

// Span is a half-open stretch of time.
type Span struct {
	From, To int64
}

// CoverageKey names one of the stretches that coverage is kept for.
type CoverageKey struct {
	GPU   string
	Grain assay.Grain
}

// Coverage is, by GPU and grain, the stretches of time whose slots have been determined, with a value or without: apart
// from each other, in the order of time.
type Coverage map[CoverageKey][]Span

// End is where the last stretch ends; 0 when there is none.
func (c Coverage) End(key CoverageKey) int64 {
	spans := c[key]
	if len(spans) == 0 {
		return 0
	}
	return spans[len(spans)-1].To
}

// Publication is what one version publishes: points, and the stretches of time they are all there is for.
type Publication struct {
	Methodology string
	Series      []SeriesPoints
	Covers      Coverage
}

// SeriesPoints are new points of one series, in the order of time.
type SeriesPoints struct {
	assay.Line
	Grain  assay.Grain
	Points []assay.Point
}

// ErrOvertaken says that somebody else has covered part of the same time. Nothing was written.
var ErrOvertaken = errors.New("another publisher was faster")

// Coverage reads what has been determined.
func (db *DB) Coverage(ctx context.Context) (c Coverage, err error) {
	err = db.read(ctx, func(tx *tx) error {
		c, err = readCoverage(tx)
		return err
	})
	return c, err
}

// Head reads the counters and the coverage as of the publication they count: two readings would let a version slip in
// between.
func (db *DB) Head(ctx context.Context) (counters Counters, coverage Coverage, err error) {
	err = db.read(ctx, func(tx *tx) error {
		if counters, err = readCounters(tx); err != nil {
			return err
		}
		coverage, err = readCoverage(tx)
		return err
	})
	return counters, coverage, err
}

func readCoverage(tx *tx) (Coverage, error) {
	c := Coverage{}
	err := tx.each(`SELECT gpu_name, grain, from_ms, to_ms FROM coverage JOIN gpus USING (gpu_id)
		ORDER BY gpu_id, grain, from_ms`, nil, func(scan scanFunc) error {
		var key CoverageKey
		var grain string
		var span Span
		if err := scan(&key.GPU, &grain, &span.From, &span.To); err != nil {
			return err
		}
		var err error
		key.Grain, err = assay.ParseGrain(grain)
		c[key] = append(c[key], span)
		return err
	})
	return c, err
}

// Publish writes a publication as the next version: all of it, or nothing.
func (db *DB) Publish(ctx context.Context, p Publication) (version int64, err error) {
	err = db.write(ctx, func(tx *tx) error {
		version, err = publish(tx, p)
		return err
	})
	return version, err
}

func publish(tx *tx, p Publication) (version int64, err error) {
	d, err := readDictionary(tx)
	if err != nil {
		return 0, err
	}
	if err := cover(tx, &d, p.Covers); err != nil {
		return 0, err
	}
	if version, err = tx.bump("publication"); err != nil {
		return 0, err
	}
	if err := tx.exec(`INSERT INTO publications (version, published_at, methodology) VALUES ($1, $2, $3)`, version, tx.now, p.Methodology); err != nil {
		return 0, err
	}
	insert, err := newBulk(tx, insertPoints, "", pointColumns)
	if err != nil {
		return 0, err
	}
	defer insert.close()
	for _, s := range p.Series {
		if len(s.Points) == 0 {
			continue
		}
		id, err := seriesID(tx, &d, s)
		if err != nil {
			return 0, err
		}
		if err := appendPoints(insert, id, version, s.Points); err != nil {
			return 0, err
		}
		if err := tx.exec(`INSERT INTO publication_series (version, series_id, first_at, last_at) VALUES ($1, $2, $3, $4)`,
			version, id, s.Points[0].At, s.Points[len(s.Points)-1].At); err != nil {
			return 0, err
		}
	}
	return version, nil
}

// cover adds stretches to the coverage, provided that none of them touches time that is covered: this is what makes a
// slot be published once, however many publishers there are.
func cover(tx *tx, d *dictionary, covers Coverage) error {
	coverage, err := readCoverage(tx)
	if err != nil {
		return err
	}
	for key, spans := range covers {
		gpu, ok := d.gpus.ids[key.GPU]
		if !ok {
			return fmt.Errorf("cover %s: not in the catalog", key.GPU)
		}
		joined, err := join(coverage[key], spans)
		if err != nil {
			return err
		}
		grain := key.Grain.String()
		if err := tx.exec(`DELETE FROM coverage WHERE gpu_id = $1 AND grain = $2`, gpu, grain); err != nil {
			return err
		}
		for _, s := range joined {
			if err := tx.exec(`INSERT INTO coverage (gpu_id, grain, from_ms, to_ms) VALUES ($1, $2, $3, $4)`, gpu, grain, s.From, s.To); err != nil {
				return err
			}
		}
	}
	return nil
}

// join adds spans to others; those that meet become one, and those that overlap are refused.
func join(spans, more []Span) (joined []Span, err error) {
	all := slices.SortedFunc(slices.Values(slices.Concat(spans, more)), func(a, b Span) int { return cmp.Compare(a.From, b.From) })
	for _, s := range all {
		switch n := len(joined); {
		case n > 0 && s.From < joined[n-1].To:
			return nil, ErrOvertaken
		case n > 0 && s.From == joined[n-1].To:
			joined[n-1].To = s.To
		default:
			joined = append(joined, s)
		}
	}
	return joined, nil
}

func seriesID(tx *tx, d *dictionary, s SeriesPoints) (id int64, err error) {
	gpu, ok := d.gpus.ids[s.GPU]
	if !ok {
		return 0, fmt.Errorf("publish %s: not in the catalog", s.GPU)
	}
	region, ok := d.regions.ids[s.Region]
	if !ok && s.Region != assay.Global {
		return 0, fmt.Errorf("publish %s in %s: the region is not in the catalog", s.GPU, s.Region)
	}
	// The update changes nothing; it makes the statement return the row that is there.
	err = tx.QueryRowContext(tx.ctx, `INSERT INTO series (gpu_id, region_id, grain) VALUES ($1, $2, $3)
		ON CONFLICT (gpu_id, region_id, grain) DO UPDATE SET grain = excluded.grain RETURNING series_id`,
		gpu, region, s.Grain.String()).Scan(&id)
	return id, err
}

const (
	insertPoints = `INSERT INTO points (series_id, at, revision, value_nanos, version) VALUES `
	pointColumns = 5
)

func appendPoints(insert *bulk, series, version int64, points []assay.Point) error {
	args := make([]any, 0, bulkRows*pointColumns)
	for part := range slices.Chunk(points, bulkRows) {
		args = args[:0]
		for _, p := range part {
			args = append(args, series, p.At, int64(0), int64(p.Value), version)
		}
		if _, err := insert.insert(args); err != nil {
			return err
		}
	}
	return nil
}

// Change says which part of a series a version touched.
type Change struct {
	Version     int64
	PublishedAt int64
	assay.Line
	Grain       assay.Grain
	First, Last int64 // instants of the first and the last point
}

// Changes lists what the versions in (after, upTo] touched, oldest first.
func (db *DB) Changes(ctx context.Context, after, upTo int64) (changes []Change, err error) {
	err = db.read(ctx, func(tx *tx) error {
		changes = nil
		return tx.each(`SELECT version, published_at, gpu_name, coalesce(region, 'global'), grain, first_at, last_at
			FROM publication_series JOIN publications USING (version) JOIN series USING (series_id) JOIN gpus USING (gpu_id)
			LEFT JOIN regions USING (region_id) WHERE version > $1 AND version <= $2 ORDER BY version, series_id`,
			[]any{after, upTo}, func(scan scanFunc) error {
				var c Change
				var grain string
				if err := scan(&c.Version, &c.PublishedAt, &c.GPU, &c.Region, &grain, &c.First, &c.Last); err != nil {
					return err
				}
				var err error
				c.Grain, err = assay.ParseGrain(grain)
				changes = append(changes, c)
				return err
			})
	})
	return changes, err
}

// Series is a series, or a stretch of one, as it was known at a version.
type Series struct {
	Points      []assay.Point
	Version     int64 // the version that touched these points last; 0 when there are none
	PublishedAt int64 // when that version was published
}

// Series reads the points of a series whose instants lie in [first, last], as they were known at the version upTo. Points
// are only ever added, each with its version, so readings of several series at one version agree with each other
// whatever is published meanwhile.
func (db *DB) Series(ctx context.Context, line assay.Line, grain assay.Grain, first, last, upTo int64) (s Series, err error) {
	err = db.read(ctx, func(tx *tx) error {
		s, err = readSeries(tx, line, grain, first, last, upTo)
		return err
	})
	return s, err
}

func readSeries(tx *tx, line assay.Line, grain assay.Grain, first, last, upTo int64) (s Series, err error) {
	err = tx.each(`SELECT at, value_nanos, version FROM points WHERE series_id = (
			SELECT series_id FROM series JOIN gpus USING (gpu_id) LEFT JOIN regions USING (region_id)
			WHERE gpu_name = $1 AND coalesce(region, 'global') = $2 AND grain = $3)
		AND at BETWEEN $4 AND $5 AND version <= $6 ORDER BY at, revision`,
		[]any{line.GPU, line.Region, grain.String(), first, last, upTo}, func(scan scanFunc) error {
			var at, value, version int64
			if err := scan(&at, &value, &version); err != nil {
				return err
			}
			if n := len(s.Points); n > 0 && s.Points[n-1].At == at {
				s.Points = s.Points[:n-1] // a later revision stands in for the earlier one
			}
			s.Points = append(s.Points, assay.Point{At: at, Value: assay.Nanos(value)})
			s.Version = max(s.Version, version)
			return nil
		})
	if err != nil || s.Version == 0 {
		return s, err
	}
	err = tx.QueryRowContext(tx.ctx, `SELECT published_at FROM publications WHERE version = $1`, s.Version).Scan(&s.PublishedAt)
	return s, err
}
