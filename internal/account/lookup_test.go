package account

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// random is a token that no session has.
func random() string { return newToken(0).Reveal() }

// transactions counts the transactions of a database from now on: each reads the clock once.
func transactions(db *store.DB) *int {
	count, now := 0, db.Now
	db.Now = func() time.Time {
		count++
		return now()
	}
	return &count
}

// holdWriter makes every write wait until the test ends, of this process or any other.
func (h *house) holdWriter() {
	h.t.Helper()
	other := storetest.Another(h.t, h.Store)
	a, err := other.AddAccount(h.ctx(), store.NewAccount{Email: "holder@example.com"})
	h.must(err)
	holding, release := make(chan struct{}), make(chan struct{})
	done := make(chan error)
	go func() {
		_, err := other.ChangeGrants(context.WithoutCancel(h.ctx()), a.ID,
			func([]assay.Grant, int64) (store.GrantChange, error) {
				close(holding)
				<-release
				return store.GrantChange{}, ErrHadTrial
			})
		done <- err
	}()
	<-holding
	h.t.Cleanup(func() {
		close(release)
		<-done
	})
}

// A token that no session has never causes a write: on PostgreSQL each would notify every node.
func TestUnknownToken_NeverWrites(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testUnknownTokenNeverWrites)
}

func testUnknownTokenNeverWrites(t *testing.T, db *store.DB) {
	h := openHouse(t, db)
	h.enrol("ann@example.com")
	ended := h.signIn("ann@example.com")
	h.must(h.SignOut(h.ctx(), ended.Reveal(), client))
	h.holdWriter()
	ctx, cancel := context.WithTimeout(h.ctx(), time.Minute)
	defer cancel()
	for _, token := range []string{random(), ended.Reveal(), "no token at all", ""} {
		if err := h.SignOut(ctx, token, client); err != nil {
			t.Errorf("signing out without a session waits for the writer: %v", err)
		}
		if _, ok := h.Identify(ctx, token, client); ok {
			t.Errorf("an unknown token is someone's")
		}
	}
}

// However many unknown tokens arrive, the store is asked a bounded number of times, and about one token once a second.
func TestUnknownToken_LookupsAreLimited(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	count := transactions(h.Store)
	ask := func(times int, token func() string, client func(i int) netip.Addr) (asked int) {
		*count = 0
		for i := range times {
			if _, ok := h.Identify(h.ctx(), token(), client(i)); ok {
				t.Error("an unknown token is someone's")
			}
		}
		return *count
	}
	one := func(int) netip.Addr { return client }
	each := func(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}) }
	stale := random()
	same := func() string { return stale }

	if n := ask(50, same, one); n != 1 {
		t.Errorf("the same token is looked up %d times, want once", n)
	}
	h.at += unknownFor.Milliseconds()
	if n := ask(50, same, one); n != 1 {
		t.Errorf("a second later it is looked up %d times, want once", n)
	}
	h.at += lookupWindow.Milliseconds()
	if n := ask(1000, random, one); n != lookupsAddress {
		t.Errorf("one address gets %d lookups, want %d", n, lookupsAddress)
	}
	h.at += lookupWindow.Milliseconds()
	if n := ask(5000, random, each); n != lookupsPerSecond {
		t.Errorf("many addresses get %d lookups, want %d", n, lookupsPerSecond)
	}
	if n := h.lookups.unknown.Len(); n > maxUnknown {
		t.Errorf("%d tokens are remembered, want at most %d", n, maxUnknown)
	}
}

// Beyond the limit a sign-out says so, rather than that it has ended a session it did not look for.
func TestUnknownToken_SignOutIsLimited(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for range lookupsAddress {
		h.must(h.SignOut(h.ctx(), random(), client))
	}
	err := h.SignOut(h.ctx(), random(), client)
	wantCode(t, err, assay.TooMany, "rate_limited")
	if e := assay.AsError(err); e.RetryAfter != lookupWindow || e.Message != "Too many unknown sessions. Retry in 60 seconds." {
		t.Errorf("%v, retry after %v", err, e.RetryAfter)
	}
	h.must(h.SignOut(h.ctx(), random(), netip.MustParseAddr("192.0.2.2")))
}

// A client that has used up its lookups is still known by a session that another process starts, as soon as this one
// has read it.
func TestUnknownToken_NewSessionElsewhere(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testNewSessionElsewhere)
}

func testNewSessionElsewhere(t *testing.T, db *store.DB) {
	here := openHouse(t, db)
	there := here.another()
	a := there.enrol("ann@example.com")
	here.wantSession(there.signIn("ann@example.com"), a.ID, assay.Anonymous) // at once, within the limit
	for range lookupsAddress {
		here.Identify(here.ctx(), random(), client)
	}
	token := there.signIn("ann@example.com")
	here.wantSession(token, 0, assay.Anonymous)
	storetest.Run(t, here.Run)
	storetest.Eventually(t, "the session arrives", func() bool {
		_, ok := here.Identify(here.ctx(), token.Reveal(), client)
		return ok
	})
}
