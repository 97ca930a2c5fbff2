package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assaydata/assay/internal/store/storetest"
)

func TestStoreRead_Refused(t *testing.T) { // not parallel: it sets the environment
	f := func(want string, args ...string) {
		t.Helper()
		serve := []string{"serve", "--addr", "127.0.0.1:0", "--dir", t.TempDir()}
		code, out, errs := runAssay(t, "", append(serve, args...)...)
		if code != exitUsage || !strings.Contains(errs, want) || strings.Contains(out+errs, "hunter2") {
			t.Errorf("%q ends with %d:\n%s%s, want %q and no password", args, code, out, errs, want)
		}
	}
	const primary, replica = "postgres://ann:hunter2@127.0.0.1:1/db", "postgres://ann:hunter2@127.0.0.1:2/db"
	f("use --role read or --role all", "--role", "publish", "--store", primary, "--store-read", replica)
	f("which must be PostgreSQL", "--role", "read", "--store-read", replica)
	f("which must be PostgreSQL", "--role", "read", "--store", "sqlite://"+t.TempDir(), "--store-read", replica)
	f("must be the address of a PostgreSQL replica",
		"--role", "read", "--store", primary, "--store-read", "sqlite://hunter2")
	t.Setenv("ASSAY_STORE_READ", replica)
	f("which must be PostgreSQL", "--role", "read")
}

// A node that reads a replica follows it, reads keys from the primary, and reports when either is down or the replica
// is behind.
func TestStoreRead(t *testing.T) {
	t.Parallel()
	needProgram(t)
	standby := storetest.StartStandby(t)
	primary := standby.Postgres(t)
	useStore(t, "--dir", t.TempDir(), "--store", primary)
	dir := t.TempDir()
	command := func(line string) string {
		return assayIn(t, dir, strings.Replace(line, "PRIMARY", "--store "+primary, 1))
	}
	staying := command("key create PRIMARY --tier full --name staying")
	going := command("key create PRIMARY --tier full --name going")
	toPrimary, toReplica := storetest.NewWire(t, primary), storetest.NewWire(t, standby.Of(primary))
	p := startReader(t, dir, "reader", "--store", toPrimary.Of(primary), "--store-read", toReplica.Of(primary))
	want := newRequester(t, p)
	const recordPath = "/api/gpu/H100%20SXM/determination?timestamp=2025-06-10T11:00:00Z"
	const newPath, newValue = "/api/gpu/H100%20SXM/history?datetime=2025-06-14T11:00:00Z", `"index_value":3.1`
	const old = `"index_value":2.2`
	want(soon, "", "/health", http.StatusOK, fresh, `"status":"healthy"`)
	want(atOnce, staying, recordPath, http.StatusOK, fresh, "")
	want(atOnce, going, newPath, http.StatusOK, fresh, old)

	// The replica stops replaying: keys still follow, values are old, and the node says so.
	storetest.ExecAt(t, standby.Of(primary), `SELECT pg_wal_replay_pause()`)
	row := strings.Join(plainColumns, ",") +
		"\nt9,exchange,2025-06-14T10:30:00Z,H100 SXM,us-east,3.1,1,1,Alder,true\n"
	if err := os.WriteFile(filepath.Join(dir, "row.csv"), []byte(row), 0o600); err != nil {
		t.Fatal(err)
	}
	command("import transactions PRIMARY row.csv")
	command("publish PRIMARY --from 2025-06-14 --to 2025-06-15")
	command("key revoke PRIMARY " + strings.Split(going, "_")[2])
	want(soon, going, newPath, http.StatusUnauthorized, eitherAge, "API key is inactive")
	want(soon, staying, newPath, http.StatusOK, stale, old)
	want(atOnce, "", "/health", http.StatusOK, stale, `"status":"healthy"`)
	storetest.ExecAt(t, standby.Of(primary), `SELECT pg_wal_replay_resume()`)
	want(soon, staying, newPath, http.StatusOK, fresh, newValue)

	// Either is down: the node responds from memory and does not switch to the other.
	for _, wire := range []*storetest.Wire{toReplica, toPrimary} {
		wire.Cut()
		want(soon, "", "/health", http.StatusServiceUnavailable, stale, `"status":"unhealthy"`)
		want(atOnce, staying, newPath, http.StatusOK, stale, newValue)
		if wire == toReplica {
			want(atOnce, staying, recordPath, http.StatusServiceUnavailable, stale, "")
		}
		wire.Mend()
		want(soon, "", "/health", http.StatusOK, fresh, `"status":"healthy"`)
	}
	if err := p.stop(); err != nil {
		t.Error(err)
	}
}
