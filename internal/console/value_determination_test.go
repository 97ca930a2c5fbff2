package console_test

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/apitest"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/verifier"
)

// newValueRig is a server whose records of values are in its database: three of 30 January, of which the price of
// openai was restated on 2 February, each time signed.
func newValueRig(t *testing.T) *loggedRig {
	t.Helper()
	r := &loggedRig{key: ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))}
	r.rig = newRig(t, func(c *apitest.Config) {
		c.Console.ValueRecords = func(
			ctx context.Context, index, series string, day int64,
		) ([]assay.ValueRecord, error) {
			return r.DB.ValueRecordsOf(ctx, index, series, day)
		}
	})
	const first, second = "2026-02-01T09:00:00Z", "2026-02-02T10:00:00Z"
	r.record(first, "otpi", "openai", 0, `{"indexPerMtok":8}`)
	r.record(first, "otpi", "minimax", 0, `{"indexPerMtok":3}`)
	r.record(first, "memory", "mem_ddr5_16gb", 0, `{"price":2.024,"weeklyHigh":2.09,"weeklyLow":2.005,"changePct":0}`)
	r.signAt(first)
	r.record(second, "otpi", "openai", 1, `null`)
	r.signAt(second)
	return r
}

// record stores the record of a value.
func (r *loggedRig) record(knownAt, index, series string, revision int, numbers string) {
	r.Test.Helper()
	counters, err := r.DB.Counters(r.Test.Context())
	r.Must(err)
	r.Must(r.DB.AddValueRecords(r.Test.Context(), counters, []store.NewValueRecord{{
		Rows: "rows", ValueRecord: assay.ValueRecord{
			Index: index, Series: series, Day: apitest.Instant("2026-01-30"), Revision: revision, Numbers: numbers,
			Methodology: "2.0.0", KnownAt: apitest.Instant(knownAt),
		},
	}}))
}

// signAt signs the log at another time than now.
func (r *loggedRig) signAt(at string) {
	r.Test.Helper()
	now := r.Clock
	r.Clock = time.UnixMilli(apitest.Instant(at))
	r.sign()
	r.Clock = now
}

func TestValueDetermination(t *testing.T) {
	t.Parallel()
	r := newValueRig(t)
	f := func(caller, target string, status int, want string) {
		t.Helper()
		got := r.Get(caller, "/api/determinations/"+target)
		if got.StatusCode != status || !strings.Contains(got.Text, want) {
			t.Errorf("%s as %q: %d %.600s\nwant %d %s", target, caller, got.StatusCode, got.Text, status, want)
		}
	}
	const (
		openai = "otpi?series=openai&date=2026-01-30"
		data   = `,"data":{"index":"otpi","series":"openai","date":"2026-01-30",`
		first  = data + `"revision":0,"values":{"indexPerMtok":8},"methodology":"2.0.0","known_at":"2026-02-01T09:00:00.000Z","inputs":"`
		second = data + `"revision":1,"values":null,"methodology":"2.0.0","known_at":"2026-02-02T10:00:00.000Z","inputs":"`
	)
	f("", openai, 200, second)
	f("", openai, 200, `{"success":true,"access":"public-1mo","index":"otpi","revisions":2,"inclusion":{"leaf_index":`)
	f("premium", openai, 200, `"access":"premium"`)
	f("", openai+"&revision=0", 200, first)
	f("", openai+"&revision=0", 200, `"revisions":2,`)
	f("", openai+"&as_of=2026-02-02T09:59:59.999Z", 200, first)
	f("", openai+"&as_of=2026-02-02T09:59:59.999Z", 200, `"revisions":1,`)
	f("", openai+"&as_of=2026-02-02T10:00:00Z", 200, second)
	f("", openai+"&as_of=2030-01-01", 200, second)
	f("", "otpi?series=openai&date=2026-01-30T23:59:59Z", 200, second)
	f("premium", "otpi?series=minimax&date=2026-01-30", 200, `"values":{"indexPerMtok":3}`)
	f("full", "memory?series=mem_ddr5_16gb&date=2026-01-30", 200, `"access":"full","index":"memory","revisions":1,`)

	f("", "otpi?series=minimax&date=2026-01-30", 401, "API key required for minimax. Use Authorization")
	f("", "otpi?series=nobody&date=2026-01-30", 401, "API key required for nobody. Use Authorization")
	f("", "otpi?series=openai&date=2026-01-03", 401, "outside_free_window")
	f("", openai+"&as_of=2026-01-03", 401, "outside_free_window")
	f("", "memory?series=mem_ddr5_16gb&date=2026-01-30", 401, "API key required for records of memory. Use Authorization")
	f("", "workload?series=openai/all&date=2026-01-30", 401, `"code":"key_required"`)
	f("", "workload-daily?series=openai/all&date=2026-01-30", 401, `"code":"key_required"`)
	f("", "llm-coding?series=cc/prs&date=2026-01-30", 401, `"code":"key_required"`)

	f("", "otpi?series=openai&date=2026-01-31", 404, `"error":"No data available","message":"No determination record found for otpi of openai on 2026-01-31"`)
	f("", openai+"&revision=2", 404, "No determination record found for otpi of openai on 2026-01-30 with the revision 2")
	f("", openai+"&revision=1&as_of=2026-02-02", 404, "with the revision 1")
	f("", openai+"&as_of=2026-02-01", 404, `"code":"no_data"`)
	f("premium", "otpi?series=nobody&date=2026-01-30", 404, "No determination record found for otpi of nobody on 2026-01-30")
	f("premium", "workload?series=openai&date=2026-01-30", 404, "found for workload of openai on")
	f("premium", "workload?series=openai/all&date=2026-01-30", 404, "found for workload of openai/all on")

	f("premium", "sites?series=openai&date=2026-01-30", 400, `Invalid value \"sites\" for \"index\": `+
		`must be otpi, workload, workload-daily, memory, llm-coding or utilization.`)
	f("", "otpi?date=2026-01-30", 400, `Missing value for \"series\": must be a lab, such as openai.`)
	f("premium", "workload?date=2026-01-30", 400, `must be a lab and a family of its models, such as openai/all.`)
	f("", "otpi?series=openai", 400, `Missing value for \"date\": must be YYYY-MM-DD`)
	f("", "otpi?series=openai&date=soon", 400, `Invalid value \"soon\" for \"date\": must be`)
	f("", openai+"&series=google", 400, `for \"series\": must be given once.`)
	f("", openai+"&revision=-1", 400, `for \"revision\": must be`)
	f("", openai+"&as_of=soon", 400, `for \"as_of\": must be`)
}

// A reader proves a record with nothing but the response and the key of the log.
func TestValueDetermination_Proof(t *testing.T) {
	t.Parallel()
	r := newValueRig(t)
	log, err := verifier.NewLog(strings.TrimSpace(r.ok("/log/vkey")))
	r.Must(err)
	f := func(query string, wantSize int64) {
		t.Helper()
		var body struct {
			Inclusion verifier.Inclusion
			Data      json.RawMessage
		}
		r.Must(json.Unmarshal([]byte(r.ok("/api/determinations/otpi?series=openai&date=2026-01-30"+query)), &body))
		checkpoint, err := log.CheckInclusion(&body.Inclusion)
		if err != nil || checkpoint.Size != wantSize {
			t.Errorf("%q: the checkpoint signs %d entries, want %d (%v)", query, checkpoint.Size, wantSize, err)
		}
		text, hash, _ := strings.Cut(string(body.Data), `,"hash":"`)
		sum := sha256.Sum256([]byte(text + "}"))
		if hash != hex.EncodeToString(sum[:])+`"}` {
			t.Errorf("%q: the hash is not that of the text: %s", query, body.Data)
		}
		if !strings.HasPrefix(body.Inclusion.Entry, `{"type":"value",`) || !strings.HasSuffix(body.Inclusion.Entry, hash) {
			t.Errorf("%q: the entry is about another record: %s", query, body.Inclusion.Entry)
		}
	}
	size := r.tree().N
	f("", size)
	f("&revision=0", size)
	f("&as_of=2026-02-02", size-1)
}

// What the catalog hides is not shown, although its records remain.
func TestValueDetermination_Hidden(t *testing.T) {
	t.Parallel()
	r := newValueRig(t)
	catalog := assay.DefaultCatalog()
	catalog.Labs, catalog.MemoryTypes, catalog.CodingProducts = catalog.Labs[:1], catalog.MemoryTypes[:1], nil
	if catalog.Labs[0].Lab == "openai" || catalog.MemoryTypes[0].ID == "mem_slc_1gb" {
		t.Fatal("the catalog begins with what the test hides")
	}
	r.UseCatalog(catalog)
	for _, of := range []string{
		"otpi?series=openai", "workload?series=openai/all", "workload-daily?series=openai/all", "memory?series=mem_slc_1gb",
		"llm-coding?series=cc/prs",
	} {
		if got := r.Get("", "/api/determinations/"+of+"&date=2026-01-30"); got.StatusCode != 401 {
			t.Errorf("%s without a key: %d %s", of, got.StatusCode, got.Text)
		}
		if got := r.Get("full", "/api/determinations/"+of+"&date=2026-01-30"); got.StatusCode != 404 {
			t.Errorf("%s: %d %s", of, got.StatusCode, got.Text)
		}
	}
}

func TestValueDetermination_DatabaseAway(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.RecordErr = errors.New("disk gone, secret path /srv/x")
	got := r.Get("", "/api/determinations/otpi?series=openai&date=2026-01-30")
	if got.StatusCode != 503 || !strings.Contains(got.Text, "The record cannot be read at the moment. Try again later.") ||
		strings.Contains(got.Text, "disk gone") || got.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%d %v %s", got.StatusCode, got.Header, got.Text)
	}
	if !strings.Contains(r.Logs.String(), "read the records of otpi of openai on 2026-01-30: disk gone") {
		t.Errorf("the log does not tell the cause: %s", r.Logs.String())
	}
	if got := r.Get("full", "/api/determinations/workload?series=openai/%00&date=2026-01-30"); got.StatusCode != 404 {
		t.Errorf("a name that the database cannot have asks the database: %d", got.StatusCode)
	}
}

// A proven response is kept until the next publication is due, one without a proof not for long.
func TestValueDetermination_Caching(t *testing.T) {
	t.Parallel()
	r := newValueRig(t)
	const path = "/api/determinations/otpi?series=openai&date=2026-01-30"
	proven := r.Get("", path)
	if proven.Header.Get("Last-Modified") != "Mon, 02 Feb 2026 10:00:00 GMT" {
		t.Errorf("%v", proven.Header)
	}
	if again := r.Get("", path, "If-None-Match", proven.Header.Get("Etag")); again.StatusCode != 304 {
		t.Errorf("with its tag: %d", again.StatusCode)
	}
	gpu := newRig(t).Get("", "/api/gpu/H100%20SXM")
	if got, want := proven.Header.Get("Cache-Control"), gpu.Header.Get("Cache-Control"); got != want {
		t.Errorf("a proven record: %q, want %q like a price", got, want)
	}
	r.record("2026-02-04T11:00:00Z", "otpi", "openai", 2, `{"indexPerMtok":7}`)
	if got := r.Get("", path); !strings.Contains(got.Text, `"inclusion":null,`) || got.Header.Get("Cache-Control") != "public, max-age=4" {
		t.Errorf("without a proof: %v %s", got.Header, got.Text)
	}
}
