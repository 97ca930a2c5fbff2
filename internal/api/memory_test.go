package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/api"
	"github.com/assaydata/assay/internal/apitest"
	"github.com/assaydata/assay/internal/coding"
	"github.com/assaydata/assay/internal/family"
	"github.com/assaydata/assay/internal/memory"
	"github.com/assaydata/assay/internal/snapshot"
	"github.com/assaydata/assay/tools/testenv"
)

func TestMemory_Edges(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	f := func(target string, status int, want string) {
		t.Helper()
		if got := r.Get("premium", target); got.StatusCode != status || !strings.Contains(got.Text, want) {
			t.Errorf("%s: %d %.400s\nwant %d %s", target, got.StatusCode, got.Text, status, want)
		}
	}
	const index = "/api/memory-index"
	// Today's reading is in, and its fixing is to come.
	f(index+"?type=mem_ddr5_16gb", 200, `{"success":true,"access":"premium","date":"2026-02-03T21:00:00.000Z","count":1,"data":{"id":"mem_ddr5_16gb",`)
	// An id and a name are one, also in the path, where a slash is escaped.
	f(index+"?type=DDR5%2016Gb%20(2Gx8)%204800/5600", 200, `"count":1,"data":{"id":"mem_ddr5_16gb",`)
	f("/api/memory/DDR5%2016Gb%20(2Gx8)%204800%2F5600/history?limit=1", 200, `{"success":true,"id":"mem_ddr5_16gb","memoryType":"DDR5 16Gb (2Gx8) 4800/5600","access":"premium","granularity":"daily","count":1,"has_more":true,"next":{"startDate":"2025-12-02T21:00:00.000Z"},"data":[{"date":"2025-12-01","id":"mem_ddr5_16gb",`)
	// Thirteen of fourteen have data; one of them old.
	f(index, 200, `"date":"2026-02-03T21:00:00.000Z","count":13,"data":[{"id":"mem_ddr3_4gb",`)
	f(index+"?type=mem_slc_1gb", 200, `"date":"2026-01-15T21:00:00.000Z","count":1,"data":{"id":"mem_slc_1gb",`)
	f(index+"?category=module", 200, `"count":2,"data":[{"id":"mem_ddr4_udimm_16gb",`)
	f(index+"?category=flash", 200, `"count":4,"data":[{"id":"mem_mlc_32gb",`)
	f(index+"?category=dram&type=mem_ddr5_16gb", 200, `"count":1,"data":{"id":"mem_ddr5_16gb",`)
	f(index+"?category=&type=", 200, `"count":13,`)
	const none = `"error":"No data available","message":"No memory price data found for `
	f(index+"?category=flash&type=mem_ddr5_16gb", 404, none+`mem_ddr5_16gb"`)
	f(index+"?type=mem_ddr5_rdimm_32gb", 404, none+`mem_ddr5_rdimm_32gb"`)
	f(index+"?type=MEM_DDR5_16GB", 404, none+`MEM_DDR5_16GB"`)
	f(index+"?as_of=2025-12-01T20:59:59.999Z", 404, none+`any memory type"`)
	f(index+"?as_of=2025-12-01T20:59:59.999Z&category=dram", 404, none+`dram"`)
	f(index+"?as_of=2025-12-01T21:00:00Z", 200, `"date":"2025-12-01T21:00:00.000Z","count":13,`)
	f("/api/memory/mem_ddr6/history", 404, none+`mem_ddr6"`)
	f("/api/memory/mem_ddr5_rdimm_32gb/history", 404, none+`mem_ddr5_rdimm_32gb"`)
	f("/api/memory/"+r.Keys["full"]+"/history", 404, none+"sk_live_…")

	const history = "/api/memory/mem_ddr5_16gb/history"
	const empty = `"count":0,"has_more":false,"data":[]}`
	// December has 23 weekdays, January 22, and there were two in February; the Saturday belongs to a Monday.
	f(history, 200, `"count":47,"has_more":false,"data":[{"date":"2025-12-01",`)
	f(history, 200, `"sourceUpdatedAt":"2026-02-03T10:00:00.000Z","timestamp":"2026-02-03T21:00:00.000Z"}]}`)
	f(history+"?startDate=2026-02-04", 200, empty)
	f(history+"?startDate=2030-01-01", 200, empty)
	f(history+"?endDate=2020-01-01", 200, empty)
	f(history+"?startDate=2026-01-31&endDate=2026-02-01", 200, empty)
	f(history+"?startDate=2026-02-03&endDate=2026-02-03", 200, `"count":1,"has_more":false,"data":[{"date":"2026-02-03",`)
	f(history+"?endDate=2026-02-03T20:59:59Z&order=desc&limit=1", 200, `"count":1,"has_more":true,"next":{"endDate":"2026-01-30T21:00:00.000Z"},"data":[{"date":"2026-02-02",`)
	f(history+"?startDate=2026-02-03T21:00:00Z", 200, `"count":1,`)
	f(history+"?startDate=1960-01-01&limit=2", 200, `"count":2,"has_more":true,"next":{"startDate":"2025-12-03T21:00:00.000Z"},"data":[{"date":"2025-12-01",`)
	// The correction counts from when it came: for its day, the change after it, and the weeks that hold it.
	const friday = history + "?startDate=2026-01-30&endDate=2026-01-30"
	f(friday, 200, `"price":9,"weeklyHigh":9,`)
	f(friday+"&as_of=2026-02-02T08:59:59.999Z", 200, `"price":4.536,"weeklyHigh":4.59,"weeklyLow":4.516,"changePct":-1.1765,`)
	f(friday+"&as_of=2026-02-02T09:00:00Z", 200, `"price":9,`)
	f(history+"?startDate=2026-02-03", 200, `"weeklyHigh":9,`)

	r.Use(snapshot.New(assay.DefaultCatalog(), 1))
	f(index, 404, none+`any memory type"`)
	f(history, 404, none+`mem_ddr5_16gb"`)
}

// TestMemory_Settles: a point appears with its fixing, without an import.
func TestMemory_Settles(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	at := func(text string) apitest.Reply {
		r.Clock = time.UnixMilli(apitest.Instant(text)).UTC()
		return r.Get("full", "/api/memory-index?type=mem_ddr5_16gb")
	}
	before, after := at("2026-02-04T20:59:59.999Z"), at("2026-02-04T21:00:00Z")
	if !strings.Contains(before.Text, `"date":"2026-02-03T21:00:00.000Z","count"`) || !strings.Contains(after.Text, `"date":"2026-02-04T21:00:00.000Z","count"`) {
		t.Errorf("before %s\nafter %s", before.Text, after.Text)
	}
	if before.Header.Get("Etag") == after.Header.Get("Etag") || after.Header.Get("Last-Modified") != "Wed, 04 Feb 2026 21:00:00 GMT" {
		t.Errorf("ETag %s then %s, modified %s", before.Header.Get("Etag"), after.Header.Get("Etag"), after.Header.Get("Last-Modified"))
	}
}

// badRanges are the ranges that no history takes.
var badRanges = [][3]string{
	{"startDate=2025-13-01", "startDate", "YYYY-MM-DD"},
	{"endDate=yesterday", "endDate", "YYYY-MM-DD"},
	{"startDate=2026-02-02&endDate=2026-02-01", "startDate", "not after endDate"},
	{"limit=0", "limit", "an integer from 1 to 10000"},
	{"limit=10001", "limit", "an integer from 1 to 10000"},
	{"limit=ten", "limit", "an integer from 1 to 10000"},
	{"order=up", "order", "asc or desc"},
	{"as_of=then", "as_of", "YYYY-MM-DD"},
	{"limit=1&limit=1", "limit", "once"},
	{"startDate=2026-01-01&startDate=2026-01-01", "startDate", "once"},
}

// wantRefused checks that the response to a bad parameter has its name, its value and the allowed values.
func (r *rig) wantRefused(target, name, value, allowed string) {
	r.Test.Helper()
	got := r.Get("premium", target)
	for _, part := range []string{`"error":"Bad request"`, `"code":"invalid_parameter"`, `for \"` + name + `\": must be`, value, allowed} {
		if got.StatusCode != http.StatusBadRequest || !strings.Contains(got.Text, part) {
			r.Test.Errorf("%s: %d %s\nwant %s", target, got.StatusCode, got.Text, part)
		}
	}
}

func TestMemory_Parameters(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, bad := range badRanges {
		r.wantRefused("/api/memory/mem_ddr5_16gb/history?"+bad[0], bad[1], strings.SplitN(strings.Split(bad[0], "&")[0], "=", 2)[1], bad[2])
	}
	const index = "/api/memory-index?"
	r.wantRefused(index+"category=hbm", "category", "hbm", "dram, flash or module")
	r.wantRefused(index+"category=DRAM", "category", "DRAM", "dram, flash or module")
	r.wantRefused(index+"category=dram&category=dram", "category", "dram", "once")
	r.wantRefused(index+"type=a&type=b", "type", "b", "once")
	r.wantRefused(index+"as_of=2026-02-30", "as_of", "2026-02-30", "YYYY-MM-DD")
	// The parameters come before the data, and the key before both.
	r.wantRefused("/api/memory/mem_ddr6/history?limit=0", "limit", "0", "an integer")
	if got := r.Get("", index+"category=hbm"); got.StatusCode != http.StatusUnauthorized {
		t.Errorf("without a key: %d", got.StatusCode)
	}
}

// TestMemory_RowsAreJSON holds the appended row against encoding/json.
func TestMemory_RowsAreJSON(t *testing.T) {
	t.Parallel()
	kind := assay.MemoryType{ID: "mem_<x>", MemoryType: `4" & "ü"`, Category: "dram"}
	p := memory.Point{
		At: apitest.Instant("2026-02-03T21:00:00Z"), Price: 5_200_000_001, High: 6 * assay.One, Low: assay.One / 4, ChangePct: -54_545 * assay.Unit(4),
		ReadAt: apitest.Instant("2026-02-03T15:00:00.007Z"),
	}
	want, err := json.Marshal(struct {
		Date            string      `json:"date"`
		ID              string      `json:"id"`
		MemoryType      string      `json:"memoryType"`
		Category        string      `json:"category"`
		Price           assay.Nanos `json:"price"`
		WeeklyHigh      assay.Nanos `json:"weeklyHigh"`
		WeeklyLow       assay.Nanos `json:"weeklyLow"`
		ChangePct       assay.Nanos `json:"changePct"`
		SourceUpdatedAt string      `json:"sourceUpdatedAt"`
		Timestamp       string      `json:"timestamp"`
	}{"2026-02-03", kind.ID, kind.MemoryType, kind.Category, p.Price, p.High, p.Low, p.ChangePct, assay.FormatInstant(p.ReadAt), assay.FormatInstant(p.At)})
	if err != nil {
		t.Fatal(err)
	}
	if got := string(api.AppendMemoryRow([]byte("prefix"), api.AppendMemoryMiddle(nil, kind), &p)); got != "prefix"+string(want) {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// observedTargets are the routes of memory and coding that take as_of, in forms that depend on the moment.
var observedTargets = []string{
	"/api/memory-index?",
	"/api/memory-index?type=mem_ddr5_16gb",
	"/api/memory-index?category=flash",
	"/api/memory/mem_ddr5_16gb/history?",
	"/api/memory/mem_ddr5_16gb/history?startDate=2026-01-20&order=desc&limit=3",
	"/api/memory/mem_slc_1gb/history?limit=100",
	"/api/llm-coding/index?product=cc-prs",
	"/api/llm-coding/index?product=devin-merge",
	"/api/llm-coding/history?product=cc-commits",
	"/api/llm-coding/history?product=cc-vs-codex-merge&startDate=2026-01-20&order=desc",
}

// TestObserved_EqualsWhatWasServed sends every request as the observations come in, and again with as_of at the end.
func TestObserved_EqualsWhatWasServed(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	r := newRig(t, func(c *apitest.Config) { c.Web.KeyLimit = 1_000_000 })
	r.Use(snapshot.New(assay.DefaultCatalog(), 1))
	readings, days := apitest.MemoryReadings(), apitest.CodingDays()
	served := map[string]apitest.Reply{}
	var moments []time.Time
	last := int64(0)
	for _, text := range []string{
		"2025-11-30", "2025-12-01T10:05:00Z", "2025-12-01T21:00:00Z", "2026-01-15T22:00:00Z", "2026-01-16T09:00:00Z", "2026-02-01T12:00:00Z",
		"2026-02-02T08:59:59.999Z", "2026-02-02T09:00:00Z", "2026-02-02T21:00:00Z", "2026-02-03T01:00:00Z", "2026-02-03T10:04:59Z", "2026-02-04T11:00:00Z",
	} {
		r.Clock = time.UnixMilli(apitest.Instant(text)).UTC()
		var newReadings []assay.Observed[assay.MemoryReading]
		var newDays []assay.Observed[assay.CodingDay]
		for _, o := range readings {
			if o.Received > last && o.Received <= r.Clock.UnixMilli() {
				newReadings = append(newReadings, o)
			}
		}
		for _, o := range days {
			if o.Received > last && o.Received <= r.Clock.UnixMilli() {
				newDays = append(newDays, o)
			}
		}
		last = r.Clock.UnixMilli()
		r.Use(r.Snapshots.Load().With(snapshot.Update{Observations: family.Batches{
			assay.FamilyMemory: memory.Family.BatchOf(newReadings...), assay.FamilyCoding: coding.Family.BatchOf(newDays...),
		}}))
		moments = append(moments, r.Clock)
		for _, target := range observedTargets {
			served[fmt.Sprint(r.Clock, target)] = r.Get("full", target)
		}
	}
	r.Clock = apitest.Now.AddDate(0, 0, 5)
	for _, target := range observedTargets {
		bodies := map[string]bool{}
		for _, then := range moments {
			was, got := served[fmt.Sprint(then, target)], r.Get("full", target+"&as_of="+assay.FormatInstant(then.UnixMilli()))
			wantSameReply(t, fmt.Sprintf("%s as of %s", target, then), got, was)
			bodies[was.WithoutID()] = true
		}
		if len(bodies) < 3 {
			t.Errorf("%s had %d answers: too little was tested", target, len(bodies))
		}
		if r.Get("full", target).Text != r.Get("full", target+"&as_of=2030-01-01").Text {
			t.Errorf("%s: the future is not now", target)
		}
	}
}

// TestCached: a response from the cache is the same as one that is made for the request.
func TestCached(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *apitest.Config) { c.Web.KeyLimit = 1_000_000 })
	snap := r.Snapshots.Load()
	get := func() (replies []apitest.Reply) {
		for _, target := range observedTargets {
			replies = append(replies, r.Get("premium", target))
		}
		return replies
	}
	first, second := get(), get()
	memory, coding := api.CachedMemory(r.API, snap), api.CachedCoding(r.API, snap)
	if memory == 0 || coding == 0 {
		t.Fatalf("%d responses about memory and %d about coding tools are cached", memory, coding)
	}
	r.Get("premium", "/api/memory-index?as_of=2026-02-01")
	r.Get("premium", "/api/memory/mem_ddr5_16gb/history?as_of=2026-02-01")
	if api.CachedMemory(r.API, snap) != memory {
		t.Error("a response about the past is cached")
	}
	r.UseCatalog(snap.Catalog) // which starts with empty caches
	for i, made := range get() {
		for _, cached := range []apitest.Reply{first[i], second[i]} {
			for _, name := range []string{"Etag", "Last-Modified", "Cache-Control"} {
				if cached.Header.Get(name) != made.Header.Get(name) {
					t.Errorf("%s: %s is %q from the cache, else %q", observedTargets[i], name, cached.Header.Get(name), made.Header.Get(name))
				}
			}
			if cached.Text != made.Text {
				t.Errorf("%s: %.200s from the cache, else %.200s", observedTargets[i], cached.Text, made.Text)
			}
		}
	}
}
