package publish

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// running is a publisher that runs in a synctest bubble, by the bubble's clock moved to the tests' time.
type running struct {
	*Publisher
	db      *store.DB
	ahead   atomic.Int64 // of its clock before the bubble's
	stopped chan error
	stop    context.CancelFunc
}

func newRunning(t *testing.T, at int64) *running { return newRunningOn(t, storetest.Open(t), at) }

func newRunningOn(t *testing.T, db *store.DB, at int64) *running {
	t.Helper()
	r := &running{db: db, stopped: make(chan error, 1)}
	r.ahead.Store(int64(time.Until(time.UnixMilli(at))))
	r.Publisher, _ = newPublisher(r.db, at)
	r.Now = func() time.Time { return time.Now().Add(time.Duration(r.ahead.Load())) }
	r.db.Now = r.Now
	return r
}

func (r *running) start(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r.stop = cancel
	go func() { r.stopped <- r.Run(ctx) }()
}

// until waits for the bubble's clock to reach the instant.
func (r *running) until(ms int64) {
	<-time.After(time.UnixMilli(ms).Sub(r.Now()))
	synctest.Wait()
}

func (r *running) end(t *testing.T) {
	t.Helper()
	r.stop()
	if err := <-r.stopped; err != nil {
		t.Errorf("Run ended with %v, want nil", err)
	}
}

// publishedAt lists when the versions with records were published.
func (r *running) publishedAt(t *testing.T) (at []int64) {
	t.Helper()
	changes, err := r.db.Changes(t.Context(), 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	publications, err := r.db.Publications(t.Context(), 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range changes {
		at = append(at, publications[c.Version-1].PublishedAt)
	}
	return slices.Compact(at)
}

func TestRun_PublishesWhenTheHourEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		eight := instant(5, 20, 0)
		r := newRunning(t, eight-25*assay.Second)
		mustAppend(t, r.db, rentals(eight-assay.Hour, eight+assay.Hour)...)
		r.start(t)
		r.until(eight - 1)
		if got := r.publishedAt(t); len(got) != 0 {
			t.Errorf("published at %v, before the hour has ended", got)
		}
		r.until(eight + assay.Second)
		if got := r.publishedAt(t); !slices.Equal(got, []int64{eight}) {
			t.Errorf("published at %v, want %v and no later", got, eight)
		}
		r.end(t)
	})
}

// A feed whose rows take three seconds to arrive has no late rows: an hour is published five seconds after its end, as
// its record says, and so is the print of a minute.
func TestRun_RowsOnTheirWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		noon := instant(5, 12, 0)
		db := storetest.Open(t)
		if _, err := LoadSchedule(t.Context(), db); err != nil { // adopts the built-in methodology
			t.Fatal(err)
		}
		r := newRunningOn(t, db, noon-20*assay.Second)
		r.start(t)
		before := 0
		for at := noon - 10*assay.Second; at < noon+10*assay.Second; at += 500 {
			r.until(at + 3*assay.Second)
			row := rentals(noon, noon+1)[0]
			row.ID, row.ExecutedAt = fmt.Sprint(at), at
			mustAppendOnTime(t, r.db, row)
			if at < noon {
				before++
			}
		}
		records, err := r.db.SeriesRecords(t.Context(), store.SeriesKey{Line: global, Grain: assay.Hourly}, noon, noon+1)
		if err != nil || len(records) != 1 {
			t.Fatalf("the records of noon are %v (%v)", records, err)
		}
		d := records[0]
		if d.Transactions != before || d.DelaySeconds != 5 || d.PublishedAt != noon+5*assay.Second {
			t.Errorf("noon has %d of %d rows, a delay of %d s, and was published at %s",
				d.Transactions, before, d.DelaySeconds, assay.FormatInstant(d.PublishedAt))
		}
		prints := printsOf(t, r.db, global)
		if last := prints[len(prints)-1]; last.At != noon || last.Transactions != before {
			t.Errorf("the last print is %+v, want noon's with %d rows", last, before)
		}
		r.end(t)
	})
}

// A GPU that is added while the loop runs starts with the hour that runs then, so that its history can be backfilled.
func TestRun_GPUAddedMeanwhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		noon := instant(5, 12, 0)
		r := newRunning(t, noon+58*assay.Minute)
		r.start(t)
		r.until(noon + assay.Hour + 2*assay.Minute)
		if err := r.db.AddToCatalog(t.Context(), assay.Catalog{GPUs: []assay.GPU{{Name: "MI300X"}}}); err != nil {
			t.Fatal(err)
		}
		r.until(noon + 2*assay.Hour + assay.Second)
		want := func(gpu string, from int64) {
			t.Helper()
			got := readWorld(t, r.db).coverage[store.CoverageKey{GPU: gpu, Grain: assay.Hourly}]
			if !slices.Equal(got, []store.Span{{From: from, To: noon + 2*assay.Hour}}) {
				t.Errorf("%s is covered in %v, want from %d to %d", gpu, got, from, noon+2*assay.Hour)
			}
		}
		want("H100 SXM", noon)
		want("MI300X", noon+assay.Hour)

		history := rentals(noon, noon+assay.Hour)
		for i := range history {
			history[i].GPU = "MI300X"
		}
		mustAppendOnTime(t, r.db, history...)
		if n := ok(t)(r.Backfill(t.Context(), noon, noon+2*assay.Hour, nil)); n == 0 {
			t.Error("nothing of the history is published")
		}
		want("MI300X", noon)
		r.end(t)
	})
}

// The hour may end while a pass runs, after the pass has read the clock. It is still published at once, and not ten
// seconds later with the next pass.
func TestRun_HourEndsDuringAPass(t *testing.T) {
	t.Parallel()
	for before := int64(2); before < 10; before++ {
		t.Run(fmt.Sprintf("started %d ms before", before), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				noon := instant(5, 12, 0)
				r := newRunning(t, noon-before)
				mustAppend(t, r.db, rentals(noon-assay.Hour, noon)...)
				clock := r.Now
				r.Now = func() time.Time { // each call takes a millisecond
					r.ahead.Add(int64(time.Millisecond))
					return clock()
				}
				r.start(t)
				synctest.Wait() // until the first pass is over
				r.until(noon + assay.Second)
				if got := readWorld(t, r.db).series("H100 SXM", assay.Hourly); len(got) != 1 {
					t.Errorf("a second after noon the points are %v, want noon's", got)
				}
				r.end(t)
			})
		})
	}
}

func TestRun_CatchesUpFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRunning(t, instant(7, 12, 30))
		mustAppend(t, r.db, rentals(start, instant(7, 12, 30))...)
		ok(t)(r.Backfill(t.Context(), start, instant(5, 21, 0), nil))
		r.start(t)
		synctest.Wait()
		points := readWorld(t, r.db).series("H100 SXM", assay.Hourly)
		for i, p := range points {
			if want := start + int64(i+1)*assay.Hour; p.At != want {
				t.Fatalf("point %d is at %s, want %s", i, assay.FormatInstant(p.At), assay.FormatInstant(want))
			}
		}
		if last := points[len(points)-1].At; last != instant(7, 12, 0) {
			t.Errorf("the last point is at %s, want 12:00", assay.FormatInstant(last))
		}
		r.end(t)
	})
}

// A small correction of the clock is noticed.
func TestRun_ClockSetForward(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRunning(t, instant(5, 12, 59))
		mustAppend(t, r.db, rentals(instant(5, 12, 0), instant(5, 13, 0))...)
		r.start(t)
		synctest.Wait()
		r.ahead.Add(int64(time.Minute))
		r.until(instant(5, 13, 0) + 11*assay.Second)
		if got := r.publishedAt(t); len(got) != 1 || got[0] > instant(5, 13, 0)+10*assay.Second {
			t.Errorf("after the clock was set to 13:00 there were publications at %v, want one within ten seconds", got)
		}
		r.end(t)
	})
}

func TestRun_ContinuesAfterAFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		noon := instant(5, 12, 0)
		r := newRunning(t, noon-assay.Second)
		var log bytes.Buffer
		r.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelError}))
		mustAppend(t, r.db, rentals(noon-assay.Hour, noon)...)
		r.start(t)
		synctest.Wait()
		storetest.Exec(t, r.db, `ALTER TABLE points RENAME TO away`)
		r.until(noon + 2500)
		if n := strings.Count(log.String(), "no such table"); n != 3 {
			t.Errorf("in two and a half seconds without the table %d failures were logged, want 3:\n%s", n, &log)
		}
		storetest.Exec(t, r.db, `ALTER TABLE away RENAME TO points`)
		r.until(noon + 4000)
		if got := readWorld(t, r.db).series("H100 SXM", assay.Hourly); len(got) != 1 || got[0].At != noon {
			t.Errorf("after the failure the points are %v, want noon's", got)
		}
		r.end(t)
	})
}

// Every minute has its print as soon as it ends.
func TestRun_PrintsEveryMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		noon := instant(5, 12, 0)
		r := newRunning(t, noon+30*assay.Second)
		mustAppend(t, r.db, rentals(noon-assay.Hour, noon)...)
		r.start(t)
		for minute := int64(1); minute < 5; minute++ {
			r.until(noon + minute*assay.Minute + 500)
			prints := printsOf(t, r.db, global)
			if last := prints[len(prints)-1].At; last != noon+minute*assay.Minute {
				t.Errorf("half a second after minute %d the last print is of %s", minute, assay.FormatInstant(last))
			}
		}
		r.end(t)
	})
}

// A day is signed when it ends, not before.
func TestRun_SignsWhenTheDayEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		midnight := instant(6, 0, 0)
		r := newRunning(t, midnight-assay.Minute)
		r.Key = signingKey
		mustAppend(t, r.db, rentals(midnight-2*assay.Hour, midnight)...)
		ok(t)(r.Backfill(t.Context(), midnight-2*assay.Hour, midnight, nil))
		r.start(t)
		r.until(midnight - 1)
		if list := manifests(t, r.db); len(list) != 0 {
			t.Errorf("before midnight the manifests are %+v", list)
		}
		r.until(midnight + assay.Second)
		if list := manifests(t, r.db); len(list) != 1 || list[0].Day != midnight-assay.Day || list[0].SignedAt != midnight {
			t.Errorf("after midnight the manifests are %+v, want the day's", list)
		}
		r.end(t)
	})
}
