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
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/family"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// following is an import that follows a pipe, inside a bubble: the clock moves only when everybody waits, so what took
// no time in it did not wait for anything.
type following struct {
	t         *testing.T
	db        *store.DB
	pipe      *io.PipeWriter
	cancel    context.CancelFunc
	importer  *Importer[assay.Transaction]
	committed chan Counts
	rejected  chan Reject
	retrying  chan error
	ended     chan error
}

// follow runs a test that writes to a followed pipe, and then closes the pipe.
func follow(t *testing.T, delay time.Duration, test func(*following)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		f := &following{
			t: t, db: storetest.Open(t), pipe: w,
			committed: make(chan Counts, 1000), rejected: make(chan Reject, 1000),
			retrying: make(chan error, 1000), ended: make(chan error, 1),
		}
		options := testOptions(f.db, nil)
		options.Rejected = func(r Reject) error {
			f.rejected <- r
			return nil
		}
		options.Committed = func(c Counts) { f.committed <- c }
		options.Retrying = func(err error) { f.retrying <- err }
		f.importer = Transactions(options)
		ctx, cancel := context.WithCancel(t.Context())
		f.cancel = cancel
		defer cancel()
		defer w.Close()
		test(f.start(ctx, r, delay))
	})
}

func (f *following) start(ctx context.Context, r io.Reader, delay time.Duration) *following {
	go func() { f.ended <- f.importer.Follow(ctx, "pipe", r, delay) }()
	return f
}

func (f *following) write(text string) {
	f.t.Helper()
	if _, err := io.WriteString(f.pipe, text); err != nil {
		f.t.Fatal(err)
	}
}

// wantEnd waits for the end and checks what is stored.
func (f *following) wantEnd(ids ...string) {
	f.t.Helper()
	if err := <-f.ended; err != nil {
		f.t.Errorf("following ended with the error %v", err)
	}
	var got []string
	for _, x := range stored(f.t, f.db) {
		got = append(got, x.ID)
	}
	if !slices.Equal(got, ids) {
		f.t.Errorf("stored are %v, want %v", got, ids)
	}
}

func TestFollow_CommitsWithinTheDelay(t *testing.T) {
	t.Parallel()
	follow(t, time.Second, func(f *following) {
		for i := 1; i <= 3; i++ { // with silence between
			begun := time.Now()
			f.write(jsonLine(with("id", fmt.Sprint(i))))
			if got := <-f.committed; got.Inserted != i {
				t.Errorf("committed are %+v, want %d rows", got, i)
			}
			if took := time.Since(begun); took > time.Second {
				t.Errorf("row %d is committed after %v, want a second at most", i, took)
			}
			<-time.After(10 * time.Minute)
		}
		f.pipe.Close()
		f.wantEnd("1", "2", "3")
	})
}

// Rows that come faster than the delay share a commit, and the first of them does not wait longer for it.
func TestFollow_SteadyRows(t *testing.T) {
	t.Parallel()
	follow(t, time.Second, func(f *following) {
		begun := time.Now()
		rows := 0
		for tick := time.NewTicker(10 * time.Millisecond); rows < 300; rows++ {
			f.write(jsonLine(with("id", fmt.Sprintf("%03d", rows))))
			<-tick.C
			seen := 0
			for len(f.committed) > 0 {
				seen = (<-f.committed).Inserted
			}
			if late := int(time.Since(begun)/(10*time.Millisecond)) - 100; seen > 0 && seen < late {
				t.Errorf("after %v %d rows are committed, want %d at least", time.Since(begun), seen, late)
			}
		}
		f.pipe.Close()
		if err := <-f.ended; err != nil {
			t.Error(err)
		}
		if got := f.importer.Counts(); got.Inserted != rows {
			t.Errorf("%+v, want %d rows", got, rows)
		}
	})
}

func TestFollow_CommitsBySize(t *testing.T) {
	t.Parallel()
	follow(t, time.Minute, func(f *following) {
		begun := time.Now()
		f.importer.size = 2
		f.write(strings.Join(feedLines(5), ""))
		for _, want := range []int{2, 4} {
			if got := <-f.committed; got.Inserted != want {
				t.Errorf("committed are %+v, want %d", got, want)
			}
		}
		if took := time.Since(begun); took != 0 {
			t.Errorf("full batches waited for %v", took)
		}
		<-f.committed
		if took := time.Since(begun); took > time.Minute {
			t.Errorf("the fifth row is committed after %v, want a minute at most", took)
		}
	})
}

func TestFollow_EndOfInput(t *testing.T) {
	t.Parallel()
	follow(t, time.Minute, func(f *following) {
		begun := time.Now()
		f.write(jsonLine(with("id", "1")) + "\n" + jsonLine(with("id", "2"))[:20])
		<-time.After(10 * time.Minute) // a line without an end is waited for
		f.write(strings.TrimSuffix(jsonLine(with("id", "2"))[20:]+jsonLine(with("id", "3")), "\n"))
		f.pipe.Close()
		f.wantEnd("1", "2", "3")
		if took := time.Since(begun); took != 10*time.Minute {
			t.Errorf("the end took %v", took-10*time.Minute)
		}
	})
}

func TestFollow_ContextEnds(t *testing.T) {
	t.Parallel()
	follow(t, time.Minute, func(f *following) {
		f.write(jsonLine(with("id", "1")) + jsonLine(with("id", "2")) + `{"id":"3"`)
		f.write(` `) // what was written before is taken by now
		synctest.Wait()
		f.cancel()
		f.wantEnd("1", "2")
		if len(f.rejected) > 0 {
			t.Errorf("a line that had no end yet is rejected: %+v", <-f.rejected)
		}
	})
}

func TestFollow_ContextEndsAtOnce(t *testing.T) {
	t.Parallel()
	follow(t, time.Minute, func(f *following) {
		synctest.Wait()
		f.cancel()
		f.wantEnd()
	})
}

// Rejects do not wait for the rows around them.
func TestFollow_RejectsAsTheyCome(t *testing.T) {
	t.Parallel()
	follow(t, time.Hour, func(f *following) {
		begun := time.Now()
		for i := range 3 {
			f.write(jsonLine(with("id", fmt.Sprint(i))) + "bad\n")
			if r := <-f.rejected; r.Line != 2*i+2 || r.File != "pipe" || r.Text != "bad" {
				t.Errorf("rejected is %+v", r)
			}
		}
		if took := time.Since(begun); took != 0 || len(f.committed) > 0 {
			t.Errorf("the rejects are told after %v and %d commits, want at once", took, len(f.committed))
		}
		f.pipe.Close()
		f.wantEnd("0", "1", "2")
	})
}

// A row from the future is one from the past some time later.
func TestFollow_ClockMoves(t *testing.T) {
	t.Parallel()
	follow(t, time.Second, func(f *following) {
		f.importer.checker = family.NewChecker(f.importer.Catalog, "", func() int64 { return time.Now().UnixMilli() })
		row := jsonLine(with("executed_at", assay.FormatInstant(time.Now().UnixMilli()+assay.Minute)))
		f.write(row)
		if r := <-f.rejected; !strings.HasSuffix(r.Reason, "is in the future") {
			t.Errorf("rejected is %+v", r)
		}
		<-time.After(time.Minute)
		f.write(row)
		<-f.committed
		f.pipe.Close()
		f.wantEnd("t-1")
	})
}

// A GPU and a region that are added while a feed is followed are known from its next row on.
func TestFollow_CatalogGrows(t *testing.T) {
	t.Parallel()
	follow(t, time.Second, func(f *following) {
		cells := with("gpu_name", "MI300X")
		cells["region"] = "sa-east"
		row := jsonLine(cells)
		reject := func(want string) {
			t.Helper()
			f.write(row)
			if r := <-f.rejected; !strings.HasPrefix(r.Reason, want) {
				t.Errorf("rejected is %+v, want %s", r, want)
			}
		}
		grow := func(added assay.Catalog) {
			t.Helper()
			if err := f.db.AddToCatalog(f.t.Context(), added); err != nil {
				t.Fatal(err)
			}
		}
		reject(`gpu_name "MI300X" is not in the catalog: must be one of H100 SXM`)
		grow(assay.Catalog{GPUs: []assay.GPU{{Name: "MI300X"}}})
		reject(`region "sa-east" is not in the catalog: must be one of us-east`)
		grow(assay.Catalog{Regions: []string{"sa-east"}})
		f.write(row)
		<-f.committed
		f.pipe.Close()
		f.wantEnd("t-1")
	})
}

func TestFollow_ReadFails(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	follow(t, time.Minute, func(f *following) {
		f.write(jsonLine(good()))
		f.pipe.CloseWithError(broken)
		if err := <-f.ended; !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "pipe: read line") {
			t.Errorf("following ended with %v, want the reader's error", err)
		}
	})
}

// A feed outlasts its database: rows that were read before it went away are imported when it is back. The line up to
// which all rows are safe counts rejected ones too.
func TestFollow_DatabaseAway(t *testing.T) {
	t.Parallel()
	follow(t, time.Second, func(f *following) {
		f.write(jsonLine(with("id", "1")) + "not a row\n")
		if got := <-f.committed; got.Inserted != 1 || got.Line != 2 {
			t.Errorf("committed are %+v, want a row, and everything up to line 2", got)
		}
		storetest.Exec(f.t, f.db, `ALTER TABLE receipts RENAME TO away`)
		f.write(jsonLine(with("id", "2")))
		if err := <-f.retrying; err == nil || !strings.Contains(err.Error(), "receipts") {
			t.Errorf("retrying because of %v", err)
		}
		<-time.After(time.Hour)
		if len(f.committed) > 0 {
			t.Error("something was committed without a database")
		}
		storetest.Exec(f.t, f.db, `ALTER TABLE away RENAME TO receipts`)
		if got := <-f.committed; got.Inserted != 2 || got.Line != 3 {
			t.Errorf("committed are %+v, want two rows, and everything up to line 3", got)
		}
		f.pipe.Close()
		f.wantEnd("1", "2")
	})
}

// A signal while the database is away ends the import with an error, instead of waiting for ever: while the input is
// silent, and while a row waits for the writer.
func TestFollow_StoppedWhileTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	for _, text := range []string{jsonLine(good()), jsonLine(good()) + "bad\n" + jsonLine(good())} {
		follow(t, time.Second, func(f *following) {
			storetest.Exec(f.t, f.db, `ALTER TABLE receipts RENAME TO away`)
			f.write(text)
			<-f.retrying
			f.cancel()
			if err := <-f.ended; err == nil || !strings.Contains(err.Error(), "write a batch of") {
				f.t.Errorf("following ended with %v", err)
			}
		})
	}
}
