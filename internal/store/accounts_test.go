package store_test

import (
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

func mustAccount(t *testing.T, db *store.DB, email string) assay.Account {
	t.Helper()
	a, err := db.AddAccount(t.Context(), store.NewAccount{Email: email, Name: "Ann", Password: "$argon2id$"})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func mustOrganization(t *testing.T, db *store.DB, plan assay.Plan) assay.Organization {
	t.Helper()
	o, err := db.AddOrganization(t.Context(), "Fund", plan)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func mustDirectory(t *testing.T, db *store.DB) store.Directory {
	t.Helper()
	r, err := db.Directory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// openGrant grants an account a plan from now on.
func openGrant(db *store.DB, t *testing.T, account int64, plan assay.Plan) (assay.Grant, error) {
	return db.ChangeGrants(t.Context(), account, func(existing []assay.Grant, now int64) (store.GrantChange, error) {
		change := store.GrantChange{At: now, Add: assay.Grant{Plan: plan, StartsAt: now}}
		for _, g := range existing {
			change.End = append(change.End, g.ID)
		}
		return change, nil
	})
}

// Each change raises its counter. What changes nothing raises none.
func TestCounters_AccountsAndSessions(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		ctx, want := t.Context(), mustCounters(t, db)
		f := func(what string, err error, raise ...*int64) {
			t.Helper()
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			for _, counter := range raise {
				*counter++
			}
			if got := mustCounters(t, db); got != want {
				t.Errorf("after %s the counters are %+v, want %+v", what, got, want)
			}
		}
		a := mustAccount(t, db, "ann@example.com")
		f("an account", nil, &want.Accounts)
		o := mustOrganization(t, db, assay.PlanPremium)
		f("an organization", nil, &want.Accounts)
		f("a plan", db.SetPlan(ctx, o.ID, assay.PlanFull), &want.Accounts)
		f("the same plan", db.SetPlan(ctx, o.ID, assay.PlanFull))
		f("a member", db.AddMember(ctx, o.ID, a.ID, assay.RoleMember), &want.Accounts)
		f("the same member", db.AddMember(ctx, o.ID, a.ID, assay.RoleMember))
		f("another role", db.AddMember(ctx, o.ID, a.ID, assay.RoleOwner), &want.Accounts)
		f("no member", db.RemoveMember(ctx, o.ID, a.ID), &want.Accounts)
		g, err := openGrant(db, t, a.ID, assay.PlanFull)
		f("a grant", err, &want.Accounts)
		f("its end", db.EndGrant(ctx, g.ID), &want.Accounts)
		far := time.Now().UnixMilli() + assay.Day
		session := store.Session{Hash: [32]byte{1}, AccountID: a.ID, ExpiresAt: far}
		_, err = db.StartSession(ctx, session, store.SignIn{How: "password"})
		f("a session", err, &want.Sessions, &want.Devices)
		f("a failure", db.FailSession(ctx, a, ""))
		f("its end", db.EndSession(ctx, [32]byte{1}), &want.Sessions)
		if err := db.EndSession(ctx, [32]byte{1}); !errors.Is(err, store.ErrNoSession) {
			t.Errorf("its end again: %v", err)
		}
		f("its end again", nil)
		f("a password", db.SetPassword(ctx, a.ID, store.NewPassword{Hash: "$"}, nil), &want.Accounts, &want.Sessions)
		f("closing", db.CloseAccount(ctx, a.ID), &want.Accounts, &want.Sessions, &want.Devices)
		f("closing again", db.CloseAccount(ctx, a.ID))
		storetest.Exec(t, db, `UPDATE keys SET last_used_at = 1`)
		f("use", nil)
	})
}

// Plans, memberships and grants are histories: a new entry ends the previous one at the same instant.
func TestDirectory_KeepsHistory(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		clock := int64(100)
		db.Now = func() time.Time { return time.UnixMilli(clock) }
		check := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			clock += 100
		}
		a, o := mustAccount(t, db, "ann@example.com"), mustOrganization(t, db, assay.PlanNone)
		clock = 200
		check(db.AddMember(t.Context(), o.ID, a.ID, assay.RoleMember))
		check(db.AddMember(t.Context(), o.ID, a.ID, assay.RoleOwner))
		check(db.SetPlan(t.Context(), o.ID, assay.PlanTrial))
		check(db.SetPlan(t.Context(), o.ID, assay.PlanFull))
		check(db.RemoveMember(t.Context(), o.ID, a.ID))
		_, err := openGrant(db, t, a.ID, assay.PlanPremium)
		check(err)
		_, err = openGrant(db, t, a.ID, assay.PlanFull)
		check(err)
		got := mustDirectory(t, db)
		want := store.Directory{
			Counters: got.Counters,
			Accounts: []assay.Account{
				{ID: a.ID, Email: "ann@example.com", Name: "Ann", HasPassword: true, CreatedAt: 100},
			},
			Organizations: []assay.Organization{{ID: o.ID, Name: "Fund", CreatedAt: 100}},
			Plans: []store.OrgPlan{
				{OrgID: o.ID, Plan: assay.PlanNone, From: 100, Until: 400},
				{OrgID: o.ID, Plan: assay.PlanTrial, From: 400, Until: 500},
				{OrgID: o.ID, Plan: assay.PlanFull, From: 500},
			},
			Memberships: []store.Membership{{o.ID, a.ID, "member", 200, 300}, {o.ID, a.ID, "owner", 300, 600}},
			Grants: []assay.Grant{
				{ID: 1, AccountID: a.ID, Plan: assay.PlanPremium, StartsAt: 700, EndedAt: 800},
				{ID: 2, AccountID: a.ID, Plan: assay.PlanFull, StartsAt: 800},
			},
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("the directory is\n%+v, want\n%+v", got, want)
		}
	})
}

func TestAccounts_Refused(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		ctx := t.Context()
		a, o := mustAccount(t, db, "ann@example.com"), mustOrganization(t, db, assay.PlanNone)
		before, log := mustCounters(t, db), mustAudit(t, db, store.AuditFilter{})
		f := func(err, want error) {
			t.Helper()
			if !errors.Is(err, want) {
				t.Errorf("the error is %v, want %v", err, want)
			}
		}
		_, err := db.AddAccount(ctx, store.NewAccount{Email: "ann@example.com"})
		f(err, store.ErrEmailTaken)
		_, err = db.AddOrganization(ctx, "Fund", assay.PlanFull)
		f(err, store.ErrNameTaken)
		f(db.CloseAccount(ctx, 99), store.ErrNoAccount)
		f(db.SetPassword(ctx, 99, store.NewPassword{Hash: "$"}, nil), store.ErrNoAccount)
		f(db.SetPlan(ctx, 99, assay.PlanFull), store.ErrNoOrganization)
		f(db.AddMember(ctx, 99, a.ID, assay.RoleMember), store.ErrNoOrganization)
		f(db.AddMember(ctx, o.ID, 99, assay.RoleMember), store.ErrNoAccount)
		f(db.RemoveMember(ctx, o.ID, a.ID), store.ErrNoMember)
		f(db.EndGrant(ctx, 99), store.ErrNoGrant)
		_, err = openGrant(db, t, 99, assay.PlanFull)
		f(err, store.ErrNoAccount)
		refusal := errors.New("decided against")
		refuse := func([]assay.Grant, int64) (store.GrantChange, error) { return store.GrantChange{}, refusal }
		_, err = db.ChangeGrants(ctx, a.ID, refuse)
		f(err, refusal)
		_, err = db.StartSession(ctx, store.Session{AccountID: 99}, store.SignIn{})
		f(err, store.ErrNoAccount)
		_, err = db.Session(ctx, [32]byte{9})
		f(err, store.ErrNoSession)
		if got := mustCounters(t, db); got != before {
			t.Errorf("refused changes set the counters to %+v, want %+v", got, before)
		}
		if got := mustAudit(t, db, store.AuditFilter{}); len(got) != len(log) {
			t.Errorf("the log has a refused change: %+v", got)
		}
	})
}

// A sign-in removes expired sessions, and closing an account removes its sessions.
func TestSessions(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		clock := int64(100)
		db.Now = func() time.Time { return time.UnixMilli(clock) }
		a, b := mustAccount(t, db, "ann@example.com"), mustAccount(t, db, "bob@example.com")
		begin := func(n byte, account, expires int64) {
			t.Helper()
			s := store.Session{Hash: [32]byte{n}, ID: string('a' + rune(n)), AccountID: account, ExpiresAt: expires}
			if _, err := db.StartSession(t.Context(), s, store.SignIn{How: "password"}); err != nil {
				t.Fatal(err)
			}
		}
		want := func(numbers ...byte) {
			t.Helper()
			for n := range byte(5) {
				_, err := db.Session(t.Context(), [32]byte{n})
				if exists, want := err == nil, slices.Contains(numbers, n); exists != want {
					t.Errorf("session %d exists: %t, want %t (%v)", n, exists, want, err)
				}
			}
			if list, _, err := db.Sessions(t.Context()); err != nil || len(list) > len(numbers) {
				t.Errorf("the sessions are %+v (%v), want %v", list, err, numbers)
			}
		}
		begin(1, a.ID, 200)
		begin(2, a.ID, 900)
		begin(3, b.ID, 900)
		want(1, 2, 3)
		clock = 200
		begin(4, a.ID, 900)
		want(2, 3, 4)
		except := append([]byte{2}, make([]byte, 31)...)
		if err := db.SetPassword(t.Context(), a.ID, store.NewPassword{Hash: "$"}, except); err != nil {
			t.Fatal(err)
		}
		want(2, 3)
		if err := db.CloseAccount(t.Context(), a.ID); err != nil {
			t.Fatal(err)
		}
		want(3)
		_, err := db.StartSession(t.Context(), store.Session{AccountID: a.ID}, store.SignIn{})
		if !errors.Is(err, store.ErrNoAccount) {
			t.Errorf("a sign-in to a closed account returns the error %v, want %v", err, store.ErrNoAccount)
		}
	})
}
