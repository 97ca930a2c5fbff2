package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assaydata/assay/internal/store/storetest"
)

// nodeFolder is a folder with a database in data that has two days of one GPU.
func nodeFolder(t *testing.T) (dir string) {
	t.Helper()
	needProgram(t)
	dir = t.TempDir()
	const rows = `id,source,executed_at,gpu_name,region,price,gpus,hours,provider,verified
t1,exchange,2025-06-10T10:15:00Z,H100 SXM,us-east,2.35,1,1,Alder,true
t2,exchange,2025-06-11T10:15:00Z,H100 SXM,us-east,2.4,1,1,Alder,true
`
	if err := os.WriteFile(filepath.Join(dir, "rows.csv"), []byte(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	assayIn(t, dir, "init --no-signing-key --dir data")
	assayIn(t, dir, "import transactions --dir data rows.csv")
	assayIn(t, dir, "publish --dir data --from 2025-06-10 --to 2025-06-11")
	return dir
}

// assayIn runs the program in a folder and returns its output.
func assayIn(t *testing.T, dir, line string) string {
	t.Helper()
	out, err := runIn(dir, line)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// runIn is assayIn for a goroutine that is not the test's.
func runIn(dir, line string) (string, error) {
	cmd := exec.Command(program, strings.Fields(line)...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("assay %s: %w", line, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// startReader starts a node that reads.
func startReader(t *testing.T, dir, name string, flags ...string) *process {
	t.Helper()
	serve := []string{"serve", "--role", "read", "--dir", "data", "--key-limit", "1000000"}
	p, err := startServer(dir, name, append(serve, flags...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	return p
}

// getWith sends a request, with a key if one is given, and reads the whole response.
func getWith(client *http.Client, key, url string) (*http.Response, string, error) {
	request, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return nil, "", err
	}
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response, string(body), err
}

// nearestPath has a short response, on a route that is limited per key only.
const nearestPath = "/api/gpu/H100%20SXM/history?datetime=2025-06-10"

// A node keeps working without its database, in all of its parts, and catches up automatically.
func TestNodes_DatabaseAway(t *testing.T) {
	t.Parallel()
	dir := nodeFolder(t)
	staying := assayIn(t, dir, "key create --dir data --tier full --name staying")
	going := assayIn(t, dir, "key create --dir data --tier full --name going")
	p := startReader(t, dir, "reader")
	client := newClient(t)
	want := func(limit time.Duration, key, path string, status int, more ...string) (header http.Header) {
		t.Helper()
		err := until(limit, 20*time.Millisecond, func() error {
			response, body, err := getWith(client, key, p.url+path)
			if err != nil {
				return err
			}
			header = response.Header
			if response.StatusCode != status {
				return fmt.Errorf("%s: status %d, want %d: %s", path, response.StatusCode, status, body)
			}
			for _, text := range more {
				if !strings.Contains(body, text) {
					return fmt.Errorf("%s: %s is missing in %s", path, text, body)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return header
	}
	const recordPath = "/api/gpu/H100%20SXM/determination?timestamp=2025-06-10T11:00:00Z"
	want(atOnce, staying, recordPath, http.StatusOK)

	// Every read of the database fails from here on.
	db := storetest.OpenIn(t, filepath.Join(dir, "data"))
	storetest.Exec(t, db, `ALTER TABLE series RENAME TO series_away`)
	storetest.Exec(t, db, `ALTER TABLE counters RENAME TO counters_away`)
	want(soon, "", "/health", http.StatusServiceUnavailable,
		`"status":"unhealthy"`, `"database":"disconnected","role":"read"`)
	want(atOnce, staying, nearestPath, http.StatusOK, `"index_value":2.35`)
	want(atOnce, going, nearestPath, http.StatusOK, `"index_value":2.35`)
	want(atOnce, staying, recordPath, http.StatusServiceUnavailable)
	wantStale := func(stale bool) {
		t.Helper()
		err := until(soon, 20*time.Millisecond, func() error {
			if header := want(atOnce, staying, nearestPath, http.StatusOK).Get("X-Assay-Stale"); stale != (header != "") {
				return fmt.Errorf("X-Assay-Stale is %q", header)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	wantStale(true)

	storetest.Exec(t, db, `ALTER TABLE counters_away RENAME TO counters`)
	storetest.Exec(t, db, `ALTER TABLE series_away RENAME TO series`)
	want(soon, "", "/health", http.StatusOK, `"status":"healthy"`)
	assayIn(t, dir, "key revoke --dir data "+strings.Split(going, "_")[2])
	want(soon, going, nearestPath, http.StatusUnauthorized, "API key is inactive")
	assayIn(t, dir, "publish --dir data --from 2025-06-11 --to 2025-06-12")
	want(soon, staying, "/api/gpu/H100%20SXM/history?datetime=2025-06-12", http.StatusOK, `"index_value":2.4`)
	want(atOnce, staying, recordPath, http.StatusOK)
	wantStale(false)
	// Usage counts the requests in between.
	want(soon, staying, "/api/usage", http.StatusOK,
		`"route":"/api/gpu/{gpuName}/determination","status":503,"requests":1`)
	if err := p.stop(); err != nil {
		t.Error(err)
	}
}

// backend is a node as a load balancer sees it: its address, and whether its last check succeeded.
type backend struct {
	url      atomic.Pointer[string]
	up       atomic.Bool
	requests atomic.Int64 // that it has responded to
}

// balancer sends each request to the next node whose check succeeded. It never retries a request.
type balancer struct {
	backends []*backend
	turn     atomic.Int64
}

func (b *balancer) pick() (*backend, error) {
	first := int(b.turn.Add(1))
	for i := range b.backends {
		if one := b.backends[(first+i)%len(b.backends)]; one.up.Load() {
			return one, nil
		}
	}
	return nil, errors.New("no node is up")
}

// check requests the health of a node until the channel is closed.
func (b *backend) check(client *http.Client, done <-chan struct{}) {
	for {
		response, _, err := getWith(client, "", *b.url.Load()+"/health")
		b.up.Store(err == nil && response.StatusCode == http.StatusOK)
		select {
		case <-done:
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// drainTime is long enough for some fifty checks of the balancer.
const drainTime = "1s"

// Two nodes restart one after the other while requests keep coming. None is lost, although none is retried.
func TestNodes_RollingRestart(t *testing.T) {
	t.Parallel()
	dir := nodeFolder(t)
	key := assayIn(t, dir, "key create --dir data --tier full --name reader")
	b := &balancer{backends: []*backend{{}, {}}}
	nodes := make([]*process, len(b.backends))
	start := func(i int) {
		nodes[i] = startReader(t, dir, fmt.Sprint("node", i), "--drain", drainTime)
		b.backends[i].url.Store(&nodes[i].url)
	}
	done := make(chan struct{})
	var checkers, readers sync.WaitGroup
	for i, one := range b.backends {
		start(i)
		one.up.Store(true)
		client := newClient(t)
		checkers.Go(func() { one.check(client, done) })
	}
	var stop atomic.Bool
	for range 4 {
		client := newClient(t)
		readers.Go(func() {
			for !stop.Load() {
				if err := b.read(client, key); err != nil {
					t.Errorf("a request was lost: %v", err)
					return
				}
			}
		})
	}
	// more waits until every node has responded to more requests, or the readers have given up.
	more := func() {
		for _, one := range b.backends {
			before := one.requests.Load()
			if err := until(patience, 10*time.Millisecond, func() error {
				if one.requests.Load() < before+100 && !t.Failed() {
					return errors.New("a node gets no requests")
				}
				return nil
			}); err != nil {
				t.Error(err)
			}
		}
	}
	more()
	for i := range nodes {
		if err := nodes[i].stop(); err != nil {
			t.Error(err)
		}
		start(i)
		more()
	}
	stop.Store(true)
	readers.Wait()
	close(done)
	checkers.Wait()
}

// read makes one request through the balancer.
func (b *balancer) read(client *http.Client, key string) error {
	one, err := b.pick()
	if err != nil {
		return err
	}
	response, body, err := getWith(client, key, *one.url.Load()+nearestPath)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK || !strings.Contains(body, `"index_value":2.35`) {
		return fmt.Errorf("%s: %s", response.Status, body)
	}
	one.requests.Add(1)
	return nil
}
