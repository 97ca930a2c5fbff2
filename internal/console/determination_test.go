package console_test

import (
	"errors"
	"strings"
	"testing"
)

func TestDetermination(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	f := func(caller, query string, status int, want string) {
		t.Helper()
		got := r.Get(caller, "/api/gpu/H100%20SXM/determination?"+query)
		if got.StatusCode != status || !strings.Contains(got.Text, want) {
			t.Errorf("%s as %q: %d %.600s\nwant %d %s", query, caller, got.StatusCode, got.Text, status, want)
		}
	}
	const (
		restated = "region=us-east&date=2026-01-30"
		slot     = `"inclusion":null,"data":{"gpu_type":"H100 SXM","region":"us-east","granularity":"daily",` +
			`"timestamp":"2026-01-30T21:00:00.000Z",`
	)
	f("premium", restated, 200, `"granularity":"daily","revisions":2,`+slot+`"revision":1,`)
	f("premium", restated+"&revision=0", 200, `"revisions":2,`+slot+`"revision":0,`)
	f("premium", restated+"&as_of=2026-02-02T09:59:59.999Z", 200, `"revisions":1,`+slot+`"revision":0,`)
	f("premium", restated+"&as_of=2026-02-02T10:00:00Z", 200, `"revisions":2`)
	f("premium", restated+"&as_of=2030-01-01", 200, `"revisions":2`)
	f("premium", "region=us-east&date=2026-01-29", 200, `"index_value":null,"transactions":0,"gpu_hours":0,"providers":0,"hhi":0,"lowest_price":null,"highest_price":null,"median_price":null,"excluded":{"unverified":2,"withdrawn":1}`)
	f("premium", "date=2026-01-30T23:59:59Z", 200, `"timestamp":"2026-01-30T21:00:00.000Z"`)
	f("premium", "date=2025-08-05", 200, `"timestamp":"2025-08-05T20:00:00.000Z"`)
	// A fixing is also the end of an hour: timestamp means the hour.
	f("full", "timestamp=2026-01-30T21:00:00Z", 200, `"granularity":"hourly","revisions":1`)
	f("full", "timestamp=2026-01-30T16:00:00-05:00", 200, `"window":{"from":"2026-01-30T20:00:00.000Z","to":"2026-01-30T21:00:00.000Z"}`)
	f("premium", "timestamp=2026-01-30T21:00:00Z", 403, "Premium access is daily-grain only. Hourly and real-time data require a full subscription.")
	f("", "date=2026-01-30", 200, `"access":"public-3mo","granularity":"daily"`)
	f("", "date=2025-11-01", 401, "outside_free_window")
	f("", "timestamp=2026-01-30T21:00:00Z", 401, "key_required")
	f("", "date=2026-01-30&as_of=2025-01-01", 401, "outside_free_window")

	f("premium", "date=2026-02-04", 404, `"error":"No data available","message":"No determination record found for H100 SXM in the region global on 2026-02-04"`)
	f("premium", restated+"&revision=2", 404, "in the region us-east on 2026-01-30 with the revision 2")
	f("premium", restated+"&revision=1&as_of=2026-02-02", 404, "with the revision 1")
	f("premium", restated+"&as_of=2026-01-01", 404, `"error":"No data available"`)
	f("full", "timestamp=2026-01-30T21:00:00.001Z", 404, "at 2026-01-30T21:00:00.001Z")
	f("full", "timestamp=2026-01-30T21:30:00Z", 404, `"error":"No data available"`)
	f("full", "region=mars&date=2026-01-30", 404, `"error":"Not found"`)

	f("premium", "", 400, `Exactly one of \"date\" (a settlement day) and \"timestamp\" (the end of an hour) is required.`)
	f("full", "date=2026-01-30&timestamp=2026-01-30T21:00:00Z", 400, `Exactly one of \"date\"`)
	f("premium", "date=soon", 400, `for \"date\": must be`)
	f("premium", "timestamp=soon", 400, `for \"timestamp\": must be`)
	f("premium", restated+"&revision=-1", 400, `for \"revision\": must be`)
	f("premium", restated+"&revision=1.0", 400, `for \"revision\": must be`)
	f("premium", restated+"&as_of=soon", 400, `for \"as_of\": must be`)
}

func TestDetermination_DatabaseAway(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.RecordErr = errors.New("disk gone, secret path /srv/x")
	got := r.Get("premium", "/api/gpu/H200/determination?date=2026-01-30")
	if got.StatusCode != 503 || !strings.HasPrefix(got.Text, `{"error":"Service unavailable","message":"The record cannot be read at the moment. Try again later.","code":"unavailable"`) {
		t.Errorf("%d %s", got.StatusCode, got.Text)
	}
	if strings.Contains(got.Text, "disk gone") || got.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%v %s", got.Header, got.Text)
	}
	if !strings.Contains(r.Logs.String(), "disk gone") {
		t.Error("the log does not tell the cause")
	}
	if got := r.Get("full", "/api/gpu/H200/determination?timestamp=2026-01-30T21:30:00Z"); got.StatusCode != 404 {
		t.Errorf("an instant that is no slot asks the database: %d", got.StatusCode)
	}
}

// Readers without a key are counted by their address, and those with one by their key.
func TestDetermination_Limits(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const path = "/api/gpu/H100%20SXM/determination?date=2026-01-30"
	const publicLimit = 60
	for range publicLimit {
		if got := r.Get("", path, "peer", "198.51.100.1:1"); got.StatusCode != 200 {
			t.Fatalf("%d %s", got.StatusCode, got.Text)
		}
	}
	if got := r.Get("", path, "peer", "198.51.100.1:1"); got.StatusCode != 429 {
		t.Errorf("one more than the public limit: %d", got.StatusCode)
	}
	got := r.Get("premium", path, "peer", "198.51.100.1:1")
	if got.StatusCode != 200 || !strings.Contains(got.Header.Get("RateLimit-Policy"), "600") {
		t.Errorf("with a key: %d %v", got.StatusCode, got.Header)
	}
}

// A GPU model that is not free has no free records.
func TestDetermination_PaidGPU(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const path = "/api/gpu/RTX%20PRO%206000%20WS/determination?date=2026-01-30"
	if got := r.Get("", path); got.StatusCode != 401 || !strings.Contains(got.Text, "RTX PRO 6000 WS") {
		t.Errorf("%d %s", got.StatusCode, got.Text)
	}
}

// A response without a proof is not kept for long: the record is signed in a moment.
func TestDetermination_Unsigned(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	got := r.Get("", "/api/gpu/H100%20SXM/determination?date=2026-01-30")
	if !strings.Contains(got.Text, `,"inclusion":null,`) || got.Header.Get("Cache-Control") != "public, max-age=4" {
		t.Errorf("%v %s", got.Header, got.Text)
	}
}
