package api_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/api"
	"github.com/assaydata/assay/internal/apitest"
	"github.com/assaydata/assay/internal/snapshot"
	"github.com/assaydata/assay/tools/testenv"
)

type correctionsPage struct {
	Count   int
	HasMore bool `json:"has_more"`
	Next    string
	Data    []struct {
		GPUType     string `json:"gpu_type"`
		Region      string
		Granularity string
		Timestamp   string
		Revision    int
		Value       *assay.Nanos `json:"index_value"`
		Previous    *assay.Nanos `json:"previous_value"`
		CorrectedAt string       `json:"corrected_at"`
		Reason      string
	}
}

func (r *rig) corrections(caller, query string) (page correctionsPage) {
	r.Test.Helper()
	got := r.Get(caller, "/api/corrections?"+query)
	err := json.Unmarshal([]byte(got.Text), &page)
	if err != nil || got.StatusCode != 200 || page.Count != len(page.Data) {
		r.Test.Fatalf("%s: %d %s", query, got.StatusCode, got.Text)
	}
	return page
}

func TestCorrections(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	f := func(caller, query string, count int, more bool) correctionsPage {
		t.Helper()
		page := r.corrections(caller, query)
		if page.Count != count || page.HasMore != more || page.Next == "" {
			t.Errorf("%s as %s: %d, more: %v, next %q", query, caller, page.Count, page.HasMore, page.Next)
		}
		return page
	}
	all := f("full", "", 5, false)
	f("premium", "", 3, false)
	f("premium", "granularity=hourly", 3, false)
	f("full", "granularity=hourly", 2, false)
	f("full", "granularity=daily", 3, false)
	f("full", "gpuType=H100%20SXM", 5, false)
	f("full", "region=us-east", 5, false)
	f("full", "limit=5", 5, false)
	f("full", "limit=4", 4, true)
	f("premium", "limit=2", 2, true)
	if page := f("full", "gpuType=H200", 0, false); page.Next != all.Next {
		t.Error("whoever has seen that nothing fits has not come to the end")
	}
	f("full", "region=global", 0, false)
	if page := f("full", "since="+all.Next, 0, false); page.Next != all.Next {
		t.Error("at the end, the cursor moves")
	}
	// The same cursor holds on a node that has just started, and on one that lags behind.
	r.Use(apitest.Snapshot())
	f("full", "since="+all.Next, 0, false)
	r.Use(snapshot.New(assay.DefaultCatalog(), 1))
	r.Status.Behind = func() time.Duration { return 100 * time.Hour }
	if page := f("full", "since="+all.Next, 0, false); page.Next != all.Next {
		t.Error("a node without data sends a reader back")
	}
	beginning := f("full", "", 0, false).Next
	r.Use(apitest.Snapshot())
	f("full", "since="+beginning, 5, false)
}

// Hiding a GPU model changes what is listed, but not the history.
func TestCorrections_HiddenGPU(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	next := r.corrections("full", "").Next
	catalog := assay.DefaultCatalog()
	catalog.GPUs = slices.DeleteFunc(slices.Clone(catalog.GPUs), func(g assay.GPU) bool { return g.Name == "H100 SXM" })
	r.Use(snapshot.New(catalog, 2).With(apitest.Update()))
	if page := r.corrections("full", "since="+next); page.Count != 0 || page.Next != next {
		t.Errorf("without the model there are %d corrections up to %s, want none and %s", page.Count, page.Next, next)
	}
}

// A cursor belongs to the history that it was read from. After a restore it must not pass for one of the other history:
// its reader would miss corrections.
func TestCorrections_AnotherHistory(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	all := r.corrections("full", "")
	third := r.corrections("full", "limit=3").Next
	refused := func(what, since string) {
		t.Helper()
		got := r.Get("full", "/api/corrections?since="+since)
		if got.StatusCode != 409 || !strings.Contains(got.Text, `"code":"history_changed"`) {
			t.Errorf("%s: %d %s", what, got.StatusCode, got.Text)
		}
	}
	r.Use(snapshot.New(assay.DefaultCatalog(), 1)) // restored from before the restatements
	refused("a database that was restored", all.Next)
	refused("a database that was restored", third)

	u := apitest.Update()
	u.Publications = slices.Clone(u.Publications)
	for i := range u.Publications {
		if p := &u.Publications[i]; p.Reason != "" {
			p.PublishedAt++ // the same restatements were made again
		}
	}
	r.Use(snapshot.New(assay.DefaultCatalog(), 1).With(u))
	refused("a history that has gone another way", all.Next)
	refused("a history that has gone another way", third)
	if again := r.corrections("full", ""); again.Count != all.Count || again.Next == all.Next {
		t.Errorf("the other history has %d corrections up to %s", again.Count, again.Next)
	}
}

func TestCorrections_Refused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	f := func(query string, status int, want string) {
		t.Helper()
		if got := r.Get("full", "/api/corrections?"+query); got.StatusCode != status || !strings.Contains(got.Text, want) {
			t.Errorf("%s: %d %s", query, got.StatusCode, got.Text)
		}
	}
	good := r.corrections("full", "").Next
	for _, since := range []string{"0", "x", "%00", good + "A", good[1:], strings.ToLower(good), good + "=", base64.RawURLEncoding.EncodeToString([]byte("7\x00daily\x000\x00a\x00b"))} {
		f("since="+since, 400, `for \"since\": must be`)
	}
	f("limit=0", 400, `for \"limit\": must be`)
	f("limit=10001", 400, `for \"limit\": must be`)
	f("gpuType=TPU", 400, "Invalid GPU type")
	f("granularity=auto", 400, `for \"granularity\": must be`)
	f("region=mars", 404, "No data found for any GPU in the region mars")
}

// TestCorrections_ApplyToAnOldCopy follows a story: a reader that copies the series once and then only applies pages of
// corrections has, for everything that it copied or received, what a reader of the series has.
func TestCorrections_ApplyToAnOldCopy(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	r := newRig(t, func(c *apitest.Config) { c.Web.KeyLimit = 1_000_000 })
	r.Use(snapshot.New(assay.DefaultCatalog(), 1))
	tell := &story{rng: rand.New(rand.NewPCG(5, 5)), now: apitest.Instant("2026-01-05"), slots: map[assay.Grain]map[int64]int{assay.Daily: {}, assay.Hourly: {}}}
	for range 12 {
		r.Use(r.Snapshots.Load().With(tell.next()))
	}
	next := r.corrections("full", "limit=10000").Next
	copied := r.copySeries()
	known := map[string]bool{}
	for slot := range copied {
		known[slot] = true
	}
	applied := 0
	for range 60 {
		r.Use(r.Snapshots.Load().With(tell.next()))
		for more := true; more; {
			page := r.corrections("full", fmt.Sprintf("limit=3&since=%s", url.QueryEscape(next)))
			for _, c := range page.Data {
				applied++
				slot := c.Granularity + " " + c.Timestamp
				if known[slot] = true; c.Value == nil {
					delete(copied, slot)
				} else {
					copied[slot] = *c.Value
				}
			}
			next, more = page.Next, page.HasMore
		}
	}
	now := r.copySeries()
	for slot := range known {
		had, had1 := copied[slot]
		if want, shown := now[slot]; had1 != shown || had != want {
			t.Errorf("%s: the copy has %v (%v), the series %v (%v)", slot, had, had1, want, shown)
		}
	}
	if applied < 50 {
		t.Errorf("only %d corrections were applied", applied)
	}
}

func (r *rig) copySeries() map[string]assay.Nanos {
	r.Test.Helper()
	values := map[string]assay.Nanos{}
	for _, grain := range assay.Grains {
		var page struct {
			Data []struct {
				Timestamp string
				Value     assay.Nanos `json:"index_value"`
			}
		}
		if err := json.Unmarshal([]byte(r.Get("full", "/api/gpu/H200/index-history?granularity="+grain.String()).Text), &page); err != nil {
			r.Test.Fatal(err)
		}
		for _, row := range page.Data {
			values[grain.String()+" "+row.Timestamp] = row.Value
		}
	}
	return values
}

func FuzzCursor(f *testing.F) {
	f.Add(int64(7), true, int64(1769720400000), "us-east", "H100 SXM", uint64(1<<63), "x")
	f.Add(int64(-1), false, int64(-1<<63), "", "a\x00b", uint64(0), api.Cursor(api.NewBookmark(snapshot.Position{}, 0, 0)))
	f.Fuzz(func(t *testing.T, version int64, hourly bool, at int64, region, gpu string, history uint64, text string) {
		name := func(s string) string { return strings.ReplaceAll(s, "\x00", "") }
		p := snapshot.Position{Version: version, Line: assay.Line{GPU: name(gpu), Region: name(region)}, At: at}
		if hourly {
			p.Grain = assay.Hourly
		}
		b := api.NewBookmark(p, history, at)
		if history == 0 { // the beginning, or of an earlier release
			b = api.NewBookmark(p, 0, 0)
		}
		if got, ok := api.ParseCursor(api.Cursor(b)); !ok || got != b {
			t.Errorf("%+v came back as %+v, %v", b, got, ok)
		}
		if got, ok := api.ParseCursor(text); ok && api.Cursor(got) != text {
			t.Errorf("%q is read as %+v", text, got)
		}
	})
}

func TestMethodologyAndPublications(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	f := func(target string, status int, want string) {
		t.Helper()
		if got := r.Get("", target); got.StatusCode != status || !strings.Contains(got.Text, want) {
			t.Errorf("%s: %d %s\nwant %d %s", target, got.StatusCode, got.Text, status, want)
		}
	}
	f("/api/methodology", 200, `"version":"1.0.0","count":2,"data":[{"version":"1.0.0"`)
	f("/api/methodology?version=1.1.0", 200, `"version":"1.0.0","count":1,"data":[{"version":"1.1.0","effective_at":"2026-03-01T00:00:00.000Z"`)
	f("/api/methodology?version=9", 404, `"error":"No data available","message":"No methodology has the version 9."`)
	f("/api/methodology?version=1&version=2", 400, `for \"version\": must be given once.`)
	f("/api/publications/latest", 200, `"version":7,"published_at":"2026-02-04T12:00:01.000Z","methodology":"1.0.0","reason":null,"manifest":{"day":"2026-02-03"`)
	publication := assay.Publication{Version: 8, PublishedAt: 1, Methodology: "1.0.0", Reason: "why"}
	update := snapshot.Update{Version: 8, Publications: []assay.Publication{publication}}
	r.Use(r.Snapshots.Load().With(update))
	f("/api/publications/latest", 200, `"reason":"why"`)
	r.Clock = r.Clock.AddDate(0, 2, 0)
	f("/api/methodology", 200, `"version":"1.1.0","count":2`)
	r.Use(snapshot.New(assay.DefaultCatalog(), 1))
	f("/api/methodology", 404, "No methodology has been adopted.")
	f("/api/publications/latest", 404, `"error":"No data available","message":"Nothing has been published."`)
	r.Use(r.Snapshots.Load().With(snapshot.Update{
		Version: 1, Publications: []assay.Publication{{Version: 1, PublishedAt: 1, Methodology: "1.0.0"}},
		Methodologies: []assay.MethodologyFile{{Version: "2.0.0", Effective: 1 << 42, Adopted: 1}},
	}))
	f("/api/publications/latest", 200, `"manifest":null`)
	f("/api/methodology", 200, `"version":null,"count":1`)
}
