package store_test

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/proof"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

var signingKey = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))

// manifestOf returns the signed manifest of a day.
func manifestOf(u store.Unsigned) assay.Manifest {
	m := assay.Manifest{
		Day: u.Day, Revision: u.Revision, Publication: u.Publication, Receipt: u.Receipt, Records: len(u.Hashes),
		Revisions: u.Revisions, Digest: proof.Records(u.Hashes), SignedAt: u.Day + assay.Day, Previous: u.Previous,
	}
	proof.Sign(&m, signingKey)
	return m
}

func nextUnsigned(t *testing.T, db *store.DB, by int64) (u store.Unsigned, ok bool) {
	t.Helper()
	u, ok, err := db.NextUnsigned(t.Context(), by)
	if err != nil {
		t.Fatal(err)
	}
	return u, ok
}

// signDay signs the next unsigned day, which must be the given one.
func signDay(t *testing.T, db *store.DB, day int64) assay.Manifest {
	t.Helper()
	u, ok := nextUnsigned(t, db, math.MaxInt64)
	if !ok || u.Day != day*assay.Day {
		t.Fatalf("the next unsigned day is %d (%v), want %d", u.Day/assay.Day, ok, day)
	}
	m := manifestOf(u)
	if err := db.AddManifest(t.Context(), u, m); err != nil {
		t.Fatal(err)
	}
	return m
}

func mustLedger(t *testing.T, db *store.DB) store.Ledger {
	t.Helper()
	ledger, err := db.Ledger(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return ledger
}

func wantUnsigned(t *testing.T, db *store.DB, want ...int64) {
	t.Helper()
	days := mustLedger(t, db).Unsigned
	for i := range days {
		days[i] /= assay.Day
	}
	if !slices.Equal(days, want) {
		t.Errorf("the unsigned days are %v, want %v", days, want)
	}
}

func wantManifests(t *testing.T, db *store.DB, want ...assay.Manifest) {
	t.Helper()
	if got := mustLedger(t, db).Manifests; !reflect.DeepEqual(got, want) {
		t.Errorf("the manifests are\n%+v, want\n%+v", got, want)
	}
	last, ok, err := db.LastManifest(t.Context())
	if err != nil || ok != (len(want) > 0) || ok && !reflect.DeepEqual(last, want[len(want)-1]) {
		t.Errorf("the last manifest is %+v, %v (%v)", last, ok, err)
	}
}

func TestManifests_UnsignedDays(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		wantUnsigned(t, db)
		mustPublish(t, db, hours("H100 SXM", 22, 24)) // they end at 23:00 and at midnight, which is the next day
		wantUnsigned(t, db, 0, 1)
		mustPublish(t, db, store.Publication{Covers: covers("H100 SXM", 72, 96)}) // nothing to sign
		wantUnsigned(t, db, 0, 1)

		f := func(by, want int64) {
			t.Helper()
			if u, ok := nextUnsigned(t, db, by); ok != (want >= 0) || ok && u.Day != want*assay.Day {
				at, day := assay.FormatInstant(by), assay.FormatInstant(u.Day)
				t.Errorf("by %s the next unsigned day is %s (%v), want %d", at, day, ok, want)
			}
		}
		f(assay.Day-1, -1)
		f(assay.Day, 0)
		first := signDay(t, db, 0)
		f(assay.Day, -1)
		f(2*assay.Day-1, -1)
		f(2*assay.Day, 1)
		wantUnsigned(t, db, 1)
		second := signDay(t, db, 1)
		wantUnsigned(t, db)
		wantManifests(t, db, first, second)
		if first.Records != 1 || second.Records != 1 || second.Previous != first.Hash || first.Previous != (assay.Hash{}) {
			t.Errorf("the manifests do not follow each other: %+v, %+v", first, second)
		}
	})
}

// A day that is restated after signing is signed again: all its records, old and new, as the next revision.
func TestManifests_Revision(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		mustPublish(t, db, hours("H100 SXM", 20, 30))
		day0, day1 := signDay(t, db, 0), signDay(t, db, 1)
		mustPublish(t, db, restated("H100 SXM", 20, 1, 99, true))
		wantUnsigned(t, db, 0)
		again := signDay(t, db, 0)
		extends := again.Records == day0.Records+1 && again.Previous == day1.Hash
		counts := again.Revisions == 1 && day0.Revisions == 0 && day0.Publication == 1 && again.Publication == 2
		if again.Revision != 1 || !extends || !counts || again.Digest == day0.Digest {
			t.Errorf("the second manifest is %+v after %+v", again, day0)
		}
		wantManifests(t, db, day0, day1, again)
		for _, m := range []assay.Manifest{day0, day1, again} {
			if err := proof.CheckManifest(&m); err != nil {
				t.Error(err)
			}
		}
	})
}

// Hashes are in the order of GPU, region, grain, instant and revision, whatever the order of publication.
func TestManifests_OrderOfRecords(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		// The ids of GPUs and regions are in another order than their names.
		a, b := assay.Line{GPU: "B200", Region: "us-east"}, assay.Line{GPU: "B200", Region: "ap-east"}
		c, g := assay.Line{GPU: "A100 SXM4", Region: "us-west"}, assay.Line{GPU: "B200", Region: assay.Global}
		series := []store.SeriesRecords{
			records(a, assay.Hourly, 1), records(g, assay.Hourly, 2), records(c, assay.Daily, 9),
			records(b, assay.Hourly, 9, 3), records(b, assay.Daily, 3),
		}
		p := ready(t, db, store.Publication{Series: series})
		if _, err := db.Publish(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		hash := func(series, i int) assay.Hash { return p.Series[series].Records[i].Hash }
		want := []assay.Hash{hash(2, 0), hash(4, 0), hash(3, 1), hash(3, 0), hash(1, 0), hash(0, 0)}
		if u, _ := nextUnsigned(t, db, assay.Day); !slices.Equal(u.Hashes, want) {
			t.Errorf("the hashes to sign are\n%x, want\n%x", u.Hashes, want)
		}
	})
}

// A signature or a publication of another process makes what was read before out of date.
func TestAddManifest_Overtaken(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		mustPublish(t, db, hours("H100 SXM", 20, 30))
		f := func(u store.Unsigned, want ...assay.Manifest) {
			t.Helper()
			days := mustLedger(t, db).Unsigned
			before := mustCounters(t, db)
			if err := db.AddManifest(t.Context(), u, manifestOf(u)); !errors.Is(err, store.ErrOvertaken) {
				t.Errorf("an overtaken manifest returns the error %v, want %v", err, store.ErrOvertaken)
			}
			wantManifests(t, db, want...)
			if after := mustLedger(t, db).Unsigned; !slices.Equal(after, days) || mustCounters(t, db) != before {
				t.Errorf("after the refused manifest the unsigned days are %v, want %v", after, days)
			}
		}
		u, _ := nextUnsigned(t, db, math.MaxInt64)
		mustPublish(t, db, hours("H100 SXM", 40, 41)) // of another day, which is refused too
		f(u)
		u, _ = nextUnsigned(t, db, math.MaxInt64)
		first := signDay(t, db, 0)
		f(u, first)
	})
}

func TestManifests_Damaged(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		mustPublish(t, db, hours("H100 SXM", 1, 2))
		signDay(t, db, 0)
		f := func(column string) {
			t.Helper()
			var original []byte
			raw := storetest.Raw(t, db)
			defer raw.Close()
			if err := raw.QueryRowContext(t.Context(), `SELECT `+column+` FROM manifests`).Scan(&original); err != nil {
				t.Fatal(err)
			}
			storetest.Exec(t, db, `UPDATE manifests SET `+column+` = $1`, append([]byte{0}, original...))
			if _, _, err := db.LastManifest(t.Context()); !errors.Is(err, store.ErrDamaged) {
				t.Errorf("with a longer %s the error is %v, want %v", column, err, store.ErrDamaged)
			}
			storetest.Exec(t, db, `UPDATE manifests SET `+column+` = $1`, original)
			if _, _, err := db.LastManifest(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		f("digest")
		f("previous")
		f("hash")
	})
}
