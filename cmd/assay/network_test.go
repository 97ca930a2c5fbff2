package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/assaydata/assay/internal/store/storetest"
)

// wiredReader starts a node that reads from PostgreSQL through a connection that the test can break. It also returns
// the direct address of the database and two keys.
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

// How long a response may take to become as wanted. What happens soon takes a second on a quiet machine.
const (
	atOnce = time.Duration(0)
	soon   = patience
)

// age is whether a response must say that its data is old, in X-Assay-Stale.
type age int

const (
	fresh age = iota
	stale
	eitherAge // depends on how long the test has taken
)

// newRequester returns a function that repeats a request until the response is as wanted or the limit is over.
func newRequester(
	t *testing.T, p *process,
) func(limit time.Duration, key, path string, status int, a age, inside string) {
	t.Helper()
	client := newClient(t)
	return func(limit time.Duration, key, path string, status int, a age, inside string) {
		t.Helper()
		err := until(limit, 20*time.Millisecond, func() error {
			response, body, err := getWith(client, key, p.url+path)
			if err != nil {
				return err
			}
			header := response.Header.Get("X-Assay-Stale")
			rightAge := a == eitherAge || (a == stale) == (header != "")
			if response.StatusCode != status || !strings.Contains(body, inside) || !rightAge {
				return fmt.Errorf("%s: status %d and X-Assay-Stale %q, want %d and %s: %s",
					path, response.StatusCode, header, status, inside, body)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A node whose connections stay open while nothing comes through notices that its database is gone, responds from
// memory, and catches up when the network is back: nothing may wait forever.
func TestNodes_SilentNetwork(t *testing.T) {
	t.Parallel()
	p, wire, direct, keys := wiredReader(t)
	staying, going := keys[0], keys[1]
	want := newRequester(t, p)
	const value, inactive = `"index_value":2.35`, "API key is inactive"
	want(atOnce, going, nearestPath, http.StatusOK, fresh, value)

	wire.Stall()
	want(soon, "", "/health", http.StatusServiceUnavailable, eitherAge, `"database":"disconnected"`)
	assayIn(t, t.TempDir(), "key revoke --store "+direct+" "+strings.Split(going, "_")[2])
	want(soon, staying, nearestPath, http.StatusOK, stale, value)
	want(atOnce, going, nearestPath, http.StatusOK, stale, value)

	wire.Mend()
	want(soon, going, nearestPath, http.StatusUnauthorized, fresh, inactive)
	want(soon, "", "/health", http.StatusOK, fresh, `"status":"healthy"`)
	want(soon, staying, nearestPath, http.StatusOK, fresh, value)
	if err := p.stop(); err != nil {
		t.Error(err)
	}
}
