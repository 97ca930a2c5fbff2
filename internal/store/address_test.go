package store_test

import (
	"strings"
	"testing"

	"github.com/assaydata/assay/internal/store"
)

func TestCheckAddress(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"sqlite://data", "sqlite:///var/lib/assay", "sqlite://a folder?#", "postgres://", "postgres:///db",
		"postgres://db", "postgres://ann@db/assay", "postgres://ann:hunter2@db:5432/assay?sslmode=require",
		"postgres://ann:h:u%40n?t#er2@db/assay", "postgres://ann@one:5432,two:5433,[::1]:5432/assay",
		"postgres://[fe80::1%25eth0]/assay", "postgres://%2Fvar%2Frun/assay", "postgres:///assay?host=/tmp&user=ann@team",
		"postgres://db?password=hunter2", "postgres://db/my%20assay?options=-c%20x%3Dy&pool.x=1",
	} {
		if err := store.CheckAddress(address); err != nil {
			t.Errorf("%s is refused: %v", address, err)
		}
	}
}

// An address whose password is not where it belongs is refused without being shown.
func TestCheckAddress_NeverShowsThePassword(t *testing.T) {
	t.Parallel()
	f := func(address, want string) {
		t.Helper()
		err := store.CheckAddress(address)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: got %v, want %q and no password", address, err, want)
		}
	}
	const scheme, form = "must begin with sqlite:// or postgres://", "must be postgres://USER:PASSWORD@HOST/DATABASE"
	f("host=db user=ann password=hunter2", scheme)
	f("Server=db;Password=hunter2", scheme)
	f("ann:hunter2@db/assay", scheme)
	f("postgresql://ann:hunter2@db/assay", "must begin with postgres://, not postgresql://")
	f("POSTGRES://ann:hunter2@db/assay", scheme)
	f(" postgres://ann:hunter2@db/assay", scheme)
	f("postgres:ann:hunter2@db/assay", scheme)
	f("file://hunter2", scheme)
	f("sqlite:hunter2", scheme)
	f("postgres://ann:hunter2/db", form)          // no host
	f("postgres://ann:hunter2:x@@db/assay", form) // an @ in the password
	f("postgres://ann:1/hunter2@db/assay", form)  // a slash in the password
	f("postgres://ann:1#hunter2", form)
	f("postgres://db/assay password=hunter2", form)
	f("postgres://db/assay;password=hunter2", form)
	f("postgres://db/assay&password=hunter2", form)
	f("postgres://db password=hunter2", form)
	f("postgres://host=db,password=hunter2", form)
	f("postgres://db/assay?hunter2", form)
	f("postgres://db/assay?password=hun=hunter2", form)
	f("postgres://db:hunter2:5432/assay", form)
	f("postgres://[hunter2]/assay", form)
}
