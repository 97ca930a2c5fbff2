package account

import (
	"context"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// What one process does, another follows.
func TestService_FollowsAnotherProcess(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testFollowsAnotherProcess)
}

func testFollowsAnotherProcess(t *testing.T, db *store.DB) {
	here := openHouse(t, db)
	there := here.another()
	storetest.Run(t, here.Run, here.Keys.Run)

	a := there.enrol("ann@example.com")
	token := there.signIn("ann@example.com")
	here.wantSession(token, a.ID, assay.Anonymous) // at once: a session that is not known is looked for

	g := there.grant("ann@example.com", GrantRequest{Plan: assay.PlanFull})
	storetest.Eventually(t, "the grant arrives", func() bool {
		session, ok := here.Identify(here.ctx(), token.Reveal(), client)
		return ok && session.Caller.Tier == assay.Full
	})
	secret := here.key(a.ID)
	here.wantActive(secret, assay.Full)
	there.at += assay.Second
	here.must(there.EndGrant(there.ctx(), g.ID))
	storetest.Eventually(t, "the end of the grant ends the key", func() bool {
		_, err := here.Keys.Lookup(secret.Reveal(), there.at)
		return assay.AsError(err).Code == "inactive_key"
	})
	here.must(there.SignOut(there.ctx(), token.Reveal(), client))
	storetest.Eventually(t, "the sign-out arrives", func() bool {
		_, ok := here.Identify(here.ctx(), token.Reveal(), client)
		return !ok
	})
}

// What was granted by another process a moment ago counts when a key is asked for, before anything has been followed.
func TestCreateKey_RefreshesFirst(t *testing.T) {
	t.Parallel()
	here := newHouse(t)
	id := here.add("ann@example.com")
	here.another().grant("ann@example.com", GrantRequest{Plan: assay.PlanFull})
	here.wantActive(here.key(id), assay.Full)
}

// With the database away, who has signed in stays so.
func TestIdentify_StoreAway(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	a := h.enrol("ann@example.com")
	token := h.signIn("ann@example.com")
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // whatever asks the database fails
	if session, ok := h.Identify(ctx, token.Reveal(), client); !ok || session.AccountID != a.ID {
		t.Errorf("the session is %+v, %t", session, ok)
	}
	if _, ok := h.Identify(ctx, newToken(0).Reveal(), client); ok {
		t.Error("an unknown token is somebody's")
	}
}
