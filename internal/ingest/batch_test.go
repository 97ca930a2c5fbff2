package ingest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// lineByLine returns one line per Read, and calls before with the number of each.
type lineByLine struct {
	lines  []string
	given  int
	before func(given int)
}

func (l *lineByLine) Read(p []byte) (int, error) {
	if l.given == len(l.lines) {
		return 0, io.EOF
	}
	if l.before != nil {
		l.before(l.given)
	}
	l.given++
	return copy(p, l.lines[l.given-1]), nil
}

// feedLines are good rows that differ in their ids.
func feedLines(n int) (lines []string) {
	for i := range n {
		lines = append(lines, jsonLine(with("id", fmt.Sprint(i))))
	}
	return lines
}

// In a bubble an import that waits for itself, or leaves a goroutine behind, fails the test.

func TestWriter_ParsesWhileItWrites(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out outcome
		im := Transactions(testOptions(storetest.Open(t), &out))
		im.size = 10
		readOn := make(chan struct{})
		im.rows.append = func(db *store.DB, ctx context.Context, rows []assay.Transaction) (store.Appended, error) {
			<-readOn // no batch is written before rows of the next are read
			return db.AppendTransactions(ctx, rows)
		}
		lines := &lineByLine{lines: feedLines(15), before: func(given int) {
			if given == 12 {
				close(readOn)
			}
		}}
		out.err = im.File(t.Context(), "a.ndjson", lines)
		out.Counts = im.Counts()
		out.want(t, 15, 0, 0)
	})
}

func TestWriter_TwoBatchesInMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out outcome
		im := Transactions(testOptions(storetest.Open(t), &out))
		im.size = 10
		release := make(chan struct{})
		im.rows.append = func(db *store.DB, ctx context.Context, rows []assay.Transaction) (store.Appended, error) {
			<-release
			return db.AppendTransactions(ctx, rows)
		}
		lines := &lineByLine{lines: feedLines(100)}
		for i := 12; i < 40; i += 2 {
			lines.lines[i] = "bad\n" // rejects are kept, too
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			out.err = im.File(t.Context(), "a.ndjson", lines)
		}()
		synctest.Wait()
		if lines.given != 20 {
			t.Errorf("while the first batch of 10 is written %d lines are read, want 20", lines.given)
		}
		close(release)
		<-done
		out.Counts = im.Counts()
		out.want(t, 86, 0, 14)
	})
}

// Rejects are reported in the order of an import without a second goroutine: those of the rows in
// their order, then the conflicts of their batch.
func TestWriter_OrderOfReports(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	conflict := jsonLine(with("price", "3"))
	var content strings.Builder
	var want []int
	content.WriteString("\n")
	for line := 2; line < 60; line += 3 { // a batch: a conflict, a bad row, a good row
		content.WriteString(conflict + "bad\n" + jsonLine(with("id", fmt.Sprint(line))))
		want = append(want, line+1, line)
	}
	for range 5 {
		var out outcome
		im := Transactions(testOptions(db, &out))
		im.size = 3
		if err := im.File(t.Context(), "first.ndjson", strings.NewReader(jsonLine(good()))); err != nil {
			t.Fatal(err)
		}
		if err := im.File(t.Context(), "a.ndjson", strings.NewReader(content.String())); err != nil {
			t.Fatal(err)
		}
		var told []int
		for _, r := range out.rejects {
			told = append(told, r.Line)
		}
		if !slices.Equal(told, want) {
			t.Fatalf("told of the lines %v, want %v", told, want)
		}
	}
}

func TestWriter_Fails(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for failing := range 4 {
		synctest.Test(t, func(t *testing.T) {
			var out outcome
			im := Transactions(testOptions(storetest.Open(t), &out))
			im.size = 10
			commits := 0
			im.rows.append = func(db *store.DB, ctx context.Context, rows []assay.Transaction) (store.Appended, error) {
				if commits == failing {
					return store.Appended{}, broken
				}
				commits++
				return db.AppendTransactions(ctx, rows)
			}
			lines := &lineByLine{lines: feedLines(1000)}
			err := im.File(t.Context(), "a.ndjson", lines)
			if !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "write a batch of 10 rows: ") {
				t.Errorf("the error is %v, want the writer's", err)
			}
			if most := (failing + 2) * 10; lines.given > most {
				t.Errorf("after the failure of batch %d there are %d lines read, want at most %d", failing, lines.given, most)
			}
			if got := im.Counts().Inserted; got != failing*10 {
				t.Errorf("%d rows are counted, want %d", got, failing*10)
			}
		})
	}
}

// Wherever a context ends, the import does, and what it counts is there.
func TestWriter_ContextEnds(t *testing.T) {
	t.Parallel()
	for n := int64(1); n < 200; n += 13 {
		synctest.Test(t, func(t *testing.T) {
			db := storetest.Open(t)
			var out outcome
			im := Transactions(testOptions(db, &out))
			im.size = 10
			err := im.File(storetest.BreakAt(t, n), "a.ndjson", &lineByLine{lines: feedLines(100)})
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("the error is %v, want the context's", err)
			}
			if found, counted := len(stored(t, db)), im.Counts().Inserted; found < counted || found > counted+10 {
				t.Errorf("%d rows are counted and %d stored", counted, found)
			}
		})
	}
}

// A small file is safe soon, and a large one is written in large batches.
func TestWriter_BatchesGrow(t *testing.T) {
	t.Parallel()
	im := Transactions(testOptions(nil, new(outcome)))
	f := func(handed, want int) {
		t.Helper()
		im.handed = handed
		if got := im.batchSize(); got != want {
			t.Errorf("after %d rows a batch has %d, want %d", handed, got, want)
		}
	}
	f(0, 20_000)
	f(80_000, 20_000)
	f(100_000, 25_000)
	f(999_999, 249_999)
	f(5_000_000, 250_000)
}
