package account

import (
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// A password cannot be one of the last two, by its owner or by the operator.
func TestPassword_Reuse(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testPasswordReuse)
}

func testPasswordReuse(t *testing.T, db *store.DB) {
	h := openHouse(t, db)
	a := h.enrol("ann@example.com")
	const second, third = "another horse battery", "a third horse battery"
	change := func(current, next string) error { return h.ChangePassword(h.ctx(), a.ID, current, next, "") }
	wantReused := func(err error) {
		t.Helper()
		if wantCode(t, err, assay.Invalid, "invalid_password"); assay.AsError(err).Message != assay.AsError(errReused).Message {
			t.Errorf("the error is %v", err)
		}
	}
	wantReused(change(password, password))
	h.must(change(password, second))
	wantReused(change(second, password))
	wantReused(h.SetPassword(h.ctx(), "ann@example.com", password, true))
	wantReused(h.SetPassword(h.ctx(), "ann@example.com", second, true))
	h.must(change(second, third))
	h.must(change(third, password)) // two others were between

	wantCode(t, change(password, "password1234"), assay.Invalid, "invalid_password")
	wantCode(t, h.SetPassword(h.ctx(), "ann@example.com", "aaaaaaaaaaaa", true), assay.Invalid, "invalid_password")
	_, err := h.AddAccount(h.ctx(), "bob@example.com", "", "password1234", true)
	wantCode(t, err, assay.Invalid, "invalid_password")
}

// A password that the operator has set opens a session that can do nothing but change it.
func TestPassword_Temporary(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testPasswordTemporary)
}

func testPasswordTemporary(t *testing.T, db *store.DB) {
	h := openHouse(t, db)
	a, err := h.AddAccount(h.ctx(), "ann@example.com", "", password, true)
	h.must(err)
	_, err = h.AddGrant(h.ctx(), "ann@example.com", GrantRequest{Plan: assay.PlanFull})
	h.must(err)
	restricted := func(want assay.Restriction, token Token, node *house) {
		t.Helper()
		s, ok := node.Identify(h.ctx(), token.Reveal(), client)
		free := want == assay.Unrestricted
		if !ok || s.Caller.Restricted != want || (s.Caller.Tier == assay.Full) != free {
			t.Errorf("the session is %+v (%t), want the restriction %d", s, ok, want)
		}
		if _, ok := node.IdentifyInMemory(token.Reveal()); ok != free {
			t.Errorf("the session reads data: %t", ok)
		}
	}
	mine, other := h.signIn("ann@example.com"), h.signIn("ann@example.com")
	restricted(assay.MustChangePassword, mine, h)
	restricted(assay.MustChangePassword, mine, h.another())
	h.must(h.ChangePassword(h.ctx(), a.ID, password, "another horse battery", mine.Reveal()))
	restricted(assay.Unrestricted, mine, h)
	restricted(assay.Unrestricted, mine, h.another())
	h.wantSession(other, 0, assay.Anonymous)
	in, err := h.SignIn(h.ctx(), Client{}, "ann@example.com", "another horse battery")
	h.must(err)
	restricted(assay.Unrestricted, in.Session, h)

	h.must(h.SetPassword(h.ctx(), "ann@example.com", "a third horse battery", true))
	in, err = h.SignIn(h.ctx(), Client{}, "ann@example.com", "a third horse battery")
	h.must(err)
	restricted(assay.MustChangePassword, in.Session, h)
}

// A second factor does not lift the restriction.
func TestPassword_TemporaryWithSecondFactor(t *testing.T) {
	t.Parallel()
	m := newProtected(t).join(ann)
	m.addTOTP()
	const second = "another horse battery"
	m.must(m.SetPassword(m.ctx(), ann, second, true))
	in, err := m.SignIn(m.ctx(), visit(), ann, second)
	m.must(err)
	in, err = m.second(in.Next.Ticket.Reveal(), Given{Code: m.code()})
	m.must(err)
	if s, ok := m.Identify(m.ctx(), in.Session.Reveal(), client); !ok || s.Caller.Restricted != assay.MustChangePassword {
		t.Errorf("the session is %+v", s)
	}
}
