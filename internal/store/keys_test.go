package store_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// key returns a Premium key whose hash depends on its id.
func key(id string) store.Key {
	k := store.Key{ID: id, Tier: assay.Premium, Name: "the desk’s"}
	copy(k.Hash[:], id)
	return k
}

func wantKeys(t *testing.T, db *store.DB, want ...store.Key) {
	t.Helper()
	if got, err := db.ListKeys(t.Context()); err != nil || !slices.Equal(got, want) {
		t.Errorf("the keys are %+v (%v), want %+v", got, err, want)
	}
}

func TestKeys_CreateAndList(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		var clock int64
		db.Now = func() time.Time { return time.UnixMilli(clock) }
		create := func(at int64, k store.Key) store.Key {
			t.Helper()
			clock = at
			created, err := db.CreateKey(t.Context(), k)
			k.CreatedAt = at
			if err != nil || created != k {
				t.Fatalf("created %+v (%v), want %+v", created, err, k)
			}
			return created
		}
		trial := key("zzzzzz")
		trial.ExpiresAt = 999
		full := key("Aaaaaa")
		full.Tier = assay.Full
		wantKeys(t, db)
		first := create(100, trial)
		second, third, fourth := create(200, key("aaaaaa")), create(200, full), create(200, key("é"))
		wantKeys(t, db, first, third, second, fourth) // oldest first, then by id, byte by byte
	})
}

func TestKeys_TakenID(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		first, err := db.CreateKey(t.Context(), key("aaaaaa"))
		if err != nil {
			t.Fatal(err)
		}
		want := mustCounters(t, db)
		second := key("aaaaaa")
		second.Hash[31]++
		if _, err := db.CreateKey(t.Context(), second); !errors.Is(err, store.ErrKeyIDExists) {
			t.Errorf("a taken id returns the error %v, want %v", err, store.ErrKeyIDExists)
		}
		wantKeys(t, db, first)
		if got := mustCounters(t, db); got != want {
			t.Errorf("a refused key set the counters to %+v, want %+v", got, want)
		}
	})
}

func TestKeys_Revoke(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		var clock int64
		db.Now = func() time.Time { return time.UnixMilli(clock) }
		clock = 100
		k, err := db.CreateKey(t.Context(), key("aaaaaa"))
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range []int64{200, 300} { // the second time changes nothing
			clock = at
			if err := db.RevokeKey(t.Context(), k.ID); err != nil {
				t.Fatal(err)
			}
			k.RevokedAt = 200
			wantKeys(t, db, k)
		}
		for _, unknown := range []string{"aaaaab", "AAAAAA", ""} {
			if err := db.RevokeKey(t.Context(), unknown); !errors.Is(err, store.ErrNoKey) {
				t.Errorf("revoking %q returns the error %v, want %v", unknown, err, store.ErrNoKey)
			}
		}
		wantKeys(t, db, k)
	})
}
