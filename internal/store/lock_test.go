package store_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

func lock(t *testing.T, db *store.DB) (unlock func()) {
	t.Helper()
	_, unlock, err := db.LockPublisher(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return unlock
}

// wantLocked checks that the lock cannot be taken within a minute.
func wantLocked(t *testing.T, db *store.DB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, _, err := db.LockPublisher(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting for a held lock returns the error %v, want %v", err, context.DeadlineExceeded)
	}
}

func TestLockPublisher_OneHolder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // a minute of waiting takes no time here
		db := storetest.Open(t)
		another := storetest.Another(t, db)
		for _, holder := range []*store.DB{db, another} {
			unlock := lock(t, holder)
			wantLocked(t, db)
			wantLocked(t, another)
			unlock()
		}
		lock(t, another)() // the failed attempts hold no lock
	})
}

// A waiting publisher gets the lock when the holder releases it.
func TestLockPublisher_Waits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := storetest.Open(t)
		another := storetest.Another(t, db)
		unlock := lock(t, db)
		got := make(chan func(), 1)
		go func() { got <- lock(t, another) }()
		<-time.After(time.Minute)
		select {
		case <-got:
			t.Fatal("two publishers hold the lock")
		default:
		}
		unlock()
		began := time.Now()
		(<-got)()
		if took := time.Since(began); took > 100*time.Millisecond {
			t.Errorf("the lock was taken %v after it was free", took)
		}
	})
}

func TestLockPublisher_ContextEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := storetest.Open(t)
		defer lock(t, db)()
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		began := time.Now()
		if _, _, err := storetest.Another(t, db).LockPublisher(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("the error is %v, want %v", err, context.Canceled)
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("the wait ended after %v, want a second", took)
		}
	})
}

// Many publishers take turns, and one at a time holds the lock.
func TestLockPublisher_ManyTakeTurns(t *testing.T) {
	t.Parallel()
	storetest.Each(t, takeTurns)
}

func takeTurns(t *testing.T, db *store.DB) {
	handles := []*store.DB{db, storetest.Another(t, db)}
	holders, turns := 0, 0 // guarded by mu
	var mu sync.Mutex
	add := func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		holders += n
		return holders
	}
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			for range 5 {
				_, unlock, err := handles[i%2].LockPublisher(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				if n := add(1); n != 1 {
					t.Errorf("%d publishers hold the lock", n)
				}
				mu.Lock()
				turns++
				mu.Unlock()
				add(-1)
				unlock()
			}
		})
	}
	wg.Wait()
	if turns != 30 {
		t.Errorf("%d turns were taken, want 30", turns)
	}
}

// The publisher's lock does not block reads and imports.
func TestLockPublisher_DoesNotBlockOthers(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		defer lock(t, db)()
		mustAppend(t, storetest.Another(t, db), rental("a"))
		wantCount(t, db, 1)
	})
}
