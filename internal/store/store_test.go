package store_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

func mustCounters(t *testing.T, db *store.DB) store.Counters {
	t.Helper()
	c, err := db.Counters(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func mustCatalog(t *testing.T, db *store.DB) assay.Catalog {
	t.Helper()
	c, err := db.Catalog(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCreate_FolderAndCatalogs(t *testing.T) {
	t.Parallel()
	db := storetest.OpenIn(t, filepath.Join(t.TempDir(), "not", "there"))
	if got, want := mustCatalog(t, db), assay.DefaultCatalog(); !reflect.DeepEqual(got, want) {
		t.Errorf("a new database has the catalog\n%+v, want\n%+v", got, want)
	}
	if got, want := mustCounters(t, db), (store.Counters{Catalog: 1}); got != want {
		t.Errorf("a new database has the counters %+v, want %+v", got, want)
	}
}

func TestOpen_Again(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		mustAppend(t, db, rental("a"))
		mustPublish(t, db, hours("H100 SXM", 0, 1))
		want := mustCounters(t, db)

		again := storetest.Another(t, db)
		if got := mustCounters(t, again); got != want {
			t.Errorf("the second opening reads the counters %+v, want %+v", got, want)
		}
		if got := mustCatalog(t, again); !reflect.DeepEqual(got, assay.DefaultCatalog()) {
			t.Errorf("the second opening reads the catalog %+v, want the default", got)
		}
		wantCount(t, again, 1)
	})
}

// Of the processes that create a database at the same time one succeeds, and the others find it.
func TestCreate_Together(t *testing.T) {
	t.Parallel()
	for range 5 {
		createTogether(t, "sqlite://"+t.TempDir())
	}
}

// createTogether creates a database six times at once.
func createTogether(t *testing.T, address string) {
	t.Helper()
	var wg sync.WaitGroup
	var created atomic.Int64
	for range 6 {
		wg.Go(func() {
			db, err := store.Create(t.Context(), address)
			if errors.Is(err, store.ErrExists) {
				db, err = store.Open(t.Context(), address)
			} else {
				created.Add(1)
			}
			if err != nil {
				t.Error(err)
				return
			}
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if created.Load() != 1 {
		t.Errorf("%d of 6 have created the database", created.Load())
	}
	if got := mustCatalog(t, storetest.OpenIn(t, address)); !reflect.DeepEqual(got, assay.DefaultCatalog()) {
		t.Fatalf("six at the same time create the catalog %+v", got)
	}
}

func TestCounters_RaisedByChanges(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		want := mustCounters(t, db)
		f := func(what string, change func() error, raise *int64) {
			t.Helper()
			if err := change(); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			if raise != nil {
				*raise++
			}
			if got := mustCounters(t, db); got != want {
				t.Errorf("after %s the counters are %+v, want %+v", what, got, want)
			}
		}
		publishHour := ready(t, db, hours("B200", 0, 1))
		f("appending", func() error {
			_, err := db.AppendTransactions(t.Context(), []assay.Transaction{rental("a")})
			return err
		}, &want.Receipt)
		f("appending again", func() error {
			_, err := db.AppendTransactions(t.Context(), []assay.Transaction{rental("a")})
			return err
		}, nil)
		f("a verification", func() error {
			_, err := db.AddVerifications(t.Context(), assay.Verification{Source: "exchange", ID: "a"})
			return err
		}, &want.Receipt)
		f("a methodology", func() error {
			return db.AdoptMethodology(t.Context(), assay.MethodologyFile{Version: "1", Effective: 1, Text: "text"}, 0)
		}, &want.Methodology)
		f("a setting", func() error { return db.SetSetting(t.Context(), "a", "b") }, nil)
		f("publishing", func() error { _, err := db.Publish(t.Context(), publishHour); return err }, &want.Publication)
		f("signing", func() error { signDay(t, db, 0); return nil }, &want.Manifest)
		f("a new key", func() error { _, err := db.CreateKey(t.Context(), key("aaaaaa")); return err }, &want.Keys)
		f("revoking", func() error { return db.RevokeKey(t.Context(), "aaaaaa") }, &want.Keys)
	})
}

func TestSettings(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		f := func(name, want string) {
			t.Helper()
			got, err := db.Setting(t.Context(), name)
			if err != nil || got != want {
				t.Errorf("setting %s is %q (%v), want %q", name, got, err, want)
			}
		}
		set := func(name, value string) {
			t.Helper()
			if err := db.SetSetting(t.Context(), name, value); err != nil {
				t.Fatal(err)
			}
		}
		f("fed", "")
		set("fed", "1")
		set("Fed", "other")
		set("fed", "2")
		f("fed", "2")
		f("Fed", "other")
		set("fed", "")
		f("fed", "")
	})
}

// In a synctest bubble the clock moves only when all goroutines wait, so a notification takes exactly one poll.
func TestChanged_CommitByAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := storetest.Open(t)
		another := storetest.Another(t, db)
		for i := range 5 { // the first notification may be the watcher's start
			began := time.Now()
			commitAndAwait(t, db, another, i)
			if took := time.Since(began); took > time.Second {
				t.Errorf("commit %d was noticed after %v, want within a second", i, took)
			}
		}
	})
}

// commitAndAwait commits as another process and waits for the notification.
func commitAndAwait(t *testing.T, db, another *store.DB, value int) {
	t.Helper()
	changed := db.Changed()
	if err := another.SetSetting(t.Context(), "round", fmt.Sprint(value)); err != nil {
		t.Fatal(err)
	}
	storetest.Await(t, changed)
}

func TestChanged_NothingCommitted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := storetest.Open(t)
		db.Changed()
		synctest.Wait() // the watcher has made its first check
		changed := db.Changed()
		if _, err := db.Counters(t.Context()); err != nil {
			t.Fatal(err)
		}
		select {
		case <-changed:
			t.Error("a read is reported as a change")
		case <-time.After(5 * time.Second):
		}
	})
}
