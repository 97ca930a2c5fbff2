package main

import (
	"strings"
	"testing"

	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

func TestMigrate(t *testing.T) {
	t.Parallel()
	old := "sqlite://" + t.TempDir()
	useStore(t, "--store", old)
	storetest.EachAddress(t, func(t *testing.T, address string) {
		f := func(want string, args ...string) {
			t.Helper()
			_, out, errs := runAssay(t, "", args...)
			if !strings.Contains(out+errs, want) {
				t.Errorf("%q says\n%s%s, want %q", args, out, errs, want)
			}
		}
		db := storetest.OpenIn(t, address)
		trigger, mend := `CREATE TRIGGER damage AFTER INSERT ON audit BEGIN DELETE FROM receipts; END`, `DROP TRIGGER damage`
		if store.IsPostgres(address) {
			trigger = `CREATE FUNCTION damage() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.actor := ''; RETURN NEW; END $$;
				CREATE TRIGGER damage BEFORE INSERT ON audit FOR EACH ROW EXECUTE FUNCTION damage()`
			mend = `DROP FUNCTION damage CASCADE`
		}
		storetest.Exec(t, db, trigger)
		f("the copy differs from what was copied", "migrate", "--from", old, "--to", address)
		storetest.Exec(t, db, mend)
		f("verified: 12 values from 3 transactions", "migrate", "--from", old, "--to", address)
		f("verified: 12 values from 3 transactions", "verify", "--store", address)
		f("the database to copy into is not empty", "migrate", "--from", old, "--to", address)
		f("--from and --to are required", "migrate", "--from", old)
	})
}
