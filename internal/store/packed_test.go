package store_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// slowly reads all revisions up to a version from the points, series by series.
func slowly(t *testing.T, db *store.DB, upTo int64) map[store.SeriesKey][]assay.Revision {
	t.Helper()
	chains, err := db.Chains(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all := map[store.SeriesKey][]assay.Revision{}
	for _, c := range chains {
		all[c.SeriesKey] = revisions(t, db, c.Line, c.Grain, math.MinInt64, math.MaxInt64, 0, upTo)
		if len(all[c.SeriesKey]) == 0 { // a later version has begun it
			all[c.SeriesKey] = []assay.Revision{}
		}
	}
	return all
}

// wantAll wants AllRevisions up to a version to be what the points say.
func wantAll(t *testing.T, db *store.DB, upTo int64) {
	t.Helper()
	got, err := db.AllRevisions(t.Context(), upTo)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(slowly(t, db, upTo), got); diff != "" {
		t.Errorf("up to version %d (-points +packed):\n%s", upTo, diff)
	}
}

// wantPacked wants the points of the versions up to one to be packed, each once.
func wantPacked(t *testing.T, db *store.DB, upTo int64) {
	t.Helper()
	if got := mustLedger(t, db).Packed; got != upTo {
		t.Errorf("points are packed up to version %d, want %d", got, upTo)
	}
	points, packed := 0, 0
	for _, list := range slowly(t, db, upTo) {
		points += len(list)
	}
	err := db.EachPacked(t.Context(), math.MaxInt64, func(store.SeriesKey, assay.Revision) { packed++ })
	if err != nil || packed != points {
		t.Errorf("%d points are packed (%v), want %d", packed, err, points)
	}
}

// unpack removes the packed points of a version, as if a program of an earlier release had published it.
func unpack(t *testing.T, db *store.DB, version int64) {
	t.Helper()
	storetest.Exec(t, db, `DELETE FROM packed_points WHERE version = $1`, version)
}

// packedMarket makes publications of one GPU at random.
type packedMarket struct {
	random   *rand.Rand
	from, to int64 // the hours that are covered
	newest   map[packedSlot]int
}

type packedSlot struct {
	assay.Line
	hour int64
}

var packedLines = []assay.Line{
	{GPU: "B200", Region: assay.Global}, {GPU: "B200", Region: "us-east"}, {GPU: "B200", Region: "eu-west"},
}

// next makes a publication: hours that follow, hours before all others, an hour without a value, or a restatement,
// which changes values, adds some and takes some back.
func (m *packedMarket) next() store.Publication {
	n := 1 + m.random.Int64N(4)
	switch m.random.IntN(6) {
	case 0, 1, 2:
		m.to += n
		return m.publication(m.to-n, m.to, "")
	case 3:
		m.from -= n
		return m.publication(m.from, m.from+n, "")
	case 4:
		m.to++
		return store.Publication{Methodology: "1.0.0", Covers: covers("B200", m.to-1, m.to)}
	}
	first := m.from + m.random.Int64N(m.to-m.from)
	return m.publication(first, min(first+n, m.to), "a late file")
}

func (m *packedMarket) publication(from, to int64, reason string) store.Publication {
	p := store.Publication{Methodology: "1.0.0", Reason: reason, Covers: covers("B200", from, to)}
	for _, line := range packedLines {
		s := store.SeriesRecords{Line: line, Grain: assay.Hourly}
		for hour := from; hour < to; hour++ {
			if m.random.IntN(4) == 0 {
				continue
			}
			slot := packedSlot{line, hour}
			newest, known := m.newest[slot]
			if known {
				newest++
			}
			m.newest[slot] = newest
			r := record(line, assay.Hourly, (hour+1)*assay.Hour, assay.Nanos(m.random.Int64N(int64(4*assay.One))))
			if r.Revision = newest; known && m.random.IntN(3) == 0 {
				r.HasValue, r.Value = false, 0
			}
			s.Records = append(s.Records, r)
		}
		if len(s.Records) > 0 {
			p.Series = append(p.Series, s)
		}
	}
	return p
}

// Whatever is published in whatever order, also by a program that packs nothing, a server that starts reads what the
// points say, as of every version.
func TestAllRevisions_RandomPublications(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			storetest.Each(t, func(t *testing.T, db *store.DB) {
				m := &packedMarket{
					random: rand.New(rand.NewPCG(seed, 32)), from: 500_000, to: 500_001, newest: map[packedSlot]int{},
				}
				mustPublish(t, db, m.publication(m.from, m.to, ""))
				for range 40 {
					last := mustPublish(t, db, m.next())
					if m.random.IntN(4) == 0 {
						unpack(t, db, last)
					}
					wantAll(t, db, 1+m.random.Int64N(last))
					wantAll(t, db, math.MaxInt64)
				}
				last := mustPublish(t, db, m.next())
				wantPacked(t, db, last)
				for version := range last + 1 {
					wantAll(t, db, version)
				}
			})
		})
	}
}

// A version with many points has several rows.
func TestAllRevisions_ManyPoints(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		mustPublish(t, db, hours("B200", 0, 2*store.PackedPart))
		mustPublish(t, db, hours("B200", 2*store.PackedPart, 2*store.PackedPart+1))
		wantPacked(t, db, 2)
		wantAll(t, db, 1)
		wantAll(t, db, 2)
	})
}

// An upgrade packs what there is, in several rows, and the next publication continues.
func TestAllRevisions_AfterAnUpgrade(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		m := &packedMarket{random: rand.New(rand.NewPCG(7, 7)), from: 500_000, to: 500_001, newest: map[packedSlot]int{}}
		mustPublish(t, db, m.publication(m.from, m.to, ""))
		for range 20 {
			mustPublish(t, db, m.next())
		}
		last := mustPublish(t, db, hours("H200", 0, store.PackedPart))
		storetest.Exec(t, db, `DROP TABLE packed_points`)
		storetest.Exec(t, db, `DELETE FROM migrations WHERE number = 32`)
		upgraded := storetest.OpenUpgraded(t, storetest.Address(t, db))
		wantPacked(t, upgraded, last)
		wantAll(t, upgraded, last/2)
		wantAll(t, upgraded, last)
		wantPacked(t, upgraded, mustPublish(t, upgraded, m.next()))
		wantAll(t, upgraded, math.MaxInt64)
	})
}

func TestAllRevisions_UpgradeWithoutPublications(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		storetest.Exec(t, db, `DROP TABLE packed_points`)
		storetest.Exec(t, db, `DELETE FROM migrations WHERE number = 32`)
		upgraded := storetest.OpenUpgraded(t, storetest.Address(t, db))
		wantPacked(t, upgraded, 0)
		wantAll(t, upgraded, math.MaxInt64)
		wantPacked(t, upgraded, mustPublish(t, upgraded, hours("B200", 0, 3)))
		wantAll(t, upgraded, math.MaxInt64)
	})
}

// A publication that is not committed packs nothing.
func TestAllRevisions_PublicationUndone(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		mustPublish(t, db, hours("B200", 0, 3))
		p := ready(t, db, hours("B200", 3, 6))
		undone := errors.New("undone")
		p.BeforeCommit = func() error { return undone }
		if _, err := db.Publish(t.Context(), p); !errors.Is(err, undone) {
			t.Fatal(err)
		}
		wantPacked(t, db, 1)
		wantAll(t, db, math.MaxInt64)
	})
}

// Damage is noticed and named, and the points themselves can still be read.
func TestAllRevisions_Damaged(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		for hour := range int64(4) {
			mustPublish(t, db, hours("B200", hour, hour+1))
		}
		want := slowly(t, db, math.MaxInt64)
		storetest.Exec(t, db, `CREATE TABLE saved AS SELECT * FROM packed_points`)
		f := func(damage, message string) {
			t.Helper()
			storetest.Exec(t, db, damage)
			if _, err := db.AllRevisions(t.Context(), math.MaxInt64); !errors.Is(err, store.ErrDamaged) ||
				!strings.Contains(err.Error(), message) {
				t.Errorf("%s: the error is %v, want %q", damage, err, message)
			}
			if diff := cmp.Diff(want, slowly(t, db, math.MaxInt64)); diff != "" {
				t.Errorf("%s: the points have changed:\n%s", damage, diff)
			}
			storetest.Exec(t, db, `DELETE FROM packed_points`)
			storetest.Exec(t, db, `INSERT INTO packed_points SELECT * FROM saved`)
		}
		const row = "part 0 of the packed points of publication 2 does not match its checksum"
		f(`UPDATE packed_points SET checksum = checksum + 1 WHERE version = 2`, row)
		f(`UPDATE packed_points SET points = points + 1 WHERE version = 2`, row)
		f(`UPDATE packed_points SET points = 1152921504606846976 WHERE version = 2`, row)
		f(`UPDATE packed_points SET body = (SELECT body FROM saved WHERE version = 3) WHERE version = 2`, row)
		f(`UPDATE packed_points SET part = 1 WHERE version = 2`, "part 1 of the packed points of publication 2")
		f(`UPDATE packed_points SET version = 9 WHERE version = 2`, "part 0 of the packed points of publication 9")
		const missing = "B200 global hourly: 3 points are packed, but the chain has 4 records"
		f(`DELETE FROM packed_points WHERE version = 2`, missing)
		f(`DELETE FROM packed_points WHERE version = 1`, missing)
		wantAll(t, db, math.MaxInt64)
	})
}

// What a program of an earlier release has published is packed by the next publication.
func TestPublish_PacksWhatAnEarlierReleaseDidNot(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		for hour := range int64(6) {
			mustPublish(t, db, hours("B200", hour, hour+1))
		}
		for version := int64(3); version <= 6; version++ {
			unpack(t, db, version)
		}
		wantPacked(t, db, 2)
		wantAll(t, db, math.MaxInt64)
		wantPacked(t, db, mustPublish(t, db, hours("B200", 6, 7)))
		wantAll(t, db, math.MaxInt64)
	})
}
