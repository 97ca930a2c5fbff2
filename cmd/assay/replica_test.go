package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assaydata/assay/internal/store/storetest"
)

func TestStoreRead_Refused(t *testing.T) {
	f := func(want string, args ...string) {
		t.Helper()
		code, out, errs := runAssay(t, "", append([]string{"serve", "--addr", "127.0.0.1:0", "--dir", t.TempDir()}, args...)...)
		if code != exitUsage || !strings.Contains(errs, want) || strings.Contains(out+errs, "hunter2") {
			t.Errorf("%q ends with %d:\n%s%s, want %q and no password", args, code, out, errs, want)
		}
	}
	const primary, replica = "postgres://ann:hunter2@127.0.0.1:1/db", "postgres://ann:hunter2@127.0.0.1:2/db"
	f("use --role read or --role all", "--role", "publish", "--store", primary, "--store-read", replica)
	f("which must be PostgreSQL", "--role", "read", "--store-read", replica)
	f("which must be PostgreSQL", "--role", "read", "--store", "sqlite://"+t.TempDir(), "--store-read", replica)
	f("must be the address of a PostgreSQL replica", "--role", "read", "--store", primary, "--store-read", "sqlite://hunter2")
	t.Setenv("ASSAY_STORE_READ", replica)
	f("which must be PostgreSQL", "--role", "read")
}

// A node that reads a replica follows it, sees keys at the primary, and says so when either is away or the replica is
// old.
func TestStoreRead(t *testing.T) {
	needProgram(t)
	standby := storetest.StartStandby(t)
	primary := storetest.Postgres(t)
	useStore(t, "--dir", t.TempDir(), "--store", primary)
	dir := t.TempDir()
	command := func(line string) string {
		return assayIn(t, dir, strings.Replace(line, "PRIMARY", "--store "+primary, 1))
	}
	staying, going := command("key create PRIMARY --tier full --name staying"), command("key create PRIMARY --tier full --name going")
	toPrimary, toReplica := storetest.NewWire(t, primary), storetest.NewWire(t, standby.Of(primary))
	p := startReader(t, dir, "reader", "--store", toPrimary.Of(primary), "--store-read", toReplica.Of(primary))
	want := newAsker(t, p)
	const recordPath = "/api/gpu/H100%20SXM/determination?timestamp=2025-06-10T11:00:00Z"
	const newPath, newValue = "/api/gpu/H100%20SXM/history?datetime=2025-06-14T11:00:00Z", `"index_value":3.1`
	const old = `"index_value":2.2`
	want(time.Minute, "", "/health", http.StatusOK, false, `"status":"healthy"`)
	want(0, staying, recordPath, http.StatusOK, false, "")
	want(0, going, newPath, http.StatusOK, false, old)

	// The replica stands still: keys are followed all the same, values are old, and the node says so.
	storetest.ExecAt(t, standby.Of(primary), `SELECT pg_wal_replay_pause()`)
	const row = "id,source,executed_at,gpu_name,region,price,gpus,hours,provider,verified\nt9,exchange,2025-06-14T10:30:00Z,H100 SXM,us-east,3.1,1,1,Alder,true\n"
	if err := os.WriteFile(filepath.Join(dir, "row.csv"), []byte(row), 0o600); err != nil {
		t.Fatal(err)
	}
	command("import transactions PRIMARY row.csv")
	command("publish PRIMARY --from 2025-06-14 --to 2025-06-15")
	command("key revoke PRIMARY " + strings.Split(going, "_")[2])
	want(2*time.Second, going, newPath, http.StatusUnauthorized, false, "API key is inactive")
	want(time.Minute, staying, newPath, http.StatusOK, true, old)
	want(0, "", "/health", http.StatusOK, true, `"status":"healthy"`)
	storetest.ExecAt(t, standby.Of(primary), `SELECT pg_wal_replay_resume()`)
	want(time.Minute, staying, newPath, http.StatusOK, false, newValue)

	// Either is away: the node answers from memory, and does not change over to the other.
	for _, wire := range []*storetest.Wire{toReplica, toPrimary} {
		wire.Cut()
		want(time.Minute, "", "/health", http.StatusServiceUnavailable, true, `"status":"unhealthy"`)
		want(0, staying, newPath, http.StatusOK, true, newValue)
		if wire == toReplica {
			want(0, staying, recordPath, http.StatusServiceUnavailable, true, "")
		}
		wire.Mend()
		want(time.Minute, "", "/health", http.StatusOK, false, `"status":"healthy"`)
	}
	if err := p.stop(); err != nil {
		t.Error(err)
	}
}
