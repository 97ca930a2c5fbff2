package verify

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/proof"
)

// However the records come, every manifest of a day lists those that the day had when it was signed; and a closed day
// is not kept.
func TestDays_AnyOrder(t *testing.T) {
	t.Parallel()
	db := openMarket(t)
	ledger := ledgerOf(t, db)
	records, err := db.AppendRecords(t.Context(), nil, math.MinInt64, math.MaxInt64)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		random.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
		d := newDays(ledger.Manifests)
		d.add(records)
		d.close(math.MaxInt64)
		signed := 0
		for day, c := range d.closed {
			if c.wrong != nil {
				t.Fatalf("%s: %s", assay.FormatDay(day), manifestName(c.wrong))
			}
			if c.signed {
				signed++
			}
		}
		if signed < 3 || len(d.open) != 0 {
			t.Fatalf("%d days are signed, and %d open", signed, len(d.open))
		}
	}
}

// A day stays open until its last instant, which is a millisecond before the next.
func TestDays_Close(t *testing.T) {
	t.Parallel()
	list := linked(49) // from midnight to midnight, two days later
	last := assay.Manifest{Day: 2 * assay.Day, Records: 1, Digest: proof.Records([]assay.Hash{list[48].Hash})}
	d := newDays([]assay.Manifest{last})
	d.add(list)
	d.close(assay.Day - 1)
	if len(d.closed) != 0 {
		t.Error("the first day was closed before its end")
	}
	d.close(2*assay.Day - 1)
	if _, ok := d.closed[0]; len(d.open) != 2 || !ok {
		t.Errorf("%d days are open, and the first is closed: %v", len(d.open), ok)
	}
	d.close(math.MaxInt64)
	if !d.closed[2*assay.Day].signed || d.closed[0].signed {
		t.Errorf("the days are %+v, want only the last one to be signed", d.closed)
	}
}

// Manifests before release 0.6.0 do not say up to which publication they list the records. They list those of the first
// publications, whole.
func TestDays_WithoutPublication(t *testing.T) {
	t.Parallel()
	list := []listed{
		{at: 1, version: 1, hash: assay.Hash{1}},
		{at: 1, version: 3, revision: 1, hash: assay.Hash{2}},
		{at: 2, version: 1, hash: assay.Hash{3}},
		{at: 3, version: 2, hash: assay.Hash{4}},
	}
	manifest := func(hashes ...byte) *assay.Manifest {
		m := &assay.Manifest{Records: len(hashes)}
		var all []assay.Hash
		for _, b := range hashes {
			all = append(all, assay.Hash{b})
		}
		m.Digest = proof.Records(all)
		return m
	}
	f := func(signed bool, wrong int, manifests ...*assay.Manifest) {
		t.Helper()
		c := closeDay(list, manifests)
		if c.signed != signed || (c.wrong == nil) != (wrong < 0) || wrong >= 0 && c.wrong != manifests[wrong] {
			t.Errorf("signed is %v, wrong is %+v; want %v and number %d", c.signed, c.wrong, signed, wrong)
		}
	}
	f(true, -1, manifest(1, 3), manifest(1, 3, 4), manifest(1, 2, 3, 4))
	f(false, -1, manifest(), manifest(1, 3, 4))
	f(false, 0, manifest(1))                       // half of publication 1
	f(false, 0, manifest(1, 4))                    // not the first publications
	f(false, 1, manifest(1, 3, 4), manifest(1, 3)) // it shrinks
	f(false, 0, manifest(1, 2, 3, 4, 5))
}
