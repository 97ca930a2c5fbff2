package account

import (
	"context"
	"log/slog"
	"net/netip"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/keys"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// start is when every test begins.
const start = int64(1_800_000_000_000)

// client is the address of every client that a test does not name.
var client = netip.MustParseAddr("192.0.2.1")

// password is everybody's.
const password = "correct horse battery"

// house is a service on a real database, with a clock that the test moves.
type house struct {
	*Service
	t  *testing.T
	at int64
}

func newHouse(t *testing.T) *house {
	t.Helper()
	return openHouse(t, storetest.Open(t))
}

func openHouse(t *testing.T, db *store.DB) *house {
	t.Helper()
	h := &house{t: t, at: start}
	db.Now = func() time.Time { return time.UnixMilli(h.at) }
	log := slog.New(slog.DiscardHandler)
	h.Service = &Service{Store: db, Keys: &keys.Keyring{Store: db, Log: log}, Now: db.Now, Log: log, HashMemory: 64}
	h.must(h.Keys.Load(t.Context()))
	h.must(h.Load(t.Context()))
	return h
}

// another is the same database as a second process has it, at the same time.
func (h *house) another() *house {
	h.t.Helper()
	other := openHouse(h.t, storetest.Another(h.t, h.Store))
	other.at = h.at
	return other
}

func (h *house) ctx() context.Context { return h.t.Context() }

func (h *house) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

// add makes an account without a password, which takes no time.
func (h *house) add(email string) int64 {
	h.t.Helper()
	a, err := h.AddAccount(h.ctx(), email, "", "", false)
	h.must(err)
	return a.ID
}

func (h *house) grant(email string, request GrantRequest) assay.Grant {
	h.t.Helper()
	g, err := h.AddGrant(h.ctx(), email, request)
	h.must(err)
	return g
}

func (h *house) organization(name string, plan assay.Plan, members ...string) {
	h.t.Helper()
	_, err := h.AddOrganization(h.ctx(), name, plan)
	h.must(err)
	for _, email := range members {
		h.must(h.AddMember(h.ctx(), name, email, assay.RoleMember))
	}
}

func (h *house) key(account int64) keys.Secret {
	h.t.Helper()
	secret, _, err := h.CreateKey(h.ctx(), account, "a test", "")
	h.must(err)
	return secret
}

// wantActive wants a key to count now, with the tier of its prefix.
func (h *house) wantActive(secret keys.Secret, tier assay.Tier) {
	h.t.Helper()
	caller, err := h.Keys.Lookup(secret.Reveal(), h.at)
	if err != nil || caller.Tier != tier || caller.KeyID != secret.ID() {
		h.t.Errorf("the key is of %+v (%v), want an active one of %s", caller, err, tier)
	}
}

func (h *house) wantInactive(secret keys.Secret) {
	h.t.Helper()
	if _, err := h.Keys.Lookup(secret.Reveal(), h.at); assay.AsError(err).Code != "inactive_key" {
		h.t.Errorf("looking the key up gives the error %v, want that it is inactive", err)
	}
}

// wantCode wants an error for callers.
func wantCode(t *testing.T, err error, kind assay.Kind, code string) {
	t.Helper()
	if e := assay.AsError(err); e.Kind != kind || e.Code != code {
		t.Errorf("the error is %v (%s), want %s", err, e.Code, code)
	}
}
