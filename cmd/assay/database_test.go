package main

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assaydata/assay/internal/store/storetest"
)

const storeRows = `id,source,executed_at,gpu_name,region,price,gpus,hours,provider,verified
t1,exchange,2025-06-10T10:15:00Z,H100 SXM,us-east,2.35,8,1,Alder,true
t2,exchange,2025-06-10T10:45:00Z,H100 SXM,us-east,2.50,4,1,Birch,true
t4,exchange,2025-06-11T11:30:00Z,H100 SXM,us-east,2.20,1,1,Cedar,true
`

// useStore runs the commands on a few rows.
func useStore(t *testing.T, flags ...string) {
	t.Helper()
	rows := filepath.Join(t.TempDir(), "rows.csv")
	if err := os.WriteFile(rows, []byte(storeRows), 0o600); err != nil {
		t.Fatal(err)
	}
	f := func(want, command string, args ...string) {
		t.Helper()
		words := append(append(strings.Fields(command), flags...), args...)
		code, out, errs := runAssay(t, "", words...)
		if code != exitOK || !strings.Contains(out, want) {
			t.Fatalf("%s ends with %d:\n%s%s, want %q", words, code, out, errs, want)
		}
		if strings.Contains(out+errs, "hunter2") {
			t.Errorf("%s shows the password", words)
		}
	}
	if !strings.Contains(strings.Join(flags, " "), "postgres://") { // a PostgreSQL database of the tests has its tables
		f("created a database", "init")
	}
	f("", "import transactions", rows)
	f("published: 8 values", "publish", "--from", "2025-06-09T20:00:00Z", "--to", "2025-06-12T20:00:00Z")
	f("verified: 8 values from 3 transactions", "verify")
	f("withdrawn", "transaction withdraw", "--source", "exchange", "--reason", "a forgery", "t2")
	f("restated: 4 new revisions", "restate", "--gpu", "H100 SXM",
		"--from", "2025-06-09T20:00:00Z", "--to", "2025-06-10T20:00:00Z", "--reason", "invoices checked")
	f("verified: 12 values", "verify")
	f("H100 SXM", "catalog")
	f("t2", "audit-log")
	f("", "export", "--bundle", filepath.Join(t.TempDir(), "bundle"), "--from", "2025-06-10", "--to", "2025-06-12")
}

// Commands do the same on every database.
func TestStore_EveryEngine(t *testing.T) {
	t.Parallel()
	t.Run("folder", func(t *testing.T) {
		t.Parallel()
		useStore(t, "--dir", t.TempDir())
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		useStore(t, "--dir", t.TempDir(), "--store", "sqlite://"+t.TempDir())
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		address, err := url.Parse(storetest.Postgres(t))
		if err != nil {
			t.Fatal(err)
		}
		if _, has := address.User.Password(); !has { // a server that needs none accepts any
			address.User = url.UserPassword(address.User.Username(), "hunter2")
		}
		useStore(t, "--dir", t.TempDir(), "--store", address.String())
	})
}

func TestStore_Refused(t *testing.T) {
	t.Parallel()
	f := func(address, want string) {
		t.Helper()
		code, out, errs := runAssay(t, "", "verify", "--dir", t.TempDir(), "--store", address)
		if code == exitOK || !strings.Contains(errs, want) || strings.Contains(out+errs, "hunter2") {
			t.Errorf("--store %s ends with %d:\n%s%s, want %q and no password", address, code, out, errs, want)
		}
	}
	f("mysql://ann:hunter2@host/db", "must begin with sqlite:// or postgres://")
	f("sqlite://"+filepath.Join(t.TempDir(), "none"), "there is no database in sqlite://")
	f("postgres://ann:hunter2@127.0.0.1:1/db", "open --store postgres://127.0.0.1:1/db")
	f("postgres://127.0.0.1:1/db?user=ann&password=hunter2", "open --store postgres://127.0.0.1:1/db")
	f("postgres://ann:hunter2@127.0.0.1:port/db", "must be postgres://USER:PASSWORD@HOST/DATABASE")
	f("postgres://ann:hunter2@127.0.0.1/db?sslmode=maybe", "failed to configure TLS")
}

// A setting that is not the address of a database is refused wherever it comes from. It may contain a password, so no
// message shows it, and it is not taken for a folder.
func TestStore_NeverShowsThePassword(t *testing.T) { // not parallel: it sets the environment
	const conninfo, broken = "host=db user=ann password=hunter2", "postgres://ann:hunter2/db"
	f := func(want string, args ...string) {
		t.Helper()
		code, out, errs := runAssay(t, "", args...)
		if code != exitUsage || !strings.Contains(errs, want) || strings.Contains(out+errs, "hunter2") {
			t.Errorf("%q ends with %d:\n%s%s, want %q and no password", args, code, out, errs, want)
		}
		found, err := filepath.Glob("*hunter2*")
		if err != nil || len(found) > 0 {
			t.Errorf("%q makes the folders %q (%v)", args, found, err)
		}
	}
	const allowed = "must begin with sqlite:// or postgres://"
	for _, flag := range []string{"store", "store-read"} {
		f("invalid value for --"+flag+": "+allowed, "serve", "--"+flag, conninfo)
		f("invalid value for --"+flag+": must be postgres://", "serve", "--"+flag+"="+broken)
		variable := environmentVariable(flag)
		t.Setenv(variable, conninfo)
		f("invalid value in "+variable+" for --"+flag+": "+allowed, "serve")
		f("invalid value in "+variable+" for --"+flag+": "+allowed, "config", "check")
		t.Setenv(variable, "")
		file := writeConfig(t, "[serve]\n"+flag+" = \""+conninfo+"\"\n")
		f(file+":2: invalid value for "+flag+": "+allowed, "serve", "--config", file)
		f(file+":2: invalid value for "+flag+": "+allowed, "config", "check", "--config", file)
	}
	f("invalid value for --from: "+allowed, "migrate", "--from", conninfo, "--to", "sqlite://new")
	f("invalid value for --to: "+allowed, "migrate", "--from", "sqlite://old", "--to", conninfo)
	f("invalid value for --dir: must be a folder; pass the address of a database in --store",
		"key", "list", "--dir", "postgres://ann:hunter2@db/assay")
	f(`unexpected argument "postgres://ann:xxxxx@db/assay"`, "key", "list", "postgres://ann:hunter2@db/assay")
	t.Setenv("ASSAY_LIMITS", "db,password=hunter2")
	f("invalid value in ASSAY_LIMITS for --limits: must be redis://", "config", "check")
}
