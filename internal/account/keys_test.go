package account

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/access"
	"github.com/assaydata/assay/internal/keys"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// Who may create a key, of which tier, and on what it hangs.
func TestCreateKey_WhoMay(t *testing.T) {
	t.Parallel()
	h, rows := newHouse(t), 0
	f := func(own assay.Plan, orgs []assay.Plan, want string) {
		t.Helper()
		rows++
		email := fmt.Sprintf("%d@example.com", rows)
		id := h.add(email)
		if own != assay.PlanNone {
			h.grant(email, GrantRequest{Plan: own})
		}
		for i, plan := range orgs {
			h.organization(fmt.Sprintf("%d of %s", i, email), plan, email)
		}
		secret, view, err := h.CreateKey(h.ctx(), id, "desk", "")
		shown, _ := h.Account(id)
		if shown.KeyTier != want {
			t.Errorf("the account shows that it may create %q, want %q", shown.KeyTier, want)
		}
		if want == "" {
			wantCode(t, err, assay.Forbidden, "key_creation_refused")
			if list, err := h.KeysOf(h.ctx(), id); err != nil || len(list) != 0 {
				t.Errorf("a refused key is kept: %+v (%v)", list, err)
			}
			return
		}
		if err != nil || view.Tier.String() != want || !strings.HasPrefix(secret.Reveal(), view.Prefix) || view.Status != StatusActive {
			t.Fatalf("own %s, organizations %v: got %+v (%v), want a %s key", own, orgs, view, err, want)
		}
		h.wantActive(secret, view.Tier)
	}
	f(assay.PlanNone, nil, "")
	f(assay.PlanTrial, nil, "premium")
	f(assay.PlanPremium, nil, "premium")
	f(assay.PlanFull, nil, "full")
	f(assay.PlanNone, []assay.Plan{assay.PlanNone}, "")
	f(assay.PlanNone, []assay.Plan{assay.PlanTrial}, "")
	f(assay.PlanNone, []assay.Plan{assay.PlanPremium}, "")
	f(assay.PlanNone, []assay.Plan{assay.PlanFull}, "full")
	f(assay.PlanNone, []assay.Plan{assay.PlanPremium, assay.PlanFull}, "full")
	f(assay.PlanTrial, []assay.Plan{assay.PlanFull}, "premium") // its own goes first
	f(assay.PlanFull, []assay.Plan{assay.PlanPremium}, "full")
}

func TestKey_EndsWithTheTrial(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testKeyEndsWithTheTrial)
}

func testKeyEndsWithTheTrial(t *testing.T, db *store.DB) {
	h := openHouse(t, db)
	id := h.add("ann@example.com")
	h.grant("ann@example.com", GrantRequest{Plan: assay.PlanTrial})
	h.at += assay.Hour
	secret := h.key(id)
	h.at = start + assay.TrialLength - 1
	h.wantActive(secret, assay.Premium)
	h.at++
	h.wantInactive(secret)
	_, _, err := h.CreateKey(h.ctx(), id, "another", "")
	wantCode(t, err, assay.Forbidden, "key_creation_refused")
	list, err := h.KeysOf(h.ctx(), id)
	if err != nil || len(list) != 1 || list[0].Status != StatusEnded || int64(list[0].ExpiresAt) != start+assay.TrialLength {
		t.Errorf("the keys are %+v (%v), want one that ended with the trial", list, err)
	}

	h.at += assay.Day
	h.grant("ann@example.com", GrantRequest{Plan: assay.PlanPremium})
	h.wantInactive(secret) // granting again does not revive it
	h.wantActive(h.key(id), assay.Premium)
}

// A key stays valid when one grant follows another without a gap, or overlaps it.
func TestKey_GoesOnWithoutAGap(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testKeyGoesOnWithoutAGap)
}

func testKeyGoesOnWithoutAGap(t *testing.T, db *store.DB) {
	h := openHouse(t, db)
	id := h.add("ann@example.com")
	h.grant("ann@example.com", GrantRequest{Plan: assay.PlanTrial})
	secret := h.key(id)
	h.at += assay.Day
	h.grant("ann@example.com", GrantRequest{Plan: assay.PlanPremium, Until: start + 10*assay.Day}) // ends the trial
	h.grant("ann@example.com", GrantRequest{Plan: assay.PlanPremium, From: start + 10*assay.Day, Until: start + 20*assay.Day})
	h.at = start + 20*assay.Day - 1
	h.wantActive(secret, assay.Premium)
	h.at++
	h.wantInactive(secret)
}

func TestKey_UpAndDown(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testKeyUpAndDown)
}

func testKeyUpAndDown(t *testing.T, db *store.DB) {
	h := openHouse(t, db)
	id := h.add("ann@example.com")
	h.grant("ann@example.com", GrantRequest{Plan: assay.PlanPremium})
	premium := h.key(id)
	h.at += assay.Day
	h.grant("ann@example.com", GrantRequest{Plan: assay.PlanFull})
	full := h.key(id)
	h.wantActive(premium, assay.Premium) // the prefix is the tier
	h.wantActive(full, assay.Full)
	h.at += assay.Day
	h.grant("ann@example.com", GrantRequest{Plan: assay.PlanPremium})
	h.wantActive(premium, assay.Premium)
	h.wantInactive(full)
	h.at += assay.Day
	h.grant("ann@example.com", GrantRequest{Plan: assay.PlanFull})
	h.wantInactive(full)
	h.wantActive(premium, assay.Premium)
}

func TestKey_EndsWithTheGrant(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	id := h.add("ann@example.com")
	g := h.grant("ann@example.com", GrantRequest{Plan: assay.PlanFull})
	secret := h.key(id)
	h.at += assay.Day
	h.must(h.EndGrant(h.ctx(), g.ID))
	h.wantInactive(secret)
}

func TestKey_EndsWithTheOrganizationsPlan(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testKeyEndsWithTheOrganizationsPlan)
}

func testKeyEndsWithTheOrganizationsPlan(t *testing.T, db *store.DB) {
	h := openHouse(t, db)
	id := h.add("ann@example.com")
	h.organization("Fund", assay.PlanFull, "ann@example.com")
	secret := h.key(id)
	h.at += assay.Day
	h.must(h.SetPlan(h.ctx(), "Fund", assay.PlanFull)) // the same is no change
	h.must(h.AddMember(h.ctx(), "Fund", "ann@example.com", assay.RoleOwner))
	h.at += assay.Day
	h.wantActive(secret, assay.Full)
	h.must(h.SetPlan(h.ctx(), "Fund", assay.PlanPremium))
	h.wantInactive(secret)
	h.at += assay.Day
	h.must(h.SetPlan(h.ctx(), "Fund", assay.PlanFull))
	h.wantInactive(secret)
	h.wantActive(h.key(id), assay.Full)
}

func TestKey_EndsWithTheMembership(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ann, bob := h.add("ann@example.com"), h.add("bob@example.com")
	h.organization("Fund", assay.PlanFull, "ann@example.com", "bob@example.com")
	h.organization("Other", assay.PlanFull, "ann@example.com") // her key hangs on the first one
	hers, his := h.key(ann), h.key(bob)
	h.at += assay.Day
	h.must(h.RemoveMember(h.ctx(), "Fund", "ann@example.com"))
	h.wantInactive(hers)
	h.wantActive(his, assay.Full)
	h.at += assay.Day
	h.must(h.AddMember(h.ctx(), "Fund", "ann@example.com", assay.RoleMember))
	h.wantInactive(hers)
}

func TestKey_EndsWithTheAccount(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testKeyEndsWithTheAccount)
}

func testKeyEndsWithTheAccount(t *testing.T, db *store.DB) {
	h := openHouse(t, db)
	id := h.add("ann@example.com")
	h.grant("ann@example.com", GrantRequest{Plan: assay.PlanFull})
	secret := h.key(id)
	h.at += assay.Day
	h.must(h.CloseAccount(h.ctx(), "ann@example.com"))
	h.wantInactive(secret)
	_, _, err := h.CreateKey(h.ctx(), id, "another", "")
	wantCode(t, err, assay.Forbidden, "key_creation_refused")
}

func TestRotateKey(t *testing.T) {
	t.Parallel()
	f := func(grace time.Duration) {
		t.Helper()
		h := newHouse(t)
		id := h.add("ann@example.com")
		h.grant("ann@example.com", GrantRequest{Plan: assay.PlanFull})
		old := h.key(id)
		h.at += assay.Day
		next, view, err := h.RotateKey(h.ctx(), id, old.ID(), grace, "")
		h.must(err)
		if view.Name != "a test" || view.Tier != assay.Full || view.ID == old.ID() {
			t.Errorf("the new key is %+v", view)
		}
		ends := h.at + grace.Milliseconds()
		h.at = ends - 1
		if grace > 0 {
			h.wantActive(old, assay.Full)
		}
		h.at = ends
		h.wantInactive(old)
		h.wantActive(next, assay.Full)
		_, _, err = h.RotateKey(h.ctx(), id, old.ID(), grace, "")
		wantCode(t, err, assay.Invalid, "inactive_key")
	}
	f(0)
	f(time.Hour)
	f(MaxGrace)
}

func TestRotateKey_TheEarlierEndHolds(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testRotateKeyTheEarlierEndHolds)
}

func testRotateKeyTheEarlierEndHolds(t *testing.T, db *store.DB) {
	h := openHouse(t, db)
	id := h.add("ann@example.com")
	h.grant("ann@example.com", GrantRequest{Plan: assay.PlanTrial})
	old := h.key(id)
	next, _, err := h.RotateKey(h.ctx(), id, old.ID(), MaxGrace, "")
	h.must(err)
	h.at = start + assay.TrialLength - 1
	h.wantActive(old, assay.Premium)
	h.wantActive(next, assay.Premium)
	h.at = start + assay.TrialLength
	h.wantInactive(old)
	h.wantInactive(next)
}

func TestRotateKey_Refused(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ann, bob := h.add("ann@example.com"), h.add("bob@example.com")
	h.grant("ann@example.com", GrantRequest{Plan: assay.PlanPremium})
	secret := h.key(ann)
	for _, grace := range []time.Duration{-1, MaxGrace + 1} {
		_, _, err := h.RotateKey(h.ctx(), ann, secret.ID(), grace, "")
		wantCode(t, err, assay.Invalid, "invalid_parameter")
	}
	_, _, err := h.RotateKey(h.ctx(), bob, secret.ID(), 0, "")
	wantCode(t, err, assay.NotFound, "unknown_key")
	_, _, err = h.RotateKey(h.ctx(), ann, "zzzzzz", 0, "")
	wantCode(t, err, assay.NotFound, "unknown_key")

	// An upgraded owner's key stays Premium.
	h.grant("ann@example.com", GrantRequest{Plan: assay.PlanFull})
	premium, _, err := h.RotateKey(h.ctx(), ann, secret.ID(), 0, "")
	h.must(err)
	h.wantActive(premium, assay.Premium)

	// A member with a Full key gets a Premium grant of its own: that goes first, and makes no Full key.
	h.organization("Fund", assay.PlanFull, "bob@example.com")
	full := h.key(bob)
	h.grant("bob@example.com", GrantRequest{Plan: assay.PlanPremium})
	h.wantActive(full, assay.Full)
	_, _, err = h.RotateKey(h.ctx(), bob, full.ID(), 0, "")
	wantCode(t, err, assay.Forbidden, "key_creation_refused")
	h.wantActive(full, assay.Full)
}

func TestRevokeKey(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testRevokeKey)
}

func testRevokeKey(t *testing.T, db *store.DB) {
	h := openHouse(t, db)
	ann, bob := h.add("ann@example.com"), h.add("bob@example.com")
	h.grant("ann@example.com", GrantRequest{Plan: assay.PlanFull})
	secret := h.key(ann)
	wantCode(t, h.RevokeKey(h.ctx(), bob, secret.ID()), assay.NotFound, "unknown_key")
	wantCode(t, h.RevokeKey(h.ctx(), ann, "zzzzzz"), assay.NotFound, "unknown_key")
	h.wantActive(secret, assay.Full)
	h.must(h.RevokeKey(h.ctx(), ann, secret.ID()))
	h.wantInactive(secret)
	h.at += assay.Hour
	second := h.key(ann)
	list, err := h.KeysOf(h.ctx(), ann)
	if err != nil || len(list) != 2 || list[0].ID != second.ID() || list[1].Status != StatusRevoked || int64(list[1].RevokedAt) != start {
		t.Errorf("the keys are %+v (%v), newest first", list, err)
	}
}

func TestCreateKey_Names(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	id := h.add("ann@example.com")
	h.grant("ann@example.com", GrantRequest{Plan: assay.PlanFull})
	secret := h.key(id)
	for _, bad := range []string{"", strings.Repeat("x", 65), "two\nlines", "a\u202eb", "\u3164", "\xff", "my " + secret.Reveal()} {
		_, _, err := h.CreateKey(h.ctx(), id, bad, "")
		wantCode(t, err, assay.Invalid, "invalid_parameter")
		if strings.Contains(err.Error(), secret.Reveal()) {
			t.Errorf("the error holds the key: %v", err)
		}
	}
	for _, good := range []string{"x", strings.Repeat("é", 64), "the desk’s"} {
		if _, _, err := h.CreateKey(h.ctx(), id, good, ""); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
}

// A key is rotated once. What replaces it can be rotated in turn, and every key in its grace counts.
func TestRotateKey_OnePendingRotation(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		h := openHouse(t, db)
		id := h.add("ann@example.com")
		h.grant("ann@example.com", GrantRequest{Plan: assay.PlanFull})
		old := h.key(id)
		next, _, err := h.RotateKey(h.ctx(), id, old.ID(), time.Hour, "")
		h.must(err)
		for _, grace := range []time.Duration{0, time.Hour, MaxGrace} {
			_, _, err = h.RotateKey(h.ctx(), id, old.ID(), grace, "")
			wantCode(t, err, assay.Invalid, "rotation_pending")
		}
		_, _, err = h.RotateKey(h.ctx(), id, next.ID(), time.Hour, "")
		h.must(err)
		h.must(h.RevokeKey(h.ctx(), id, old.ID()))
		if list, err := h.KeysOf(h.ctx(), id); err != nil || len(list) != 3 {
			t.Errorf("there are %d keys (%v), want 3", len(list), err)
		}
	})
}

// Requests at the same time do not get past the limit, neither with new keys nor with rotations.
func TestKeys_CapHoldsUnderConcurrency(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		h := openHouse(t, db)
		id := h.add("ann@example.com")
		h.grant("ann@example.com", GrantRequest{Plan: assay.PlanFull})
		old := h.key(id)
		for range maxKeys - 3 {
			k := store.Key{Tier: assay.Full, AccountID: id, Basis: string(access.OnGrant)}
			_, _, err := keys.MintAndSave(h.ctx(), k, h.Store.CreateKey)
			h.must(err)
		}
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() { _, _, _ = h.CreateKey(h.ctx(), id, "one of many", "") })
			wg.Go(func() { _, _, _ = h.RotateKey(h.ctx(), id, old.ID(), time.Hour, "") })
		}
		wg.Wait()
		list, err := h.KeysOf(h.ctx(), id)
		if err != nil || len(list) != maxKeys {
			t.Errorf("there are %d keys (%v), want %d", len(list), err, maxKeys)
		}
		// A rotation without grace leaves as many keys as before.
		another := slices.IndexFunc(list, func(k assay.Key) bool { return k.ID != old.ID() }) // old may be rotated already
		_, _, err = h.RotateKey(h.ctx(), id, list[another].ID, time.Hour, "")
		wantCode(t, err, assay.Forbidden, "too_many_keys")
		_, _, err = h.RotateKey(h.ctx(), id, list[another].ID, 0, "")
		h.must(err)
	})
}

// Of several requests of one name at the same time one creates a key and all others name it.
func TestKeys_OneNameCreatesOneKey(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		h := openHouse(t, db)
		id := h.add("ann@example.com")
		h.grant("ann@example.com", GrantRequest{Plan: assay.PlanFull})
		var mu sync.Mutex
		var created, named []string
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				_, key, err := h.CreateKey(h.ctx(), id, "one of many", "the request")
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					created = append(created, key.ID)
					return
				}
				wantCode(t, err, assay.Conflict, "key_exists")
				named = append(named, key.ID)
			})
		}
		wg.Wait()
		if len(created) != 1 || len(named) != 7 || slices.ContainsFunc(named, func(k string) bool { return k != created[0] }) {
			t.Errorf("created %q, the errors name %q", created, named)
		}
	})
}

func TestCreateKey_NotWithoutEnd(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	id := h.add("ann@example.com")
	h.grant("ann@example.com", GrantRequest{Plan: assay.PlanFull})
	first := h.key(id)
	for range maxKeys - 1 { // past the service, which would load them all each time
		k := store.Key{Tier: assay.Full, AccountID: id, Basis: string(access.OnGrant)}
		_, _, err := keys.MintAndSave(h.ctx(), k, h.Store.CreateKey)
		h.must(err)
	}
	_, _, err := h.CreateKey(h.ctx(), id, "one more", "")
	wantCode(t, err, assay.Forbidden, "too_many_keys")
	h.must(h.RevokeKey(h.ctx(), id, first.ID()))
	h.key(id)
	if list, err := h.KeysOf(h.ctx(), id); err != nil || len(list) != maxKeys+1 || !slices.ContainsFunc(list, func(k assay.Key) bool { return k.ID == first.ID() }) {
		t.Errorf("%d keys are listed (%v), want all, the revoked one among them", len(list), err)
	}
}
