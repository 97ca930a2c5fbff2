package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/assaydata/assay/tools/process"
)

// assayServer is the server under test.
type assayServer struct {
	*process.Process
	base  string // http://127.0.0.1:port
	keys  apiKeys
	start time.Duration // from its start to its first response, to a tenth of a second
}

// apiKeys are the keys and accounts in the demo's keys file.
type apiKeys struct {
	Premium  string        `json:"premium"`
	Full     string        `json:"full"`
	Accounts []demoAccount `json:"accounts"`
}

// demoAccount is someone who can sign in to the demo.
type demoAccount struct {
	Email    string `json:"email"`
	Password string `json:"password"`
	Plan     string `json:"plan"`
}

// startDemo starts the demo in dir and waits until it serves. It first builds the market, which takes a while.
func startDemo(ctx context.Context, program, dir string) (*assayServer, error) {
	return startDemoWith(ctx, program, dir)
}

// preparedNow is the moment at which the demo of startPrepared runs.
var preparedNow = time.Date(2026, 11, 1, 12, 1, 0, 0, time.UTC)

// startPrepared is startDemo for a run of seconds, most of which building the market would take: it starts with a copy
// of the market that the tests share.
func startPrepared(ctx context.Context, program, dir string) (*assayServer, error) {
	moment := preparedNow.Format(time.RFC3339)
	market := exec.CommandContext(ctx, "scripts/demo-market", filepath.Join(dir, "data"), moment)
	market.Env = append(os.Environ(), "ASSAY_TEST_BINARY="+program)
	if out, err := market.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("scripts/demo-market: %w\n%s", err, out)
	}
	return startDemoWith(ctx, program, dir, "--seed", "1", "--end", moment)
}

func startDemoWith(ctx context.Context, program, dir string, more ...string) (*assayServer, error) {
	keysFile := filepath.Join(dir, "keys.json")
	a, err := startServer(ctx, program, dir, append([]string{
		"demo",
		"--dir", filepath.Join(dir, "data"),
		"--no-feed",              // the same responses from the first round to the last
		"--key-limit", "1000000", // all keyed routes share one key
		"--keys-file", keysFile,
	}, more...)...)
	if err != nil {
		return nil, err
	}
	if a.keys, err = readKeys(keysFile); err != nil {
		a.Stop()
		return nil, err
	}
	return a, nil
}

// startServer starts a serving command of the program, with its log in dir, and waits until it serves.
func startServer(ctx context.Context, program, dir string, command ...string) (*assayServer, error) {
	return startNode(ctx, node{name: "assay", program: program, dir: dir, command: command})
}

// node is one of several servers.
type node struct {
	name, program, dir string
	command            []string
	env                []string
}

// startNode starts a server and waits until it serves.
func startNode(ctx context.Context, n node) (*assayServer, error) {
	ports, err := process.SparePorts(1)
	if err != nil {
		return nil, err
	}
	addr := process.Loopback(ports[0])
	p, err := process.Command{
		Name: n.name, Dir: n.dir, DeathSignal: syscall.SIGKILL, Env: n.env,
		Program: n.program, Args: append(n.command, "--addr", addr, "--trusted-proxies", "127.0.0.0/8"),
	}.Start()
	if err != nil {
		return nil, err
	}
	a := &assayServer{Process: p, base: "http://" + addr}
	begun := time.Now()
	if err := p.Await(ctx, 5*time.Minute, a.healthy); err != nil {
		p.Stop()
		return nil, err
	}
	a.start = time.Since(begun)
	return a, nil
}

func (a *assayServer) healthy(ctx context.Context) error {
	_, err := fetch(ctx, a.base, scenario{path: "/health"})
	return err
}

func readKeys(path string) (apiKeys, error) {
	var k apiKeys
	text, err := os.ReadFile(path)
	if err != nil {
		return k, err
	}
	if err := json.Unmarshal(text, &k); err != nil {
		return k, fmt.Errorf("parse %s: %w", path, err)
	}
	if k.Premium == "" || k.Full == "" {
		return k, fmt.Errorf("%s: want keys named premium and full", path)
	}
	return k, nil
}

// signIn signs in to the account with full access and creates a key, so that it has one to show. It returns the cookie
// of the session.
func (a *assayServer) signIn(ctx context.Context) (cookie string, err error) {
	full := slices.IndexFunc(a.keys.Accounts, func(d demoAccount) bool { return d.Plan == "full" })
	if full < 0 {
		return "", errors.New("the demo's keys file has no account with the plan full")
	}
	who := a.keys.Accounts[full]
	set, err := a.post(ctx, "/api/session", "", map[string]string{"email": who.Email, "password": who.Password})
	if err != nil {
		return "", err
	}
	cookie, _, _ = strings.Cut(set.Get("Set-Cookie"), ";")
	if cookie == "" {
		return "", errors.New("POST /api/session set no cookie")
	}
	_, err = a.post(ctx, "/api/create-api-key", cookie, map[string]string{"name": "bench"})
	return cookie, err
}

// post sends a JSON body, and returns the header of the response.
func (a *assayServer) post(ctx context.Context, path, cookie string, body any) (http.Header, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.base+path, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Forwarded-For", nextAddress())
	if cookie != "" {
		req.Header.Set("Cookie", cookie)
	}
	res, err := plainClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode >= http.StatusMultipleChoices {
		reason, _ := io.ReadAll(io.LimitReader(res.Body, 200)) // it only explains the status
		return nil, fmt.Errorf("POST %s: %s: %s", path, res.Status, reason)
	}
	return res.Header, nil
}

// fetchBodies fetches each response once and keeps it. A compressed one must have the same content as the plain one.
func (a *assayServer) fetchBodies(ctx context.Context, scenarios []scenario) error {
	for i := range scenarios {
		s := &scenarios[i]
		if err := a.fetchScenario(ctx, s); err != nil {
			return a.Explain(fmt.Errorf("%s: %w", s.name, err))
		}
	}
	return nil
}

func (a *assayServer) fetchScenario(ctx context.Context, s *scenario) error {
	if s.ranges == nil {
		return a.fetchBody(ctx, s)
	}
	for i := range s.ranges {
		if err := a.fetchBody(ctx, &s.ranges[i]); err != nil {
			return err
		}
	}
	return nil
}

func (a *assayServer) fetchBody(ctx context.Context, s *scenario) error {
	raw := *s
	raw.gzip = false
	var err error
	if s.plain, err = fetch(ctx, a.base, raw); err != nil {
		return err
	}
	if s.body = s.plain; !s.gzip {
		return nil
	}
	if s.body, err = fetch(ctx, a.base, *s); err != nil {
		return err
	}
	unpacked, err := gunzip(s.body)
	if err != nil {
		return fmt.Errorf("decompress %s: %w", s.path, err)
	}
	if !bytes.Equal(unpacked, s.plain) {
		return fmt.Errorf("%s: the compressed response (%d bytes unpacked) differs from the plain one (%d bytes)",
			s.path, len(unpacked), len(s.plain))
	}
	return nil
}

func gunzip(packed []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// plainClient adds no Accept-Encoding, decompresses nothing and follows no redirect.
var plainClient = &http.Client{
	Timeout:       10 * time.Second,
	Transport:     &http.Transport{DisableCompression: true, DisableKeepAlives: true},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// fetch returns the body of the response to one request. Anything but a 200 in the requested encoding is an error.
func fetch(ctx context.Context, base string, s scenario) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+s.path, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("X-Forwarded-For", nextAddress())
	for _, h := range s.headers() {
		req.Header.Set(h.name, h.value)
	}
	res, err := plainClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET %s: %s: %.200s", s.path, res.Status, body)
	}
	if got := res.Header.Get("Content-Encoding"); (got == "gzip") != s.gzip {
		return nil, fmt.Errorf("GET %s: content encoding %q, requested gzip: %t", s.path, got, s.gzip)
	}
	return body, nil
}

var fetches atomic.Int64

// nextAddress is a new client address for each request, so that waiting for the server never reaches its limit. wrk.lua
// uses other addresses.
func nextAddress() string {
	n := fetches.Add(1)
	return fmt.Sprintf("10.255.%d.%d", n/256%256, n%256)
}

// memory is the RAM of the process in bytes: now, and its maximum so far.
type memory struct {
	resident, peak int64
}

func (a *assayServer) memory() (memory, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", a.Pid()))
	if err != nil {
		return memory{}, err
	}
	return parseMemory(string(text))
}

// parseMemory reads lines such as "VmRSS:	  123456 kB" of /proc/PID/status.
func parseMemory(status string) (memory, error) {
	var m memory
	for line := range strings.Lines(status) {
		name, rest, _ := strings.Cut(line, ":")
		into, wanted := map[string]*int64{"VmRSS": &m.resident, "VmHWM": &m.peak}[name]
		if !wanted {
			continue
		}
		kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
		if err != nil {
			return m, fmt.Errorf("parse memory line %q: %w", line, err)
		}
		*into = kib * 1024
	}
	if m.resident == 0 || m.peak == 0 {
		return m, errors.New("no VmRSS and VmHWM in the process status")
	}
	return m, nil
}
