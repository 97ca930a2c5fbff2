package store

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/assaydata/assay"
)

// Span is the time [From, To).
type Span struct {
	From, To int64
}

func (s Span) holds(at int64) bool { return at >= s.From && at < s.To }

// CoverageKey says what a coverage is of.
type CoverageKey struct {
	GPU   string
	Grain assay.Grain
}

// Coverage is the time whose slots have been determined, with or without a value, by GPU and grain: separate spans in
// the order of time.
type Coverage map[CoverageKey][]Span

// End returns the end of the last span; 0 when there is none.
func (c Coverage) End(key CoverageKey) int64 {
	spans := c[key]
	if len(spans) == 0 {
		return 0
	}
	return spans[len(spans)-1].To
}

// holds reports whether an instant of a GPU has been determined in any grain.
func (c Coverage) holds(gpu string, at int64) bool {
	for _, grain := range assay.Grains {
		for _, s := range c[CoverageKey{gpu, grain}] {
			if s.holds(at) {
				return true
			}
		}
	}
	return false
}

// bounds returns the span from the first to the last instant.
func (c Coverage) bounds() Span {
	all := Span{From: math.MaxInt64, To: math.MinInt64}
	for _, spans := range c {
		for _, s := range spans {
			all = Span{From: min(all.From, s.From), To: max(all.To, s.To)}
		}
	}
	return all
}

// holdsAll reports whether each of the spans lies inside a covered span.
func (c Coverage) holdsAll(key CoverageKey, spans []Span) bool {
	for _, s := range spans {
		contains := func(covered Span) bool { return s.From >= covered.From && s.To <= covered.To }
		if !slices.ContainsFunc(c[key], contains) {
			return false
		}
	}
	return true
}

// Coverage reads the coverage.
func (db *DB) Coverage(ctx context.Context) (c Coverage, err error) {
	err = db.read(ctx, func(tx *tx) error {
		c, err = readCoverage(tx)
		return err
	})
	return c, err
}

// Head reads the counters and the coverage in one transaction, so that both are of the same publication.
func (db *DB) Head(ctx context.Context) (counters Counters, coverage Coverage, err error) {
	ctx, cancel := context.WithTimeout(ctx, headTimeout)
	defer cancel()
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
		var span Span
		if err := scan(&key.GPU, (*grainText)(&key.Grain), &span.From, &span.To); err != nil {
			return err
		}
		c[key] = append(c[key], span)
		return nil
	})
	return c, err
}

// addCovers records what a version determines and adds it to the coverage. Time that is covered is refused, so a slot
// is published once, however many publishers there are. A restatement, in contrast, must lie inside the coverage.
func addCovers(tx *tx, d *dictionary, version int64, p Publication) error {
	coverage, err := readCoverage(tx)
	if err != nil {
		return err
	}
	for key, spans := range p.Covers {
		gpu, ok := d.gpus.ids[key.GPU]
		if !ok {
			return fmt.Errorf("cover %s: not in the catalog", key.GPU)
		}
		grain := key.Grain.String()
		for _, s := range spans {
			err := tx.exec(`INSERT INTO publication_covers (version, gpu_id, grain, from_ms, to_ms) VALUES ($1, $2, $3, $4, $5)`,
				version, gpu, grain, s.From, s.To)
			if err != nil {
				return err
			}
		}
		if p.Reason != "" {
			if !coverage.holdsAll(key, spans) {
				return fmt.Errorf("restate %s: the time has not been determined", key.GPU)
			}
			continue
		}
		merged, err := mergeSpans(coverage[key], spans)
		if err != nil {
			return err
		}
		if err := replaceCoverage(tx, gpu, grain, merged); err != nil {
			return err
		}
	}
	return nil
}

func replaceCoverage(tx *tx, gpu int64, grain string, spans []Span) error {
	if err := tx.exec(`DELETE FROM coverage WHERE gpu_id = $1 AND grain = $2`, gpu, grain); err != nil {
		return err
	}
	for _, s := range spans {
		err := tx.exec(`INSERT INTO coverage (gpu_id, grain, from_ms, to_ms) VALUES ($1, $2, $3, $4)`,
			gpu, grain, s.From, s.To)
		if err != nil {
			return err
		}
	}
	return nil
}

// mergeSpans adds spans to others. Adjacent spans become one; overlapping ones are refused.
func mergeSpans(spans, more []Span) (joined []Span, err error) {
	all := slices.Concat(spans, more)
	slices.SortFunc(all, func(a, b Span) int { return cmp.Compare(a.From, b.From) })
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

// Cover is a span that one version determined.
type Cover struct {
	Span
	Version     int64
	PublishedAt int64
	Receipt     int64 // the newest that was known
	Restatement bool
}

// Covers is what each version determined, by GPU and grain: first the regular covers in the order of time, which do not
// overlap, then the restatements in the order of their versions.
type Covers map[CoverageKey][]Cover

// readCovers reads what each version determined, of the GPUs that the condition selects.
func readCovers(tx *tx, where string) (Covers, error) {
	c := Covers{}
	query := `SELECT gpu_name, grain, from_ms, to_ms, version, published_at, receipt, reason IS NOT NULL
		FROM publication_covers JOIN publications USING (version) JOIN gpus USING (gpu_id) ` + where
	err := tx.each(query, nil, func(scan scanFunc) error {
		var key CoverageKey
		var cover Cover
		err := scan(&key.GPU, (*grainText)(&key.Grain), &cover.From, &cover.To, &cover.Version, &cover.PublishedAt,
			&cover.Receipt, &cover.Restatement)
		if err != nil {
			return err
		}
		c[key] = append(c[key], cover)
		return nil
	})
	for _, list := range c {
		SortCovers(list)
	}
	return c, err
}

// SortCovers sorts the covers of a GPU and grain into the order of Covers.
func SortCovers(list []Cover) {
	slices.SortFunc(list, func(a, b Cover) int {
		if a.Restatement != b.Restatement {
			return cmp.Compare(boolInt(a.Restatement), boolInt(b.Restatement))
		}
		if !a.Restatement {
			return cmp.Compare(a.From, b.From)
		}
		return cmp.Or(cmp.Compare(a.Version, b.Version), cmp.Compare(a.From, b.From))
	})
}

// At returns the covers that contain an instant, in the order of their versions.
func (c Covers) At(key CoverageKey, at int64) (found []Cover) {
	list := c[key]
	regular, _ := slices.BinarySearchFunc(list, true, func(cover Cover, _ bool) int {
		if cover.Restatement {
			return 1
		}
		return -1
	})
	i, _ := slices.BinarySearchFunc(list[:regular], at, func(cover Cover, at int64) int {
		if cover.To <= at {
			return -1
		}
		return 1
	})
	if i < regular && list[i].holds(at) {
		found = append(found, list[i])
	}
	for _, cover := range list[regular:] {
		if cover.holds(at) {
			found = append(found, cover)
		}
	}
	return found
}

// pending reports whether an instant was determined, but not since the receipt.
func (c Covers) pending(key CoverageKey, at, receipt int64) bool {
	known := int64(-1)
	for _, cover := range c.At(key, at) {
		known = max(known, cover.Receipt)
	}
	return known >= 0 && known < receipt
}
