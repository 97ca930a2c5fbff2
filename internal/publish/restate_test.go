package publish

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
	"github.com/assaydata/assay/tools/testenv"
)

func restate(t *testing.T, p *Publisher, gpu string, from, to int64) Restated {
	t.Helper()
	done, err := p.Restate(t.Context(), Restatement{GPU: gpu, From: from, To: to, Reason: "late rows", Actor: "desk"})
	if err != nil {
		t.Fatal(err)
	}
	return done
}

func wantRestated(t *testing.T, got, want Restated) {
	t.Helper()
	if got != want {
		t.Errorf("restated %+v, want %+v", got, want)
	}
}

func mustVerify(t *testing.T, db *store.DB, id string, verified bool) {
	t.Helper()
	v := assay.Verification{Source: "test", ID: id, Verified: verified, Actor: "desk", Reason: "checked"}
	if _, err := db.AddVerifications(t.Context(), v); err != nil {
		t.Fatal(err)
	}
}

// A late row makes four revisions: of its hour and its day, each in its region and globally. Nothing else changes,
// and the values are those that would have been published if it had arrived in time.
func TestRestate_LateRow(t *testing.T) {
	t.Parallel()
	db, p := published(t)
	before := readWorld(t, db)
	late := lateRow("late", start+90*assay.Minute)
	mustAppend(t, db, late)
	wantWorld(t, db, before)
	wantLate(t, db, "late hourly daily")

	wantRestated(t, restate(t, p, "H100 SXM", start, end), Restated{Version: 2, Slots: 4, Moved: 4, Settled: 1})
	after := readWorld(t, db)
	wantSame(t, after.newest(), publishedWith(t, late))
	if n := after.count() - before.count(); n != 4 {
		t.Errorf("there are %d more revisions, want 4", n)
	}
	hourly := after.series("H100 SXM", assay.Hourly)[1:3]
	if hourly[0] != before.series("H100 SXM", assay.Hourly)[1] || hourly[1].Number != 1 || hourly[1].At != hourly[0].At {
		t.Errorf("the hour has the revisions %v, want the old one and a new one", hourly)
	}
	wantLate(t, db)
	wantWholeChains(t, db)
	list, err := db.Publications(t.Context(), 1, 2)
	if err != nil || len(list) != 1 || list[0].Reason != "late rows" || list[0].Actor != "desk" || list[0].Receipt != 2 {
		t.Errorf("the publication is %+v (%v), want reason, actor and receipt", list, err)
	}
}

func TestRestate_NothingNew(t *testing.T) {
	t.Parallel()
	db, p := published(t)
	before := readWorld(t, db)
	other := lateRow("other GPU", start)
	other.GPU = "B200"
	mustAppend(t, db, other)
	wantRestated(t, restate(t, p, "H100 SXM", start, end), Restated{})
	// A rental that is withdrawn and verified again is as before.
	id := rentals(start, start+1)[0].ID
	mustVerify(t, db, id, false)
	mustVerify(t, db, id, true)
	wantRestated(t, restate(t, p, "H100 SXM", start, end), Restated{Version: 2, Settled: 2})
	wantLate(t, db, "other GPU hourly daily") // it stays; the others are settled
	wantRestated(t, restate(t, p, "H100 SXM", start, end), Restated{})
	wantWorld(t, db, before)
}

// An unverified row is an input too: it makes a revision with the same value.
func TestRestate_UnverifiedRow(t *testing.T) {
	t.Parallel()
	db, p := published(t)
	late := lateRow("late", start)
	late.Verified = false
	mustAppend(t, db, late)
	wantRestated(t, restate(t, p, "H100 SXM", start, end), Restated{Version: 2, Slots: 4, Settled: 1})
	record := lastRecord(t, db, "H100 SXM", start+assay.Hour)
	if record.Revision != 1 || record.Excluded.Unverified != 1 || record.Transactions != 4 {
		t.Errorf("the record is %+v, want an unverified row in it", record)
	}
	wantWholeChains(t, db)
}

func lastRecord(t *testing.T, db *store.DB, gpu string, at int64) assay.Determination {
	t.Helper()
	list, err := db.Determinations(t.Context(), assay.Line{GPU: gpu, Region: assay.Global}, assay.Hourly, at)
	if err != nil || len(list) == 0 {
		t.Fatalf("%s has the records %v at %s (%v)", gpu, list, assay.FormatInstant(at), err)
	}
	return list[len(list)-1]
}

// The only H200 of an hour is withdrawn: the hour loses its value, and the day's value moves. After it is verified
// again, further revisions restore both.
func TestRestate_WithdrawnAndVerifiedAgain(t *testing.T) {
	t.Parallel()
	db, p := published(t)
	before := readWorld(t, db)
	slot := before.series("H200", assay.Hourly)[5]
	id := idOf(t, "H200", slot.At-assay.Hour)
	f := func(verified bool, version int64) []assay.Revision {
		t.Helper()
		mustVerify(t, db, id, verified)
		wantLate(t, db, id+" hourly daily")
		wantRestated(t, restate(t, p, "H200", start, end), Restated{Version: version, Slots: 2, Moved: 2, Settled: 1})
		wantLate(t, db)
		wantWholeChains(t, db)
		others := func(r assay.Revision) bool { return r.At != slot.At }
		return slices.DeleteFunc(readWorld(t, db).series("H200", assay.Hourly), others)
	}
	gone := assay.Revision{Point: assay.Point{At: slot.At}, Number: 1, Gone: true}
	again := assay.Revision{Point: slot.Point, Number: 2}
	if got := f(false, 2); !slices.Equal(got, []assay.Revision{slot, gone}) {
		t.Errorf("after the withdrawal the revisions are %v", got)
	}
	record := lastRecord(t, db, "H200", slot.At)
	if record.HasValue || record.Excluded.Withdrawn != 1 || record.Transactions != 0 {
		t.Errorf("the record of the withdrawn value is %+v", record)
	}
	if got := f(true, 3); !slices.Equal(got, []assay.Revision{slot, gone, again}) {
		t.Errorf("after the verification the revisions are %v", got)
	}
	wantSame(t, readWorld(t, db).newest(), before)
}

// idOf finds the id of the only rental of a GPU in the hour that begins at an instant.
func idOf(t *testing.T, gpu string, from int64) (id string) {
	t.Helper()
	for _, x := range rentals(from, from+assay.Hour) {
		if x.GPU == gpu {
			return x.ID
		}
	}
	t.Fatalf("no %s was rented in the hour from %s", gpu, assay.FormatInstant(from))
	return ""
}

// A restatement makes the first record of a slot that was published without a value.
func TestRestate_SlotWithoutAValue(t *testing.T) {
	t.Parallel()
	db, p := published(t)
	late := lateRow("late", instant(6, 9, 30))
	late.GPU, late.Region = "B200", ""
	mustAppend(t, db, late)
	wantRestated(t, restate(t, p, "B200", start, end), Restated{Version: 2, Slots: 2, Moved: 2, Settled: 1})
	wantSame(t, readWorld(t, db), publishedWith(t, late))
	wantWholeChains(t, db)
}

// Only slots whose windows lie inside the bounds are recomputed.
func TestRestate_Bounds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		from, to  int64
		slots     int
		stillLate []string
	}{
		"the hour": {from: instant(6, 9, 0), to: instant(6, 10, 0), slots: 2, stillLate: []string{"late daily"}},
		"starts in the hour": {
			from: instant(6, 9, 1), to: instant(6, 11, 0), slots: 0, stillLate: []string{"late hourly daily"},
		},
		"ends in the hour": {
			from: instant(6, 8, 0), to: instant(6, 9, 59), slots: 0, stillLate: []string{"late hourly daily"},
		},
		"the day":              {from: instant(5, 21, 0), to: instant(6, 21, 0), slots: 4},
		"starts in the day":    {from: instant(5, 21, 1), to: instant(6, 21, 0), slots: 2, stillLate: []string{"late daily"}},
		"more than everything": {from: start - assay.Day, to: end + assay.Day, slots: 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, p := published(t)
			mustAppend(t, db, lateRow("late", instant(6, 9, 30)))
			if got := restate(t, p, "H100 SXM", c.from, c.to); got.Slots != c.slots {
				t.Errorf("%d slots were restated, want %d", got.Slots, c.slots)
			}
			wantLate(t, db, c.stillLate...)
			wantWholeChains(t, db)
		})
	}
}

// Everything late of all GPU models is restated in one publication, and nothing else is recomputed.
func TestRestate_EverythingLate(t *testing.T) {
	t.Parallel()
	db, p := published(t)
	before := readWorld(t, db)
	late := Restatement{Late: true, Reason: "late rows", Actor: "desk"}
	done, err := p.Restate(t.Context(), late)
	if err != nil {
		t.Fatal(err)
	}
	wantRestated(t, done, Restated{})
	first, second := lateRow("first", start+90*assay.Minute), lateRow("second", start+95*assay.Minute)
	second.GPU = "H200"
	mustAppend(t, db, first, second)

	var trial []string
	preview := late
	preview.Preview = func(before, after *assay.Determination) {
		trial = append(trial, fmt.Sprintf("%s %d %t", after.GPU, after.Revision, before == nil || before.Value != after.Value))
	}
	tried, err := p.Restate(t.Context(), preview)
	if err != nil {
		t.Fatal(err)
	}
	wantWorld(t, db, before)
	wantLate(t, db, "first hourly daily", "second hourly daily")
	done, err = p.Restate(t.Context(), late)
	if err != nil {
		t.Fatal(err)
	}
	if tried.Version = done.Version; tried != done || len(trial) != done.Slots || done.Settled != 2 {
		t.Errorf("the trial promised %+v with %v, the restatement made %+v", tried, trial, done)
	}
	wantSame(t, readWorld(t, db).newest(), publishedWith(t, first, second))
	wantLate(t, db)
	wantWholeChains(t, db)
}

func TestRestate_NothingPublished(t *testing.T) {
	t.Parallel()
	db, p := published(t)
	before := readWorld(t, db)
	f := func(gpu string, from, to int64) {
		t.Helper()
		_, err := p.Restate(t.Context(), Restatement{GPU: gpu, From: from, To: to, Reason: "late rows"})
		if err == nil || !strings.Contains(err.Error(), "nothing of "+gpu+" is published from") {
			t.Errorf("restate %s: %v", gpu, err)
		}
	}
	f("H100 SXM", end, end+assay.Day)
	f("H100 SXM", start-assay.Day, start)
	f("H100 SXM", start+1, start+2)
	f("none", start, end)
	wantWorld(t, db, before)
}

// Many late rows, restated in pieces, give the same values as if all of them had arrived in time.
func TestRestate_Pieces(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	db, p := published(t)
	var late []assay.Transaction
	for at := start + 10*assay.Minute; at < end; at += 7 * assay.Hour {
		x := lateRow(assay.FormatInstant(at), at)
		x.GPU = []string{"H100 SXM", "H200"}[len(late)%2]
		late = append(late, x)
	}
	for part := range slices.Chunk(late, 5) {
		mustAppend(t, db, part...)
		for _, gpu := range []string{"H100 SXM", "H200"} {
			restate(t, p, gpu, start, instant(8, 20, 0))
			restate(t, p, gpu, instant(8, 20, 0), end)
		}
	}
	wantLate(t, db)
	wantSame(t, readWorld(t, db).newest(), publishedWith(t, late...))
	wantWholeChains(t, db)
}

// A restatement and the publisher's loop at the same time take turns by the lock, and the chains stay whole.
func TestRestate_WhilePublishing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testRestateWhilePublishing)
}

func testRestateWhilePublishing(t *testing.T, db *store.DB) {
	mustAppend(t, db, rentals(start, end)...)
	p, _ := newPublisher(db, end)
	p.versionSize = 1
	ok(t)(p.Backfill(t.Context(), start, instant(6, 21, 0), nil))
	late := lateRow("late", start)
	mustAppend(t, db, late)
	other, _ := newPublisher(storetest.Another(t, db), end)
	caughtUp := make(chan error, 1)
	go func() {
		_, err := p.CatchUp(t.Context())
		caughtUp <- err
	}()
	slots := restate(t, other, "H100 SXM", start, instant(6, 21, 0)).Slots
	if err := <-caughtUp; err != nil {
		t.Error(err)
	}
	if slots != 4 {
		t.Errorf("%d slots were restated, want 4", slots)
	}
	wantSame(t, readWorld(t, db).newest(), publishedWith(t, late))
	wantWholeChains(t, db)
}
