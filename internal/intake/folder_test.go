package intake_test

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assaydata/assay/internal/intake"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// inbox is a folder that is watched.
type inbox struct {
	t      *testing.T
	folder string
	db     *store.DB
}

func newInbox(t *testing.T) *inbox {
	t.Helper()
	b := &inbox{t, t.TempDir(), storetest.Open(t)}
	b.must(os.MkdirAll(filepath.Join(b.folder, "transactions", "exchange"), 0o700))
	return b
}

func (b *inbox) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// watch watches the folder until the test or stop ends it.
func (b *inbox) watch() (stop func()) {
	b.t.Helper()
	s := intake.New(intake.Config{
		SigningKey: func(context.Context, *store.DB) (ed25519.PrivateKey, error) { return nil, nil },
		Now:        time.Now, Log: slog.New(slog.DiscardHandler),
	})
	s.Open(b.db)
	return storetest.Run(b.t, func(ctx context.Context) error { return s.Watch(ctx, b.folder) })
}

// put lets a file appear by a rename, as it was some time ago.
func (b *inbox) put(name, content string) {
	b.t.Helper()
	hidden := filepath.Join(b.folder, "."+filepath.Base(name))
	b.must(os.WriteFile(hidden, []byte(content), 0o600))
	b.must(os.Chtimes(hidden, time.Time{}, time.Now().Add(-time.Minute)))
	b.must(os.Rename(hidden, filepath.Join(b.folder, name)))
}

// await waits until a file was moved, and returns its report.
func (b *inbox) await(name string) (report intake.Report) {
	b.t.Helper()
	storetest.Eventually(b.t, name+" is there", func() bool {
		_, err := os.Lstat(filepath.Join(b.folder, name))
		return err == nil
	})
	text, err := os.ReadFile(filepath.Join(b.folder, name+".report.json"))
	b.must(err)
	b.must(json.Unmarshal(text, &report))
	return report
}

const sourced = "id,source,executed_at,gpu_name,price,gpus,hours,provider,verified\n" +
	"a,desk,2026-01-02T09:15:00Z,H100 SXM,2.35,8,24,Alder,true\n"

func TestWatch(t *testing.T) {
	t.Parallel()
	b := newInbox(t)
	b.put("transactions/before.csv", sourced)
	b.watch()
	if r := b.await("done/transactions/before.csv"); r.Stored != 1 || r.Error != "" || len(r.SHA256) != 64 {
		t.Errorf("there at the start: %+v", r.Result)
	}
	b.put("transactions/before.csv", sourced)
	if r := b.await("done/transactions/before-2.csv"); r.Known != 1 {
		t.Errorf("the same again: %+v", r.Result)
	}
	b.put("transactions/exchange/x.csv", csvRows)
	if r := b.await("done/transactions/exchange/x.csv"); r.Stored != 2 || r.Source != "exchange" {
		t.Errorf("in the folder of a source: %+v", r.Result)
	}
	b.put("transactions/exchange/y.csv", sourced)
	if r := b.await("rejected/transactions/exchange/y.csv"); r.Rejected != 1 || r.Rejects[0].Line != 2 {
		t.Errorf("of another source: %+v", r.Result)
	}
	b.put("transactions/broken.csv", "1,2\n")
	if r := b.await("rejected/transactions/broken.csv"); !strings.Contains(r.Error, "the header must name") {
		t.Errorf("broken: %+v", r.Result)
	}
	if all := stored(t, b.db); len(all) != 3 {
		t.Errorf("stored are %+v", all)
	}
}

// What is being written, what is hidden, and what is no file or of no known format stays where it is.
func TestWatch_LeavesAlone(t *testing.T) {
	t.Parallel()
	b := newInbox(t)
	names := []string{"a.csv.part", "b.csv.tmp", "c.txt", "d.csv.filepart"}
	for _, name := range names {
		b.put("transactions/"+name, sourced)
	}
	family := filepath.Join(b.folder, "transactions")
	b.must(os.Symlink(filepath.Join(family, "c.txt"), filepath.Join(family, "link.csv")))
	hidden := filepath.Join(family, ".e.csv")
	b.must(os.WriteFile(hidden, []byte(sourced), 0o600))
	b.watch()
	b.put("transactions/zz.csv", sourced) // the last in the order of names
	b.await("done/transactions/zz.csv")
	for _, name := range append(names, "link.csv", ".e.csv") {
		if _, err := os.Lstat(filepath.Join(family, name)); err != nil {
			t.Error(err)
		}
	}
	b.must(os.Rename(filepath.Join(family, "a.csv.part"), filepath.Join(family, "a.csv")))
	if r := b.await("done/transactions/a.csv"); r.Known != 1 {
		t.Errorf("complete: %+v", r.Result)
	}
}

// A crash after the report was written and before the file was moved: the next run moves it, and stores nothing twice.
func TestWatch_AfterCrash(t *testing.T) {
	t.Parallel()
	b := newInbox(t)
	b.put("transactions/a.csv", sourced)
	b.must(os.MkdirAll(filepath.Join(b.folder, "done", "transactions"), 0o700))
	b.must(os.WriteFile(filepath.Join(b.folder, "done", "transactions", "a.csv.report.json"), []byte("half a re"), 0o600))
	b.watch()
	b.await("done/transactions/a.csv")
	if all := stored(t, b.db); len(all) != 1 {
		t.Errorf("stored are %+v", all)
	}
}

// A file whose place is taken by something that cannot be replaced stays, and is moved when there is room.
func TestWatch_CannotMove(t *testing.T) {
	t.Parallel()
	b := newInbox(t)
	b.must(os.WriteFile(filepath.Join(b.folder, "done"), nil, 0o600)) // no folder can be made
	b.put("transactions/a.csv", sourced)
	b.watch()
	storetest.Eventually(t, "the row is stored", func() bool { return len(stored(t, b.db)) == 1 })
	if _, err := os.Lstat(filepath.Join(b.folder, "transactions", "a.csv")); err != nil {
		t.Error(err)
	}
	b.must(os.Remove(filepath.Join(b.folder, "done")))
	b.put("transactions/b.csv", sourced) // which is news
	if r := b.await("done/transactions/a.csv"); r.Accepted != 1 {
		t.Errorf("%+v", r.Result)
	}
}
