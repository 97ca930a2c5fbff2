package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/keys"
	"github.com/assaydata/assay/internal/linelog"
	"github.com/assaydata/assay/internal/store/storetest"
	"github.com/assaydata/assay/internal/web"
	"github.com/assaydata/assay/tools/testenv"
)

// engineNode is a server on one of the engines, built as the program builds it.
type engineNode struct {
	*node
	t       *testing.T
	callers map[string][2]string
	sent    int // requests so far
}

func newEngineNode(t *testing.T, address string, who readers) *engineNode {
	t.Helper()
	m := newMarket(t, storetest.OpenIn(t, address))
	m.live()
	v := &service{
		config: serverConfig{keyLimit: 1_000_000, logLevel: slog.LevelError},
		now:    m.clock, logs: linelog.New(io.Discard, time.Now), store: m.db, data: m.db,
	}
	t.Cleanup(func() { _ = v.logs.Close() })
	v.config.node.role = web.NodeAll
	v.log = newLog(v.logs, v.config.logLevel, logJSON)
	v.opened.Store(true)
	n, err := v.newNode()
	m.must(err)
	m.must(n.load(t.Context()))
	return &engineNode{node: n, t: t, callers: who.admit(m, n.accounts)}
}

// get sends a request and returns the whole response as text: status, headers sorted by name, body. Every request comes
// from a different address, because of the limit.
func (n *engineNode) get(caller, target string, headers ...string) (text string, response *http.Response) {
	n.t.Helper()
	request := httptest.NewRequest(http.MethodGet, target, nil)
	if target == "/health" {
		// The loops that do this do not run, and the snapshot would become stale.
		if err := n.follower.Load(n.t.Context()); err != nil {
			n.t.Fatal(err)
		}
		n.status.CheckDatabase(n.t.Context())
	}
	n.sent++
	request.RemoteAddr = fmt.Sprintf("10.%d.%d.%d:4711", n.sent>>16, n.sent>>8&255, n.sent&255)
	request.Header.Set("X-Request-Id", "engines")
	if h := n.callers[caller]; h[0] != "" {
		request.Header.Set(h[0], h[1])
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	recorder := httptest.NewRecorder()
	n.server.ServeHTTP(recorder, request)
	var b strings.Builder
	fmt.Fprintln(&b, recorder.Code)
	for _, name := range slices.Sorted(maps.Keys(recorder.Header())) {
		fmt.Fprintf(&b, "%s: %q\n", name, recorder.Header()[name])
	}
	body := recorder.Body.String()
	if target == "/health" {
		body = nodeAge.ReplaceAllString(body, `"version"`) // it depends on the speed of the test
	}
	return b.String() + "\n" + body, recorder.Result()
}

// A database has a log of its own, with its name and its secret, so that checkpoints, proofs and commitments differ.
var (
	ownLog     = regexp.MustCompile(`^/(api/)?log/|/determination|^/api/bulk$`)
	ownRoot    = regexp.MustCompile(`"root":"[^"]*"`)
	ownProof   = regexp.MustCompile(`"inclusion":\{.*"checkpoint":"[^"]*"\}`)
	ownInputs  = regexp.MustCompile(`"inputs":"[0-9a-f]{64}","hash":"[0-9a-f]{64}"`)
	ownHeaders = regexp.MustCompile(`(?m)^(Etag|Content-Length): .*\n`)
)

// comparable is the part of a response that does not depend on the log of the database.
func comparable(target, text string) string {
	text = sessionID.ReplaceAllString(text, "ID")
	switch {
	case !ownLog.MatchString(target):
		return text
	case !strings.Contains(target, "log/") && !strings.Contains(text, "Content-Encoding"):
		text = ownRoot.ReplaceAllString(text, `"root":OWN`)
		text = ownInputs.ReplaceAllString(ownProof.ReplaceAllString(text, `"inclusion":PROOF`), `"inputs":OWN`)
		return ownHeaders.ReplaceAllString(text, "")
	}
	status, _, _ := strings.Cut(text, "\n")
	return status
}

var nodeAge = regexp.MustCompile(`"age_seconds":\d+,"version"`)

// sessionID is the public id of a session, which is random.
var sessionID = regexp.MustCompile(`"id":"[0-9a-f]{12}"`)

// goldenTargets are the requests of the golden responses of the API.
func goldenTargets(t *testing.T) (targets []string) {
	t.Helper()
	files, err := filepath.Glob("../../internal/*/testdata/responses/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no golden responses (%v)", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if words := strings.Fields(string(text)); len(words) > 1 && words[0] == http.MethodGet {
			targets = append(targets, words[1])
		}
	}
	return targets
}

// moreTargets cover what the golden responses leave out: other grains, pages, instants and formats.
var moreTargets = []string{
	"/health",
	"/api/bulk",
	"/llms.txt",
	"/llms-full.txt",
	"/docs/api.md",
	"/api/alerts",
	"/api/webhooks",
	"/api/webhooks/wh_unknown/deliveries",
	"/api/share-links",
	"/api/watchlist",
	"/api/views",
	"/s/shl_k3v7m2q5x4p6d2n5r7t4abcdef.csv",
	"/embed/gpu/H100%20SXM",
	"/embed/picture",
	"/embed/picture/H100%20SXM",
	"/oembed?url=http%3A%2F%2Fexample.com%2Fgpu%2FH200",
	"/livez",
	"/readyz",
	"/openapi.json",
	"/openapi.yaml",
	"/api/session",
	"/api/session/oidc",
	"/api/session/oidc/callback",
	"/api/account",
	"/api/account/second-factors",
	"/api/keys",
	"/api/usage",
	"/log/checkpoint",
	"/log/vkey",
	"/log/keys",
	"/log/anchors",
	"/log/tile/entries/000.p/1",
	"/api/log/consistency?from=1&to=2",
	"/api/gpu/H200/index-history?granularity=hourly",
	"/api/gpu/H200/index-history?granularity=hourly&as_of=2026-02-02",
	"/api/gpu/H100%20SXM/index-history?startDate=2025-11-04",
	"/api/gpu/H100%20SXM/index-history?region=eu-west",
	"/api/gpu/H200/history-range?granularity=hourly&limit=10000",
	"/api/gpu/H200/history-range?limit=2",
	"/api/gpu/H200/history-simple?granularity=hourly&limit=50&order=asc",
	"/api/gpu/H200/history-simple?as_of=2026-02-02T00:00:00Z",
	"/api/gpu/H200/volatility?startDate=2025-11-01&endDate=2026-02-04&windowDays=7",
	"/api/gpu/H200/volume-metrics?granularity=hourly",
	"/api/gpu/H100%20SXM/realtime?minutes=1440",
	"/api/gpu/H100%20SXM/determination?date=2026-01-29",
	"/api/gpu/H100%20SXM/determination?date=2026-01-29&region=us-east",
	"/api/gpu/H100%20SXM/determination?timestamp=2026-01-29T11:00:00Z",
	"/api/determinations/otpi?series=openai&date=2026-01-29",
	"/api/determinations/workload?series=anthropic/opus&date=2026-01-29",
	"/api/determinations/workload?series=anthropic/%00&date=2026-01-29",
	"/api/determinations/workload?series=anthropic/%ff&date=2026-01-29",
	"/api/determinations/memory?series=mem_ddr5_16gb&date=2026-01-29",
	"/api/determinations/llm-coding?series=cc/merge&date=2026-01-29&as_of=2026-02-04",
	"/api/corrections?limit=2",
	"/api/corrections?gpuType=H200",
	"/api/corrections/models",
	"/api/methodology?version=1.1.0",
	"/api/notices?kind=no_value&limit=3",
	"/api/methodology?version=1.0.0",
	"/api/memory-index?category=dram",
	"/api/memory/mem_ddr5_16gb/history?as_of=2026-02-02",
	"/api/memory/mem_slc_1gb/history?limit=3",
	"/api/llm-coding/history?product=cc-vs-codex-merge",
	"/api/llm-coding/index?product=cc-commits",
	"/api/otpi",
	"/api/otpi?startDate=2026-01-10&endDate=2026-01-31",
	"/api/otpi?lab=anthropic&startDate=2026-01-05",
	"/api/workload",
	"/api/workload?lab=anthropic&family=opus",
	"/api/neocloud/sites?country=NO&scope=all&limit=1&offset=1",
	"/api/neocloud/sites?country=NO&as_of=2026-02-02",
	"/api/neocloud/sites/aggregate?scope=all",
	"/api/neocloud/map",
	"/api/daily-index/all?region=us-east",
	"/api/gpu/nothing",
	"/api/nothing",
}

// On both engines, every route responds to every caller with the same bytes.
func TestAPI_EqualOnBothEngines(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	who := readers{keys.Mint(assay.Premium), keys.Mint(assay.Full)}
	postgres, sqlite := newEngineNode(t, storetest.Postgres(t), who), newEngineNode(t, t.TempDir(), who)
	succeeded := map[string]bool{} // paths with a 200 for at least one caller
	f := func(caller, target string, headers ...string) *http.Response {
		t.Helper()
		got, _ := postgres.get(caller, target, headers...)
		want, response := sqlite.get(caller, target, headers...)
		if comparable(target, got) != comparable(target, want) {
			t.Errorf("%s as %s %q: PostgreSQL responds\n%.2000s\nSQLite\n%.2000s", target, caller, headers, got, want)
		}
		path, _, _ := strings.Cut(target, "?")
		succeeded[path] = succeeded[path] || response.StatusCode == http.StatusOK
		return response
	}
	for _, target := range append(goldenTargets(t), moreTargets...) {
		for _, caller := range slices.Sorted(maps.Keys(sqlite.callers)) {
			tag := f(caller, target).Header.Get("ETag")
			f(caller, target, "Accept-Encoding", "gzip")
			f(caller, target, "Accept-Encoding", "zstd")
			if tag == "" || ownLog.MatchString(target) {
				continue
			}
			if again := f(caller, target, "If-None-Match", tag); again.StatusCode != http.StatusNotModified {
				t.Errorf("%s as %s with its ETag responds %s", target, caller, again.Status)
			}
		}
	}
	f("full", "/api/neocloud/map", "Accept", "application/geo+json")
	read := func(target string) string { // from both, which then have counted as many requests
		_, _ = postgres.get("full", target)
		text, _ := sqlite.get("full", target)
		return text
	}
	record := read("/api/gpu/H100%20SXM/determination?date=2026-01-29")
	hash := record[strings.LastIndex(record, `"hash":"`)+len(`"hash":"`):]
	f("anonymous", "/api/log/inclusion?record="+hash[:64])
	for _, found := range regexp.MustCompile(`"url":"([^"]+)"`).FindAllStringSubmatch(read("/api/bulk"), -1) {
		f("full", found[1])
	}
	wantEveryRoute(t, sqlite, succeeded)
}

// without are the routes that fail on a server without a provider to sign in through, and without an authority for
// timestamps, and those of alerts and share links, of which there are none.
var without = []string{
	"/api/session/oidc", "/api/session/oidc/callback", "/log/anchors", "/api/alerts", "/api/webhooks",
	"/api/webhooks/{id}/deliveries", "/api/share-links", "/s/{file}",
}

// wantEveryRoute wants a successful request for every path with a GET in the API's description.
func wantEveryRoute(t *testing.T, n *engineNode, succeeded map[string]bool) {
	t.Helper()
	_, response := n.get("anonymous", "/openapi.json")
	var description struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.NewDecoder(response.Body).Decode(&description); err != nil || len(description.Paths) < 40 {
		t.Fatalf("the description has %d paths (%v)", len(description.Paths), err)
	}
	parameter := regexp.MustCompile(`\\\{\w+\\\}`)
	for path, methods := range description.Paths {
		quoted := strings.Replace(regexp.QuoteMeta(path), `\{path\}`, ".+", 1) // it contains slashes
		pattern := regexp.MustCompile("^" + parameter.ReplaceAllString(quoted, "[^/]+") + "$")
		requested, ok := false, slices.Contains(without, path)
		for target, success := range succeeded {
			if pattern.MatchString(target) {
				requested, ok = true, ok || success
			}
		}
		if _, get := methods["get"]; get && (!requested || !ok) && path != "/api/stream" { // which does not end
			t.Errorf("GET %s: requested %t, succeeded %t: moreTargets needs a request for it", path, requested, ok)
		}
	}
}
