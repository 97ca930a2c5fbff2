package store_test

import (
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

func TestWatchlist(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		ann, bob := mustAccount(t, db, "ann@example.com"), mustAccount(t, db, "bob@example.com")
		f := func(id int64, want ...string) {
			t.Helper()
			got, err := db.Watchlist(t.Context(), id)
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("account %d (%v): %s", id, err, diff)
			}
		}
		set := func(id int64, gpus ...string) error {
			return db.ChangeWatchlist(t.Context(), id, func([]string) ([]string, error) { return gpus, nil })
		}
		f(ann.ID)
		if err := errors.Join(set(ann.ID, "H200", "B200", "H100 SXM"), set(bob.ID, "H200")); err != nil {
			t.Fatal(err)
		}
		f(ann.ID, "H200", "B200", "H100 SXM")
		if err := set(ann.ID, "H100 SXM", "H200"); err != nil {
			t.Fatal(err)
		}
		f(ann.ID, "H100 SXM", "H200")
		refusal := errors.New("refused")
		err := db.ChangeWatchlist(t.Context(), ann.ID, func(before []string) ([]string, error) {
			if diff := cmp.Diff([]string{"H100 SXM", "H200"}, before); diff != "" {
				t.Error(diff)
			}
			return nil, refusal
		})
		if !errors.Is(err, refusal) {
			t.Errorf("a refusal: %v", err)
		}
		f(ann.ID, "H100 SXM", "H200")
		if err := db.CloseAccount(t.Context(), ann.ID); err != nil {
			t.Fatal(err)
		}
		f(ann.ID)
		f(bob.ID, "H200")
		if err := set(ann.ID, "H200"); !errors.Is(err, store.ErrNoAccount) {
			t.Errorf("a closed account: %v", err)
		}
	})
}

// Changes at the same time are made one after another: each sees the one before.
func TestWatchlist_AtTheSameTime(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		ann := mustAccount(t, db, "ann@example.com")
		var group sync.WaitGroup
		for i := range 8 {
			group.Go(func() {
				err := db.ChangeWatchlist(t.Context(), ann.ID, func(before []string) ([]string, error) {
					return append(before, strconv.Itoa(i)), nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if got, err := db.Watchlist(t.Context(), ann.ID); err != nil || len(got) != 8 {
			t.Errorf("it has %q (%v)", got, err)
		}
	})
}

func TestSavedViews(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		clock := int64(100)
		db.Now = func() time.Time { clock++; return time.UnixMilli(clock) }
		ann, bob := mustAccount(t, db, "ann@example.com"), mustAccount(t, db, "bob@example.com")
		add := func(owner int64, id, name string, want error) (v store.SavedView) {
			t.Helper()
			v, err := db.AddSavedView(t.Context(), store.SavedView{ID: id, AccountID: owner, Name: name, Path: "/memory"}, 2)
			if !errors.Is(err, want) {
				t.Errorf("%s: %v, want %v", id, err, want)
			}
			return v
		}
		f := func(owner int64, want ...store.SavedView) {
			t.Helper()
			got, err := db.SavedViews(t.Context(), owner)
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("account %d (%v): %s", owner, err, diff)
			}
		}
		second := add(ann.ID, "sv_b", "Memory", nil)
		add(ann.ID, "sv_c", "Memory", store.ErrViewExists)
		last := add(ann.ID, "sv_a", "memory", nil)
		add(ann.ID, "sv_d", "Another", store.ErrTooMany)
		his := add(bob.ID, "sv_e", "Memory", nil)
		f(ann.ID, second, last)
		f(bob.ID, his)
		if err := db.RemoveSavedView(t.Context(), bob.ID, "sv_a"); !errors.Is(err, store.ErrNoView) {
			t.Errorf("the view of another account: %v", err)
		}
		if err := db.RemoveSavedView(t.Context(), ann.ID, "sv_b"); err != nil {
			t.Error(err)
		}
		f(ann.ID, last)
		if err := db.CloseAccount(t.Context(), ann.ID); err != nil {
			t.Fatal(err)
		}
		f(ann.ID)
		f(bob.ID, his)
		add(ann.ID, "sv_f", "Memory", store.ErrNoAccount)
	})
}
