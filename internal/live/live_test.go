package live_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"fmt"
	"log/slog"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/coding"
	"github.com/assaydata/assay/internal/family"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/live"
	"github.com/assaydata/assay/internal/proof"
	"github.com/assaydata/assay/internal/snapshot"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

var (
	global = assay.Line{GPU: "H100 SXM", Region: assay.Global}
	east   = assay.Line{GPU: "H100 SXM", Region: "us-east"}
)

func newFollower(db *store.DB) *live.Follower {
	return &live.Follower{Store: db, Holder: &snapshot.Holder{}, Log: slog.New(slog.DiscardHandler)}
}

func load(t *testing.T, f *live.Follower) *snapshot.Snapshot {
	t.Helper()
	if err := f.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return f.Holder.Load()
}

// hour is a publication of hour n, counted from 1970: a record of value n in each line, and the coverage of the GPUs.
func hour(n int64, lines ...assay.Line) store.Publication {
	p := store.Publication{Methodology: "1.0.0", PublishedAt: 1000 + n, Covers: store.Coverage{}}
	for _, line := range lines {
		p.Series = append(p.Series, store.SeriesRecords{Line: line, Grain: assay.Hourly, Records: []assay.Determination{{
			Line: line, Grain: assay.Hourly, At: (n + 1) * assay.Hour, From: n * assay.Hour,
			HasValue: true, Value: assay.Nanos(n),
		}}})
		p.Covers[store.CoverageKey{GPU: line.GPU, Grain: assay.Hourly}] = []store.Span{{
			From: n * assay.Hour,
			To:   (n + 1) * assay.Hour,
		}}
	}
	return p
}

// restated recomputes hour n of the lines as the given revision; a negative value takes it back.
func restated(n int64, revision int, value assay.Nanos, lines ...assay.Line) store.Publication {
	p := hour(n, lines...)
	p.Reason, p.Actor, p.PublishedAt = "late rows", "desk", 5000
	for i := range p.Series {
		r := &p.Series[i].Records[0]
		r.Revision, r.Value, r.HasValue = revision, max(value, 0), value >= 0
	}
	return p
}

// tryPublish appends the records to their chains and publishes them.
func tryPublish(ctx context.Context, db *store.DB, p store.Publication) error {
	state, err := db.State(ctx)
	if err != nil {
		return err
	}
	p.Receipt = state.Receipt
	for _, s := range p.Series {
		head := state.Heads[store.SeriesKey{Line: s.Line, Grain: s.Grain}]
		for i := range s.Records {
			proof.Seal(&s.Records[i], head)
			head = s.Records[i].Hash
		}
	}
	_, err = db.Publish(ctx, p)
	return err
}

func publish(t *testing.T, db *store.DB, p store.Publication) {
	t.Helper()
	if err := tryPublish(t.Context(), db, p); err != nil {
		t.Fatal(err)
	}
}

// adopt adopts a methodology that takes effect long after all that the tests publish, and after today.
func adopt(t *testing.T, db *store.DB, n int64) {
	t.Helper()
	m := assay.MethodologyFile{Version: fmt.Sprint(n), Effective: 100_000*assay.Day + n, Text: fmt.Sprint("text ", n)}
	if err := db.AdoptMethodology(t.Context(), m, 0); err != nil {
		t.Fatal(err)
	}
}

var signingKey = ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))

// sign signs the first unsigned day, if there is one.
func sign(t *testing.T, db *store.DB) {
	t.Helper()
	u, ok, err := db.NextUnsigned(t.Context(), math.MaxInt64)
	if err != nil {
		t.Fatal(err)
	}
	if !ok {
		return
	}
	m := assay.Manifest{
		Day: u.Day, Revision: u.Revision, Records: len(u.Hashes), Digest: proof.Records(u.Hashes),
		Previous: u.Previous,
	}
	proof.Sign(&m, signingKey)
	if err := db.AddManifest(t.Context(), u, m); err != nil {
		t.Fatal(err)
	}
}

// adoptSettling adopts a methodology by which instants of utilization are final after two hours.
func adoptSettling(t *testing.T, db *store.DB) {
	t.Helper()
	m := assay.MethodologyFile{Version: "1.0.0", Text: index.PlainText() + "[settlement]\nafter = \"2h\"\n"}
	if err := db.AdoptMethodology(t.Context(), m, 0); err != nil {
		t.Fatal(err)
	}
}

// read receives a reading of an hour in another one, which a later one revises.
func read(t *testing.T, db *store.DB, received, hour int64) {
	t.Helper()
	db.Now = func() time.Time { return time.UnixMilli(received * assay.Hour) }
	_, err := db.AppendUtilization(t.Context(), []assay.UtilizationReading{{
		Source: "desk", At: hour * assay.Hour, GPU: "B200", Region: "us-east", Rented: received, Tracked: 100,
	}}, true)
	if err != nil {
		t.Fatal(err)
	}
}

// restateReadings restates the hours before one.
func restateReadings(t *testing.T, db *store.DB, hour int64) {
	t.Helper()
	r := assay.Restatement{Family: assay.FamilyUtilization, To: hour * assay.Hour, Reason: "late", Actor: "Ada"}
	if _, err := db.AddRestatement(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

// tick prints a minute of the lines.
func tick(t *testing.T, db *store.DB, minute int64, lines ...assay.Line) {
	t.Helper()
	var prints []store.LinePrint
	for _, line := range lines {
		prints = append(prints, store.LinePrint{
			Line:          line,
			RealtimePrint: assay.RealtimePrint{At: minute * assay.Minute, Value: assay.Nanos(minute)},
		})
	}
	if err := db.AppendRealtime(t.Context(), prints, minute*assay.Minute); err != nil {
		t.Fatal(err)
	}
}

// describe writes down all of a snapshot that a reader can get at, every row byte for byte, now and as of each version.
func describe(s *snapshot.Snapshot) string {
	var b strings.Builder
	fmt.Fprintln(&b, s.Version, s.CatalogVersion, s.Latest, s.Covered, s.Synthetic, s.Catalog)
	newest, ok := s.Publication()
	fmt.Fprintln(&b, newest, ok, s.Methodologies)
	if m := s.ManifestAt(math.MaxInt64); m != nil {
		fmt.Fprintf(&b, "%s\n", proof.AppendManifestJSON(nil, m))
	}
	for _, c := range s.CorrectionsAfter(snapshot.Position{}) {
		fmt.Fprintf(&b, "%+v\n", c)
	}
	for _, gpu := range s.Catalog.GPUs {
		for _, region := range append([]string{assay.Global}, s.Catalog.Regions...) {
			fmt.Fprintln(&b, gpu.Name, region, s.Line(gpu.Name, region).Realtime())
			line := assay.Line{GPU: gpu.Name, Region: region}
			for moment := range int64(20) {
				capacities := s.Utilization.Capacities(line, 0, math.MaxInt64, moment*assay.Hour, nil)
				fmt.Fprintln(&b, slices.Collect(capacities))
			}
			for version := s.Version; version >= 0; version-- {
				describeLine(&b, s.LineAsOf(gpu.Name, region, version), version)
			}
		}
	}
	return b.String()
}

func describeLine(b *strings.Builder, line *snapshot.Line, version int64) {
	for _, grain := range assay.Grains {
		series := line.Series(grain)
		fmt.Fprintln(b, version, grain, series.Version(), series.Modified(), series.Len(),
			string(series.AppendText(nil, 0, series.Len())))
	}
}

// wantFresh compares a followed snapshot with the one that a fresh start would build.
func wantFresh(t *testing.T, db *store.DB, s *snapshot.Snapshot) {
	t.Helper()
	if got, want := describe(s), describe(load(t, newFollower(db))); got != want {
		t.Errorf("followed, the snapshot is\n%s\nrebuilt it is\n%s", got, want)
	}
}

func TestLoad_Builds(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testLoadBuilds)
}

func testLoadBuilds(t *testing.T, db *store.DB) {
	f := newFollower(db)
	if s := load(t, f); s.Version != 0 || s.Latest != 0 || s.Covered != 0 || s.Synthetic || len(s.GPUsByName) != 6 {
		t.Errorf("an empty store becomes %s", describe(s))
	}
	for n := range int64(3) {
		publish(t, db, hour(n, global))
	}
	if err := db.SetSetting(t.Context(), live.SettingSynthetic, "true"); err != nil {
		t.Fatal(err)
	}
	s := load(t, newFollower(db))
	if s.Version != 3 || s.Latest != 3*assay.Hour || s.Covered != 3*assay.Hour || !s.Synthetic {
		t.Errorf("three hours become version %d, latest %d, covered %d, synthetic %v", s.Version, s.Latest, s.Covered, s.Synthetic)
	}
	series := s.Line("H100 SXM", assay.Global).Series(assay.Hourly)
	const want = `{"timestamp":"1970-01-01T01:00:00.000Z","index_value":0},` +
		`{"timestamp":"1970-01-01T02:00:00.000Z","index_value":0.000000001},` +
		`{"timestamp":"1970-01-01T03:00:00.000Z","index_value":0.000000002}`
	if got := string(series.AppendText(nil, 0, series.Len())); got != want {
		t.Errorf("the rows are\n%s, want\n%s", got, want)
	}
	if series.Version() != 3 || series.Modified() != 1002 {
		t.Errorf("the series is of version %d at %d, want 3 at 1002", series.Version(), series.Modified())
	}
	if n := s.Line("H100 SXM", "us-east").Series(assay.Hourly).Len(); n != 0 {
		t.Errorf("a line without publications has %d points", n)
	}
}

func TestLoad_NothingNew(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testLoadNothingNew)
}

func testLoadNothingNew(t *testing.T, db *store.DB) {
	f := newFollower(db)
	before := load(t, f)
	if err := db.SetSetting(t.Context(), "a", "b"); err != nil {
		t.Fatal(err)
	}
	if load(t, f) != before {
		t.Error("a commit that publishes nothing replaces the snapshot")
	}
}

// A snapshot is prepared before the swap, except for the first: there is nothing else to show meanwhile.
func TestLoad_PreparesBeforeTheSwap(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	f := newFollower(db)
	var prepared []int64
	f.Prepare = func(next *snapshot.Snapshot) {
		prepared = append(prepared, next.Version)
		if first, shown := next.Version == 0, f.Holder.Load() == next; shown != first {
			t.Errorf("version %d is shown before it is prepared: %t, want %t", next.Version, shown, first)
		}
	}
	load(t, f)
	publish(t, db, hour(0, global))
	load(t, f)
	load(t, f)
	if fmt.Sprint(prepared) != "[0 1]" {
		t.Errorf("prepared were the versions %v, want 0 and 1, each once", prepared)
	}
}

// A node whose packed points are damaged starts all the same, with the values that were published, and logs it.
func TestLoad_DamagedPackedPoints(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		for n := range int64(5) {
			publish(t, db, hour(n, global, east))
		}
		publish(t, db, restated(3, 1, 7, global))
		var log bytes.Buffer
		f := newFollower(db)
		f.Log = slog.New(slog.NewTextHandler(&log, nil))
		want := describe(load(t, f))
		if log.Len() > 0 {
			t.Errorf("an intact database logs %s", &log)
		}
		storetest.Exec(t, db, `UPDATE packed_points SET body = (SELECT body FROM packed_points WHERE version = 1)
			WHERE version = 4`)
		f = newFollower(db)
		f.Log = slog.New(slog.NewTextHandler(&log, nil))
		if got := describe(load(t, f)); got != want {
			t.Errorf("with damaged packed points the snapshot is\n%s\nwant\n%s", got, want)
		}
		if !strings.Contains(log.String(), "part 0 of the packed points of publication 4 does not match its checksum") {
			t.Errorf("the damage is not logged: %q", &log)
		}
	})
}

// However the changes are spread over the loads, the snapshot is the one that a fresh start would build.
func TestLoad_IncrementalEqualsFull(t *testing.T) {
	t.Parallel()
	other := assay.Line{GPU: "B200", Region: "ap-east"}
	var changes []func(t *testing.T, db *store.DB)
	publishes := func(list ...store.Publication) {
		for _, p := range list {
			changes = append(changes, func(t *testing.T, db *store.DB) { publish(t, db, p) })
		}
	}
	for n := int64(100); n < 110; n++ {
		publishes(hour(n, global, east)) // appended
	}
	publishes(
		hour(50, global, other), // before all others
		hour(105, other),
		store.Publication{Covers: hour(60, other).Covers}, // covered without a value
		hour(104, other), // in between
		restated(103, 1, 7, global, east),
		restated(103, 2, -1, global), // taken back
		restated(109, 1, -1, east),   // the last of the line
		restated(103, 3, 8, global),
		restated(60, 0, 9, other), // where there was no value
		store.Publication{Series: []store.SeriesRecords{days(200, east)}},
		hour(111, other),
	)
	changes = append(changes,
		func(t *testing.T, db *store.DB) { tick(t, db, 1, global, east) },
		func(t *testing.T, db *store.DB) { sign(t, db) },
		func(t *testing.T, db *store.DB) { adopt(t, db, 1) },
		func(t *testing.T, db *store.DB) { tick(t, db, 2, other) },
		func(t *testing.T, db *store.DB) { tick(t, db, 5, global) },
		func(t *testing.T, db *store.DB) { sign(t, db) },
		func(t *testing.T, db *store.DB) { adopt(t, db, 2) },
	)
	for n := range int64(12) {
		changes = append(changes,
			func(t *testing.T, db *store.DB) { read(t, db, n, n) },
			func(t *testing.T, db *store.DB) { read(t, db, n, n/2) }, // later on it is late
		)
		if n%5 == 4 {
			changes = append(changes, func(t *testing.T, db *store.DB) { restateReadings(t, db, n) })
		}
	}
	changes = append(changes, func(t *testing.T, db *store.DB) { adopt(t, db, 3) })
	for _, every := range []int{1, 2, 3, 7, len(changes)} {
		t.Run(fmt.Sprint(every), func(t *testing.T) {
			db := storetest.Open(t)
			adoptSettling(t, db)
			f := newFollower(db)
			load(t, f)
			for i, change := range changes {
				change(t, db)
				if (i+1)%every == 0 || i == len(changes)-1 {
					load(t, f)
				}
			}
			wantFresh(t, db, f.Holder.Load())
		})
	}
}

// A late reading does not count until it was restated, and as of before never.
func TestLoad_LateUtilization(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	adoptSettling(t, db)
	f := newFollower(db)
	want := func(moment int64, want ...int64) {
		t.Helper()
		var got []int64
		lines, line := load(t, f).Utilization, assay.Line{GPU: "B200", Region: "us-east"}
		for c := range lines.Capacities(line, 0, math.MaxInt64, moment, nil) {
			got = append(got, c.Rented)
		}
		if !slices.Equal(got, want) {
			t.Errorf("at hour %d %v GPUs are rented, want %v", moment/assay.Hour, got, want)
		}
	}
	read(t, db, 1, 1)
	read(t, db, 2, 1)
	want(math.MaxInt64, 2)
	want(assay.Hour, 1)
	read(t, db, 3, 3)
	read(t, db, 5, 1) // it is late
	read(t, db, 6, 2) // and so is what was not known at all
	want(math.MaxInt64, 2, 3)
	db.Now = func() time.Time { return time.UnixMilli(7 * assay.Hour) }
	restateReadings(t, db, 2)
	want(math.MaxInt64, 5, 3)
	want(7*assay.Hour-1, 2, 3)
	restateReadings(t, db, 3)
	want(math.MaxInt64, 5, 6, 3)
}

// If something else cannot be read, readings that were restated meanwhile are not forgotten.
func TestLoad_FailsAfterARestatement(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	adoptSettling(t, db)
	f := newFollower(db)
	for hour := range int64(4) {
		read(t, db, hour, hour)
	}
	read(t, db, 7, 1) // it is late
	load(t, f)
	restateReadings(t, db, 2)
	storetest.Exec(t, db, `ALTER TABLE notices RENAME TO kept`)
	storetest.Exec(t, db, `UPDATE counters SET value = value + 1 WHERE name = 'notices'`)
	if err := f.Load(t.Context()); err == nil {
		t.Fatal("notices that are not there were read")
	}
	storetest.Exec(t, db, `ALTER TABLE kept RENAME TO notices`)
	storetest.Exec(t, db, `UPDATE counters SET value = value - 1 WHERE name = 'notices'`)
	wantFresh(t, db, load(t, f))
}

// days are daily records of a line, from 1970 on.
func days(n int64, line assay.Line) store.SeriesRecords {
	s := store.SeriesRecords{Line: line, Grain: assay.Daily}
	for day := range n {
		s.Records = append(s.Records, assay.Determination{
			Line: line, Grain: assay.Daily, At: day * assay.Day, HasValue: true, Value: assay.Nanos(day) * assay.One / 7,
		})
	}
	return s
}

// rows are the hourly rows of the global line as of a version.
func rows(s *snapshot.Snapshot, version int64) string {
	series := s.LineAsOf(global.GPU, global.Region, version).Series(assay.Hourly)
	return string(series.AppendText(nil, 0, series.Len()))
}

// A restated value replaces the one that is shown, one that is taken back leaves it out; the old ones can be read as of
// then, and the corrections say what was shown before.
func TestLoad_Restatement(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testLoadRestatement)
}

func testLoadRestatement(t *testing.T, db *store.DB) {
	f := newFollower(db)
	for n := range int64(3) {
		publish(t, db, hour(n, global))
	}
	before := rows(load(t, f), 3)
	publish(t, db, restated(1, 1, 17, global))
	publish(t, db, restated(0, 1, -1, global))
	s := load(t, f)
	const (
		first  = `{"timestamp":"1970-01-01T01:00:00.000Z","index_value":0}`
		second = `{"timestamp":"1970-01-01T02:00:00.000Z","index_value":0.000000017}`
		third  = `{"timestamp":"1970-01-01T03:00:00.000Z","index_value":0.000000002}`
	)
	for version, want := range map[int64]string{5: second + "," + third, 4: first + "," + second + "," + third, 3: before} {
		if got := rows(s, version); got != want {
			t.Errorf("as of version %d the rows are\n%s, want\n%s", version, got, want)
		}
	}
	corrections := s.CorrectionsAfter(snapshot.Position{})
	if len(corrections) != 2 || corrections[0].Previous != 1 || corrections[0].Revision.Value != 17 || corrections[0].Revision.Number != 1 ||
		corrections[0].Reason != "late rows" || corrections[0].CorrectedAt != 5000 || !corrections[1].Revision.Gone || !corrections[1].HadValue {
		t.Errorf("the corrections are %+v", corrections)
	}
	if p, ok := s.Publication(); !ok || p.Version != 5 || p.Reason != "late rows" || p.Actor != "desk" {
		t.Errorf("the newest publication is %+v", p)
	}
	wantFresh(t, db, s)
}

func TestLoad_Methodologies(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testLoadMethodologies)
}

func testLoadMethodologies(t *testing.T, db *store.DB) {
	f := newFollower(db)
	if s := load(t, f); len(s.Methodologies) != 0 {
		t.Errorf("an empty store has the methodologies %v", s.Methodologies)
	}
	for n := int64(1); n <= 2; n++ {
		adopt(t, db, n)
		if s := load(t, f); len(s.Methodologies) != int(n) || s.Methodologies[n-1].Text != fmt.Sprint("text ", n) {
			t.Errorf("after version %d the methodologies are %v", n, s.Methodologies)
		}
	}
	tick(t, db, 1, global)
	if s := load(t, f); len(s.Methodologies) != 2 {
		t.Errorf("with the next change the methodologies are %v", s.Methodologies)
	}
}

func TestLoad_Manifest(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testLoadManifest)
}

func testLoadManifest(t *testing.T, db *store.DB) {
	f := newFollower(db)
	publish(t, db, hour(5, global))
	publish(t, db, hour(30, global))
	if m := load(t, f).ManifestAt(math.MaxInt64); m != nil {
		t.Errorf("nothing was signed, and the manifest is %+v", m)
	}
	for day := range int64(2) {
		sign(t, db)
		if m := load(t, f).ManifestAt(math.MaxInt64); m == nil || m.Day != day*assay.Day || proof.CheckManifest(m) != nil {
			t.Errorf("after day %d the manifest is %+v", day, m)
		}
	}
	publish(t, db, hour(31, global))
	if m := load(t, f).ManifestAt(math.MaxInt64); m == nil || m.Day != assay.Day {
		t.Errorf("after another publication the manifest is %+v, want the last one", m)
	}
}

func TestLoad_Realtime(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testLoadRealtime)
}

func testLoadRealtime(t *testing.T, db *store.DB) {
	f := newFollower(db)
	load(t, f)
	wantPrints := func(line assay.Line, want ...int64) {
		t.Helper()
		var got []int64
		for _, p := range load(t, f).Line(line.GPU, line.Region).Realtime() {
			got = append(got, p.At/assay.Minute)
			if p.Value != assay.Nanos(p.At/assay.Minute) {
				t.Errorf("the print of minute %d is %+v", p.At/assay.Minute, p)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%v has prints of the minutes %v, want %v", line, got, want)
		}
	}
	tick(t, db, 1, global, east)
	wantPrints(global, 1)
	tick(t, db, 2, global)
	tick(t, db, 3) // a minute without a print
	tick(t, db, 4, global, east)
	wantPrints(global, 1, 2, 4)
	wantPrints(east, 1, 4)
	publish(t, db, hour(0, global)) // which leaves the prints alone
	wantPrints(global, 1, 2, 4)
}

func TestLoad_CatalogChangeBuildsAnew(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testLoadCatalogChangeBuildsAnew)
}

func testLoadCatalogChangeBuildsAnew(t *testing.T, db *store.DB) {
	f := newFollower(db)
	publish(t, db, hour(0, global))
	load(t, f)
	// The GPU model has data before its announcement: following the versions alone would miss it.
	storetest.Exec(t, db, `INSERT INTO gpus (gpu_name, free) VALUES ('X300', 1)`)
	publish(t, db, hour(1, global, assay.Line{GPU: "X300", Region: "us-east"}))
	if s := load(t, f); s.Line("X300", "us-east") != nil || s.Version != 2 {
		t.Errorf("version %d has a GPU that its catalog has not", s.Version)
	}
	storetest.Exec(t, db, `UPDATE counters SET value = value + 1 WHERE name = 'catalog'`)
	s := load(t, f)
	if line := s.Line("X300", "us-east"); line == nil || line.Series(assay.Hourly).Len() != 1 {
		t.Errorf("the new GPU or its point is missing: %v", line)
	}
	if _, ok := s.GPU("X300"); !ok || len(s.GPUsByName) != 7 || s.CatalogVersion != 2 {
		t.Errorf("the snapshot has the catalog %v of version %d", s.Catalog, s.CatalogVersion)
	}
	wantFresh(t, db, s)
}

// A catalog that grows, or in which something becomes free, shares the existing lines: nothing is read again. Data of
// what was added comes with the versions that follow.
func TestLoad_CatalogGrows(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testLoadCatalogGrows)
}

func testLoadCatalogGrows(t *testing.T, db *store.DB) {
	f := newFollower(db)
	publish(t, db, hour(0, global, east))
	publish(t, db, restated(0, 1, 7, east))
	tick(t, db, 1, global, east)
	before := load(t, f)
	grow := func(added assay.Catalog) {
		t.Helper()
		if err := db.AddToCatalog(t.Context(), added); err != nil {
			t.Fatal(err)
		}
	}
	grow(assay.Catalog{GPUs: []assay.GPU{{Name: "X300"}}, Regions: []string{"sa-east"}, Labs: []assay.Lab{{Lab: "cohere", Label: "Cohere"}}})
	s := load(t, f)
	if s.Line(east.GPU, east.Region) != before.Line(east.GPU, east.Region) {
		t.Error("a line that did not change was rebuilt")
	}
	for _, line := range []assay.Line{{GPU: "X300", Region: assay.Global}, {GPU: "X300", Region: "sa-east"}, {GPU: "H200", Region: "sa-east"}} {
		if got := s.Line(line.GPU, line.Region); got == nil || got.Series(assay.Hourly).Len() != 0 {
			t.Errorf("%v is %v, want an empty line", line, got)
		}
	}
	if before.Line("X300", assay.Global) != nil || len(before.Catalog.GPUs) != 6 {
		t.Error("the snapshot that readers may hold has changed")
	}
	wantFresh(t, db, s)

	// The catalog changes again while values of what was added are published.
	publish(t, db, hour(1, global, assay.Line{GPU: "X300", Region: "sa-east"}))
	if err := db.SetGPUFree(t.Context(), "X300", true); err != nil {
		t.Fatal(err)
	}
	grow(assay.Catalog{Regions: []string{"sa-west"}})
	s = load(t, f)
	if gpu, _ := s.GPU("X300"); !gpu.Free || s.Line("X300", "sa-east").Series(assay.Hourly).Len() != 1 {
		t.Errorf("the GPU is %+v with the series %v", gpu, s.Line("X300", "sa-east"))
	}
	wantFresh(t, db, s)
}

// Models of observations may depend on the catalog, so a change of it rebuilds them and leaves the observations.
func TestLoad_CatalogChangeRebuildsModels(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testLoadCatalogChangeRebuildsModels)
}

func testLoadCatalogChangeRebuildsModels(t *testing.T, db *store.DB) {
	f := newFollower(db)
	if _, err := db.AppendObservations(t.Context(), assay.FamilyCoding,
		[]store.Observation{{Key: "k", Body: []byte(`{"tool":"cc"}`)}}, false); err != nil {
		t.Fatal(err)
	}
	made := 0
	build := func(known []assay.Observed[assay.CodingDay]) int {
		made++
		return len(known)
	}
	want := func(s *snapshot.Snapshot, times int) {
		t.Helper()
		if got := family.Current(coding.Family.In(&s.Observations), "test", family.Settlement{}, build); got != 1 || made != times {
			t.Errorf("of %d observations a model was made %d times, want of 1 and %d times", got, made, times)
		}
	}
	want(load(t, f), 1)
	want(load(t, f), 1)
	if err := db.SetLabFree(t.Context(), "openai", false); err != nil {
		t.Fatal(err)
	}
	want(load(t, f), 2)
}

// A database that was restored from a copy takes the follower back: nothing of what came after the copy stays.
func TestLoad_StoreWentBack(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	f := newFollower(db)
	publish(t, db, hour(0, global))
	tick(t, db, 1, global)
	dir := t.TempDir()
	if err := db.Backup(t.Context(), filepath.Join(dir, store.FileName)); err != nil {
		t.Fatal(err)
	}
	publish(t, db, hour(1, global, east))
	tick(t, db, 2, global)
	adopt(t, db, 1)
	if s := load(t, f); s.Version != 2 {
		t.Fatalf("the follower is at version %d, want 2", s.Version)
	}
	f.Store = storetest.OpenIn(t, dir)
	s := load(t, f)
	if got := s.Line(global.GPU, global.Region).Series(assay.Hourly).Len(); s.Version != 1 || got != 1 {
		t.Errorf("after the restore version %d has %d hours, want version 1 with one", s.Version, got)
	}
	wantFresh(t, f.Store, s)
	publish(t, f.Store, hour(1, east))
	wantFresh(t, f.Store, load(t, f))
}

// After an entry was deleted from the catalog outside the program, everything is built again.
func TestLoad_CatalogShrinks(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testLoadCatalogShrinks)
}

func testLoadCatalogShrinks(t *testing.T, db *store.DB) {
	f := newFollower(db)
	publish(t, db, hour(0, global, east))
	load(t, f)
	storetest.Exec(t, db, `DELETE FROM gpus WHERE gpu_name = 'B200'`)
	storetest.Exec(t, db, `UPDATE counters SET value = value + 1 WHERE name = 'catalog'`)
	s := load(t, f)
	if s.Line("B200", assay.Global) != nil || s.Line(east.GPU, east.Region).Series(assay.Hourly).Len() != 1 {
		t.Errorf("the catalog is %v", s.Catalog.GPUs)
	}
	wantFresh(t, db, s)
}

// Every publication here adds a point to two lines and covers their hour. A reader sees all of it or nothing, and the
// snapshot it holds does not change under it.
func TestLoad_ReadersNeverSeeHalf(t *testing.T) {
	t.Parallel()
	const versions = 60
	db := storetest.Open(t)
	f := newFollower(storetest.Another(t, db))
	first := load(t, f)
	before := describe(first)
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := range int64(versions) {
			if err := tryPublish(t.Context(), db, hour(n, global, east)); err != nil {
				t.Error(err)
				return
			}
		}
	})
	wg.Go(func() {
		for f.Holder.Load().Version < versions && !t.Failed() {
			if err := f.Load(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
	for seen := first; seen.Version < versions && !t.Failed(); {
		seen = f.Holder.Load()
		a := seen.Line(global.GPU, global.Region).Series(assay.Hourly)
		b := seen.Line(east.GPU, east.Region).Series(assay.Hourly)
		n := int(seen.Version)
		if a.Len() != n || string(a.AppendText(nil, 0, n)) != string(b.AppendText(nil, 0, b.Len())) {
			t.Errorf("version %d has %d and %d points", n, a.Len(), b.Len())
		}
		if end := seen.Version * assay.Hour; seen.Covered != end || seen.Latest != end {
			t.Errorf("version %d is covered to %d and has points to %d, want %d", n, seen.Covered, seen.Latest, end)
		}
	}
	wg.Wait()
	if describe(first) != before {
		t.Error("a snapshot has changed while its successors were made")
	}
}

// Another version is published before each of the reads that a load consists of. The store reads the clock in every
// transaction, which is the hook for that.
func TestLoad_PublicationsInBetween(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testLoadPublicationsInBetween)
}

func testLoadPublicationsInBetween(t *testing.T, db *store.DB) {
	following := storetest.Another(t, db)
	published := int64(0)
	following.Now = func() time.Time {
		publish(t, db, hour(published, global, east))
		published++
		return time.UnixMilli(0)
	}
	f := newFollower(following)
	f.Prepare = func(s *snapshot.Snapshot) {
		a, b := s.Line(global.GPU, global.Region).Series(assay.Hourly), s.Line(east.GPU, east.Region).Series(assay.Hourly)
		if end := s.Version * assay.Hour; s.Covered != end || s.Latest != end || a.Len() != int(s.Version) || b.Len() != a.Len() {
			t.Errorf("version %d is covered to %d and has %d and %d points to %d", s.Version, s.Covered, a.Len(), b.Len(), s.Latest)
		}
	}
	// A full build reads in several goroutines; it begins without data.
	f.Holder.Store(snapshot.New(assay.DefaultCatalog(), 1))
	for range 3 {
		load(t, f)
	}
	if s := f.Holder.Load(); s.Version == published {
		t.Errorf("version %d is the last: nothing was published in between", s.Version)
	}
}

// Something of every kind changes before each reading of a load. What a load misses comes with the next, once.
func TestLoad_ChangesInBetween(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testLoadChangesInBetween)
}

func testLoadChangesInBetween(t *testing.T, db *store.DB) {
	following := storetest.Another(t, db)
	n, quiet := int64(0), true
	following.Now = func() time.Time {
		if !quiet {
			n++
			publish(t, db, hour(n, global, east))
			publish(t, db, restated(n, 1, assay.Nanos(100+n), global))
			tick(t, db, n, global)
			adopt(t, db, n)
			sign(t, db)
		}
		return time.UnixMilli(0)
	}
	f := newFollower(following)
	load(t, f)
	for range 4 {
		quiet = false
		load(t, f)
		quiet = true
		if s := f.Holder.Load(); s.Version >= 2*n {
			t.Fatalf("version %d of %d is loaded: nothing was published in between", s.Version, 2*n)
		}
	}
	wantFresh(t, db, load(t, f))
	if s := f.Holder.Load(); s.Version != 2*n || len(s.Line(global.GPU, global.Region).Realtime()) != int(n) || len(s.Methodologies) != int(n) {
		t.Errorf("after %d rounds version %d has %d methodologies", n, s.Version, len(s.Methodologies))
	}
}

// follow runs the follower in a bubble; the returned function ends it.
func follow(t *testing.T, f *live.Follower) (end func()) {
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- f.Run(ctx) }()
	synctest.Wait()
	return func() {
		t.Helper()
		cancel()
		if err := <-stopped; err != nil {
			t.Errorf("Run ended with %v, want nil", err)
		}
	}
}

func TestRun_FollowsAnotherProcess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := storetest.Open(t)
		f := newFollower(storetest.Another(t, db))
		load(t, f)
		end := follow(t, f)
		for n := range int64(5) {
			publish(t, db, hour(n, global))
			<-time.After(150 * time.Millisecond) // the watcher looks every 100 ms
			synctest.Wait()
			if got := f.Holder.Load().Version; got != n+1 {
				t.Errorf("the follower is at version %d, want %d", got, n+1)
			}
		}
		end()
	})
}

// While the store cannot be read, the current snapshot stays, and the follower retries.
func TestRun_StoreAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := storetest.Open(t)
		f := newFollower(db)
		var log bytes.Buffer
		f.Log = slog.New(slog.NewTextHandler(&log, nil))
		publish(t, db, hour(0, global))
		load(t, f)
		end := follow(t, f)
		publish(t, db, hour(1, global))
		storetest.Exec(t, db, `ALTER TABLE points RENAME TO away`)
		<-time.After(3 * time.Second)
		synctest.Wait()
		if got := f.Holder.Load().Version; got != 1 {
			t.Errorf("without the table the follower is at version %d, want 1", got)
		}
		if behind := f.Behind(); behind < 2*time.Second {
			t.Errorf("without the table the follower says it is %v behind", behind)
		}
		if n := strings.Count(log.String(), "\n"); n != 1 || !strings.Contains(log.String(), "cannot follow the store") {
			t.Errorf("in three seconds without the table this was logged, want one line:\n%s", &log)
		}
		storetest.Exec(t, db, `ALTER TABLE away RENAME TO points`)
		<-time.After(1100 * time.Millisecond)
		synctest.Wait()
		if got := f.Holder.Load().Version; got != 2 {
			t.Errorf("with the table back the follower is at version %d, want 2", got)
		}
		if behind := f.Behind(); behind > time.Second {
			t.Errorf("with the table back the follower says it is %v behind", behind)
		}
		if again := regexp.MustCompile(`msg="following the store again" what="published values" after=[34]\.?\d*s\n$`); !again.MatchString(log.String()) {
			t.Errorf("with the table back this was logged:\n%s", &log)
		}
		end()
	})
}

// On PostgreSQL, too, what another process publishes arrives, and also when every connection was cut just before.
func TestRun_Postgres(t *testing.T) {
	t.Parallel()
	db := storetest.OpenIn(t, storetest.Postgres(t))
	f := newFollower(storetest.Another(t, db))
	load(t, f)
	storetest.Run(t, f.Run)
	for n := range int64(4) {
		if n%2 == 1 {
			storetest.CutConnections(t, storetest.Address(t, db))
		}
		publish(t, db, hour(n, global))
		storetest.Eventually(t, "the publication arrives", func() bool { return f.Holder.Load().Version == n+1 })
	}
	wantFresh(t, db, f.Holder.Load())
}
