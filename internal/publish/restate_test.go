package publish

import (
	"slices"
	"strings"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// published is a store with all rentals published, and its publisher.
func published(t *testing.T) (*store.DB, *Publisher) {
	t.Helper()
	db := storetest.Open(t)
	mustAppend(t, db, rentals(start, end)...)
	p, _ := newPublisher(db, end)
	ok(t)(p.Backfill(t.Context(), start, end, nil))
	return db, p
}

// publishedWith is the world of the rentals and more, had all of them come in time.
func publishedWith(t *testing.T, more ...assay.Transaction) world {
	t.Helper()
	db := storetest.Open(t)
	mustAppend(t, db, append(rentals(start, end), more...)...)
	p, _ := newPublisher(db, end)
	ok(t)(p.Backfill(t.Context(), start, end, nil))
	return readWorld(t, db)
}

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
	if _, err := db.AddVerification(t.Context(), v); err != nil {
		t.Fatal(err)
	}
}

// A late row makes revisions of its hour and its day, in its region and in all: four. Nothing else moves, and the
// values are those that would have been published, had it come in time.
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
		t.Errorf("there are %d revisions more, want 4", n)
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
	mustAppend(t, db, func() assay.Transaction { x := lateRow("other GPU", start); x.GPU = "B200"; return x }())
	wantRestated(t, restate(t, p, "H100 SXM", start, end), Restated{})
	// Withdrawn and verified again is as it was.
	id := rentals(start, start+1)[0].ID
	mustVerify(t, db, id, false)
	mustVerify(t, db, id, true)
	wantRestated(t, restate(t, p, "H100 SXM", start, end), Restated{Version: 2, Settled: 2})
	wantLate(t, db, "other GPU hourly daily") // it stays; the others have been looked at
	wantRestated(t, restate(t, p, "H100 SXM", start, end), Restated{})
	wantWorld(t, db, before)
}

// A row that does not count is an input all the same: it makes a revision, of which the value has not moved.
func TestRestate_UnverifiedRow(t *testing.T) {
	t.Parallel()
	db, p := published(t)
	late := lateRow("late", start)
	late.Verified = false
	mustAppend(t, db, late)
	wantRestated(t, restate(t, p, "H100 SXM", start, end), Restated{Version: 2, Slots: 4, Settled: 1})
	record := lastRecord(t, db, "H100 SXM", start+assay.Hour)
	if record.Revision != 1 || record.Excluded.Unverified != 1 || record.Transactions != 4 {
		t.Errorf("the record is %+v, want one with an unverified row", record)
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

// The one H200 of an hour is withdrawn: the hour's value is taken back, the day's moves. When it is verified again,
// both are as they were, as further revisions.
func TestRestate_TakenBackAndForth(t *testing.T) {
	t.Parallel()
	db, p := published(t)
	before := readWorld(t, db)
	const place = 5
	slot := before.series("H200", assay.Hourly)[place]
	id := idOf(t, "H200", slot.At-assay.Hour)
	f := func(verified bool, version int64) []assay.Revision {
		t.Helper()
		mustVerify(t, db, id, verified)
		wantLate(t, db, id+" hourly daily")
		wantRestated(t, restate(t, p, "H200", start, end), Restated{Version: version, Slots: 2, Moved: 2, Settled: 1})
		wantLate(t, db)
		wantWholeChains(t, db)
		return slices.DeleteFunc(readWorld(t, db).series("H200", assay.Hourly), func(r assay.Revision) bool { return r.At != slot.At })
	}
	gone := assay.Revision{Point: assay.Point{At: slot.At}, Number: 1, Gone: true}
	again := assay.Revision{Point: slot.Point, Number: 2}
	if got := f(false, 2); !slices.Equal(got, []assay.Revision{slot, gone}) {
		t.Errorf("after the withdrawal the revisions are %v", got)
	}
	if record := lastRecord(t, db, "H200", slot.At); record.HasValue || record.Excluded.Withdrawn != 1 || record.Transactions != 0 {
		t.Errorf("the record of what was taken back is %+v", record)
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

// A slot that was published without a value gets its first record by the restatement.
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

// Only slots whose windows lie inside the bounds are determined anew.
func TestRestate_Bounds(t *testing.T) {
	t.Parallel()
	late := lateRow("late", instant(6, 9, 30))
	f := func(from, to int64, slots int, stillLate ...string) {
		t.Helper()
		db, p := published(t)
		mustAppend(t, db, late)
		if got := restate(t, p, "H100 SXM", from, to); got.Slots != slots {
			t.Errorf("from %s to %s %d slots were restated, want %d", assay.FormatInstant(from), assay.FormatInstant(to), got.Slots, slots)
		}
		wantLate(t, db, stillLate...)
		wantWholeChains(t, db)
	}
	f(instant(6, 9, 0), instant(6, 10, 0), 2, "late daily")
	f(instant(6, 9, 1), instant(6, 11, 0), 0, "late hourly daily")
	f(instant(6, 8, 0), instant(6, 9, 59), 0, "late hourly daily")
	f(instant(5, 21, 0), instant(6, 21, 0), 4)
	f(instant(5, 21, 1), instant(6, 21, 0), 2, "late daily")
	f(start-assay.Day, end+assay.Day, 4)
}

func TestRestate_NothingPublished(t *testing.T) {
	t.Parallel()
	db, p := published(t)
	before := readWorld(t, db)
	f := func(gpu string, from, to int64) {
		t.Helper()
		_, err := p.Restate(t.Context(), Restatement{GPU: gpu, From: from, To: to, Reason: "late rows"})
		if err == nil || !strings.Contains(err.Error(), "nothing of "+gpu+" is published from") {
			t.Errorf("restating %s gives the error %v", gpu, err)
		}
	}
	f("H100 SXM", end, end+assay.Day)
	f("H100 SXM", start-assay.Day, start)
	f("H100 SXM", start+1, start+2)
	f("none", start, end)
	wantWorld(t, db, before)
}

// Many late rows and words, restated piece by piece, come to what one go with all of them would have come to.
func TestRestate_PiecesComeToTheSame(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("one goroutine and a lot of work: make unit runs it, without the race detector")
	}
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

// A restatement and the publisher's loop at once: whoever has the lock goes first, and the chains stay whole.
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
	done := make(chan int)
	go func() { done <- ok(t)(p.CatchUp(t.Context())) }()
	wantSlots := restate(t, other, "H100 SXM", start, instant(6, 21, 0)).Slots
	<-done
	if wantSlots != 4 {
		t.Errorf("%d slots were restated, want 4", wantSlots)
	}
	wantSame(t, readWorld(t, db).newest(), publishedWith(t, late))
	wantWholeChains(t, db)
}
