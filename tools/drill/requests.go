//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/assaydata/assay/tools/process"
)

// nodeResponse is the response of a node.
type nodeResponse struct {
	status int
	stale  string // X-Assay-Stale
	body   []byte
}

var nodeClient = &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 4}}

// get sends a request from a client address, with a key unless it is empty.
func (r *readNode) get(ctx context.Context, path, key, from string) (a nodeResponse, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+process.Loopback(r.port)+path, nil)
	if err != nil {
		return a, err
	}
	request.Header.Set("X-Forwarded-For", from)
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	response, err := nodeClient.Do(request)
	if err != nil {
		return a, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return nodeResponse{response.StatusCode, response.Header.Get("X-Assay-Stale"), body}, err
}

// decode reads the body of a successful response.
func (a nodeResponse) decode(into any) error {
	if a.status != http.StatusOK {
		return fmt.Errorf("status %d: %s", a.status, process.Tail(a.body))
	}
	return json.Unmarshal(a.body, into)
}

var addresses atomic.Uint32

// freshAddress is an unused client address, so that no limit is reached.
func freshAddress() string {
	n := addresses.Add(1)
	return fmt.Sprintf("10.%d.%d.%d", byte(n>>16), byte(n>>8), byte(n))
}

// health is a node's response to /health.
type health struct {
	code   int
	Status string
	Limits struct{ Mode string }
}

func (r *readNode) health(ctx context.Context) (h health, err error) {
	a, err := r.get(ctx, "/health", "", freshAddress())
	if err != nil {
		return h, err
	}
	err = json.Unmarshal(a.body, &h)
	h.code = a.status
	return h, err
}

// publishedAt is the time of the newest publication that the node shows.
func (r *readNode) publishedAt(ctx context.Context) (at time.Time, err error) {
	a, err := r.get(ctx, "/api/publications/latest", "", freshAddress())
	if err != nil {
		return at, err
	}
	var latest struct {
		Data struct {
			At time.Time `json:"published_at"`
		}
	}
	err = a.decode(&latest)
	return latest.Data.At, err
}

// printedAt is the minute of the newest real-time print that the node shows.
func (r *readNode) printedAt(ctx context.Context, key string) (at time.Time, err error) {
	a, err := r.get(ctx, "/api/gpu/H100%20SXM/realtime", key, freshAddress())
	if err != nil {
		return at, err
	}
	var shown struct{ Latest struct{ Timestamp time.Time } }
	err = a.decode(&shown)
	return shown.Latest.Timestamp, err
}

// awaitAll waits until every node that lives and reaches the store shows something of that time or later, and gives
// how long after that time it did.
func (d *drill) awaitAll(
	ctx context.Context, what string, since time.Time, shown func(context.Context, *readNode) (time.Time, error),
) (time.Duration, error) {
	err := process.Await(ctx, what+" on all nodes", patience, func(ctx context.Context) error {
		for _, r := range d.readNodes {
			if !r.isLive() || r.cut {
				continue
			}
			at, err := shown(ctx, r)
			if err != nil {
				return fmt.Errorf("%s: %w", r.name, err)
			}
			if at.Before(since) {
				return fmt.Errorf("%s shows %s, and not yet %s", r.name, at.Format(time.RFC3339Nano),
					since.Format(time.RFC3339Nano))
			}
		}
		return nil
	})
	return time.Since(since), err
}

// awaitPublication waits until all show a publication that was made since then.
func (d *drill) awaitPublication(ctx context.Context, since time.Time) (time.Duration, error) {
	return d.awaitAll(ctx, "a new publication", since,
		func(ctx context.Context, r *readNode) (time.Time, error) { return r.publishedAt(ctx) })
}

// awaitPrint waits until all show the print of a minute, or any print for the zero minute.
func (d *drill) awaitPrint(ctx context.Context, minute time.Time) (time.Duration, error) {
	return d.awaitAll(ctx, "a print", minute,
		func(ctx context.Context, r *readNode) (time.Time, error) { return r.printedAt(ctx, d.key) })
}

// listens returns an error unless a server listens on a port.
func listens(ctx context.Context, port int) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", process.Loopback(port))
	if err != nil {
		return err
	}
	return conn.Close()
}
