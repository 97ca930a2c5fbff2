package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assaydata/assay"
	products "github.com/assaydata/assay/internal/coding"
	"github.com/assaydata/assay/internal/family"
	"github.com/assaydata/assay/internal/memory"
	"github.com/assaydata/assay/internal/snapshot"
)

// observations puts what was received into the order of receipt and numbers the revisions.
func observations[T any](all []assay.Observed[T]) []assay.Observed[T] {
	slices.SortStableFunc(all, func(a, b assay.Observed[T]) int { return int(a.Received - b.Received) })
	known := map[string]int{}
	for i := range all {
		all[i].Revision = known[all[i].Key]
		known[all[i].Key]++
	}
	return all
}

// fixtureMemory are readings at 10:00 UTC of every weekday since December and of one Saturday, received five minutes later;
// of one memory type until January only, of another none. One was corrected on 2 February.
func fixtureMemory() []assay.Observed[assay.MemoryReading] {
	var all []assay.Observed[assay.MemoryReading]
	add := func(id, at string, price assay.Nanos, received int64) {
		r := assay.MemoryReading{MemoryID: id, At: fixtureInstant(at), Price: price}
		if received == 0 {
			received = r.At + 5*assay.Minute
		}
		all = append(all, assay.Observed[assay.MemoryReading]{Value: r, Key: r.Key(), Received: received})
	}
	for n, kind := range assay.DefaultCatalog().MemoryTypes {
		for day := range 66 {
			date := time.Date(2025, 12, 1+day, 10, 0, 0, 0, time.UTC)
			weekend := date.Weekday() == time.Saturday && date.Day() != 31 || date.Weekday() == time.Sunday
			if weekend || kind.ID == "mem_ddr5_rdimm_32gb" || kind.ID == "mem_slc_1gb" && day > 45 {
				continue
			}
			add(kind.ID, date.Format(time.RFC3339), assay.Nanos(2000+500*n+day*37%91)*assay.Unit(3), 0)
		}
	}
	add("mem_ddr5_16gb", "2026-01-30T10:00:00Z", 9*assay.One, fixtureInstant("2026-02-02T09:00:00Z"))
	return observations(all)
}

func TestMemory_Edges(t *testing.T) {
	r := newRig(t)
	f := func(target string, status int, want string) {
		t.Helper()
		if got := r.get("premium", target); got.StatusCode != status || !strings.Contains(got.body, want) {
			t.Errorf("%s: %d %.400s\nwant %d %s", target, got.StatusCode, got.body, status, want)
		}
	}
	const index = "/api/memory-index"
	// Today's reading is in, and its fixing is to come.
	f(index+"?type=mem_ddr5_16gb", 200, `{"success":true,"access":"premium","date":"2026-02-03T21:00:00.000Z","count":1,"data":{"id":"mem_ddr5_16gb",`)
	// An id and a name are one, also in the path, where a slash is escaped.
	f(index+"?type=DDR5%2016Gb%20(2Gx8)%204800/5600", 200, `"count":1,"data":{"id":"mem_ddr5_16gb",`)
	f("/api/memory/DDR5%2016Gb%20(2Gx8)%204800%2F5600/history?limit=1", 200, `{"success":true,"id":"mem_ddr5_16gb","memoryType":"DDR5 16Gb (2Gx8) 4800/5600","access":"premium","granularity":"daily","count":1,"has_more":true,"data":[{"date":"2025-12-01","id":"mem_ddr5_16gb",`)
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
	f("/api/memory/"+r.keys["full"]+"/history", 404, none+"sk_live_…")

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
	f(history+"?endDate=2026-02-03T20:59:59Z&order=desc&limit=1", 200, `"count":1,"has_more":true,"data":[{"date":"2026-02-02",`)
	f(history+"?startDate=2026-02-03T21:00:00Z", 200, `"count":1,`)
	f(history+"?startDate=1960-01-01&limit=2", 200, `"count":2,"has_more":true,"data":[{"date":"2025-12-01",`)
	// The correction counts from when it came: for its day, the change after it, and the weeks that hold it.
	const friday = history + "?startDate=2026-01-30&endDate=2026-01-30"
	f(friday, 200, `"price":9,"weeklyHigh":9,`)
	f(friday+"&as_of=2026-02-02T08:59:59.999Z", 200, `"price":4.536,"weeklyHigh":4.59,"weeklyLow":4.516,"changePct":-1.1765,`)
	f(friday+"&as_of=2026-02-02T09:00:00Z", 200, `"price":9,`)
	f(history+"?startDate=2026-02-03", 200, `"weeklyHigh":9,`)

	r.use(snapshot.New(assay.DefaultCatalog(), 1))
	f(index, 404, none+`any memory type"`)
	f(history, 404, none+`mem_ddr5_16gb"`)
}

// TestMemory_Settles: a point appears with its fixing, without an import.
func TestMemory_Settles(t *testing.T) {
	r := newRig(t)
	at := func(text string) reply {
		r.now = time.UnixMilli(fixtureInstant(text)).UTC()
		return r.get("full", "/api/memory-index?type=mem_ddr5_16gb")
	}
	before, after := at("2026-02-04T20:59:59.999Z"), at("2026-02-04T21:00:00Z")
	if !strings.Contains(before.body, `"date":"2026-02-03T21:00:00.000Z","count"`) || !strings.Contains(after.body, `"date":"2026-02-04T21:00:00.000Z","count"`) {
		t.Errorf("before %s\nafter %s", before.body, after.body)
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
	{"limit=0", "limit", "a whole number from 1 to 10000"},
	{"limit=10001", "limit", "a whole number from 1 to 10000"},
	{"limit=ten", "limit", "a whole number from 1 to 10000"},
	{"order=up", "order", "asc or desc"},
	{"as_of=then", "as_of", "YYYY-MM-DD"},
	{"limit=1&limit=1", "limit", "once"},
	{"startDate=2026-01-01&startDate=2026-01-01", "startDate", "once"},
}

// wantRefused checks that a bad parameter is answered with its name, its value and what is allowed.
func (r *rig) wantRefused(target, name, value, allowed string) {
	r.t.Helper()
	got := r.get("premium", target)
	for _, part := range []string{`"error":"Bad request"`, `"code":"invalid_parameter"`, "Parameter " + name, value, allowed} {
		if got.StatusCode != http.StatusBadRequest || !strings.Contains(got.body, part) {
			r.t.Errorf("%s: %d %s\nwant %s", target, got.StatusCode, got.body, part)
		}
	}
}

func TestMemory_Parameters(t *testing.T) {
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
	r.wantRefused("/api/memory/mem_ddr6/history?limit=0", "limit", "0", "a whole number")
	if got := r.get("", index+"category=hbm"); got.StatusCode != http.StatusUnauthorized {
		t.Errorf("without a key: %d", got.StatusCode)
	}
}

// TestMemory_RowsAreJSON holds the appended row against encoding/json.
func TestMemory_RowsAreJSON(t *testing.T) {
	kind := assay.MemoryType{ID: "mem_<x>", MemoryType: `4" & "ü"`, Category: "dram"}
	p := memory.Point{
		At: fixtureInstant("2026-02-03T21:00:00Z"), Price: 5_200_000_001, High: 6 * assay.One, Low: assay.One / 4, ChangePct: -54_545 * assay.Unit(4),
		ReadAt: fixtureInstant("2026-02-03T15:00:00.007Z"),
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
	if got := string(appendMemoryRow([]byte("prefix"), appendMemoryMiddle(nil, kind), &p)); got != "prefix"+string(want) {
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

// TestObserved_AnswersWhatWasServed asks everything as the observations come in, and again as of then when all are there.
func TestObserved_AnswersWhatWasServed(t *testing.T) {
	r := newRig(t, func(c *Config) { c.KeyLimit = 1_000_000 })
	r.use(snapshot.New(assay.DefaultCatalog(), 1))
	readings, days := fixtureMemory(), fixtureCoding()
	served := map[string]reply{}
	var moments []time.Time
	last := int64(0)
	for _, text := range []string{
		"2025-11-30", "2025-12-01T10:05:00Z", "2025-12-01T21:00:00Z", "2026-01-15T22:00:00Z", "2026-01-16T09:00:00Z", "2026-02-01T12:00:00Z",
		"2026-02-02T08:59:59.999Z", "2026-02-02T09:00:00Z", "2026-02-02T21:00:00Z", "2026-02-03T01:00:00Z", "2026-02-03T10:04:59Z", "2026-02-04T11:00:00Z",
	} {
		r.now = time.UnixMilli(fixtureInstant(text)).UTC()
		var newReadings []assay.Observed[assay.MemoryReading]
		var newDays []assay.Observed[assay.CodingDay]
		for _, o := range readings {
			if o.Received > last && o.Received <= r.now.UnixMilli() {
				newReadings = append(newReadings, o)
			}
		}
		for _, o := range days {
			if o.Received > last && o.Received <= r.now.UnixMilli() {
				newDays = append(newDays, o)
			}
		}
		last = r.now.UnixMilli()
		r.use(r.Snapshots.Load().With(snapshot.Update{Observations: family.Batches{
			assay.FamilyMemory: memory.Family.BatchOf(newReadings...), assay.FamilyCoding: products.Family.BatchOf(newDays...),
		}}))
		moments = append(moments, r.now)
		for _, target := range observedTargets {
			served[fmt.Sprint(r.now, target)] = r.get("full", target)
		}
	}
	r.now = fixtureNow.AddDate(0, 0, 5)
	for _, target := range observedTargets {
		bodies := map[string]bool{}
		for _, then := range moments {
			was, got := served[fmt.Sprint(then, target)], r.get("full", target+"&as_of="+assay.FormatInstant(then.UnixMilli()))
			if got.withoutID() != was.withoutID() || got.StatusCode != was.StatusCode || got.Header.Get("Last-Modified") != was.Header.Get("Last-Modified") || got.Header.Get("Etag") != was.Header.Get("Etag") {
				t.Fatalf("%s as of %s:\n got %d %.400s\nserved was %d %.400s", target, then, got.StatusCode, got.withoutID(), was.StatusCode, was.withoutID())
			}
			bodies[was.withoutID()] = true
		}
		if len(bodies) < 3 {
			t.Errorf("%s had %d answers: too little was tested", target, len(bodies))
		}
		if r.get("full", target).body != r.get("full", target+"&as_of=2030-01-01").body {
			t.Errorf("%s: the future is not now", target)
		}
	}
}

// TestKept: a model keeps so many answers, and nobody can tell a kept one from one that is made.
func TestKept(t *testing.T) {
	r := newRig(t, func(c *Config) { c.KeyLimit = 1_000_000 })
	model := memoryModelOf(r.Snapshots.Load(), 1<<62)
	ask := func() (replies []reply) {
		for _, target := range observedTargets {
			replies = append(replies, r.get("premium", target))
		}
		return replies
	}
	first, second := ask(), ask()
	size := model.kept.size
	if len(model.kept.bodies) == 0 || size == 0 {
		t.Fatal("nothing is kept")
	}
	if r.get("premium", "/api/memory-index?as_of=2026-02-01"); model.kept.size != size {
		t.Error("the answer of a past moment is kept")
	}
	for kind, k := range map[string]*kept{"memory": &model.kept, "coding": &codingModelOf(r.Snapshots.Load(), 1<<62).kept} {
		k.bodies = nil
		for i := range keptRoom {
			k.place(fmt.Sprint(i))
		}
		if k.place("one more") != nil {
			t.Errorf("the model of %s keeps more than %d answers", kind, keptRoom)
		}
		k.bodies, k.size = nil, keptBytes
		if k.place("one more") != nil {
			t.Errorf("the model of %s keeps more than %d bytes", kind, keptBytes)
		}
	}
	for i, made := range ask() {
		for _, kept := range []reply{first[i], second[i]} {
			if kept.body != made.body || kept.Header.Get("Etag") != made.Header.Get("Etag") || kept.Header.Get("Last-Modified") != made.Header.Get("Last-Modified") ||
				kept.Header.Get("Cache-Control") != made.Header.Get("Cache-Control") {
				t.Errorf("%s: kept %v %.200s\nmade %v %.200s", observedTargets[i], kept.Header, kept.body, made.Header, made.body)
			}
		}
	}
}
