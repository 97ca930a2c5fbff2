package main

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/assaydata/assay/internal/account"
	"github.com/assaydata/assay/internal/store/storetest"
	"github.com/assaydata/assay/tools/testenv"
)

// The demo's keys and accounts stay the same from start to start. A folder whose file has no accounts yet keeps its
// keys and gets accounts; one whose file was lost gets new passwords for its accounts.
func TestDemoKeys(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	dir := t.TempDir()
	db := storetest.OpenIn(t, dir)
	start := func() demoKeySet {
		t.Helper()
		accounts, err := loadAccounts(t.Context(), db)
		if err != nil {
			t.Fatal(err)
		}
		set, err := demoKeys(t.Context(), accounts, dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := accounts.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := len(accounts.Accounts()); len(set.Accounts) != 5 || n != 5 {
			t.Fatalf("there are %d accounts, and %+v in the file", n, set.Accounts)
		}
		for _, a := range set.Accounts {
			in, err := accounts.SignIn(t.Context(), account.Client{}, a.Email, a.Password)
			if err != nil {
				t.Fatalf("%s: %v", a.Email, err)
			}
			want := a.Plan.Tier().String()
			if a.Organization != "" {
				want = "full"
			}
			if session, ok := accounts.IdentifyInMemory(in.Session.Reveal()); !ok || session.Caller.Tier.String() != want {
				t.Errorf("%s signs in as %+v, want %s", a.Email, session, want)
			}
		}
		return set
	}
	file := filepath.Join(dir, "demo-keys.json")
	const withoutAccounts = `{"premium": "sk_prem_a", "full": "sk_live_b", "revoked": "sk_prem_c", "accounts": []}`
	if err := os.WriteFile(file, []byte(withoutAccounts), 0o600); err != nil {
		t.Fatal(err)
	}
	first := start()
	if first.Premium != "sk_prem_a" || first.Full != "sk_live_b" || first.Revoked != "sk_prem_c" {
		t.Errorf("the keys have become %+v", first)
	}
	if again := start(); !reflect.DeepEqual(again, first) {
		t.Errorf("the second start has\n%+v, the first\n%+v", again, first)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if third := start(); third.Accounts[0].Password == first.Accounts[0].Password {
		t.Error("a lost password has come back")
	}
}
