package account

import (
	"crypto/rand"
	"sync"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// identify is an identity that the provider has just sent, with a ticket of its own.
func identify(issuer, subject, email string) Identity {
	who := Identity{Issuer: issuer, Subject: subject, Email: email, Name: "Ann", TicketEnds: start + assay.Hour}
	_, _ = rand.Read(who.TicketID[:]) // never fails
	return who
}

func TestSignInAs(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testSignInAs)
}

func testSignInAs(t *testing.T, db *store.DB) {
	h := openHouse(t, db)
	as := func(issuer, subject, email string) (assay.Account, error) {
		in, err := h.SignInAs(h.ctx(), Client{}, identify(issuer, subject, email))
		if err == nil {
			h.wantSession(in.Session, in.Account.ID, assay.Anonymous)
		}
		return in.Account, err
	}
	prepared := h.add("ann@example.com") // by the operator, without a password
	linked, err := as("https://id.example", "1", "ANN@example.com")
	if err != nil || linked.ID != prepared || linked.Issuer != "https://id.example" {
		t.Errorf("linked %+v (%v), want account %d", linked, err, prepared)
	}
	if again, err := as("https://id.example", "1", "changed@example.com"); err != nil || again != linked {
		t.Errorf("the same identity is %+v (%v), want %+v", again, err, linked)
	}
	made, err := as("https://id.example", "2", "bob@example.com")
	if err != nil || made.ID == prepared || made.HasPassword || made.Name != "Ann" {
		t.Errorf("made %+v (%v)", made, err)
	}
	if view, err := h.Account(made.ID); err != nil || view.Plan != assay.PlanNone || view.KeyTier != "" {
		t.Errorf("a new identity has %+v (%v), want no access", view, err)
	}
	_, err = as("https://other.example", "1", "ann@example.com")
	wantCode(t, err, assay.Unauthorized, "sign_in_failed")
	_, err = as("https://id.example", "3", "not an address")
	wantCode(t, err, assay.Invalid, "invalid_email")
	if _, err := as("https://id.example", "", "eve@example.com"); err == nil {
		t.Error("an identity without a subject gets in")
	}
	h.must(h.CloseAccount(h.ctx(), "ann@example.com"))
	_, err = as("https://id.example", "1", "ann@example.com")
	wantCode(t, err, assay.Unauthorized, "sign_in_failed")
}

// A provider that is wrong about an email address, or whose administrator is dishonest, does not get the accounts of
// this server: an account that has a password is linked only by who knows it.
func TestLink_NeedsThePassword(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testLinkNeedsThePassword)
}

func testLinkNeedsThePassword(t *testing.T, db *store.DB) {
	h := openHouse(t, db)
	known := h.enrol("ann@example.com")
	unlinked := func(who Identity) {
		t.Helper()
		in, err := h.SignInAs(h.ctx(), Client{}, who)
		if err != nil || !in.MustLink || in.Session.Reveal() != "" || in.Next != nil || in.Account.Issuer != "" {
			t.Errorf("signed in as %+v (%v), want no session before the password", in, err)
		}
	}
	who := identify("https://id.example", "1", "ANN@example.com")
	unlinked(who)
	kept := identify("https://id.example", "1", "ANN@example.com") // the browser's, with its own ticket
	for _, wrong := range []string{"", "wrong", password + " "} {
		_, err := h.Link(h.ctx(), Client{}, kept, wrong)
		wantCode(t, err, assay.Unauthorized, "sign_in_failed")
	}
	unlinked(identify("https://id.example", "1", "ann@example.com"))

	in, err := h.Link(h.ctx(), Client{}, kept, password)
	h.must(err)
	h.wantSession(in.Session, known.ID, assay.Anonymous)
	_, err = h.Link(h.ctx(), Client{}, kept, password)
	wantCode(t, err, assay.Unauthorized, "sign_in_ended") // its ticket is used

	in, err = h.SignInAs(h.ctx(), Client{}, identify("https://id.example", "1", "ann@example.com"))
	h.must(err)
	h.wantSession(in.Session, known.ID, assay.Anonymous) // once is enough

	// An account has one identity, and an identity has one account.
	_, err = h.Link(h.ctx(), Client{}, identify("https://id.example", "2", "ann@example.com"), password)
	wantCode(t, err, assay.Unauthorized, "sign_in_failed")
	h.enrol("bob@example.com")
	_, err = h.Link(h.ctx(), Client{}, identify("https://id.example", "1", "bob@example.com"), password)
	wantCode(t, err, assay.Unauthorized, "sign_in_failed")
	h.must(h.CloseAccount(h.ctx(), "bob@example.com"))
	_, err = h.Link(h.ctx(), Client{}, identify("https://id.example", "3", "bob@example.com"), password)
	wantCode(t, err, assay.Unauthorized, "sign_in_failed")
	_, err = h.Link(h.ctx(), Client{}, identify("https://id.example", "4", "nobody@example.com"), password)
	wantCode(t, err, assay.Unauthorized, "sign_in_failed")
}

// Of many requests with one ticket, one signs in, on whichever nodes they arrive.
func TestSignInAs_TicketWorksOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testTicketWorksOnce)
}

func testTicketWorksOnce(t *testing.T, db *store.DB) {
	h := openHouse(t, db)
	who := identify("https://id.example", "1", "ann@example.com")
	errs := make([]error, 8)
	var requests sync.WaitGroup
	for i := range errs {
		requests.Go(func() { _, errs[i] = h.SignInAs(h.ctx(), Client{}, who) })
	}
	requests.Wait()
	succeeded := 0
	for _, err := range errs {
		if err == nil {
			succeeded++
			continue
		}
		wantCode(t, err, assay.Unauthorized, "sign_in_ended")
	}
	if succeeded != 1 {
		t.Errorf("%d of %d sign-ins with one ticket succeeded", succeeded, len(errs))
	}
}

// Two mailboxes are two accounts, also if the lower case of a letter outside ASCII is inside.
func TestNormalEmail(t *testing.T) {
	t.Parallel()
	for email, want := range map[string]string{
		" Ann@Example.COM ":        "ann@example.com",
		"\u00c9mile@example.com":   "\u00e9mile@example.com",
		"\u212aate@example.com":    "\u212aate@example.com", // the Kelvin sign
		"\u0130an@example.com":     "\u0130an@example.com",  // I with a dot
		"ann@\u212ans.example.com": "ann@\u212ans.example.com",
	} {
		if got := NormalEmail(email); got != want {
			t.Errorf("%+q is %+q, want %+q", email, got, want)
		}
	}
}
