package main

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assaydata/assay/internal/relay"
	"github.com/assaydata/assay/internal/store/storetest"
)

// relayedReader starts a node that reads from PostgreSQL through a relay. It gives the store's address past the relay too, and
// two keys.
func relayedReader(t *testing.T) (p *process, between *relay.Relay, direct string, keys [2]string) {
	t.Helper()
	dir := nodeFolder(t)
	direct = storetest.Postgres(t)
	assayIn(t, dir, "import transactions --store "+direct+" rows.csv")
	assayIn(t, dir, "publish --store "+direct+" --from 2025-06-10 --to 2025-06-11")
	for i := range keys {
		keys[i] = assayIn(t, dir, "key create --store "+direct+" --tier full --name reader")
	}
	address, err := url.Parse(direct)
	if err != nil {
		t.Fatal(err)
	}
	if between, err = relay.Open(address.Host); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = between.Close() })
	address.Host = between.Address()
	if p, err = startServer(dir, "reader", "serve", "--role", "read", "--store", address.String(), "--key-limit", "1000000"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	t.Cleanup(func() {
		if text, err := os.ReadFile(filepath.Join(dir, "reader.err")); err == nil && t.Failed() {
			t.Logf("the node's log:\n%s", text)
		}
	})
	return p, between, direct, keys
}

// A node whose connections stay while nothing comes over them knows that its database is away, answers from memory, and catches up
// once the network does: in silence nothing may wait without end.
func TestNodes_SilentNetwork(t *testing.T) {
	p, between, direct, keys := relayedReader(t)
	staying, going := keys[0], keys[1]
	client := newClient(t)
	// want asks again until the limit; stale is whether the answer must say that it is old.
	want := func(limit time.Duration, key, path string, status int, stale bool, inside string) {
		t.Helper()
		err := until(limit, 20*time.Millisecond, func() error {
			response, body, err := getWith(client, key, p.url+path)
			if err != nil {
				return err
			}
			header := response.Header.Get("X-Assay-Stale")
			if response.StatusCode != status || !strings.Contains(body, inside) || stale != (header != "") {
				return fmt.Errorf("%s: status %d and X-Assay-Stale %q, want %d and %s: %s", path, response.StatusCode, header, status, inside, body)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	const value, inactive = `"index_value":2.35`, "API key is inactive"
	want(0, going, nearestPath, http.StatusOK, false, value)

	if err := between.Set(relay.Silent); err != nil {
		t.Fatal(err)
	}
	want(10*time.Second, "", "/health", http.StatusServiceUnavailable, false, `"database":"disconnected"`)
	assayIn(t, t.TempDir(), "key revoke --store "+direct+" "+strings.Split(going, "_")[2])
	want(30*time.Second, staying, nearestPath, http.StatusOK, true, value)
	want(0, going, nearestPath, http.StatusOK, true, value)

	if err := between.Set(relay.None); err != nil {
		t.Fatal(err)
	}
	want(5*time.Second, going, nearestPath, http.StatusUnauthorized, false, inactive)
	want(5*time.Second, "", "/health", http.StatusOK, false, `"status":"healthy"`)
	want(5*time.Second, staying, nearestPath, http.StatusOK, false, value)
	if err := p.stop(); err != nil {
		t.Error(err)
	}
}
