//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/assaydata/assay/tools/process"
	"github.com/assaydata/assay/tools/target"
)

// reader is a well-behaved client: it sends few requests, waits for the responses and stays within its limits. It runs
// in a process of its own, so that it measures the server and not the attackers' garbage and goroutines.
type reader struct {
	process *exec.Cmd
	to      *json.Encoder
	from    *json.Decoder
}

// readerTask is the first line that a reader's process gets. Each line that follows is how long to read, in
// nanoseconds; the process responds to each with a line of its readings.
type readerTask struct {
	Server string
	Keys   []string
}

// startReader starts the process of a reader, which is this program with -reader. It ends with this process.
func startReader(server string, keys []string) (*reader, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	r := &reader{process: exec.Command(program, "-reader")} //nolint:gosec // G204: this program
	r.process.Stderr, r.process.SysProcAttr = os.Stderr, process.EndWithParent(syscall.SIGKILL, nil)
	to, err := r.process.StdinPipe()
	if err != nil {
		return nil, err
	}
	from, err := r.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := r.process.Start(); err != nil {
		return nil, fmt.Errorf("start the reader: %w", err)
	}
	r.to, r.from = json.NewEncoder(to), json.NewDecoder(from)
	return r, r.to.Encode(readerTask{server, keys})
}

// stop ends the process.
func (r *reader) stop() {
	r.process.Process.Kill()
	r.process.Wait()
}

// read lets the process read for a time.
func (r *reader) read(d time.Duration) (got readings, err error) {
	if err := r.to.Encode(d); err != nil {
		return got, fmt.Errorf("the reader: %w", err)
	}
	if err := r.from.Decode(&got); err != nil {
		return got, fmt.Errorf("the reader: %w", err)
	}
	return got, nil
}

// runReader is the process of a reader.
func runReader(ctx context.Context) error {
	in := json.NewDecoder(bufio.NewReader(os.Stdin))
	var task readerTask
	if err := in.Decode(&task); err != nil {
		return err
	}
	c := &readerClient{server: "http://" + task.Server, client: target.NewClient(readerFrom), keys: task.Keys}
	for out := json.NewEncoder(os.Stdout); ; {
		var d time.Duration
		if err := in.Decode(&d); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := out.Encode(c.read(ctx, d)); err != nil {
			return err
		}
	}
}

// readerClient is the client in the process of a reader.
type readerClient struct {
	server string
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

// readings is what the reader has noticed.
type readings struct {
	Count, Failed int
	First         string // of the failures
	P50, P99      time.Duration
}

// read sends requests at a steady rate until the time is over. The time of a response counts from when its request was
// due, so that a late one makes those behind it late too.
func (c *readerClient) read(ctx context.Context, d time.Duration) readings {
	count := int(d.Seconds() * readerRate)
	took := make([]time.Duration, count)
	var next, failed atomic.Int64
	var first string
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
				if err := c.readOne(ctx); err != nil && ctx.Err() == nil {
					failed.Add(1)
					once.Do(func() { first = err.Error() })
				}
				took[n] = time.Since(due)
			}
		})
	}
	group.Wait()
	slices.Sort(took)
	return readings{Count: count, Failed: int(failed.Load()), First: first, P50: took[count/2], P99: took[count*99/100]}
}

func (c *readerClient) readOne(ctx context.Context) error {
	n := int(c.sent.Add(1))
	q := readRequests[n%len(readRequests)]
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.server+q.path, nil)
	if err != nil {
		return err
	}
	request.Header.Set("X-Forwarded-For", fmt.Sprintf("172.16.%d.%d", n/4>>8&255, n/4&255))
	if q.keyed {
		request.Header.Set("Authorization", "Bearer "+c.keys[n%len(c.keys)])
	}
	response, err := c.client.Do(request)
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
