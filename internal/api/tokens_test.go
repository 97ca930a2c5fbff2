package api_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/api"
	"github.com/assaydata/assay/internal/apitest"
	"github.com/assaydata/assay/internal/family"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/snapshot"
	"github.com/assaydata/assay/internal/tokens"
	"github.com/assaydata/assay/tools/testenv"
)

func TestGolden_Tokens(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	f := func(name, caller, target string) { t.Helper(); r.GoldenResponse(t, name, caller, target) }
	f("otpi-anonymous", "anonymous", "/api/otpi")
	f("otpi-premium", "premium", "/api/otpi")
	f("otpi-full", "full", "/api/otpi?date=2025-12-20")
	f("otpi-lab", "full", "/api/otpi?lab=minimax&startDate=2026-01-30&endDate=2026-01-31")
	f("otpi-range-anonymous", "anonymous", "/api/otpi?lab=anthropic&endDate=2026-01-06")
	f("otpi-range-premium", "premium", "/api/otpi?startDate=2026-01-29&endDate=2026-01-30&order=desc&limit=7")
	f("otpi-as-of", "premium", "/api/otpi?lab=anthropic&startDate=2026-01-29&as_of=2026-02-01")
	f("workload-premium", "premium", "/api/workload?startDate=2026-02-02")
	f("workload-full", "full", "/api/workload?lab=anthropic&family=all&startDate=2026-01-28&endDate=2026-02-02")
	f("workload-first", "full", "/api/workload?lab=anthropic&limit=4")
	f("workload-family", "premium", "/api/workload?family=haiku&order=desc&limit=2")
}

func TestTokens_Edges(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	f := func(caller, target string, status int, want string) {
		t.Helper()
		if got := r.Get(caller, target); got.StatusCode != status || !strings.Contains(got.Text, want) {
			t.Errorf("%s as %q: %d %.400s\nwant %d %s", target, caller, got.StatusCode, got.Text, status, want)
		}
	}
	const empty = `"count":0,"has_more":false,"data":[]}`
	// The latest settled day is that of the requested labs; the running day is in no response.
	f("", "/api/otpi", 200, `"date":"2026-02-03","count":3,`)
	f("premium", "/api/otpi", 200, `"date":"2026-02-03","count":4,`)
	f("", "/api/otpi?lab=google", 200, `"date":"2026-02-02","count":1,`)
	f("", "/api/otpi?startDate=2026-02-04", 200, empty)
	f("full", "/api/workload?startDate=2026-02-04", 200, empty)
	f("", "/api/otpi?startDate=2026-02-03T18:00:00Z", 200, `"startDate":"2026-02-03T18:00:00Z","endDate":null,"count":3,`)
	f("", "/api/otpi?date=2026-02-02T18:00:00Z", 200, `"date":"2026-02-02","count":4,`)
	f("full", "/api/workload?startDate=2026-01-19T10:00:00Z&endDate=2026-01-19T11:00:00Z&family=all", 200, `"count":5,"has_more":false,"data":[{"date":"2026-01-19","lab":"anthropic"`)
	// The window's first day is open.
	f("", "/api/otpi?startDate=2026-01-04&lab=openai&limit=1", 200, `[{"date":"2026-01-04","lab":"openai"`)
	f("", "/api/otpi?date=2026-01-04", 200, `"access":"public-1mo"`)
	f("", "/api/otpi?endDate=2026-01-04", 200, `"startDate":null,"endDate":"2026-01-04","count":3,`)
	f("", "/api/otpi?endDate=2025-12-31", 200, empty)
	// Ranges in holes and in the future are empty, whatever is on file; a day without a price is 404.
	f("", "/api/otpi?startDate=2026-01-20&endDate=2026-01-20", 200, empty)
	f("", "/api/otpi?startDate=2030-01-01", 200, empty)
	f("premium", "/api/workload?startDate=2026-01-20&endDate=2026-01-20", 200, empty)
	f("premium", "/api/otpi?lab=xiaomi&startDate=2026-01-01", 200, empty)
	f("premium", "/api/workload?lab=xiaomi", 200, empty)
	f("", "/api/otpi?date=2026-01-20", 404, "No token price found for any lab on 2026-01-20")
	f("", "/api/otpi?date=2026-02-04", 404, "No token price found for any lab on 2026-02-04")
	f("", "/api/otpi?lab=deepseek&date=2026-01-31", 404, "No token price found for deepseek on 2026-01-31")
	f("premium", "/api/otpi?lab=xiaomi", 404, `"message":"No token price found for xiaomi"`)
	f("premium", "/api/otpi?as_of=2025-12-01", 404, "No token price found for any lab")
	f("premium", "/api/workload?as_of=2025-12-01", 200, empty)
	// Filters and pages.
	f("full", "/api/workload?lab=anthropic&family=opus&order=desc&limit=1", 200, `"lab":"anthropic","family":"opus","startDate":null,"endDate":null,"count":1,"has_more":true,"next":{"offset":"0","endDate":"2026-02-02"},"data":[{"date":"2026-02-03","lab":"anthropic","family":"opus"`)
	f("full", "/api/workload?order=desc&limit=1", 200, `[{"date":"2026-02-03","lab":"minimax","family":"text"`)
	f("full", "/api/workload?lab=deepseek&family=chat&limit=1", 200, `"cCents":0,"lfl":100,`)
	// What was known then: the revision came at 9:00 on 2 February.
	f("premium", "/api/otpi?lab=anthropic&date=2026-01-30&as_of=2026-02-02T08:59:59.999Z", 200, `"computedAt":"2026-01-31T01:00:00.000Z"`)
	f("premium", "/api/otpi?lab=anthropic&date=2026-01-30&as_of=2026-02-02T09:00:00Z", 200, `"computedAt":"2026-02-02T09:00:00.000Z"`)
	f("", "/api/otpi?lab=anthropic&as_of=2026-02-02T00:30:00Z", 200, `"date":"2026-01-31"`)
	f("", "/api/otpi?as_of=2030-01-01", 200, `"date":"2026-02-03"`)
	// Without a key: free labs, and nothing before the window.
	f("", "/api/otpi?lab=minimax", 401, "key_required")
	f("", "/api/otpi?date=2026-01-03", 401, "outside_free_window")
	f("", "/api/otpi?startDate=2026-01-03T23:59:59Z", 401, "outside_free_window")
	f("", "/api/otpi?as_of=2026-01-03", 401, "outside_free_window")
	f("", "/api/workload", 401, "key_required")
	f("", "/api/workload?lab=nobody", 401, "key_required")
	// Parameters come before the window and the lab.
	f("", "/api/otpi?lab=minimax&as_of=yesterday", 400, `for \"as_of\": must be`)
	f("", "/api/otpi?startDate=2020-01-01&order=up", 400, `for \"order\": must be`)
	r.Use(snapshot.New(assay.DefaultCatalog(), 1))
	f("", "/api/otpi", 404, "No token price found for any lab")
	f("", "/api/otpi?startDate=2026-02-01", 200, empty)
	f("full", "/api/workload", 200, empty)
	f("full", "/api/workload?family=opus", 400, "must be all.")
}

func TestTokens_NotShown(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	f := func(caller, target string, never ...string) {
		t.Helper()
		got := r.Get(caller, target)
		if got.StatusCode != 200 {
			t.Errorf("%s: %d %s", target, got.StatusCode, got.Text)
		}
		for _, text := range never {
			if strings.Contains(got.Text, text) {
				t.Errorf("%s as %q shows %s", target, caller, text)
			}
		}
	}
	f("", "/api/otpi", "minimax", `"date":"2026-02-04"`)
	f("", "/api/otpi?endDate=2026-02-28", "minimax", `"date":"2026-01-03"`, `"date":"2026-02-04"`)
	f("", "/api/otpi?startDate=2026-01-04&order=desc", "minimax", `"date":"2026-01-03"`, `"date":"2026-02-04"`)
	f("", "/api/otpi?as_of=2026-01-10&endDate=2026-02-28", "minimax", `"date":"2026-01-03"`, `"date":"2026-01-10"`)
	f("full", "/api/workload", `"date":"2026-02-04"`, `"NaN"`)
}

// TestTokens_BadParameters: the message names the parameter, its value and what is allowed.
func TestTokens_BadParameters(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	r := newRig(t)
	f := func(target string, want ...string) {
		t.Helper()
		got := r.Get("full", target)
		for _, text := range append(want, `"error":"Bad request"`, `"code":"invalid_parameter"`) {
			if got.StatusCode != 400 || !strings.Contains(got.Text, text) {
				t.Errorf("%s: %d %s\nwant %s", target, got.StatusCode, got.Text, text)
			}
		}
	}
	const labs = "must be anthropic, openai, google, deepseek, minimax, xiaomi, qwen, moonshotai, z-ai, mistralai or meta-llama."
	f("/api/otpi?date=2026-02-01&startDate=2026-01-01", `Invalid value \"2026-02-01\" for \"date\"`, "absent when startDate or endDate is given")
	f("/api/otpi?date=2026-02-01&endDate=2026-02-01", `for \"date\": must be`, "absent when")
	f("/api/otpi?date=soon", `for \"date\": must be`, `\"soon\"`, "YYYY-MM-DD")
	f("/api/otpi?date=2026-02-01&date=2026-02-01", `for \"date\": must be given once.`)
	for _, route := range []string{"/api/otpi", "/api/workload"} {
		f(route+"?lab=Anthropic", `for \"lab\": must be`, `\"Anthropic\"`, labs)
		f(route+"?lab=openai&lab=openai", `for \"lab\": must be given once.`)
		f(route+"?startDate=2026-13-01", `for \"startDate\": must be`, "2026-13-01", "YYYY-MM-DD")
		f(route+"?endDate=never", `for \"endDate\": must be`, "never", "YYYY-MM-DD")
		f(route+"?startDate=2026-02-02&endDate=2026-02-01", `for \"startDate\": must be`, "2026-02-02", "not after endDate")
		f(route+"?as_of=then", `for \"as_of\": must be`, "then", "YYYY-MM-DD")
		f(route+"?order=up", `for \"order\": must be`, "asc or desc")
		f(route+"?limit=0", `for \"limit\": must be`, "1 to 100000")
		f(route+"?limit=100001", `for \"limit\": must be`, "100001", "1 to 100000")
	}
	f("/api/workload?family=opal", `for \"family\": must be`, `\"opal\"`, "must be all, chat, flagship, flash, haiku, opus or text.")
	f("/api/workload?lab=anthropic&family=flash", `for \"family\": must be`, "must be all, haiku or opus.")
	f("/api/workload?lab=xiaomi&family=flash", `for \"family\": must be`, "must be all.")
	f("/api/workload?family=opus&family=opus", `for \"family\": must be given once.`)
}

// A methodology may ask for more than a lab has: from its effect on, the lab has no price.
func TestTokens_FollowTheMethodology(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	before := r.Get("premium", "/api/otpi?startDate=2026-01-29&endDate=2026-01-31")
	second := strings.Replace(apitest.Methodology("1.0.1", "2026-01-31", 2), "minimum =", "otpi = {minimum_models = 2, minimum_requests = 2000}\nminimum =", 1)
	u := apitest.Update()
	r.Use(r.Snapshots.Load().With(snapshot.Update{
		Version: u.Version, Covered: u.Covered,
		Methodologies: []assay.MethodologyFile{
			u.Methodologies[0], {Version: "1.0.1", Effective: apitest.Instant("2026-01-31"), Text: second},
		},
	}))
	after := r.Get("premium", "/api/otpi?startDate=2026-01-29&endDate=2026-01-31")
	if !strings.Contains(before.Text, `"count":12,`) || !strings.Contains(after.Text, `"count":6,`) || before.Header.Get("Etag") == after.Header.Get("Etag") {
		t.Errorf("before %s\n%s\nafter %s\n%s", before.Header.Get("Etag"), before.Text, after.Header.Get("Etag"), after.Text)
	}
	// The 30th ends when the version takes effect: two models and two decimals.
	if strings.Contains(after.Text, `"date":"2026-01-30","lab":"openai"`) || !strings.Contains(after.Text, `"date":"2026-01-29","lab":"openai"`) {
		t.Errorf("the wrong days follow the version: %s", after.Text)
	}
}

// With a damaged version, reads follow the ones before it.
func TestTokens_DamagedMethodology(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	u := apitest.Update()
	strict := assay.MethodologyFile{Version: "1.0.1", Text: apitest.Methodology("1.0.1", "1970-01-01", 4)}
	strict.Text = strings.Replace(strict.Text, "minimum =", "otpi = {minimum_models = 2, minimum_requests = 2000}\nminimum =", 1)
	read := func(versions ...assay.MethodologyFile) string {
		r.Use(r.Snapshots.Load().With(snapshot.Update{Version: u.Version, Covered: u.Covered, Methodologies: versions}))
		return r.Get("premium", "/api/otpi?startDate=2026-01-29&endDate=2026-01-31").WithoutID()
	}
	plain, sound := read(u.Methodologies[0]), read(strict)
	damaged := read(strict, assay.MethodologyFile{Version: "1.0.2", Effective: apitest.Instant("2026-01-30"), Text: "version = ["})
	if damaged != sound || damaged == plain {
		t.Errorf("with a damaged version: %s\nwithout it: %s", damaged, sound)
	}
	if logs := r.Logs.String(); !strings.Contains(logs, `"error":"version 1.0.2: `) {
		t.Errorf("the log does not name the version: %s", logs)
	}
}

// TestTokens_AsOfEqualsWhatWasServed asks everything when it is new, and again as of then when the story is over.
func TestTokens_AsOfEqualsWhatWasServed(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	targets := []string{
		"/api/otpi?", "/api/otpi?lab=anthropic", "/api/otpi?date=2026-01-12", "/api/otpi?startDate=2026-01-08&order=desc&limit=5",
		"/api/workload?", "/api/workload?family=all&limit=30&order=desc", "/api/workload?lab=openai&startDate=2026-01-10",
	}
	r := newRig(t, func(c *apitest.Config) { c.Web.KeyLimit = 1_000_000 })
	r.Use(snapshot.New(assay.DefaultCatalog(), 1))
	rng := rand.New(rand.NewPCG(9, 9))
	revisions := map[string]int{}
	past := pastReplies{targets: targets, served: map[string]apitest.Reply{}}
	r.Clock = time.UnixMilli(apitest.Instant("2026-01-08T05:00:00Z")).UTC()
	for range 12 {
		r.Clock = r.Clock.Add(time.Duration(6+rng.IntN(20)) * time.Hour)
		var learned []assay.Observed[assay.ModelDay]
		for range 12 {
			name := apitest.Models[rng.IntN(len(apitest.Models))]
			m := assay.ModelDay{
				Day: assay.StartOfDay(r.Clock.UnixMilli()) - rng.Int64N(5)*assay.Day,
				Lab: name.Lab, Model: name.Model, Family: name.Family,
				Requests: 1 + rng.Int64N(900), InputTokens: 1 + rng.Int64N(90_000),
				Dollars: assay.Nanos(rng.Int64N(int64(assay.One))),
			}
			learned = append(learned, assay.Observed[assay.ModelDay]{
				Value: m, Key: m.Key(), Revision: revisions[m.Key()], Received: r.Clock.UnixMilli(),
			})
			revisions[m.Key()]++
		}
		r.Use(r.Snapshots.Load().With(snapshot.Update{
			Observations: family.Batches{assay.FamilyModels: tokens.Family.BatchOf(learned...)},
		}))
		past.record(r)
	}
	r.Clock = r.Clock.Add(5 * 24 * time.Hour)
	past.wantAsOf(t, r)
}

// manyModelDays has days of a few thousand models in each of several receipts, an hour apart.
func manyModelDays(receipts int) (known *snapshot.Snapshot, received []int64) {
	const models = 3000
	known = snapshot.New(assay.DefaultCatalog(), 1)
	day := apitest.Instant("2026-01-31")
	for n := range receipts {
		at := apitest.Instant("2026-02-01") + int64(n)*assay.Hour
		var learned []assay.Observed[assay.ModelDay]
		for i := range models {
			m := assay.ModelDay{
				Day: day, Lab: "openai", Model: fmt.Sprint("model ", n, ".", i), Family: "gpt",
				Requests: 100_000, InputTokens: 1_000_000, Dollars: assay.One,
			}
			learned = append(learned, assay.Observed[assay.ModelDay]{Value: m, Key: m.Key(), Received: at})
		}
		batch := family.Batches{assay.FamilyModels: tokens.Family.BatchOf(learned...)}
		known, received = known.With(snapshot.Update{Observations: batch}), append(received, at)
	}
	return known, received
}

// A request that needs a model of another past moment counts as several, the more the larger the model, and one for
// which the caller has too little left builds nothing. A model in memory costs nothing more.
func TestAsOf_NewModelsCountAsSeveralRequests(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	r := newRig(t)
	snap, received := manyModelDays(8)
	r.Use(snap)
	f := func(n int, caller string, status int, limit string) {
		t.Helper()
		target := "/api/otpi?as_of=" + assay.FormatInstant(received[n]+1)
		got := r.Get(caller, target, "peer", "192.0.2.7:99")
		if got.StatusCode != status || got.Header.Get("Ratelimit") != limit || len(got.Header["Ratelimit"]) != 1 {
			t.Errorf("%s: %d %v %.200s, want %d %s", target, got.StatusCode, got.Header["Ratelimit"], got.Text, status, limit)
		}
	}
	f(7, "", 200, `"public";r=59;t=60`) // the current model
	f(0, "", 200, `"public";r=57;t=60`) // 3,000 observations
	f(0, "", 200, `"public";r=56;t=60`)
	f(1, "", 200, `"public";r=52;t=60`) // 6,000 observations
	f(6, "", 200, `"public";r=42;t=60`) // 21,000, but no more than ten requests
	f(5, "", 200, `"public";r=32;t=60`)
	f(4, "", 200, `"public";r=24;t=60`) // 15,000 observations
	f(3, "", 200, `"public";r=17;t=60`)
	r.Use(snap.WithCatalog(snap.Catalog, 2)) // all models are to be built again
	f(6, "", 200, `"public";r=7;t=60`)
	f(5, "", 429, `"public";r=6;t=60`)
	if api.HasPastModel(r.API, r.Snapshots.Load(), "token prices", received[5]) {
		t.Error("a model was built for a request that was refused")
	}
	f(6, "", 200, `"public";r=5;t=60`)
}

// Prices and costs are built separately, when they are requested.
func TestAsOf_PricesWithoutCosts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	snap, received := manyModelDays(3)
	r.Use(snap)
	want := func(n int, prices, costs bool) {
		t.Helper()
		has := func(name string) bool { return api.HasPastModel(r.API, snap, name, received[n]) }
		if has("token prices") != prices || has("workload costs") != costs {
			t.Errorf("receipt %d: prices are built: %v, costs: %v", n, has("token prices"), has("workload costs"))
		}
	}
	r.Get("premium", "/api/otpi?as_of="+assay.FormatInstant(received[0]))
	want(0, true, false)
	r.Get("premium", "/api/workload?as_of="+assay.FormatInstant(received[1]))
	want(1, false, true)
}

// TestTokens_ETags: a response that differs has another tag, and one that was sent back is 304.
func TestTokens_ETags(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	r := newRig(t)
	seen := map[string]string{}
	for _, caller := range []string{"", "premium", "full"} {
		for _, target := range []string{
			"/api/otpi", "/api/otpi?order=desc", "/api/otpi?lab=openai", "/api/otpi?lab=google&date=2026-02-02", "/api/otpi?startDate=2026-02-02",
			"/api/workload?limit=3", "/api/workload?lab=openai&limit=3", "/api/workload?family=all&limit=3", "/api/workload?limit=3&order=desc",
		} {
			got := r.Get(caller, target)
			if got.StatusCode != 200 {
				continue
			}
			tag := got.Header.Get("Etag")
			if other, ok := seen[tag]; ok && other != got.Text {
				t.Errorf("%s as %q shares its tag with another answer", target, caller)
			}
			seen[tag] = got.Text
			if again := r.Get(caller, target, "If-None-Match", tag); again.StatusCode != 304 {
				t.Errorf("%s as %q, sent back: %d", target, caller, again.StatusCode)
			}
		}
	}
}

// Rows are appended by hand; encoding/json gives the same bytes.
func TestTokens_RowsAreJSON(t *testing.T) {
	t.Parallel()
	known := apitest.ModelDays()
	labs := assay.DefaultCatalog().Labs
	type price struct {
		Date         string      `json:"date"`
		Lab          string      `json:"lab"`
		IndexPerMtok assay.Nanos `json:"indexPerMtok"`
		ComputedAt   string      `json:"computedAt"`
	}
	type cost struct {
		Date            string      `json:"date"`
		Lab             string      `json:"lab"`
		Family          string      `json:"family"`
		CCents          assay.Nanos `json:"cCents"`
		LFL             json.Number `json:"lfl"`
		QKtok           assay.Nanos `json:"qKtok"`
		PriceEffect     assay.Nanos `json:"priceEffect"`
		IntensityEffect assay.Nanos `json:"intensityEffect"`
		MixEffect       assay.Nanos `json:"mixEffect"`
		ComputedAt      string      `json:"computedAt"`

		UnlinkedShare *assay.Nanos `json:"unlinkedShare"`
	}
	f := func(got []byte, row any) {
		t.Helper()
		want, err := json.Marshal(row)
		if err != nil || string(got) != "x"+string(want) {
			t.Fatalf("%s, want %s (%v)", got, want, err)
		}
	}
	day := func(ms int64) string { return assay.FormatInstant(ms)[:10] }
	for _, p := range tokens.Prices(known, labs, index.Schedule{index.Plain()}) {
		if p.Split > 0 {
			const parts = `,"inputPerMtok":10.0109,"cachedInputPerMtok":1.2514,"outputPerMtok":52.7917,"mixPerMtok":null,"splitShare":1}`
			if got := string(api.AppendTokenPrice(nil, &p)); day(p.Day) == "2026-02-01" && !strings.HasSuffix(got, parts) {
				t.Errorf("a split price is %s", got)
			}
			p.Split = 0
		}
		f(api.AppendTokenPrice([]byte("x"), &p), price{day(p.Day), p.Lab, p.Value, assay.FormatInstant(p.Computed)})
	}
	for _, c := range tokens.Costs(known, labs, index.Schedule{index.Plain()}) {
		c.Family += ` "new"`
		var unlinked *assay.Nanos
		if c.Unlinked.OK {
			unlinked = &c.Unlinked.Value
		}
		f(api.AppendCost([]byte("x"), &c), cost{
			day(c.Day), c.Lab, c.Family, c.Cents, json.Number(c.Index), c.Ktok, c.Price, c.Intensity, c.Mix,
			assay.FormatInstant(c.Computed), unlinked,
		})
	}
}

// A compressed response is the same, whether it was compressed before or while sending.
func TestTokens_Compressed(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	r := newRig(t)
	f := func(target string, length bool) {
		t.Helper()
		want := r.Get("full", target)
		for _, coding := range []string{"gzip", "zstd", "gzip"} {
			got := r.Get("full", target, "Accept-Encoding", coding)
			if body := unpack(t, got); body != want.Text || got.Header.Get("Content-Encoding") != coding {
				t.Errorf("%s in %s (%s) is %.100s, want %.100s", target, coding, got.Header.Get("Content-Encoding"), body, want.Text)
			}
			if tag := strings.Trim(want.Header.Get("Etag"), `"`); got.Header.Get("Etag") != fmt.Sprintf(`"%s-%c"`, tag, coding[0]) {
				t.Errorf("%s in %s has the tag %s, plain %s", target, coding, got.Header.Get("Etag"), tag)
			}
			if (got.Header.Get("Content-Length") != "") != length {
				t.Errorf("%s in %s has the length %q", target, coding, got.Header.Get("Content-Length"))
			}
		}
	}
	f("/api/workload", true)
	f("/api/workload?lab=anthropic", true)
	f("/api/workload?family=all", true)
	f("/api/workload?order=desc", false)
	f("/api/workload?startDate=2026-01-01", false)
	f("/api/otpi?startDate=2026-01-01", false)
}
