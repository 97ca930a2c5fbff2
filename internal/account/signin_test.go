package account

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// enrol makes an account with everybody's password.
func (h *house) enrol(email string) assay.Account {
	h.t.Helper()
	a, err := h.AddAccount(h.ctx(), email, "Ann", password, false)
	h.must(err)
	return a
}

func (h *house) signIn(email string) Token {
	h.t.Helper()
	in, err := h.SignIn(h.ctx(), Client{Address: client}, email, password)
	h.must(err)
	return in.Session
}

// wantSession wants a token to be the session of an account; with the account 0, of none.
func (h *house) wantSession(token Token, account int64, tier assay.Tier) {
	h.t.Helper()
	got, ok := h.Identify(h.ctx(), token.Reveal(), client)
	want := Session{account, assay.Caller{Tier: tier, AccountID: account}, token.Expires}
	if account == 0 {
		want = Session{}
	}
	if got != want || ok != (account != 0) {
		h.t.Errorf("the token is the session %+v (%t), want %+v", got, ok, want)
	}
}

func TestSignIn(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testSignIn)
}

func testSignIn(t *testing.T, db *store.DB) {
	h := openHouse(t, db)
	a := h.enrol("Ann@Example.com")
	in, err := h.SignIn(h.ctx(), Client{Address: client}, " ANN@example.com ", password)
	token := in.Session
	if err != nil || in.Account != a || a.Email != "ann@example.com" || !a.HasPassword {
		t.Fatalf("signed in as %+v (%v), want %+v", in.Account, err, a)
	}
	if token.Expires != start+SessionLength || len(token.Reveal()) != 43 {
		t.Errorf("the token ends at %d and has %d characters", token.Expires, len(token.Reveal()))
	}
	h.wantSession(token, a.ID, assay.Anonymous)
	h.grant("ann@example.com", GrantRequest{Plan: assay.PlanTrial})
	h.wantSession(token, a.ID, assay.Premium)
	h.organization("Fund", assay.PlanFull, "ann@example.com")
	h.wantSession(token, a.ID, assay.Full)
	for h.at < start+assay.TrialLength {
		h.at += SessionIdle / 2 // it lasts while it is used
		h.wantSession(token, a.ID, assay.Full)
	}
	h.must(h.SetPlan(h.ctx(), "Fund", assay.PlanNone))
	h.wantSession(token, a.ID, assay.Anonymous)
}

// Every failure has the same message and takes the same work.
func TestSignIn_Refused(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testSignInRefused)
}

func testSignInRefused(t *testing.T, db *store.DB) {
	h := openHouse(t, db)
	h.enrol("ann@example.com")
	h.enrol("closed@example.com")
	h.must(h.CloseAccount(h.ctx(), "closed@example.com"))
	h.add("passwordless@example.com")
	f := func(email, word string) {
		t.Helper()
		before := h.hashes.Load()
		in, err := h.SignIn(h.ctx(), Client{Address: client}, email, word)
		if e := assay.AsError(err); e.Kind != assay.Unauthorized || e.Code != "sign_in_failed" || e.Message != "Email or password is wrong." {
			t.Errorf("%s: the error is %v", email, err)
		}
		if in != (SignedIn{}) {
			t.Errorf("%s: got %+v", email, in)
		}
		if n := h.hashes.Load() - before; n != 1 {
			t.Errorf("%s: %d hashes were computed, want one", email, n)
		}
	}
	f("ann@example.com", "wrong")
	f("ann@example.com", "")
	f("ann@example.com", strings.Repeat("x", 4000))
	f("closed@example.com", password)
	f("passwordless@example.com", "")
	f("passwordless@example.com", password)
	f("nobody@example.com", password)
	f("", "")
	f("not an address", password)

	log, err := h.Store.AuditLog(h.ctx(), store.AuditFilter{Limit: 9})
	h.must(err)
	for i, subject := range []string{"unknown", "unknown", "unknown", "passwordless@example.com", "passwordless@example.com", "closed@example.com"} {
		if e := log[i]; e.Action != "session.fail" || e.Subject != "account:"+subject || e.Actor != "visitor" || e.Detail != `{"address":"192.0.2.1"}` {
			t.Errorf("entry %d is %+v, want a failure of %s", i, e, subject)
		}
	}
}

// The decoy must be a hash like every other, or checking it would be no work.
func TestDecoy_IsLikeAPassword(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.HashMemory = 0
	real, err := h.hashPassword(h.ctx(), assay.Account{}, password)
	h.must(err)
	cost := func(text string) string { return strings.Join(strings.Split(text, "$")[:4], "$") }
	if cost(h.decoy()) != cost(real) || cost(real) != "$argon2id$v=19$m=19456,t=2,p=1" || len(h.decoy()) != len(real) {
		t.Errorf("the decoy is %s, a real one %s", h.decoy(), real)
	}
	if ok, err := h.matchesCurrent(h.ctx(), password, real); err != nil || !ok {
		t.Errorf("the password does not fit its own hash (%v)", err)
	}
}

func TestSignOut(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testSignOut)
}

func testSignOut(t *testing.T, db *store.DB) {
	h := openHouse(t, db)
	a := h.enrol("ann@example.com")
	one, two := h.signIn("ann@example.com"), h.signIn("ann@example.com")
	h.must(h.SignOut(h.ctx(), one.Reveal(), client))
	h.wantSession(one, 0, assay.Anonymous)
	h.wantSession(two, a.ID, assay.Anonymous)
	h.must(h.SignOut(h.ctx(), one.Reveal(), client))
	h.must(h.SignOut(h.ctx(), "no token at all", client))
	h.must(h.CloseAccount(h.ctx(), "ann@example.com"))
	h.wantSession(two, 0, assay.Anonymous)
}

func TestChangePassword(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testChangePassword)
}

func testChangePassword(t *testing.T, db *store.DB) {
	h := openHouse(t, db)
	a := h.enrol("ann@example.com")
	mine, other := h.signIn("ann@example.com"), h.signIn("ann@example.com")
	const next = "another horse battery"
	wantCode(t, h.ChangePassword(h.ctx(), a.ID, "wrong", next, mine.Reveal()), assay.Forbidden, "wrong_password")
	for _, bad := range []string{"", "eleven char", strings.Repeat("x", 129), strings.Repeat("\xff", 20)} {
		wantCode(t, h.ChangePassword(h.ctx(), a.ID, password, bad, mine.Reveal()), assay.Invalid, "invalid_password")
	}
	h.wantSession(other, a.ID, assay.Anonymous)
	h.must(h.ChangePassword(h.ctx(), a.ID, password, next, mine.Reveal()))
	h.wantSession(mine, a.ID, assay.Anonymous)
	h.wantSession(other, 0, assay.Anonymous)
	_, err := h.SignIn(h.ctx(), Client{}, "ann@example.com", password)
	wantCode(t, err, assay.Unauthorized, "sign_in_failed")
	_, err = h.SignIn(h.ctx(), Client{}, "ann@example.com", next)
	h.must(err)
	h.must(h.SetPassword(h.ctx(), "ann@example.com", string([]rune(strings.Repeat("le cheval électrique ", 7))[:128]), true))
	h.wantSession(mine, 0, assay.Anonymous) // the operator's word ends all

	bare := h.add("bob@example.com")
	wantCode(t, h.ChangePassword(h.ctx(), bare, "", next, ""), assay.Forbidden, "wrong_password")
}

func TestToken_NeverPrinted(t *testing.T) {
	t.Parallel()
	token := newToken(start)
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&out, verb+verb, token, struct{ T *Token }{&token})
		fmt.Fprintf(&out, verb, []Token{token})
	}
	slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "token", token, "list", []Token{token})
	text, err := json.Marshal([]any{token, &token})
	if err != nil {
		t.Fatal(err)
	}
	out.Write(text)
	if hidden := token.Reveal(); strings.Contains(out.String(), hidden) || strings.Contains(out.String(), fmt.Sprintf("%x", hidden)) {
		t.Errorf("a token is shown: %s", &out)
	}
}

// No file of the database holds a password, a key's text or a session's.
func TestDatabase_HoldsNoSecret(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	a := h.enrol("ann@example.com")
	h.grant("ann@example.com", GrantRequest{Plan: assay.PlanFull})
	token, key := h.signIn("ann@example.com"), h.key(a.ID)
	next, _, err := h.RotateKey(h.ctx(), a.ID, key.ID(), 0, "")
	h.must(err)
	_, err = h.SignIn(h.ctx(), Client{}, password, password) // typed into the wrong field
	wantCode(t, err, assay.Unauthorized, "sign_in_failed")
	h.must(h.ChangePassword(h.ctx(), a.ID, password, "another horse battery", token.Reveal()))

	files, err := filepath.Glob(filepath.Join(storetest.Folder(t, h.Store), "*"))
	h.must(err)
	hash, found := key.Hash(), false
	for _, file := range files {
		content, err := os.ReadFile(file)
		h.must(err)
		for _, secret := range []string{password, "another horse", token.Reveal(), key.Reveal()[15:], next.Reveal()[15:]} {
			if bytes.Contains(content, []byte(secret)) {
				t.Errorf("%s holds %q", filepath.Base(file), secret)
			}
		}
		found = found || bytes.Contains(content, hash[:])
	}
	if !found {
		t.Error("no file holds the key's hash: the test looks in the wrong place")
	}
}
