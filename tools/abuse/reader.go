//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/assaydata/assay/tools/target"
)

// reader is a well-behaved client: it sends few requests, waits for the responses and stays within its limits.
type reader struct {
	server *target.Server
	client *http.Client
	keys   []string
	sent   atomic.Int64
}

// readRequest is a request of the reader, and a text that every response to it contains.
type readRequest struct {
	path  string
	keyed bool
	want  string
}

var readRequests = []readRequest{
	{"/api/gpu/H100%20SXM", false, `"index_value":`},
	{"/api/gpu/H100%20SXM/hourly?limit=24&order=desc", true, `"index_value":`},
	{"/api/daily-index", false, `"index_value":`},
	{"/api/gpu/H200/index-history?limit=90", true, `"granularity":"daily"`},
}

const (
	readerRate    = 100 // requests a second
	readerWorkers = 8   // requests at a time
)

func newReader(s *target.Server, keys []string) *reader {
	return &reader{server: s, client: target.NewClient(readerFrom), keys: keys}
}

// readings is what the reader has noticed.
type readings struct {
	count, failed int
	first         error // of the failures
	p50, p99      time.Duration
}

// read sends requests at a steady rate until the time is over. The time of a response counts from when its request was
// due, so that a late one makes those behind it late too.
func (r *reader) read(ctx context.Context, d time.Duration) (got readings) {
	count := int(d.Seconds() * readerRate)
	took := make([]time.Duration, count)
	var next, failed atomic.Int64
	var first error
	var once sync.Once
	var group sync.WaitGroup
	begun := time.Now()
	for range readerWorkers {
		group.Go(func() {
			for ctx.Err() == nil {
				n := int(next.Add(1) - 1)
				if n >= count {
					return
				}
				due := begun.Add(time.Duration(n) * time.Second / readerRate)
				pause(ctx, time.Until(due))
				if err := r.readOne(ctx); err != nil && ctx.Err() == nil {
					failed.Add(1)
					once.Do(func() { first = err })
				}
				took[n] = time.Since(due)
			}
		})
	}
	group.Wait()
	slices.Sort(took)
	return readings{count: count, failed: int(failed.Load()), first: first, p50: took[count/2], p99: took[count*99/100]}
}

func (r *reader) readOne(ctx context.Context) error {
	n := int(r.sent.Add(1))
	q := readRequests[n%len(readRequests)]
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.server.URL(q.path), nil)
	if err != nil {
		return err
	}
	request.Header.Set("X-Forwarded-For", fmt.Sprintf("172.16.%d.%d", n/4>>8&255, n/4&255))
	if q.keyed {
		request.Header.Set("Authorization", "Bearer "+r.keys[n%len(r.keys)])
	}
	response, err := r.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && (response.StatusCode != http.StatusOK || !bytes.Contains(body, []byte(q.want))) {
		err = fmt.Errorf("GET %s: %s: %.300s", q.path, response.Status, body)
	}
	return err
}
