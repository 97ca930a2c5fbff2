package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// longPath has a response that exceeds the buffers of a connection, so that the server is busy until it is read.
const longPath = "/api/gpu/H100%20SXM/hourly?startDate=2002-01-01"

// longHistory is a folder with a price for each of 200,000 hours, and a Full key.
var longHistory = sync.OnceValues(func() (key string, err error) {
	var rows bytes.Buffer
	fmt.Fprintln(&rows, strings.Join(plainColumns, ","))
	from := time.Date(2002, 1, 1, 0, 30, 0, 0, time.UTC)
	for i := range 200_000 {
		at := from.Add(time.Duration(i) * time.Hour).Format(time.RFC3339)
		fmt.Fprintf(&rows, "%d,exchange,%s,H100 SXM,,2.%03d,1,1,Alder,true\n", i, at, i%1000)
	}
	if err := os.WriteFile(filepath.Join(sharedFolder, "hours.csv"), rows.Bytes(), 0o600); err != nil {
		return "", err
	}
	var out []byte
	for _, line := range []string{
		"init --dir hours --no-signing-key", "import transactions --dir hours hours.csv",
		"publish --dir hours --from 2002-01-01 --to 2025-06-01",
		"key create --dir hours --tier full --name reader",
	} {
		cmd := exec.Command(program, strings.Fields(line)...)
		cmd.Dir = sharedFolder
		if out, err = cmd.Output(); err != nil {
			return "", fmt.Errorf("assay %s: %w", line, err)
		}
	}
	return strings.TrimSpace(string(out)), nil
})

// historyServer serves the long history.
type historyServer struct {
	*process
	key string
}

func startHistoryServer(t *testing.T) *historyServer {
	t.Helper()
	needProgram(t)
	key, err := longHistory()
	if err != nil {
		t.Fatal(err)
	}
	p, err := startServer(sharedFolder, "hours", "serve", "--dir", "hours", "--key-limit", "1000000")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	return &historyServer{p, key}
}

// get starts a request for the long response; the caller reads it.
func (s *historyServer) get(ctx context.Context, client *http.Client) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+longPath, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+s.key)
	response, err := client.Do(request)
	if err == nil && response.StatusCode != http.StatusOK {
		response.Body.Close()
		return nil, errors.New(response.Status)
	}
	return response, err
}

// newClient makes a client with separate connections, which does not decompress responses.
func newClient(t *testing.T) *http.Client {
	transport := &http.Transport{DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// TestShutdown stops a server in the middle of requests. Its cases share a folder, so they run one after the other.
func TestShutdown(t *testing.T) {
	t.Parallel()
	t.Run("drops no request", testShutdownDropsNoRequest)
	t.Run("slow reader gets the rest", testShutdownSlowReader)
}

func testShutdownDropsNoRequest(t *testing.T) {
	s := startHistoryServer(t)
	const readers, before = 8, 50 // responses to read before the signal
	var complete atomic.Int64
	enough := make(chan struct{})
	var wg sync.WaitGroup
	for range readers {
		client := newClient(t)
		wg.Go(func() {
			for {
				tried := &attempt{}
				if err := s.read(tried.trace(t.Context()), client); err != nil {
					if !tried.neverAccepted(err) {
						t.Errorf("a request was dropped: %v (connection used before: %t, response started: %t)",
							err, tried.reused.Load(), tried.started.Load())
					}
					return
				}
				if complete.Add(1) == before {
					close(enough)
				}
			}
		})
	}
	ended := make(chan struct{})
	go func() { wg.Wait(); close(ended) }()
	select {
	case <-enough:
	case <-ended:
		t.Fatal("the readers have ended before the signal")
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	<-ended
	// The log of the server has exactly the responses that arrived.
	if logged := countLogged(t, filepath.Join(sharedFolder, "hours.err")); logged != complete.Load() {
		t.Errorf("the server logged %d responses, and %d arrived", logged, complete.Load())
	}
}

// read sends a request and reads the whole response. A body shorter than its Content-Length is an error.
func (s *historyServer) read(ctx context.Context, client *http.Client) error {
	response, err := s.get(ctx, client)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	n, err := io.Copy(io.Discard, response.Body)
	if err == nil && n != response.ContentLength {
		err = fmt.Errorf("%d bytes of %d", n, response.ContentLength)
	}
	return err
}

// attempt is how far a request got.
type attempt struct{ reused, started atomic.Bool }

func (a *attempt) trace(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn:              func(info httptrace.GotConnInfo) { a.reused.Store(info.Reused) },
		GotFirstResponseByte: func() { a.started.Store(true) },
	})
}

// neverAccepted reports whether a request failed before the server accepted it: the server no longer listened, the
// connection was waiting to be accepted when the listening ended, or the server had closed the idle connection when the
// request arrived, which HTTP/1.1 cannot prevent.
func (a *attempt) neverAccepted(err error) bool {
	if a.started.Load() {
		return false
	}
	return a.reused.Load() || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET)
}

// countLogged counts the long responses in a log.
func countLogged(t *testing.T, file string) (n int64) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var entry struct {
			Path   string
			Status int
		}
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Errorf("the log has the line %q: %v", line, err)
		}
		if entry.Path == "/api/gpu/{gpuName}/hourly" && entry.Status == http.StatusOK {
			n++
		}
	}
	return n
}

func testShutdownSlowReader(t *testing.T) {
	s := startHistoryServer(t)
	whole, err := s.get(t.Context(), newClient(t))
	if err != nil {
		t.Fatal(err)
	}
	want, err := io.ReadAll(whole.Body)
	if err != nil {
		t.Fatal(err)
	}
	// A small buffer on this side keeps most of the response at the server.
	slow := &http.Client{Transport: &http.Transport{
		DisableCompression: true,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
			if err == nil {
				err = conn.(*net.TCPConn).SetReadBuffer(32 << 10)
			}
			return conn, err
		},
	}}
	response, err := s.get(t.Context(), slow)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	got := make([]byte, len(want)/2)
	if _, err := io.ReadFull(response.Body, got); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	// The shutdown has started when the server no longer listens.
	err = until(patience, time.Millisecond, func() error {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err == nil {
			conn.Close()
			return errors.New("still listening")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatalf("after %d of %d bytes: %v", len(got)+len(rest), len(want), err)
	}
	if got = append(got, rest...); string(got) != string(want) {
		t.Errorf("got %d bytes that differ from the %d bytes of the whole response", len(got), len(want))
	}
	<-s.exited
	if code := s.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d, not 0", code)
	}
}
