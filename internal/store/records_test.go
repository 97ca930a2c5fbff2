package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// fullRecord returns a record in which every number is n and the bytes of the hashes are b and b+1.
func fullRecord(n int64, b byte, methodology string) (d assay.Determination) {
	price, count := assay.Nanos(n), int(n)
	copy(d.Inputs[:], bytes.Repeat([]byte{b}, 32))
	copy(d.Previous[:], bytes.Repeat([]byte{b + 1}, 32))
	d.From, d.Receipt, d.PublishedAt, d.HourMicros = n, n, n, n
	d.Value, d.Low, d.High, d.Median = price, price, price, price
	d.Transactions, d.Providers, d.HHI = count, count, count
	d.Excluded = assay.Exclusions{Unverified: count, Withdrawn: count}
	d.Adjusted = assay.Adjustments{Winsorized: count, Capped: count}
	d.Methodology, d.HasValue, d.DelaySeconds = methodology, n >= 0, count
	return d
}

// differentRecord returns a record with another number in every field, to detect swapped fields.
func differentRecord() assay.Determination {
	return assay.Determination{
		From: 1, Receipt: 2, PublishedAt: 3, Value: 4, Transactions: 5, HourMicros: 6, Providers: 7, HHI: 8,
		Low: 9, High: 10, Median: 11,
		Excluded: assay.Exclusions{Unverified: 12, Withdrawn: 13}, Adjusted: assay.Adjustments{Winsorized: 14, Capped: 15},
		Methodology: "1.0.0", HasValue: true, DelaySeconds: 18, Inputs: assay.Hash{16}, Previous: assay.Hash{17},
	}
}

var bodies = []assay.Determination{
	{},
	differentRecord(),
	{HasValue: true, Hash: assay.Hash{1}}, // without a delay
	fullRecord(math.MaxInt64, 0xff, "2.0.0-rc.1"),
	fullRecord(math.MinInt64, 0x80, ""),
	fullRecord(-1, 0x7f, strings.Repeat("東", 100)),
	fullRecord(1<<40, 1, "\x00"),
}

func TestBody_RoundTrip(t *testing.T) {
	t.Parallel()
	for _, want := range bodies {
		var got assay.Determination
		body := store.AppendBody([]byte("prefix"), &want)
		if !bytes.HasPrefix(body, []byte("prefix")) {
			t.Errorf("the body begins with %q", body[:6])
		}
		if err := store.ReadBody(body[6:], &got); err != nil {
			t.Errorf("%+v: %v", want, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the decoded body differs:\n%s", diff)
		}
	}
}

// A body that is too short or too long cannot be read. One with a changed bit cannot be read either, or has other
// content, which the record's hash detects.
func TestBody_Damaged(t *testing.T) {
	t.Parallel()
	for _, d := range bodies {
		body := store.AppendBody(nil, &d)
		for n := range body {
			if err := store.ReadBody(body[:n], &assay.Determination{}); err == nil {
				t.Errorf("the first %d bytes of %x can be read", n, body)
			}
		}
		if err := store.ReadBody(append(slices.Clone(body), 0), &assay.Determination{}); err == nil {
			t.Errorf("%x with one more byte can be read", body)
		}
		for bit := range 8 * len(body) {
			changed := slices.Clone(body)
			changed[bit/8] ^= 1 << (bit % 8)
			var got assay.Determination
			if err := store.ReadBody(changed, &got); err == nil && got == d {
				t.Errorf("flipping bit %d of %x is not detected", bit, body)
			}
		}
	}
}

func FuzzBody(f *testing.F) {
	for _, d := range bodies {
		f.Add(store.AppendBody(nil, &d))
	}
	f.Add(bytes.Repeat([]byte{0xff}, 100))
	f.Add(append(bytes.Repeat([]byte{0xff}, 9), 1))
	f.Fuzz(func(t *testing.T, body []byte) {
		var d, again assay.Determination
		if store.ReadBody(body, &d) != nil {
			return
		}
		if err := store.ReadBody(store.AppendBody(nil, &d), &again); err != nil || again != d {
			t.Errorf("%x is read as %+v, and that as %+v (%v)", body, d, again, err)
		}
	})
}

func TestRecords_RoundTrip(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		line := assay.Line{GPU: "B200", Region: "eu-north"}
		s := store.SeriesRecords{Line: line, Grain: assay.Daily}
		for i, d := range bodies {
			d.Line, d.Grain, d.At, d.Revision = line, assay.Daily, int64(100-i), i
			s.Records = append(s.Records, d)
		}
		p := ready(t, db, store.Publication{PublishedAt: 5, Series: []store.SeriesRecords{s}})
		if _, err := db.Publish(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		var want []store.Record
		for i, d := range p.Series[0].Records {
			r := store.Record{Determination: d, Sequence: int64(i + 1), Version: 1}
			want = append([]store.Record{r}, want...) // by instant
		}
		got, err := db.AppendRecords(t.Context(), nil, math.MinInt64, math.MaxInt64)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the records differ:\n%s", diff)
		}
	})
}

func TestRecords_RangesAndOrder(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		h100 := store.SeriesKey{Line: assay.Line{GPU: "H100 SXM", Region: assay.Global}, Grain: assay.Hourly}
		mustPublish(t, db, hours("H100 SXM", 10, 13))
		mustPublish(t, db, hours("B200", 11, 12))
		mustPublish(t, db, hours("H100 SXM", 5, 6))
		mustPublish(t, db, restated("H100 SXM", 11, 1, 7, true))
		mustPublish(t, db, restated("H100 SXM", 11, 2, 0, false))
		describe := func(list []store.Record) (lines []string) {
			for _, r := range list {
				lines = append(lines, fmt.Sprintf("%s %d/%d #%d v%d", r.GPU, r.At/assay.Hour, r.Revision, r.Sequence, r.Version))
			}
			return lines
		}
		f := func(from, to int64, want ...string) {
			t.Helper()
			all, err := db.AppendRecords(t.Context(), nil, from*assay.Hour, to*assay.Hour)
			if got := describe(all); err != nil || !slices.Equal(got, want) {
				t.Errorf("[%d, %d) has %q (%v), want %q", from, to, got, err, want)
			}
			of, err := db.SeriesRecords(t.Context(), h100, from*assay.Hour, to*assay.Hour)
			want = slices.DeleteFunc(want, func(line string) bool { return !strings.HasPrefix(line, "H100") })
			if got := describe(of); err != nil || !slices.Equal(got, want) {
				t.Errorf("[%d, %d) of the H100 has %q (%v), want %q", from, to, got, err, want)
			}
		}
		f(12, 13, "H100 SXM 12/0 #2 v1", "H100 SXM 12/1 #5 v4", "H100 SXM 12/2 #6 v5", "B200 12/0 #1 v2")
		f(6, 12, "H100 SXM 6/0 #4 v3", "H100 SXM 11/0 #1 v1")
		f(14, 99)

		list, err := db.Determinations(t.Context(), h100.Line, assay.Hourly, 12*assay.Hour)
		if err != nil || len(list) != 3 || list[1].Value != 7 || list[2].HasValue {
			t.Errorf("hour 12 has the determinations %+v (%v), want three", list, err)
		}
		chains, err := db.Chains(t.Context())
		if err != nil || len(chains) != 2 {
			t.Fatalf("the chains are %+v (%v), want two", chains, err)
		}
		if chains[0].GPU != "B200" || chains[1].Records != 6 || chains[1].Head != list[2].Hash {
			t.Errorf("the chains are %+v", chains)
		}
	})
}

func TestRecords_Damaged(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		mustPublish(t, db, hours("H100 SXM", 0, 3))
		const second = "the record of H100 SXM global hourly at 1970-01-01T02:00:00.000Z, revision 0"
		f := func(column string, value any) {
			t.Helper()
			storetest.Exec(t, db, `CREATE TABLE saved AS SELECT * FROM records`)
			storetest.Exec(t, db, `UPDATE records SET `+column+` = $1 WHERE sequence = 2`, value)
			_, err := db.AppendRecords(t.Context(), nil, math.MinInt64, math.MaxInt64)
			if !errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), second) {
				t.Errorf("%s = %v returns the error %v, want one that names %s", column, value, err, second)
			}
			storetest.Exec(t, db, `DELETE FROM records`)
			storetest.Exec(t, db, `INSERT INTO records SELECT * FROM saved`)
			storetest.Exec(t, db, `DROP TABLE saved`)
		}
		f("body", []byte{})
		f("body", []byte{0xff})
		if !storetest.IsPostgres(t, db) { // PostgreSQL refuses another type
			f("body", "a text")
			f("sequence", "second")
		}
	})
}

// The point of a record may be missing or differ.
func TestRecords_DamagedPoint(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		mustPublish(t, db, hours("H100 SXM", 6, 9))
		f := func(change, want string) {
			t.Helper()
			storetest.Exec(t, db, `CREATE TABLE saved AS SELECT * FROM points`)
			storetest.Exec(t, db, change)
			_, err := db.AppendRecords(t.Context(), nil, math.MinInt64, math.MaxInt64)
			if !errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), want) {
				t.Errorf("after %s the error is %v, want one that names %s", change, err, want)
			}
			storetest.Exec(t, db, `DELETE FROM points`)
			storetest.Exec(t, db, `INSERT INTO points SELECT * FROM saved`)
			storetest.Exec(t, db, `DROP TABLE saved`)
		}
		const second = "H100 SXM global hourly at 1970-01-01T08:00:00.000Z, revision 0"
		const where = ` WHERE at = 8 * 3600000`
		f(`UPDATE points SET value_nanos = value_nanos + 1`+where, second)
		f(`UPDATE points SET value_nanos = value_nanos + 100 * 65537`+where, second) // a sum of remainders stays the same
		f(`UPDATE points SET value_nanos = NULL`+where, second)
		if !storetest.IsPostgres(t, db) {
			f(`UPDATE points SET value_nanos = 'none'`+where, second)
		}
		f(`UPDATE points SET version = 2`+where, second)
		f(`UPDATE points SET revision = 1`+where, second)
		f(`UPDATE points SET at = at + 1`+where, second)
		f(`DELETE FROM points`+where, second)
		f(`INSERT INTO points SELECT series_id, at, 1, value_nanos, version FROM points`+where, "has no record")
	})
}

// A failed query is not reported as damage: an operator would restore a backup because of a lost connection.
func TestAppendRecords_DatabaseErrorIsNotDamage(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		mustPublish(t, db, hours("H100 SXM", 0, 1))
		storetest.Exec(t, db, `ALTER TABLE points RENAME COLUMN version TO other`)
		_, err := db.AppendRecords(t.Context(), nil, math.MinInt64, math.MaxInt64)
		if err == nil || errors.Is(err, store.ErrDamaged) {
			t.Errorf("the error is %v, want the database's", err)
		}
	})
}
