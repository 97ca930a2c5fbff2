package usage

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/keys"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

const (
	noon  = int64(1_770_206_400_000) // 4 February 2026, 12:00 UTC
	today = noon - 12*assay.Hour
	price = "/api/gpu/{gpuName}"
)

func counter(db *store.DB) *Counter {
	return New(db, slog.New(slog.DiscardHandler), func() time.Time { return time.UnixMilli(noon) })
}

// want compares the whole content of the store with rows.
func want(t *testing.T, db *store.DB, rows ...store.UsageCount) {
	t.Helper()
	got, err := db.Usage(t.Context(), store.UsageOf{}, 0, 1<<60)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(rows, got); diff != "" {
		t.Errorf("the store differs (-want +got):\n%s", diff)
	}
}

func flush(t *testing.T, c *Counter) {
	t.Helper()
	if err := c.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestCounter_SumsByKeyRouteStatusAndDay(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testCounterSumsByKeyRouteStatusAndDay)
}

func testCounterSumsByKeyRouteStatusAndDay(t *testing.T, db *store.DB) {
	c := counter(db)
	c.Count("aaaaaa", price, 200, noon)
	c.Count("aaaaaa", price, 200, noon+1)
	c.Count("aaaaaa", price, 429, noon)
	c.Count("aaaaaa", "/api/otpi", 200, noon)
	c.Count("bbbbbb", price, 200, noon)
	c.Count("bbbbbb", price, 200, today+assay.Day-1)
	c.Count("bbbbbb", price, 200, today+assay.Day)
	flush(t, c)
	flush(t, c) // adds nothing twice
	want(t, db,
		store.UsageCount{Day: today, KeyID: "aaaaaa", Route: "/api/gpu/{gpuName}", Status: 200, Requests: 2},
		store.UsageCount{Day: today, KeyID: "aaaaaa", Route: "/api/gpu/{gpuName}", Status: 429, Requests: 1},
		store.UsageCount{Day: today, KeyID: "aaaaaa", Route: "/api/otpi", Status: 200, Requests: 1},
		store.UsageCount{Day: today, KeyID: "bbbbbb", Route: "/api/gpu/{gpuName}", Status: 200, Requests: 2},
		store.UsageCount{Day: today + assay.Day, KeyID: "bbbbbb", Route: "/api/gpu/{gpuName}", Status: 200, Requests: 1},
	)
}

// A second process adds to what the first has written.
func TestCounter_RestartKeeps(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for run := range 3 {
		t.Run(fmt.Sprint("run ", run+1), func(t *testing.T) {
			db := storetest.OpenIn(t, dir)
			c := counter(db)
			c.Count("aaaaaa", price, 200, noon)
			flush(t, c)
			want(t, db, store.UsageCount{Day: today, KeyID: "aaaaaa", Route: price, Status: 200, Requests: int64(run + 1)})
		})
	}
}

func TestCounter_ConcurrentSumsExactly(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testCounterConcurrentSumsExactly)
}

func testCounterConcurrentSumsExactly(t *testing.T, db *store.DB) {
	c := counter(db)
	const callers, each = 8, 5_000
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for range each {
				c.Count("aaaaaa", price, 200, noon)
			}
		})
	}
	for range 20 { // while they count
		flush(t, c)
	}
	all.Wait()
	flush(t, c)
	want(t, db, store.UsageCount{Day: today, KeyID: "aaaaaa", Route: price, Status: 200, Requests: callers * each})
}

func TestCounter_FailedFlushKeepsTheCounts(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	c := counter(db)
	c.Count("aaaaaa", price, 200, noon)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for n := range int64(4) { // the store fails at each of its steps
		if err := c.Flush(storetest.BreakAt(t, n+1)); err == nil {
			t.Fatal("a flush into a failing store succeeded")
		}
		c.Count("aaaaaa", price, 200, noon)
	}
	if err := c.Flush(ended); err == nil {
		t.Error("a flush after the end succeeded")
	}
	want(t, db)
	flush(t, c)
	want(t, db, store.UsageCount{Day: today, KeyID: "aaaaaa", Route: price, Status: 200, Requests: 5})
}

// Run writes every few seconds; what is counted after its end needs a last Flush.
func TestCounter_Run(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	c := counter(db)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- c.Run(ctx) }()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	c.Count("aaaaaa", price, 200, noon)
	want(t, db)
	flush(t, c)
	want(t, db, store.UsageCount{Day: today, KeyID: "aaaaaa", Route: price, Status: 200, Requests: 1})
}

func TestCounter_Read(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testCounterRead)
}

func testCounterRead(t *testing.T, db *store.DB) {
	c := counter(db)
	for day := range int64(3) {
		c.Count("aaaaaa", price, 200, noon+day*assay.Day)
		c.Count("bbbbbb", price, 200, noon+day*assay.Day)
	}
	got, err := c.Read(t.Context(), Of{KeyID: "bbbbbb"}, today+assay.Day, today+2*assay.Day)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]store.UsageCount{
		{Day: today + assay.Day, KeyID: "bbbbbb", Route: price, Status: 200, Requests: 1},
		{Day: today + 2*assay.Day, KeyID: "bbbbbb", Route: price, Status: 200, Requests: 1},
	}, got); diff != "" {
		t.Error(diff)
	}
}

// What is counted is added to what is stored, and reading it stores nothing.
func TestCounter_ReadWritesNothing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		c := counter(db)
		c.Count("aaaaaa", price, 200, noon)
		flush(t, c)
		c.Count("aaaaaa", price, 200, noon)
		c.Count("aaaaaa", price, 404, noon)
		c.Count("bbbbbb", price, 200, noon) // another key
		for range 2 {
			got, err := c.Read(t.Context(), Of{KeyID: "aaaaaa"}, today, today)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]store.UsageCount{
				{Day: today, KeyID: "aaaaaa", Route: price, Status: 200, Requests: 2},
				{Day: today, KeyID: "aaaaaa", Route: price, Status: 404, Requests: 1},
			}, got); diff != "" {
				t.Error(diff)
			}
		}
		want(t, db, store.UsageCount{Day: today, KeyID: "aaaaaa", Route: price, Status: 200, Requests: 1})
	})
}

// A key's last use is the latest one, and does not count as a change of the keys.
func TestCounter_LastUsed(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testCounterLastUsed)
}

func testCounterLastUsed(t *testing.T, db *store.DB) {
	_, key, err := keys.Create(t.Context(), db, assay.Full, "a test", 0)
	if err != nil {
		t.Fatal(err)
	}
	before, err := db.Counters(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := counter(db)
	for _, at := range []int64{noon + 5, noon} {
		c.Count(key.ID, price, 200, at)
		flush(t, c)
	}
	list, err := db.ListKeys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if list[0].LastUsedAt != noon+5 {
		t.Errorf("last used at %s", assay.FormatInstant(list[0].LastUsedAt))
	}
	if after, err := db.Counters(t.Context()); err != nil || after != before {
		t.Errorf("counters moved from %+v to %+v (%v)", before, after, err)
	}
}

// unwritten compares the last uses that are not in the store yet.
func unwritten(t *testing.T, c *Counter, want map[string]int64) {
	t.Helper()
	if diff := cmp.Diff(want, c.LastUsed()); diff != "" {
		t.Errorf("the last uses that are not written differ (-want +got):\n%s", diff)
	}
}

// The last uses are known before they are written, and to the node that counted them only.
func TestCounter_LastUsedBeforeTheWrite(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	c, other := counter(db), counter(db)
	c.Count("aaaaaa", price, 200, noon+2)
	c.Count("aaaaaa", "/api/otpi", 404, noon+1)
	c.Count("bbbbbb", price, 200, noon)
	unwritten(t, c, map[string]int64{"aaaaaa": noon + 2, "bbbbbb": noon})
	unwritten(t, other, map[string]int64{})
	want(t, db)
	if err := c.Flush(storetest.BreakAt(t, 1)); err == nil {
		t.Fatal("a flush into a failing store succeeded")
	}
	unwritten(t, c, map[string]int64{"aaaaaa": noon + 2, "bbbbbb": noon})
	flush(t, c)
	unwritten(t, c, map[string]int64{})
}

// What is counted during a write is kept for the next one, even if a reader has collected it meanwhile. The reader does
// not wait for the write.
func TestCounter_LastUsedDuringAWrite(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	c := counter(db)
	c.Count("aaaaaa", price, 200, noon)
	c.Count("bbbbbb", price, 200, noon)
	c.writing <- struct{}{} // as in Flush
	rows, lastUsed := c.unwritten()
	c.Count("aaaaaa", price, 200, noon+1)
	unwritten(t, c, map[string]int64{"aaaaaa": noon + 1, "bbbbbb": noon})
	if err := db.AddUsage(t.Context(), rows, lastUsed); err != nil {
		t.Fatal(err)
	}
	c.forgetWritten(rows)
	<-c.writing
	unwritten(t, c, map[string]int64{"aaaaaa": noon + 1})
	flush(t, c)
	want(t, db,
		store.UsageCount{Day: today, KeyID: "aaaaaa", Route: price, Status: 200, Requests: 2},
		store.UsageCount{Day: today, KeyID: "bbbbbb", Route: price, Status: 200, Requests: 1},
	)
}

// A request waits to be written, is being written, or is in the store: whenever a reader comes, it misses none
// and sees none twice.
func TestCounter_ReadersMissNothing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testCounterReadersMissNothing)
}

func testCounterReadersMissNothing(t *testing.T, db *store.DB) {
	_, key, err := keys.Create(t.Context(), db, assay.Full, "a test", 0)
	if err != nil {
		t.Fatal(err)
	}
	c := counter(db)
	stop := make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				if err := c.Flush(t.Context()); err != nil {
					t.Error(err)
				}
			}
		}
	})
	for n := int64(1); n <= 200; n += 2 {
		c.Count(key.ID, price, 200, noon+n)
		for range 5 { // before, during and after the write
			if last := readLastUse(t, c); last != noon+n {
				t.Errorf("after %d requests the last use is that of request %d", n, last-noon)
			}
		}
		c.Count(key.ID, price, 200, noon+n+1)
		for range 2 { // before and after the write, for which it waits
			if requests := readRequests(t, c, key.ID); requests != n+1 {
				t.Errorf("%d requests are counted as %d", n+1, requests)
			}
		}
	}
	close(stop)
	writer.Wait()
}

// readLastUse reads when the only key was last used, as the route for it does.
func readLastUse(t *testing.T, c *Counter) int64 {
	t.Helper()
	unwritten := c.LastUsed()
	list, err := c.Store.ListKeys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return max(unwritten[list[0].ID], list[0].LastUsedAt)
}

// readRequests reads how often a key was used.
func readRequests(t *testing.T, c *Counter, keyID string) (requests int64) {
	t.Helper()
	rows, err := c.Read(t.Context(), Of{KeyID: keyID}, today, today)
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range rows {
		requests += u.Requests
	}
	return requests
}

// Memory stays bounded, also when the store cannot be written.
func TestCounter_MemoryIsBounded(t *testing.T) {
	t.Parallel()
	c := counter(storetest.Open(t))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for i := range int64(2 * shards * shardCells) {
		c.shards[i%shards].add(cell{day: i}, tally{requests: 1, last: i})
		if i%(shards*shardCells/4) == 0 {
			_ = c.Flush(ended)
		}
	}
	c.LastUsed()
	if len(c.waiting) > maxWaiting {
		t.Errorf("%d cells wait", len(c.waiting))
	}
	for i := range c.shards {
		if n := len(c.shards[i].counts); n > shardCells {
			t.Errorf("shard %d has %d cells", i, n)
		}
	}
}

// TestCounter_Allocations is not parallel: AllocsPerRun counts those of all goroutines.
func TestCounter_Allocations(t *testing.T) {
	c := counter(storetest.Open(t))
	for range 100 * shards { // so that every shard knows the cell
		c.Count("aaaaaa", price, 200, noon)
	}
	if n := testing.AllocsPerRun(1000, func() { c.Count("aaaaaa", price, 200, noon) }); n != 0 {
		t.Errorf("counting costs %.0f allocations", n)
	}
}

func BenchmarkCount(b *testing.B) {
	c := counter(storetest.Open(b))
	b.ReportAllocs()
	b.RunParallel(func(p *testing.PB) {
		now := time.Now().UnixMilli()
		for p.Next() {
			c.Count("aaaaaa", price, 200, now)
		}
	})
}

// Days older than the operator wants are removed, once a day; the oldest day that is kept stays.
func TestCounter_ForgetsOldDays(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		c := counter(db)
		for day := range int64(5) {
			c.Count("aaaaaa", price, 200, noon-day*assay.Day)
		}
		flush(t, c)
		forget := func() {
			t.Helper()
			if err := c.forget(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		wantDays := func(n int64) {
			t.Helper()
			var rows []store.UsageCount
			for day := n - 1; day >= 0; day-- {
				rows = append(rows, store.UsageCount{
					Day: today - day*assay.Day, KeyID: "aaaaaa", Route: price, Status: 200, Requests: 1,
				})
			}
			want(t, db, rows...)
		}
		forget()
		wantDays(5) // nothing is removed unless the operator wants it
		c.KeepDays = 3
		forget()
		wantDays(4) // today and three days before
		c.KeepDays = 1
		forget()
		wantDays(4) // it was done today
		c.Now = func() time.Time { return time.UnixMilli(noon + assay.Day) }
		forget()
		wantDays(1)
	})
}
