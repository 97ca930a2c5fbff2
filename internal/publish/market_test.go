package publish

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// The market of the tests is in March 2026. New York changes its clocks on the 8th: days end at 21:00 UTC before, and
// at 20:00 after.
var (
	start = instant(4, 21, 0)
	end   = instant(12, 20, 0)
)

func instant(day, hour, minute int) int64 {
	return time.Date(2026, 3, day, hour, minute, 0, 0, time.UTC).UnixMilli()
}

// clock is set by the test.
type clock struct{ ms atomic.Int64 }

func (c *clock) now() time.Time { return time.UnixMilli(c.ms.Load()) }

// promptText is methodology 1.0.0 without a delay, so that a test can publish a slot at the instant at which it ends.
var promptText = index.PlainText() + `
[publication]
delay = "0s"
`

// adoptPrompt adopts it, unless the database has a methodology.
func adoptPrompt(ctx context.Context, db *store.DB) error {
	if files, err := db.Methodologies(ctx); err != nil || len(files) > 0 {
		return err
	}
	plain := index.Plain()
	return db.AdoptMethodology(ctx, assay.MethodologyFile{
		Version: plain.Version, Effective: plain.Effective, Text: promptText,
	}, 0)
}

// newPublisher makes a publisher whose clock stands at the given instant.
func newPublisher(db *store.DB, at int64) (*Publisher, *clock) {
	if err := adoptPrompt(context.Background(), db); err != nil {
		panic(err)
	}
	c := &clock{}
	c.ms.Store(at)
	return &Publisher{Store: db, Now: c.now, Log: slog.New(slog.DiscardHandler)}, c
}

// rentals are an H100 every quarter of an hour in us-east, and an H200 every third hour without a region.
func rentals(from, to int64) (all []assay.Transaction) {
	for at := from; at < to; at += assay.Hour / 4 {
		quarter := at / (assay.Hour / 4)
		t := assay.Transaction{
			Source: "test", ID: fmt.Sprint(quarter), ExecutedAt: at, GPU: "H100 SXM", Region: "us-east",
			Price: 2*assay.One + assay.Nanos(quarter%97)*10_000_000, GPUs: 1 + quarter%8, HourMicros: 1_000_000,
			Provider: "Acme", Verified: true,
		}
		all = append(all, t)
		if quarter%12 == 0 {
			t.ID, t.GPU, t.Region = "h200-"+t.ID, "H200", ""
			all = append(all, t)
		}
	}
	return all
}

// lateRow is an expensive rental of an H100.
func lateRow(id string, at int64) assay.Transaction {
	x := rentals(start, start+1)[0]
	x.ID, x.ExecutedAt, x.Price = id, at, 100*assay.One
	return x
}

func mustAppend(t *testing.T, db *store.DB, batch ...assay.Transaction) {
	t.Helper()
	if _, err := db.AppendTransactions(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
}

// loadedFile is the file of a database with all rentals, of which none is published. publishedFile is the same with all
// of them published in one call. Both are made once, and copied for each test.
var (
	loadedFile = sync.OnceValues(func() ([]byte, error) {
		return makeFile(func(ctx context.Context, db *store.DB) error {
			_, err := db.AppendTransactions(ctx, rentals(start, end))
			return err
		})
	})
	publishedFile = sync.OnceValues(func() ([]byte, error) {
		return makeFile(func(ctx context.Context, db *store.DB) error {
			if _, err := db.AppendTransactions(ctx, rentals(start, end)); err != nil {
				return err
			}
			p, _ := newPublisher(db, end)
			_, err := p.Backfill(ctx, start, end, nil)
			return err
		})
	})
)

func makeFile(fill func(context.Context, *store.DB) error) (file []byte, err error) {
	dir, err := os.MkdirTemp("", "assay-publish")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	db, err := store.Create(ctx, "sqlite://"+dir)
	if err != nil {
		return nil, err
	}
	err = fill(ctx, db)
	err = errors.Join(err, db.Close())
	if err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(dir, store.FileName))
}

func openCopy(t *testing.T, makeFile func() ([]byte, error)) *store.DB {
	t.Helper()
	file, err := makeFile()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, store.FileName), file, 0o600); err != nil {
		t.Fatal(err)
	}
	return storetest.OpenIn(t, dir)
}

// loaded opens a database with all rentals, of which none is published.
func loaded(t *testing.T) *store.DB {
	t.Helper()
	return openCopy(t, loadedFile)
}

// published opens a database with all rentals published, and its publisher.
func published(t *testing.T) (*store.DB, *Publisher) {
	t.Helper()
	db := openCopy(t, publishedFile)
	p, _ := newPublisher(db, end)
	return db, p
}

// publishedAtOnce is the world of the rentals, published in one call after all had ended.
func publishedAtOnce(t *testing.T) world {
	t.Helper()
	db, _ := published(t)
	return readWorld(t, db)
}

// publishedWith is the world of the rentals and more, if all of them had arrived in time.
func publishedWith(t *testing.T, more ...assay.Transaction) world {
	t.Helper()
	db := loaded(t)
	mustAppend(t, db, more...)
	p, _ := newPublisher(db, end)
	ok(t)(p.Backfill(t.Context(), start, end, nil))
	return readWorld(t, db)
}

// ok takes the results of a publishing method and gives the number of records.
func ok(t *testing.T) func(records int, err error) int {
	t.Helper()
	return func(records int, err error) int {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return records
	}
}

// mustAppendOnTime appends rows, none of which may be late.
func mustAppendOnTime(t *testing.T, db *store.DB, rows ...assay.Transaction) {
	t.Helper()
	got, err := db.AppendTransactions(t.Context(), rows)
	if err != nil {
		t.Fatal(err)
	}
	if got.Late != 0 {
		t.Errorf("%d of %d rows are late", got.Late, len(rows))
	}
}

// catchUpFrom catches up as Run does if it started at the given instant.
func catchUpFrom(t *testing.T, p *Publisher, started int64) (records int) {
	t.Helper()
	records, err := p.publishDue(t.Context(), nil, sinceCoverage(func(string) int64 { return started }))
	if err != nil {
		t.Fatal(err)
	}
	return records
}

// average is the index over the verified transactions of a GPU.
func average(all []assay.Transaction, gpu string) assay.Nanos {
	var c index.Calculator
	var rows []int32
	for i := range all {
		if all[i].GPU == gpu {
			rows = append(rows, int32(i))
		}
	}
	c.Load(all)
	d, _ := c.Compute(rows, index.Plain())
	return d.Value
}

// world is everything that is published: all revisions of every slot, regardless of the version that made them.
type world struct {
	revisions map[string][]assay.Revision
	coverage  store.Coverage
}

func readWorld(t *testing.T, db *store.DB) world {
	t.Helper()
	coverage, err := db.Coverage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w := world{revisions: map[string][]assay.Revision{}, coverage: coverage}
	for _, grain := range assay.Grains {
		for _, line := range []assay.Line{
			{GPU: "H100 SXM", Region: assay.Global},
			{GPU: "H100 SXM", Region: "us-east"},
			{GPU: "H200", Region: assay.Global},
			{GPU: "H200", Region: "us-east"},
			{GPU: "B200", Region: assay.Global},
		} {
			list, err := db.Revisions(t.Context(), line, grain, math.MinInt64, math.MaxInt64, 0, math.MaxInt64)
			if err != nil {
				t.Fatal(err)
			}
			for i := range list {
				list[i].Version = 0
			}
			w.revisions[fmt.Sprint(line, grain)] = list
		}
	}
	return w
}

func (w world) series(gpu string, grain assay.Grain) []assay.Revision {
	return w.revisions[fmt.Sprint(assay.Line{GPU: gpu, Region: assay.Global}, grain)]
}

// newest is the world with only the newest revision of each slot, numbered as a first one, and without withdrawn
// values.
func (w world) newest() world {
	n := world{revisions: map[string][]assay.Revision{}, coverage: w.coverage}
	for line, list := range w.revisions {
		n.revisions[line] = nil
		for i, r := range list {
			if i+1 < len(list) && list[i+1].At == r.At || r.Gone {
				continue
			}
			n.revisions[line] = append(n.revisions[line], assay.Revision{Point: r.Point})
		}
	}
	return n
}

func (w world) count() (n int) {
	for _, list := range w.revisions {
		n += len(list)
	}
	return n
}

// wantWorld compares what a database has published, and checks its chains.
func wantWorld(t *testing.T, db *store.DB, want world) {
	t.Helper()
	wantSame(t, readWorld(t, db), want)
	wantWholeChains(t, db)
}

func wantSame(t *testing.T, got, want world) {
	t.Helper()
	if !maps.EqualFunc(got.coverage, want.coverage, slices.Equal) {
		t.Errorf("the coverage is\n%v, want\n%v", got.coverage, want.coverage)
	}
	for line, list := range want.revisions {
		if !slices.Equal(got.revisions[line], list) {
			t.Errorf("%s has %d revisions, want %d:\n%v, want\n%v",
				line, len(got.revisions[line]), len(list), got.revisions[line], list)
		}
	}
}
