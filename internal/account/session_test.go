package account

import (
	"strings"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// A session ends after a day without use, and after two weeks however much it is used.
func TestSession_IdleAndAbsoluteTimeout(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testSessionTimeouts)
}

func testSessionTimeouts(t *testing.T, db *store.DB) {
	h := openHouse(t, db)
	a := h.enrol("ann@example.com")
	idle, busy := h.signIn("ann@example.com"), h.signIn("ann@example.com")
	for h.at = start; h.at < start+SessionLength-1; h.at = min(h.at+SessionIdle-1, start+SessionLength-1) {
		h.wantSession(busy, a.ID, assay.Anonymous)
		if h.at == start+SessionIdle-1 {
			h.wantSession(idle, a.ID, assay.Anonymous)
			idle = h.signIn("ann@example.com") // another, which is never used
		}
	}
	h.wantSession(busy, a.ID, assay.Anonymous)
	h.wantSession(idle, 0, assay.Anonymous)
	h.at++
	h.wantSession(busy, 0, assay.Anonymous)

	last := h.signIn("ann@example.com")
	h.at += SessionIdle - 1
	h.wantSession(last, a.ID, assay.Anonymous)
	h.at += SessionIdle
	h.wantSession(last, 0, assay.Anonymous)
	if list, err := h.SessionsOf(h.ctx(), a.ID, ""); err != nil || len(list) != 0 {
		t.Errorf("ended sessions are listed: %+v (%v)", list, err)
	}
	h.at += assay.Day
	h.signIn("ann@example.com")
	if stored, err := h.Store.SessionsOf(h.ctx(), a.ID); err != nil || len(stored) != 1 {
		t.Errorf("%d sessions are stored (%v), want the new one", len(stored), err)
	}
}

// Signing in ends the session that the browser had, whichever account it belonged to, and no other.
func TestSession_RotatesOnSignIn(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testSessionRotates)
}

func testSessionRotates(t *testing.T, db *store.DB) {
	h := openHouse(t, db)
	ann, bob := h.enrol("ann@example.com"), h.enrol("bob@example.com")
	again := func(old Token, email string) Token {
		t.Helper()
		in, err := h.SignIn(h.ctx(), Client{Session: old.Reveal()}, email, password)
		h.must(err)
		return in.Session
	}
	first, elsewhere := h.signIn("ann@example.com"), h.signIn("ann@example.com")
	second := again(first, "ann@example.com")
	h.wantSession(first, 0, assay.Anonymous)
	h.wantSession(second, ann.ID, assay.Anonymous)
	third := again(second, "bob@example.com")
	h.wantSession(second, 0, assay.Anonymous)
	h.wantSession(third, bob.ID, assay.Anonymous)
	again(newToken(0), "bob@example.com") // of no session
	h.wantSession(third, bob.ID, assay.Anonymous)
	h.wantSession(elsewhere, ann.ID, assay.Anonymous)
	if _, err := h.SignIn(h.ctx(), Client{Session: third.Reveal()}, "bob@example.com", "wrong"); err == nil {
		t.Error("a wrong password signs in")
	}
	h.wantSession(third, bob.ID, assay.Anonymous) // a failed sign-in ends nothing
	eve := Identity{Issuer: "https://id.example", Subject: "1", Email: "eve@example.com"}
	in, err := h.SignInAs(h.ctx(), Client{Session: third.Reveal()}, eve)
	h.must(err)
	h.wantSession(third, 0, assay.Anonymous)
	h.wantSession(in.Session, in.Account.ID, assay.Anonymous)
}

// A use costs the database nothing; all uses of some minutes are written together, and other nodes learn of them.
func TestSession_UseIsWrittenInBatches(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testSessionUse)
}

func testSessionUse(t *testing.T, db *store.DB) {
	here := openHouse(t, db)
	a := here.enrol("ann@example.com")
	one, two := here.signIn("ann@example.com"), here.signIn("ann@example.com")
	here.signIn("ann@example.com") // is not used
	there := here.another()
	count := transactions(here.Store)
	for range 1000 {
		here.at += assay.Second
		for _, token := range []Token{one, two} {
			if _, ok := here.IdentifyInMemory(token.Reveal()); !ok {
				t.Fatal("the session is unknown")
			}
		}
	}
	if *count != 0 {
		t.Errorf("%d transactions for reads with a session, want none", *count)
	}
	here.must(here.FlushUse(here.ctx()))
	if *count != 1 {
		t.Errorf("%d transactions for all uses, want one", *count)
	}
	here.must(here.FlushUse(here.ctx()))
	if *count != 1 {
		t.Error("what is written already is written again")
	}
	list, err := here.SessionsOf(here.ctx(), a.ID, two.Reveal())
	here.must(err)
	used := 0
	for _, s := range list {
		if int64(s.LastUsedAt) > here.at-assay.Minute {
			used++
		}
	}
	if len(list) != 3 || used != 2 {
		t.Errorf("the sessions are %+v, want two of three used", list)
	}

	// The other node has not seen them used, and would end them.
	there.at = start + SessionIdle
	there.must(there.readUse(there.ctx()))
	there.wantSession(one, a.ID, assay.Anonymous)
	there.must(there.FlushUse(there.ctx()))
	here.at = here.at + SessionIdle
	here.must(here.readUse(here.ctx()))
	here.wantSession(one, a.ID, assay.Anonymous)
	here.wantSession(two, 0, assay.Anonymous)
}

func TestSession_ListAndEnd(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testSessionListAndEnd)
}

func testSessionListAndEnd(t *testing.T, db *store.DB) {
	h := openHouse(t, db)
	ann, bob := h.enrol("ann@example.com"), h.enrol("bob@example.com")
	const firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"
	in, err := h.SignIn(h.ctx(), Client{Address: client, UserAgent: firefox}, "ann@example.com", password)
	h.must(err)
	mine := in.Session
	h.at += assay.Second
	other, third := h.signIn("ann@example.com"), h.signIn("ann@example.com")
	theirs := h.signIn("bob@example.com")
	list, err := h.SessionsOf(h.ctx(), ann.ID, mine.Reveal())
	h.must(err)
	if len(list) != 3 || list[0].Current || list[1].Current || !list[2].Current {
		t.Fatalf("the sessions are %+v", list)
	}
	got := list[2]
	if *got.Address != "192.0.2.1" || *got.UserAgent != "Firefox on Linux" || int64(got.CreatedAt) != start ||
		int64(got.LastUsedAt) != start || int64(got.ExpiresAt) != start+SessionIdle || len(got.ID) != 12 {
		t.Errorf("the session is %+v", got)
	}
	hash, _ := hashToken(mine.Reveal())
	if strings.Contains(mine.Reveal(), got.ID) || strings.Contains(string(hash[:]), got.ID) {
		t.Error("the id is part of the token")
	}

	wantCode(t, h.EndSession(h.ctx(), bob.ID, got.ID), assay.NotFound, "unknown_session") // someone else's
	wantCode(t, h.EndSession(h.ctx(), ann.ID, "zzz"), assay.NotFound, "unknown_session")
	h.must(h.EndSession(h.ctx(), ann.ID, list[0].ID))
	wantCode(t, h.EndSession(h.ctx(), ann.ID, list[0].ID), assay.NotFound, "unknown_session")
	fourth := h.signIn("ann@example.com")
	if n, err := h.EndOtherSessions(h.ctx(), ann.ID, mine.Reveal()); err != nil || n != 2 {
		t.Errorf("%d other sessions have ended (%v), want 2", n, err)
	}
	if n, err := h.EndOtherSessions(h.ctx(), ann.ID, mine.Reveal()); err != nil || n != 0 {
		t.Errorf("%d other sessions have ended (%v), want none", n, err)
	}
	for _, ended := range []Token{other, third, fourth} {
		h.wantSession(ended, 0, assay.Anonymous)
	}
	h.wantSession(mine, ann.ID, assay.Anonymous)
	h.wantSession(theirs, bob.ID, assay.Anonymous)
	if n, err := h.EndSessionsFor(h.ctx(), "bob@example.com"); err != nil || n != 1 {
		t.Errorf("%d sessions have ended (%v), want one", n, err)
	}
	h.wantSession(theirs, 0, assay.Anonymous)

	log, err := h.Store.AuditLog(h.ctx(), store.AuditFilter{Subject: "account:ann@example.com", Limit: 2})
	h.must(err)
	if e := log[0]; e.Action != "session.end" || e.Actor != "account:ann@example.com" || e.Detail != `{"sessions":2}` {
		t.Errorf("the log has %+v", e)
	}
}

func TestShortAgent(t *testing.T) {
	t.Parallel()
	f := func(header, want string) {
		t.Helper()
		if got := shortAgent(header); got != want {
			t.Errorf("%q: got %q, want %q", header, got, want)
		}
	}
	f("", "")
	f("Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36",
		"Chrome on Windows")
	f("Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 "+
		"Mobile/15E148 Safari/604.1", "Safari on iOS")
	f("curl/8.5.0", "curl")
	f("sk_live_4fQz8K_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGabcdef/1.0", "sk_live_…")
	f(strings.Repeat("x", 10_000), "")
	f("a\u202eb/1.0", "")
	f("\xff\xfe", "")
}
