package publish

import (
	"fmt"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/coding"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// adoptSettling adopts methodology 1.0.0 with days that are final after a day.
func adoptSettling(t *testing.T, db *store.DB) {
	t.Helper()
	plain := index.Plain()
	err := db.AdoptMethodology(t.Context(), assay.MethodologyFile{
		Version: plain.Version, Effective: plain.Effective, Text: index.PlainText() + "[settlement]\nafter = \"24h\"\n",
	}, 0)
	if err != nil {
		t.Fatal(err)
	}
}

func mustObserveTool(t *testing.T, db *store.DB, day int64, prs int64) {
	t.Helper()
	row := assay.CodingDay{Day: day, Tool: "aider", PRs: prs, Commits: 1}
	key, body, err := coding.Family.EncodeRow(coding.Family.Row(row))
	if err == nil {
		_, err = db.AppendObservations(t.Context(), assay.FamilyCoding, []store.Observation{{Key: key, Body: body}}, true)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// newSettling lets days of a database be final after a day, and returns its publisher. It is shortly after the end of
// day 5.
func newSettling(t *testing.T, db *store.DB) (*Publisher, *clock) {
	t.Helper()
	adoptSettling(t, db)
	p, clock := newPublisher(db, instant(6, 1, 0))
	db.Now = clock.now
	return p, clock
}

// mustRecord makes the records with a publisher that has just started.
func mustRecord(t *testing.T, p *Publisher, want int) {
	t.Helper()
	started := &Publisher{Store: p.Store, Now: p.Now, Log: p.Log}
	if n, err := started.RecordValues(t.Context()); n != want || err != nil {
		t.Fatalf("%d records were made (%v), want %d", n, err, want)
	}
}

// mustRestateTools restates a day of coding metrics.
func mustRestateTools(t *testing.T, db *store.DB, day int64) {
	t.Helper()
	_, err := db.AddRestatement(t.Context(), assay.Restatement{
		Family: assay.FamilyCoding, From: day, To: day + 1, Reason: "late", Actor: "Ada",
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A value gets a record when it is final, and a revision when a restatement changes it. A late row alone changes
// nothing, and neither does another publisher.
func TestRecordValues(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		day := instant(5, 0, 0)
		p, clock := newSettling(t, db)
		record := func(want int, values ...string) {
			t.Helper()
			if n, err := p.RecordValues(t.Context()); n != want || err != nil {
				t.Fatalf("%d records were made (%v), want %d", n, err, want)
			}
			mustRecord(t, p, 0)
			list, err := db.ValueRecordsOf(t.Context(), "llm-coding", "aider/prs", day)
			var got []string
			for _, r := range list {
				got = append(got, r.Numbers[:len(`{"value":1`)])
			}
			if err != nil || fmt.Sprint(got) != fmt.Sprint(values) {
				t.Errorf("the records are %v (%v), want %v", got, err, values)
			}
		}
		record(0)
		mustObserveTool(t, db, day, 1)
		record(0)
		clock.ms.Store(instant(7, 0, 59))
		record(0)
		clock.ms.Store(instant(7, 1, 0))
		record(3, `{"value":1`) // pull requests, commits and the merge rate
		mustObserveTool(t, db, day, 2)
		clock.ms.Store(instant(20, 0, 0))
		record(0, `{"value":1`)
		mustRestateTools(t, db, day)
		record(1, `{"value":1`, `{"value":2`)
		mustObserveTool(t, db, instant(19, 0, 0), 7)
		clock.ms.Store(instant(22, 0, 0))
		record(3, `{"value":1`, `{"value":2`)
	})
}

// Utilization is read all day long: a day is final once a reading since its end is a day old. A revision that comes
// then is late.
func TestRecordValues_Utilization(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		p, clock := newSettling(t, db)
		read := func(at, rented int64) {
			t.Helper()
			clock.ms.Store(max(clock.ms.Load(), at))
			_, err := db.AppendUtilization(t.Context(), []assay.UtilizationReading{
				{Source: "desk", At: at, GPU: "B200", Region: "us-east", Rented: rented, Tracked: 4},
			}, true)
			if err != nil {
				t.Fatal(err)
			}
		}
		record := func(want int) {
			t.Helper()
			if n, err := p.RecordValues(t.Context()); n != want || err != nil {
				t.Fatalf("%d records were made (%v), want %d", n, err, want)
			}
			mustRecord(t, p, 0)
		}
		read(instant(6, 2, 0), 1)
		record(0)
		read(instant(6, 2, 0), 2) // in time
		read(instant(6, 23, 59), 1)
		clock.ms.Store(instant(8, 0, 30)) // all of its readings are a day old, but none is later than it
		record(0)
		read(instant(8, 0, 31), 1)
		clock.ms.Store(instant(9, 0, 31))
		record(2) // the region and the world
		read(instant(6, 2, 0), 4)
		record(0)
		_, err := db.AddRestatement(t.Context(), assay.Restatement{
			Family: assay.FamilyUtilization, From: instant(6, 0, 0), To: instant(7, 0, 0), Reason: "late", Actor: "Ada",
		})
		if err != nil {
			t.Fatal(err)
		}
		record(2)
		list, err := db.ValueRecordsOf(t.Context(), "utilization", "B200/us-east", instant(6, 0, 0))
		if err != nil || len(list) != 2 || list[0].Numbers != `{"utilization_ratio":0.375,"hour_02":0.5,"hour_23":0.25}` ||
			list[1].Numbers != `{"utilization_ratio":0.625,"hour_02":1,"hour_23":0.25}` {
			t.Errorf("the records are %+v (%v)", list, err)
		}
	})
}

// A row that another node receives after the records were made, by a clock that is behind, changes nothing that they
// know.
func TestRecordValues_ClockBehind(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	p, clock := newSettling(t, db)
	mustObserveTool(t, db, instant(5, 0, 0), 1)
	clock.ms.Store(instant(7, 2, 0))
	mustRecord(t, p, 3)
	clock.ms.Store(instant(6, 2, 0)) // in time, if it were so
	mustObserveTool(t, db, instant(5, 0, 0), 9)
	clock.ms.Store(instant(9, 0, 0))
	mustRecord(t, p, 0)
}

// If the clock is set back, nothing that was known is forgotten, and what is restated then counts at once.
func TestRecordValues_ClockSetBack(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	p, clock := newSettling(t, db)
	day := instant(5, 0, 0)
	mustObserveTool(t, db, day, 1)
	clock.ms.Store(instant(7, 2, 0))
	mustRecord(t, p, 3)
	clock.ms.Store(instant(1, 0, 0))
	mustRecord(t, p, 0)
	mustObserveTool(t, db, day, 2)
	mustRecord(t, p, 0)
	mustRestateTools(t, db, day)
	mustRecord(t, p, 1)
}

// Rows that come in while records are made do not keep a publisher from its other work: it makes them next time.
func TestRecordValues_Overtaken(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	p, clock := newSettling(t, db)
	mustObserveTool(t, db, instant(5, 0, 0), 1)
	clock.ms.Store(instant(7, 2, 0))
	schedule, err := LoadSchedule(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	counters, err := db.Counters(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	mustObserveTool(t, db, instant(6, 0, 0), 2)
	if n, err := p.recordValues(t.Context(), schedule, ofValues(counters), clock.ms.Load()); n != 0 || err != nil {
		t.Errorf("%d records were made of less than there is (%v)", n, err)
	}
	if n, err := p.RecordValues(t.Context()); n != 3 || err != nil {
		t.Errorf("%d records were made (%v), want 3", n, err)
	}
}

// Without a methodology by which days become final, there are no records.
func TestRecordValues_NeverFinal(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	p, clock := newPublisher(db, instant(6, 1, 0))
	db.Now = clock.now
	mustObserveTool(t, db, instant(5, 0, 0), 1)
	clock.ms.Store(instant(30, 0, 0))
	mustRecord(t, p, 0)
}
