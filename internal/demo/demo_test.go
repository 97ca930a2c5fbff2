package demo

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/publish"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
	"github.com/assaydata/assay/tools/testenv"
)

// halfPast is when the demos of these tests begin: in the middle of an hour, half an hour after a fixing.
var halfPast = marketAt(2026, 3, 9) + 20*assay.Hour + assay.Hour/2

// newDemo is a demo with a history of some days, whose clock stands still.
func newDemo(db *store.DB, days int, now int64) *Demo {
	return runningDemo(db, days, func() time.Time { return time.UnixMilli(now) })
}

func runningDemo(db *store.DB, days int, now func() time.Time) *Demo {
	log := slog.New(slog.DiscardHandler)
	return &Demo{
		Store: db, Seed: 1, Now: now, Log: log, days: days,
		Publisher: &publish.Publisher{Store: db, Now: now, Log: log},
	}
}

func silent(string, float64) {}

func mustPrepare(t *testing.T, d *Demo) {
	t.Helper()
	if err := d.Prepare(t.Context(), silent); err != nil {
		t.Fatal(err)
	}
}

// outcome is everything that a demo leaves in its store.
type outcome struct {
	transactions []assay.Transaction // without their receipts, which depend on the batches
	late         int
	points       map[seriesName][]assay.Point
	coverage     store.Coverage
	seed, fed    string
}

type seriesName struct {
	assay.Line
	grain assay.Grain
}

func readOutcome(t *testing.T, db *store.DB) outcome {
	t.Helper()
	ctx := t.Context()
	s := outcome{points: map[seriesName][]assay.Point{}}
	var errs [5]error
	s.transactions, errs[0] = db.AppendWindow(ctx, nil, math.MinInt64, math.MaxInt64)
	for i := range s.transactions {
		s.transactions[i].Receipt = 0
	}
	index.Order(s.transactions, nil)
	s.coverage, errs[1] = db.Coverage(ctx)
	s.seed, errs[2] = db.Setting(ctx, settingSeed)
	s.fed, errs[3] = db.Setting(ctx, settingFed)
	errs[4] = db.EachLate(ctx, func(*store.Late) error {
		s.late++
		return nil
	})
	catalog := assay.DefaultCatalog()
	for _, gpu := range catalog.GPUs {
		for _, region := range append([]string{assay.Global}, catalog.Regions...) {
			for _, grain := range assay.Grains {
				line := assay.Line{GPU: gpu.Name, Region: region}
				revisions, err := db.Revisions(ctx, line, grain, math.MinInt64, math.MaxInt64, 0, math.MaxInt64)
				for _, r := range revisions {
					s.points[seriesName{line, grain}] = append(s.points[seriesName{line, grain}], r.Point)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	return s
}

func wantOutcome(t *testing.T, db *store.DB, want outcome) {
	t.Helper()
	got := readOutcome(t, db)
	if got.late != want.late || !slices.Equal(got.transactions, want.transactions) {
		t.Errorf("%d transactions are stored, %d of them late; want %d and %d, and the same ones",
			len(got.transactions), got.late, len(want.transactions), want.late)
	}
	for name, points := range want.points {
		if !slices.Equal(got.points[name], points) {
			t.Errorf("%v has the points\n%v, want\n%v", name, got.points[name], points)
		}
	}
	if !reflect.DeepEqual(got.coverage, want.coverage) || got.seed != want.seed || got.fed != want.fed {
		t.Errorf("coverage %v, seed %s, fed %s; want %v, %s, %s",
			got.coverage, got.seed, got.fed, want.coverage, want.seed, want.fed)
	}
}

// wantNoGap checks that every GPU's global hourly series has each hour from one slot to another.
func (s outcome) wantNoGap(t *testing.T, first, last int64) {
	t.Helper()
	for _, gpu := range assay.DefaultCatalog().GPUs {
		points := s.points[seriesName{assay.Line{GPU: gpu.Name, Region: assay.Global}, assay.Hourly}]
		at := first
		for _, p := range points {
			if p.At != at {
				break
			}
			at += assay.Hour
		}
		if at != last+assay.Hour || len(points) != int((at-first)/assay.Hour) {
			t.Errorf("%s: %d hourly points, without a gap from %s to before %s, want them to %s", gpu.Name, len(points),
				assay.FormatInstant(first), assay.FormatInstant(at), assay.FormatInstant(last))
		}
	}
}

// arrivals are the rows of the market of seed 1, executed from begin on, that have arrived by an instant.
func arrivals(begin, by int64) []Arrival {
	rows := marketRows(NewMarket(1, assay.DefaultCatalog()), begin, by)
	return slices.DeleteFunc(rows, func(a Arrival) bool { return a.At > by })
}

func TestPrepare_NewStore(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	db := storetest.Open(t)
	const days = 3
	begin := assay.StartOfDay(halfPast) - days*assay.Day
	steps := map[string]float64{}
	err := newDemo(db, days, halfPast).Prepare(t.Context(), func(step string, done float64) {
		if done < steps[step] || done > 1 {
			t.Errorf("progress of %s goes from %f to %f", step, steps[step], done)
		}
		steps[step] = done
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(steps) != 3 {
		t.Errorf("progress has the steps %v, want three", steps)
	}
	s, rows := readOutcome(t, db), arrivals(begin, halfPast)
	if len(s.transactions) != len(rows) {
		t.Errorf("%d transactions are stored, want the %d that have arrived", len(s.transactions), len(rows))
	}
	if fed := strconv.FormatInt(halfPast, 10); s.fed != fed || s.seed != "1" {
		t.Errorf("the store has seed %q and was fed up to %q; want 1 and %s", s.seed, s.fed, fed)
	}
	s.wantNoGap(t, begin+assay.Hour, halfPast-assay.Hour/2)
	wantWithoutLate(t, s, rows)
}

// wantWithoutLate checks the hourly values of all GPU models: late rows are stored, but do not count in the published
// hour.
func wantWithoutLate(t *testing.T, s outcome, rows []Arrival) {
	t.Helper()
	late := 0
	slots := map[assay.Line]map[int64][]assay.Transaction{}
	for _, a := range rows {
		if a.Late() {
			late++
			continue
		}
		line := assay.Line{GPU: a.GPU, Region: assay.Global}
		if slots[line] == nil {
			slots[line] = map[int64][]assay.Transaction{}
		}
		slot := methodology.NextSlot(assay.Hourly, a.ExecutedAt)
		slots[line][slot] = append(slots[line][slot], a.Transaction)
	}
	if late == 0 {
		t.Error("no row is late: the test checks nothing")
	}
	if s.late != late {
		t.Errorf("%d rows are listed as late, want %d", s.late, late)
	}
	for line, bySlot := range slots {
		for _, p := range s.points[seriesName{line, assay.Hourly}] {
			if want := average(bySlot[p.At]); want != p.Value {
				t.Errorf("%v at %s is %s, want %s", line, assay.FormatInstant(p.At), p.Value, want)
			}
		}
	}
}

// average is the index over the verified transactions.
func average(all []assay.Transaction) assay.Nanos {
	var c index.Calculator
	rows := make([]int32, len(all))
	for i := range rows {
		rows[i] = int32(i)
	}
	c.Load(all)
	d, _ := c.Compute(rows, methodology)
	return d.Value
}

// oneDay is the outcome of a demo of one day, prepared once for all tests that compare with it.
func oneDay(t *testing.T) outcome {
	t.Helper()
	clean.once.Do(func() {
		db := storetest.Open(t)
		mustPrepare(t, newDemo(db, 1, halfPast))
		clean.outcome = readOutcome(t, db)
	})
	return clean.outcome
}

var clean struct {
	once    sync.Once
	outcome outcome
}

func TestPrepare_FollowsFromTheSeed(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	want := oneDay(t)
	t.Run("the same", func(t *testing.T) {
		t.Parallel()
		db := storetest.Open(t)
		mustPrepare(t, newDemo(db, 1, halfPast))
		wantOutcome(t, db, want)
	})
	t.Run("another", func(t *testing.T) {
		t.Parallel()
		db := storetest.Open(t)
		d := newDemo(db, 1, halfPast)
		d.Seed = 2
		mustPrepare(t, d)
		if got := readOutcome(t, db); reflect.DeepEqual(got.points, want.points) {
			t.Error("seeds 1 and 2 publish the same points")
		}
	})
}

// Interrupted at one step after another and repeated, the demo arrives where it would have arrived at once.
func TestPrepare_InterruptedAndRepeated(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	db, want := storetest.Open(t), oneDay(t)
	f := func(name string, ctx context.Context, d *Demo, progress Progress, reached func(outcome) bool) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			err := d.Prepare(ctx, progress)
			if !errors.Is(err, context.Canceled) {
				t.Errorf("when interrupted, Prepare returns the error %v", err)
			}
			s := readOutcome(t, db)
			if !reached(s) || s.fed != "" {
				t.Errorf("interrupted elsewhere: seed %q, %d transactions, %d lines covered, fed %q",
					s.seed, len(s.transactions), len(s.coverage), s.fed)
			}
		})
	}
	f("before the seed", storetest.BreakAt(t, 20), newDemo(db, 1, halfPast), silent,
		func(s outcome) bool { return s.seed == "" })
	f("before the import", storetest.BreakAt(t, 300), newDemo(db, 1, halfPast), silent,
		func(s outcome) bool { return s.seed != "" && len(s.transactions) == 0 })
	ctx, cancel := context.WithCancel(t.Context())
	cancelAtPublishing := func(step string, _ float64) {
		if step == "publishing the index" {
			cancel()
		}
	}
	f("before the publication", ctx, newDemo(db, 1, halfPast), cancelAtPublishing,
		func(s outcome) bool { return len(s.transactions) > 0 && len(s.coverage) == 0 })
	ctx, cancel = context.WithCancel(t.Context())
	d := newDemo(db, 1, halfPast)
	d.Publisher.Log = slog.New(cancelling{slog.DiscardHandler, cancel})
	f("before the late rows", ctx, d, silent,
		func(s outcome) bool { return len(s.coverage) > 0 && len(s.transactions) < len(want.transactions) })

	mustPrepare(t, newDemo(db, 1, halfPast))
	wantOutcome(t, db, want)
}

// cancelling cancels a context on the first log line: for the publisher, that is the first publication.
type cancelling struct {
	slog.Handler
	cancel context.CancelFunc
}

func (c cancelling) Enabled(context.Context, slog.Level) bool {
	c.cancel()
	return false
}

func TestPrepare_RestartAfterThreeDays(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	db := storetest.Open(t)
	const days = 2
	begin, later := assay.StartOfDay(halfPast)-days*assay.Day, halfPast+3*assay.Day
	mustPrepare(t, newDemo(db, days, halfPast))
	before := readOutcome(t, db)
	mustPrepare(t, newDemo(db, days+3, later))
	after := readOutcome(t, db)

	after.wantNoGap(t, begin+assay.Hour, later-assay.Hour/2)
	if rows := arrivals(begin, later); len(after.transactions) != len(rows) {
		t.Errorf("%d transactions are stored, want the %d that have arrived", len(after.transactions), len(rows))
	}
	for name, points := range before.points {
		if !slices.Equal(after.points[name][:len(points)], points) {
			t.Errorf("the restart changed %v", name)
		}
	}
	mustPrepare(t, newDemo(db, days+3, later))
	wantOutcome(t, db, after)
}

// Time passes while a demo is prepared. An hour that ends meanwhile is left to the publisher's loop: its last rows are
// not delivered yet.
func TestPrepare_HourEndsMeanwhile(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	db := storetest.Open(t)
	begin := assay.StartOfDay(halfPast) - assay.Day
	f := func(now int64) {
		t.Helper()
		d := newDemo(db, 1, now)
		d.Publisher.Now = func() time.Time { return time.UnixMilli(now + assay.Hour) }
		mustPrepare(t, d)
		readOutcome(t, db).wantNoGap(t, begin+assay.Hour, now-assay.Hour/2)
	}
	f(halfPast)
	f(halfPast + 2*assay.Hour) // now the store has a history
}

func TestPrepare_Refused(t *testing.T) {
	t.Parallel()
	f := func(name string, seed int64, change func(db *store.DB) error, want string) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := storetest.Open(t)
			row := arrivals(halfPast-assay.Day, halfPast)[0].Transaction
			_, err := db.AppendTransactions(t.Context(), []assay.Transaction{row})
			if err == nil {
				err = change(db)
			}
			if err != nil {
				t.Fatal(err)
			}
			before := readOutcome(t, db)
			d := newDemo(db, 1, halfPast)
			d.Seed = seed
			err = d.Prepare(t.Context(), silent)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got the error %v, want one with %q", err, want)
			}
			wantOutcome(t, db, before)
		})
	}
	set := func(settings ...string) func(db *store.DB) error {
		return func(db *store.DB) error {
			for i := 0; i < len(settings); i += 2 {
				if err := db.SetSetting(t.Context(), settings[i], settings[i+1]); err != nil {
					return err
				}
			}
			return nil
		}
	}
	f("another seed", 2, set(settingSeed, "1", settingMarket, marketVersion),
		"the database holds the market of seed 1, not 2: use that seed, or another --dir or --store")
	f("no demo", 1, set(),
		"the database holds transactions that are not the demo's: use another --dir or --store")
	f("another release", 1, set(settingSeed, "1"),
		"the database holds the demo market of another release: use another --dir or --store")
}

// bubbleClock is the clock of a synctest bubble, moved to an instant.
func bubbleClock(at int64) func() time.Time {
	ahead := time.Until(time.UnixMilli(at))
	return func() time.Time { return time.Now().Add(ahead) }
}

// The feed and the publisher run side by side, as they do in the program. Before the hour ends, the store has the rows
// that its index needs, so that no line has a gap.
func TestFeed_DeliversBeforeTheHourEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := storetest.Open(t)
		one := halfPast + assay.Hour/2
		d := runningDemo(db, 1, bubbleClock(one-90*assay.Second))
		db.Now = d.Now
		mustPrepare(t, d)
		ctx, cancel := context.WithCancel(t.Context())
		stopped := make(chan error, 2)
		go func() { stopped <- d.Feed(ctx) }()
		go func() { stopped <- d.Publisher.Run(ctx) }()

		<-time.After(time.UnixMilli(one - 1).Sub(d.Now()))
		synctest.Wait()
		begin := assay.StartOfDay(one) - assay.Day
		delivered, err := db.CountTransactions(ctx)
		least, most := len(arrivals(begin, one-1-assay.Second)), len(arrivals(begin, one-1))
		if err != nil || delivered < least || delivered > most {
			t.Errorf("a millisecond before the hour %d rows are stored (%v), want %d to %d", delivered, err, least, most)
		}
		<-time.After(7 * time.Second) // the methodology waits for five
		synctest.Wait()
		readOutcome(t, db).wantNoGap(t, begin+assay.Hour, one)

		cancel()
		for range 2 {
			if err := <-stopped; err != nil {
				t.Errorf("ended with %v, want nil", err)
			}
		}
	})
}

// A demo that is stopped while it feeds and started again has every row once.
func TestFeed_StoppedAndStarted(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	db := storetest.Open(t)
	now := halfPast
	clock := func() time.Time { return time.UnixMilli(now) }
	begin := assay.StartOfDay(now) - assay.Day
	f := func(d *Demo) {
		t.Helper()
		n, err := db.CountTransactions(t.Context())
		if want := len(arrivals(begin, now)); err != nil || n != want {
			t.Errorf("at %s %d rows are stored (%v), want %d", assay.FormatInstant(now), n, err, want)
		}
		if d.fed > now {
			t.Errorf("at %s the demo has fed up to %s", assay.FormatInstant(now), assay.FormatInstant(d.fed))
		}
	}
	for range 2 {
		d := runningDemo(db, 1, clock)
		mustPrepare(t, d)
		f(d)
		d.hour = assay.StartOfDay(d.fed - maxLate) // as Feed begins
		for _, step := range []int64{0, assay.Second, assay.Minute, 90 * assay.Minute, 1} {
			now += step
			if err := d.feed(t.Context(), now); err != nil {
				t.Fatal(err)
			}
			f(d)
			if len(d.pending) > 0 && d.pending[0].At <= now {
				t.Errorf("the row delivered at %s is still pending", assay.FormatInstant(d.pending[0].At))
			}
		}
		now += assay.Hour
	}
}
