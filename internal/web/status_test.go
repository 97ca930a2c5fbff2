package web_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/apitest"
	"github.com/assaydata/assay/internal/web"
)

// want asks for a path and checks the status, the header X-Assay-Stale and what stands in the body.
func (r *rig) want(path string, status int, stale string, inside ...string) {
	r.Test.Helper()
	got := r.Get("", path)
	if header := got.Header.Get("X-Assay-Stale"); got.StatusCode != status || header != stale {
		r.Test.Errorf("%s: status %d and X-Assay-Stale %q, want %d and %q: %s", path, got.StatusCode, header, status, stale, got.Text)
	}
	for _, text := range inside {
		if !strings.Contains(got.Text, text) {
			r.Test.Errorf("%s: %s is missing in %s", path, text, got.Text)
		}
	}
}

func (r *rig) lookAfter(d time.Duration) {
	r.Clock = r.Clock.Add(d)
	r.Status.CheckDatabase(r.Test.Context())
}

func TestStatus_StaleResponsesSaySo(t *testing.T) {
	r := newRig(t)
	r.want("/health", 200, "", `"database":"connected","role":"all","age_seconds":0,`)
	r.want("/api/gpu/H200", 200, "")
	r.PingErr = errors.New("away")
	r.lookAfter(web.StaleAfter - time.Millisecond)
	r.want("/api/gpu/H200", 200, "")
	r.want("/health", 503, "", `"status":"unhealthy"`, `"database":"disconnected","role":"all","age_seconds":4}`)
	r.want("/readyz", 200, "", `{"status":"ready"}`) // it serves from memory
	r.lookAfter(time.Millisecond)
	r.want("/api/gpu/H200", 200, "5")
	r.want("/api/gpu/TPU", 400, "5")
	r.want("/nothing", 404, "5")
	r.lookAfter(time.Hour)
	r.want("/api/gpu/H200", 200, "3605")
	r.want("/health", 503, "3605", `"age_seconds":3605}`)
	r.PingErr = nil
	r.lookAfter(time.Second)
	r.want("/api/gpu/H200", 200, "")
	r.want("/health", 200, "", `"age_seconds":0,`)
}

// /health says what the publisher of the node has reported, and that it is late once it is silent.
func TestHealth_Publishing(t *testing.T) {
	r := newRig(t)
	r.Status.ReportPublishing(web.Publishing{State: "held", Reason: "The clock has jumped."})
	r.want("/health", 200, "", `"age_seconds":0,"publishing":"held","publishing_reason":"The clock has jumped.","version":`)
	r.Status.ReportPublishing(web.Publishing{State: "current"})
	r.want("/health", 200, "", `"age_seconds":0,"publishing":"current","version":`)
	reported := r.Clock
	r.lookAfter(time.Minute)
	r.want("/health", 200, "", `"publishing":"current"`)
	r.lookAfter(time.Millisecond)
	r.want("/health", 200, "", `"publishing":"late","publishing_reason":"The last attempt ended at `+
		assay.FormatInstant(reported.UnixMilli())+`.","version":`)
}

// A flood of requests for /health does not reach the database. It reports the last check, and does not trust a check
// that is overdue.
func TestHealth_Flood(t *testing.T) {
	r := newRig(t)
	r.PingErr = errors.New("away")
	for range 100 {
		r.want("/health", 200, "", `"database":"connected"`)
	}
	r.lookAfter(0)
	for range 100 {
		r.want("/health", 503, "", `"database":"disconnected"`)
	}
	r.PingErr = nil
	r.lookAfter(0)
	r.want("/health", 200, "", `"database":"connected"`)
	r.Clock = r.Clock.Add(web.StaleAfter) // no check has ended since
	r.want("/health", 503, "", `"database":"disconnected"`)
}

func TestStatus_LogHearsOfTheLossOnce(t *testing.T) {
	r := newRig(t)
	r.PingErr = errors.New("away")
	for range 4 {
		r.lookAfter(time.Second)
		r.want("/health", 503, "")
	}
	r.PingErr = nil
	r.lookAfter(time.Second)
	r.lookAfter(time.Second)
	logs := r.Logs.String()
	for _, line := range []string{`"level":"ERROR","msg":"the database does not respond","error":"away"`, `"level":"INFO","msg":"the database responds again","after":"5s"`} {
		if strings.Count(logs, line) != 1 {
			t.Errorf("%d times %s in:\n%s", strings.Count(logs, line), line, logs)
		}
	}
	if strings.Count(logs, `"level":"ERROR"`) != 1 {
		t.Errorf("more than one error:\n%s", logs)
	}
}

// Before the first check nothing is known of the database, so a node that waits for it is not healthy.
func TestHealth_BeforeTheFirstCheck(t *testing.T) {
	r := newRig(t)
	status := web.NewNodeStatus(r.Status.StatusConfig)
	if status.DatabaseResponds() {
		t.Error("the database counts as available before it was checked")
	}
	if status.CheckDatabase(t.Context()); !status.DatabaseResponds() {
		t.Error("the database counts as unavailable although it responds")
	}
	if strings.Contains(r.Logs.String(), "responds again") {
		t.Errorf("the first contact is logged as a return:\n%s", r.Logs.String())
	}
}

// A check that is ended is not taken for a database that is away.
func TestStatus_CheckEnded(t *testing.T) {
	r := newRig(t)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	r.PingErr = context.Canceled
	r.Status.CheckDatabase(gone)
	if logs := r.Logs.String(); strings.Contains(logs, "ERROR") {
		t.Errorf("logged:\n%s", logs)
	}
}

// The database may respond while the snapshot cannot be brought up to date.
func TestStatus_SnapshotFallsBehind(t *testing.T) {
	behind := time.Duration(0)
	r := newRig(t, func(c *apitest.Config) { c.Status.Behind = func() time.Duration { return behind } })
	behind = 7 * time.Second
	r.lookAfter(time.Second)
	r.want("/api/gpu/H200", 200, "7")
	r.want("/health", 200, "7", `"age_seconds":7,`)
}

func TestStatus_ClockSetBack(t *testing.T) {
	r := newRig(t)
	r.PingErr = errors.New("away")
	r.lookAfter(-time.Hour)
	r.want("/health", 503, "", `"age_seconds":0}`)
}

func TestDrain(t *testing.T) {
	r := newRig(t)
	r.Status.Drain()
	r.want("/health", 503, "", `"error":"Service unavailable"`, `"status":"draining"`, `"database":"connected"`)
	r.want("/readyz", 503, "", `"error":"Service unavailable"`, "The node is shutting down.")
	r.want("/livez", 200, "", `{"status":"live"}`)
	got := r.Get("", "/api/gpu/H200")
	if got.StatusCode != 200 || got.Header.Get("Connection") != "close" {
		t.Errorf("a draining node answers %d with Connection %q, want 200 and close", got.StatusCode, got.Header.Get("Connection"))
	}
	r.PingErr = errors.New("away")
	r.lookAfter(web.StaleAfter)
	r.want("/health", 503, "5", `"status":"draining"`, `"database":"disconnected"`)
}

// Before there is a snapshot, only the state of the node is served.
func TestServe_Starting(t *testing.T) {
	r := newRig(t, func(c *apitest.Config) { c.Status.Role = web.NodeRead })
	whole := r.Snapshots.Load()
	r.Snapshots.Store(nil)
	r.want("/health", 503, "", `"status":"starting"`, `"role":"read"`)
	r.want("/readyz", 503, "", `"error":"Service unavailable"`, "The node is starting and has no data yet.")
	r.want("/livez", 200, "", `{"status":"live"}`)
	for _, path := range []string{"/api/gpu/H200", "/api/gpu-types", "/openapi.json", "/", "/nothing"} {
		got := r.Get("", path)
		if got.StatusCode != 503 || got.Header.Get("Retry-After") != "5" || !strings.Contains(got.Text, `"error":"Service unavailable"`) {
			t.Errorf("%s: %d, Retry-After %q: %s", path, got.StatusCode, got.Header.Get("Retry-After"), got.Text)
		}
	}
	r.Snapshots.Store(whole)
	r.want("/health", 200, "", `"status":"healthy"`)
	r.want("/readyz", 200, "", `{"status":"ready"}`)
	r.want("/api/gpu/H200", 200, "")
}

func TestServe_PublishingNode(t *testing.T) {
	r := newRig(t, func(c *apitest.Config) {
		c.Status.Role = web.NodePublish
		c.Web.Key, c.Web.Count, c.Console.Accounts, c.Console.Usage = nil, nil, nil, nil
	})
	r.Snapshots.Store(nil)
	r.want("/health", 200, "", `"status":"healthy"`, `"role":"publish"`, `"gpu":{"latest":null,"age_seconds":null}`)
	r.want("/readyz", 200, "", `{"status":"ready"}`)
	for _, path := range []string{"/api/gpu/H200", "/api/gpu-types", "/openapi.json", "/", "/health/"} {
		r.want(path, 404, "", `"error":"Not found"`, "serves POST /api/ingest, /health, /livez and /readyz only")
	}
	if got := r.Get("full", "/api/gpu/H200/hourly"); got.StatusCode != 404 {
		t.Errorf("with a key the answer is %d", got.StatusCode)
	}
	r.PingErr = errors.New("away")
	r.lookAfter(0)
	r.want("/health", 503, "", `"status":"unhealthy"`)
	r.want("/readyz", 503, "", "The database is unreachable.")
}
