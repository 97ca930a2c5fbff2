package main

import (
	"strings"
	"testing"

	"github.com/assaydata/assay/internal/store/storetest"
)

func TestMigrate(t *testing.T) {
	old := "sqlite://" + t.TempDir()
	useStore(t, "--store", old)
	storetest.EachAddress(t, func(t *testing.T, address string) {
		if !strings.Contains(address, "://") {
			address = "sqlite://" + address
		}
		f := func(want string, args ...string) {
			t.Helper()
			_, out, errs := runAssay(t, "", args...)
			if !strings.Contains(out+errs, want) {
				t.Errorf("%q says\n%s%s, want %q", args, out, errs, want)
			}
		}
		f("verified: 12 values from 3 transactions", "migrate", "--from", old, "--to", address)
		f("verified: 12 values from 3 transactions", "verify", "--store", address)
		f("the database to copy into is not empty", "migrate", "--from", old, "--to", address)
		f("--from and --to say which database is copied", "migrate", "--from", old)
	})
}
