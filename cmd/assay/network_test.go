package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/assaydata/assay/internal/store/storetest"
)

// wiredReader starts a node that reads from PostgreSQL over a wire. It gives the store's address past the wire too, and
// two keys.
func wiredReader(t *testing.T) (p *process, wire *storetest.Wire, direct string, keys [2]string) {
	t.Helper()
	dir := nodeFolder(t)
	direct = storetest.Postgres(t)
	assayIn(t, dir, "import transactions --store "+direct+" rows.csv")
	assayIn(t, dir, "publish --store "+direct+" --from 2025-06-10 --to 2025-06-11")
	for i := range keys {
		keys[i] = assayIn(t, dir, "key create --store "+direct+" --tier full --name reader")
	}
	wire = storetest.NewWire(t, direct)
	return startReader(t, dir, "reader", "--store", wire.Of(direct)), wire, direct, keys
}

// newAsker gives what asks a node again until the answer is as wanted, or the limit is over. Stale is whether the
// answer must say that it is old.
func newAsker(t *testing.T, p *process) func(limit time.Duration, key, path string, status int, stale bool, inside string) {
	t.Helper()
	client := newClient(t)
	return func(limit time.Duration, key, path string, status int, stale bool, inside string) {
		t.Helper()
		err := until(limit, 20*time.Millisecond, func() error {
			response, body, err := getWith(client, key, p.url+path)
			if err != nil {
				return err
			}
			header := response.Header.Get("X-Assay-Stale")
			if response.StatusCode != status || !strings.Contains(body, inside) || stale != (header != "") {
				return fmt.Errorf("%s: status %d and X-Assay-Stale %q, want %d, stale %v and %s: %s", path, response.StatusCode, header, status, stale, inside, body)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A node whose connections stay while nothing comes over them knows that its database is away, answers from memory, and
// catches up once the network does: in silence nothing may wait without end.
func TestNodes_SilentNetwork(t *testing.T) {
	p, wire, direct, keys := wiredReader(t)
	staying, going := keys[0], keys[1]
	want := newAsker(t, p)
	const value, inactive = `"index_value":2.35`, "API key is inactive"
	want(0, going, nearestPath, http.StatusOK, false, value)

	wire.Stall()
	want(10*time.Second, "", "/health", http.StatusServiceUnavailable, false, `"database":"disconnected"`)
	assayIn(t, t.TempDir(), "key revoke --store "+direct+" "+strings.Split(going, "_")[2])
	want(30*time.Second, staying, nearestPath, http.StatusOK, true, value)
	want(0, going, nearestPath, http.StatusOK, true, value)

	wire.Mend()
	want(5*time.Second, going, nearestPath, http.StatusUnauthorized, false, inactive)
	want(5*time.Second, "", "/health", http.StatusOK, false, `"status":"healthy"`)
	want(5*time.Second, staying, nearestPath, http.StatusOK, false, value)
	if err := p.stop(); err != nil {
		t.Error(err)
	}
}
