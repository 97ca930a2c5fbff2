package verify

import (
	"cmp"
	"context"
	"encoding/binary"
	"math"
	"slices"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
)

// pointSums are sums over the points of each series, which do not depend on their order. Packed points are in the order
// of versions and records are read in the order of time, so sums are what can be compared without holding all of them.
type pointSums map[store.SeriesKey]entrySum

func (s pointSums) add(k *entryKey, key store.SeriesKey, r assay.Revision) {
	var text [4*binary.MaxVarintLen64 + 1]byte
	b := binary.AppendVarint(text[:0], r.At)
	b = binary.AppendVarint(b, int64(r.Number))
	b = binary.AppendVarint(b, r.Version)
	if !r.Gone {
		b = binary.AppendVarint(append(b, 1), int64(r.Value))
	}
	sum := s[key]
	sum.join(k.sum(b))
	s[key] = sum
}

// addRecords adds the points of records, as far as their versions are packed. The store has compared records with
// points.
func (s pointSums) addRecords(k *entryKey, records []store.Record, packed int64) {
	for i := range records {
		r := &records[i]
		if r.Version > packed {
			continue
		}
		s.add(k, store.SeriesKey{Line: r.Line, Grain: r.Grain}, assay.Revision{
			Point: assay.Point{At: r.At, Value: r.Value}, Number: r.Revision, Gone: !r.HasValue, Version: r.Version,
		})
	}
}

func (s pointSums) join(other pointSums) {
	for key, sum := range other {
		joined := s[key]
		joined.join(sum)
		s[key] = joined
	}
}

// packedSums are the sums of all packed points, or why they cannot be read.
type packedSums struct {
	sums pointSums
	err  error
}

func (v *verification) sumPacked(ctx context.Context) *packedSums {
	p := &packedSums{sums: pointSums{}}
	p.err = v.db.EachPacked(ctx, v.ledger.Packed, func(key store.SeriesKey, r assay.Revision) {
		p.sums.add(v.entryKey, key, r)
	})
	return p
}

// checkPacked checks that the packed points, from which servers start, are the published ones: no more and no less. It
// needs everything to be read.
func (v *verification) checkPacked(ctx context.Context) error {
	if !v.everything() {
		return nil
	}
	if v.packed.err != nil {
		return v.packed.err
	}
	if v.ledger.Packed > v.ledger.Counters.Publication {
		return differs("points of publication %d are packed, which does not exist", v.ledger.Packed)
	}
	for _, c := range v.ledger.Chains {
		if v.packed.sums[c.SeriesKey] != v.points[c.SeriesKey] {
			return v.explainPacked(ctx, c.SeriesKey)
		}
		delete(v.packed.sums, c.SeriesKey)
	}
	for key := range v.packed.sums {
		return differs("%s %s %s: points are packed, but the series has no chain", key.GPU, key.Region, key.Grain)
	}
	return nil
}

// explainPacked finds the first point of a series that differs from its packed one.
func (v *verification) explainPacked(ctx context.Context, key store.SeriesKey) error {
	var packed []assay.Revision
	err := v.db.EachPacked(ctx, v.ledger.Packed, func(of store.SeriesKey, r assay.Revision) {
		if of == key {
			packed = append(packed, r)
		}
	})
	if err != nil {
		return err
	}
	slices.SortFunc(packed, func(a, b assay.Revision) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Number, b.Number))
	})
	points, err := v.db.Revisions(ctx, key.Line, key.Grain, math.MinInt64, math.MaxInt64, 0, v.ledger.Packed)
	if err != nil {
		return err
	}
	i := 0
	for i < min(len(points), len(packed)) && points[i] == packed[i] {
		i++
	}
	first := int64(math.MaxInt64)
	for _, list := range [][]assay.Revision{points, packed} {
		if i < len(list) {
			first = min(first, list[i].At)
		}
	}
	return differs("%s %s %s at %s: the packed point does not match the published one",
		key.GPU, key.Region, key.Grain, assay.FormatInstant(first))
}
