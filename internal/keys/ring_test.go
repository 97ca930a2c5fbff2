package keys

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/access"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// A keyring that applies one change after another has the same keys as one that loads everything.
func TestKeyring_ChangesAddUp(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		w := newWorld(t, db)
		k := newKeyring(t, db)
		for step := range 120 {
			action := w.act()
			if step%3 == 0 { // also several changes at once
				continue
			}
			if err := k.Load(t.Context()); err != nil {
				t.Fatal(err)
			}
			got, want := k.ring.Load(), newKeyring(t, db).ring.Load()
			if !maps.Equal(got.all(), want.all()) {
				t.Fatalf("step %d, %s: the keyring has %v, want %v", step, action, got.all(), want.all())
			}
		}
	})
}

func (r *ring) all() map[[32]byte]entry {
	all := map[[32]byte]entry{}
	for _, part := range r.parts {
		maps.Copy(all, part)
	}
	return all
}

// world makes random changes to keys and to what they are based on.
type world struct {
	*testing.T

	db            *store.DB
	random        *rand.Rand
	clock         int64
	keys          []store.Key
	accounts      []int64
	organizations []int64
}

func newWorld(t *testing.T, db *store.DB) *world {
	w := &world{T: t, db: db, random: rand.New(rand.NewPCG(1, 2)), clock: 1000}
	db.Now = func() time.Time { return time.UnixMilli(w.clock) }
	for _, email := range []string{"a@example.com", "b@example.com", "c@example.com"} {
		a, err := db.AddAccount(t.Context(), store.NewAccount{Email: email, Name: email})
		w.check(err)
		w.accounts = append(w.accounts, a.ID)
	}
	for _, name := range []string{"One", "Two"} {
		o, err := db.AddOrganization(t.Context(), name, assay.PlanFull)
		w.check(err)
		w.organizations = append(w.organizations, o.ID)
	}
	return w
}

func (w *world) check(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func pick[T any](w *world, list []T) T { return list[w.random.IntN(len(list))] }

// act makes a change and names it.
func (w *world) act() string {
	w.Helper()
	w.clock += 1000
	action := pick(w, actions)
	action.run(w, pick(w, w.accounts), pick(w, w.organizations))
	return action.name
}

var actions = []struct {
	name string
	run  func(w *world, account, organization int64)
}{
	{"a key of the operator", func(w *world, _, _ int64) {
		w.createKey(store.Key{Tier: assay.Premium, ExpiresAt: w.clock + int64(w.random.IntN(5000))})
	}},
	{"a key on a grant", func(w *world, account, _ int64) {
		w.createKey(store.Key{Tier: assay.Premium, AccountID: account, Basis: string(access.OnGrant)})
	}},
	{"a key on an organization", func(w *world, account, organization int64) {
		basis := string(access.OnOrganization)
		w.createKey(store.Key{Tier: assay.Full, AccountID: account, Basis: basis, OrgID: organization})
	}},
	{"a key revoked", func(w *world, _, _ int64) {
		if len(w.keys) > 0 {
			w.check(w.db.RevokeKey(w.Context(), pick(w, w.keys).ID))
		}
	}},
	{"a key rotated", func(w *world, account, _ int64) {
		if len(w.keys) == 0 {
			return
		}
		old := pick(w, w.keys)
		save := func(ctx context.Context, k store.Key) (store.Key, error) {
			admit := func([]store.Key) error { return nil }
			return w.db.ReplaceKey(ctx, old.ID, w.clock+500, store.KeyRequest{Key: k, Admit: admit})
		}
		_, key, err := MintAndSave(w.Context(), store.Key{Tier: old.Tier, AccountID: account}, save)
		w.check(err)
		w.keys = append(w.keys, key)
	}},
	{"an organization's plan", func(w *world, _, organization int64) {
		w.check(w.db.SetPlan(w.Context(), organization, pick(w, []assay.Plan{assay.PlanFull, assay.PlanPremium})))
	}},
	{"a member", func(w *world, account, organization int64) {
		w.check(w.db.AddMember(w.Context(), organization, account, assay.RoleMember))
	}},
	{"a member less", func(w *world, account, organization int64) {
		if err := w.db.RemoveMember(w.Context(), organization, account); !errors.Is(err, store.ErrNoMember) {
			w.check(err)
		}
	}},
	{"a grant that replaces others", func(w *world, account, _ int64) {
		_, err := w.db.ChangeGrants(w.Context(), account, func(has []assay.Grant, now int64) (store.GrantChange, error) {
			change := store.GrantChange{At: now, Add: assay.Grant{Plan: assay.PlanPremium, StartsAt: now}}
			for _, g := range has {
				if g.Until() == 0 {
					change.End = append(change.End, g.ID)
				}
			}
			return change, nil
		})
		w.check(err)
	}},
}

func (w *world) createKey(k store.Key) {
	w.Helper()
	_, key, err := MintAndSave(w.Context(), k, w.db.CreateKey)
	w.check(err)
	w.keys = append(w.keys, key)
}

// A change leaves everything as it was that has nothing to do with it: what it costs does not depend on the number of
// keys.
func TestKeyring_LoadsOnlyWhatHasChanged(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		first, err := db.AddAccount(t.Context(), store.NewAccount{Email: "a@example.com", Name: "A"})
		if err != nil {
			t.Fatal(err)
		}
		for range 50 {
			create(t, db, assay.Full, 0)
		}
		k := newKeyring(t, db)
		before := k.ring.Load()
		secret := create(t, db, assay.Premium, 0)
		changes, err := db.KeyChanges(t.Context(), before.counters)
		if err != nil || len(changes.Keys) != 1 || changes.Directory != nil {
			t.Errorf("a new key: %d keys and the directory %v are read (%v), want 1 and none",
				len(changes.Keys), changes.Directory, err)
		}
		if err := k.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		after := k.ring.Load()
		for i := range after.parts {
			same := reflect.ValueOf(after.parts[i]).Pointer() == reflect.ValueOf(before.parts[i]).Pointer()
			if same == (byte(i) == secret.Hash()[0]) {
				t.Errorf("part %d of the ring: the same as before is %v", i, same)
			}
		}
		if err := db.CloseAccount(t.Context(), first.ID); err != nil {
			t.Fatal(err)
		}
		changes, err = db.KeyChanges(t.Context(), after.counters)
		if err != nil || len(changes.Keys) != 0 || changes.Directory == nil {
			t.Errorf("a closed account: %d keys and the directory %v are read (%v), want none and all",
				len(changes.Keys), changes.Directory, err)
		}
	})
}

// A program of an earlier release may run beside this one while nodes are upgraded. It does not know that changes of
// keys are numbered.
func TestKeyring_SeesChangesOfAnEarlierRelease(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		secret, other := create(t, db, assay.Full, 0), Mint(assay.Premium)
		k := newKeyring(t, db)
		hash := other.Hash()
		storetest.Exec(t, db, `INSERT INTO keys (key_id, hash, tier, name, created_at) VALUES ($1, $2, 'premium', 'a', 1)`,
			other.ID(), hash[:])
		storetest.Exec(t, db, `UPDATE counters SET value = value + 1 WHERE name = 'keys'`)
		create(t, db, assay.Full, 0) // by this release
		storetest.Exec(t, db, `UPDATE keys SET revoked_at = 1 WHERE key_id = $1`, secret.ID())
		storetest.Exec(t, db, `UPDATE counters SET value = value + 1 WHERE name = 'keys'`)
		if err := k.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := k.Lookup(other.Reveal(), now); err != nil {
			t.Errorf("the other release's key: %v", err)
		}
		if _, err := k.Lookup(secret.Reveal(), now); !errors.Is(err, errInactive) {
			t.Errorf("the key that the other release revoked: %v", err)
		}
	})
}

// A database that was replaced by an older one is loaded from scratch.
func TestKeyring_OlderDatabase(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		first, second := create(t, db, assay.Full, 0), create(t, db, assay.Full, 0)
		k := newKeyring(t, db)
		storetest.Exec(t, db, `DELETE FROM keys WHERE key_id = $1`, second.ID())
		storetest.Exec(t, db, `UPDATE counters SET value = value - 1 WHERE name = 'keys'`)
		if err := k.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := k.Lookup(first.Reveal(), now); err != nil {
			t.Error(err)
		}
		if _, err := k.Lookup(second.Reveal(), now); !errors.Is(err, errInvalid) {
			t.Errorf("a key that the database does not have: %v", err)
		}
	})
}

func TestEnds_ChangedAfter(t *testing.T) {
	t.Parallel()
	base := func() store.Directory {
		return store.Directory{
			Accounts:    []assay.Account{{ID: 1}, {ID: 2}, {ID: 3}, {ID: 4}},
			Grants:      []assay.Grant{{AccountID: 1, Plan: assay.PlanPremium, StartsAt: 10}},
			Memberships: []store.Membership{{OrgID: 7, AccountID: 2, From: 10}, {OrgID: 7, AccountID: 3, From: 10}},
			Plans:       []store.OrgPlan{{OrgID: 7, Plan: assay.PlanFull, From: 10}},
		}
	}
	f := func(name string, change func(d *store.Directory), want ...int64) {
		t.Helper()
		earlier, later := base(), base()
		change(&later)
		if got := NewEnds(&later).changedAfter(NewEnds(&earlier)); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	f("nothing", func(*store.Directory) {})
	f("a new account", func(d *store.Directory) { d.Accounts = append(d.Accounts, assay.Account{ID: 5}) })
	f("a closed account", func(d *store.Directory) { d.Accounts[3].ClosedAt = 20 }, 4)
	f("a grant that ends", func(d *store.Directory) { d.Grants[0].EndedAt = 20 }, 1)
	f("a grant less", func(d *store.Directory) { d.Grants = nil }, 1)
	f("a new grant", func(d *store.Directory) {
		d.Grants = append(d.Grants, assay.Grant{AccountID: 4, Plan: assay.PlanFull})
	}, 4)
	f("a member who leaves", func(d *store.Directory) { d.Memberships[1].Until = 20 }, 3)
	f("a plan that ends", func(d *store.Directory) { d.Plans[0].Until = 20 }, 2, 3)
}
