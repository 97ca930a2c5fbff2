package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/api"
	"github.com/assaydata/assay/internal/apitest"
	"github.com/assaydata/assay/internal/web"
	"github.com/assaydata/assay/tools/strict"
	"github.com/assaydata/assay/tools/testenv"
)

// added is one more of everything that a catalog lists, by names that sort to different places.
var added = assay.Catalog{
	GPUs:        []assay.GPU{{Name: "MI300X", Free: true}, {Name: "Ada/L40S", Free: false}},
	Regions:     []string{"sa-east"},
	Labs:        []assay.Lab{{Lab: "cohere", Label: "Cohere", Free: true}},
	MemoryTypes: []assay.MemoryType{{ID: "mem_hbm3_24gb", MemoryType: "HBM3 24GB: 6.4/9.2", Category: "dram"}},
	CodingProducts: []assay.CodingProduct{
		{ID: "jules-prs", Label: "Jules PRs", Category: "prs", Kind: "count", Tools: []string{"jules"}},
		{
			ID: "cc-vs-jules", Label: "Claude vs Jules", Category: "prs", Kind: "count", Compare: true,
			SeriesLabels: []string{"Claude PRs", "Jules PRs"}, Tools: []string{"cc", "jules"},
		},
	},
}

// grown is the catalog with more entries.
func grown(t testing.TB, more assay.Catalog) assay.Catalog {
	t.Helper()
	defaults := assay.DefaultCatalog()
	catalog, err := defaults.With(more)
	if err != nil {
		t.Fatal(err)
	}
	return catalog
}

func TestCatalogs_FollowTheCatalog(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	r := newRig(t)
	names := func(target, field string) (names []string) {
		t.Helper()
		var got struct {
			Count int
			Data  []map[string]any
		}
		if err := json.Unmarshal([]byte(r.Get("", target).Text), &got); err != nil || got.Count != len(got.Data) {
			t.Fatalf("%s: count %d of %d (%v)", target, got.Count, len(got.Data), err)
		}
		for _, row := range got.Data {
			names = append(names, fmt.Sprint(row[field]))
		}
		return names
	}
	before := r.Get("", "/api/gpu-types").Header.Get("Etag")
	r.UseCatalog(grown(t, added))
	f := func(target, field, want string) {
		t.Helper()
		if got := strings.Join(names(target, field), ", "); got != want {
			t.Errorf("%s lists %s, want %s", target, got, want)
		}
	}
	f("/api/gpu-types", "gpu_name", "A100 SXM4, Ada/L40S, B200, H100 SXM, H200, MI300X, RTX 5090, RTX PRO 6000 WS")
	f("/api/gpu-types-free", "gpu_name", "A100 SXM4, B200, H100 SXM, H200, MI300X, RTX 5090")
	f("/api/token-types", "lab", "anthropic, openai, google, deepseek, minimax, xiaomi, qwen, moonshotai, z-ai, mistralai, meta-llama, cohere")
	f("/api/token-types-free", "lab", "anthropic, openai, google, deepseek, cohere")
	if got := names("/api/memory-types", "memory_type"); len(got) != 15 || got[7] != "HBM3 24GB: 6.4/9.2" {
		t.Errorf("the memory types are %q: the new one should be the last of its category", got)
	}
	if got := names("/api/llm-coding/products", "id"); len(got) != 15 || got[13] != "jules-prs" || got[14] != "cc-vs-jules" {
		t.Errorf("the products are %q", got)
	}
	if after := r.Get("", "/api/gpu-types", "If-None-Match", before); after.StatusCode != 200 {
		t.Errorf("who has the old list is answered %d", after.StatusCode)
	}
}

// A GPU and a region are known as soon as they are added, have no data at first, and are then like any other.
func TestCatalog_AddedGPUAndRegion(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	r := newRig(t)
	f := func(caller, target string, status int, want string) {
		t.Helper()
		if got := r.Get(caller, target); got.StatusCode != status || !strings.Contains(got.Text, want) {
			t.Errorf("%s %s: got %d %s, want %d %s", caller, target, got.StatusCode, got.Text, status, want)
		}
	}
	unknown := `"message":"Invalid GPU type. Allowed: H100 SXM, H200, A100 SXM4, RTX 5090, B200, RTX PRO 6000 WS","code":"unknown_gpu"`
	f("", "/api/gpu/MI300X", 400, unknown)
	f("full", "/api/gpu/H200?region=sa-east", 404, `"code":"unknown_region"`)
	r.UseCatalog(grown(t, added))

	unknown = `"message":"Invalid GPU type. Allowed: H100 SXM, H200, A100 SXM4, RTX 5090, B200, RTX PRO 6000 WS, MI300X, Ada/L40S","code":"unknown_gpu"`
	f("", "/api/gpu/MI301X", 400, unknown)
	f("", "/api/gpu/mi300x", 400, unknown) // names are compared byte by byte
	f("", "/api/daily-index?gpu=MI301X", 400, unknown)
	f("full", "/api/gpu/MI301X/hourly", 400, unknown)

	for _, route := range r.allRoutes() {
		if !strings.Contains(route.Path, "{gpuName}") {
			continue
		}
		// What each route needs besides; the others ignore it.
		target := strings.Replace(route.Path, "{gpuName}", "MI300X", 1) + "?datetime=2026-02-01&startDate=2026-02-01&endDate=2026-02-03"
		if strings.HasSuffix(route.Path, "determination") {
			target += "&date=2026-02-01"
		}
		f("full", target, 404, `"code":"no_data"`)
		f("full", target+"&region=sa-east", 404, `"code":"no_data"`)
		if !strings.HasPrefix(route.Path, "/embed/picture/") { // it is about all regions
			f("full", target+"&region=sa-west", 404, `"code":"unknown_region"`)
		}
	}
	f("", "/api/gpu/MI300X", 404, `"error":"Not found","message":"No data found for MI300X in the region global"`)
	f("", "/api/daily-index?gpu=MI300X", 404, `"error":"No data available","message":"No daily index data found for MI300X"`)
	f("full", "/api/gpu-prices?region=sa-east", 404, `"message":"No data found for any GPU in the region sa-east"`)
	f("full", "/api/gpu-prices?region=sa-west", 404, `"code":"unknown_region"`)
	f("", "/api/gpu/Ada%2FL40S", 401, `"code":"key_required"`)
	f("premium", "/api/gpu/Ada%2FL40S", 404, `No data found for Ada/L40S in the region global`)
	f("", "/api/gpu/H200?region=sa-east", 404, `"code":"no_data"`)
	f("", "/api/daily-index/all", 200, `"count":5,`)
	f("full", "/api/daily-index/all", 200, `"count":6,`)
	f("full", "/api/daily-index/all?region=sa-east", 404, `"code":"no_data"`)
	f("full", "/api/gpu-utilization", 200, `"count":3,`)
	f("full", "/api/gpu-utilization?region=sa-east", 404, `"code":"no_data"`)
	f("full", "/api/corrections?region=sa-east", 200, `"count":0,`)
	f("full", "/api/corrections?gpu=MI300X", 200, `"success":true`)

	r.Use(r.Snapshots.Load().With(apitest.Day("2026-02-03", assay.Line{GPU: "MI300X", Region: assay.Global}, assay.Line{GPU: "Ada/L40S", Region: "sa-east"})))
	f("", "/api/daily-index/all", 200, `"count":6,`)
	f("", "/api/daily-index?gpu=MI300X", 200, `"gpu_type":"MI300X"`)
	f("", "/api/daily-index/all?region=sa-east", 404, `"code":"no_data"`)
	f("premium", "/api/daily-index/all", 200, `"count":7,`)
	f("premium", "/api/daily-index/all?region=sa-east", 200, `"data":[{"gpu_type":"Ada/L40S","region":"sa-east",`)
	f("premium", "/api/gpu/Ada%2FL40S/index-history?region=sa-east", 200, `"gpu_type":"Ada/L40S","region":"sa-east","access":"premium","granularity":"daily","count":1,`)
}

// The latest day is that of the GPUs that a caller may see: a newer one of a paid GPU must neither show nor hide the
// rest.
func TestDailyIndexAll_LatestDayIsTheCallers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.Clock = r.Clock.AddDate(0, 0, 1)
	r.Use(r.Snapshots.Load().With(apitest.Day("2026-02-04", assay.Line{GPU: "RTX PRO 6000 WS", Region: assay.Global})))
	f := func(caller, want string) {
		t.Helper()
		if got := r.Get(caller, "/api/daily-index/all"); got.StatusCode != 200 || !strings.Contains(got.Text, want) {
			t.Errorf("%s: %d %s, want %s", caller, got.StatusCode, got.Text, want)
		}
	}
	f("", `"access":"public-3mo","date":"2026-02-03T21:00:00.000Z","count":5,`)
	f("premium", `"access":"premium","date":"2026-02-04T21:00:00.000Z","count":1,`)
}

// A GPU that becomes paid is closed to callers without a key at once, even with an older response in a cache, and open
// as before when it is free again. Callers with a key notice nothing.
func TestCatalog_FreeToPaidAndBack(t *testing.T) {
	testenv.OneGoroutine(t)
	t.Parallel()
	r := newRig(t)
	targets := []string{
		"/api/gpu/H200", "/api/daily-index?gpu=H200", "/api/day-index?gpu=H200", "/api/daily-index/H200/previous", "/api/gpu/H200/index-history",
		"/api/gpu/H200/index-history?startDate=2025-11-04", "/api/gpu/H200/index-history?as_of=2026-02-02", "/api/daily-index?gpu=H200&date=2025-11-04",
	}
	type seen struct{ anonymous, premium apitest.Reply }
	first := map[string]seen{}
	for _, target := range targets {
		first[target] = seen{r.Get("", target), r.Get("premium", target)}
		if got := first[target]; got.anonymous.StatusCode != 200 || got.premium.StatusCode != 200 {
			t.Fatalf("%s: %d and %d", target, got.anonymous.StatusCode, got.premium.StatusCode)
		}
	}
	all := func(want string) {
		t.Helper()
		if got := r.Get("", "/api/daily-index/all").Text; !strings.Contains(got, want) {
			t.Errorf("all GPUs are %s, want %s", got, want)
		}
	}
	set := func(free bool) {
		catalog := assay.DefaultCatalog()
		catalog.GPUs[1].Free = free
		r.UseCatalog(catalog)
	}
	set(false)
	for _, target := range targets {
		tag := first[target].anonymous.Header.Get("Etag")
		if got := r.Get("", target, "If-None-Match", tag); got.StatusCode != 401 || !strings.Contains(got.Text, `"code":"key_required"`) {
			t.Errorf("%s of a paid GPU: %d %s", target, got.StatusCode, got.Text)
		}
		if got, want := r.Get("premium", target), first[target].premium; got.Text != want.Text || got.Header.Get("Etag") != want.Header.Get("Etag") {
			t.Errorf("%s with a key: %s, want %s", target, got.Text, want.Text)
		}
	}
	all(`"count":4,`)
	if got := r.Get("", "/api/gpu/H200/index-history?startDate=yesterday"); got.StatusCode != 400 {
		t.Errorf("a bad parameter comes before access: %d %s", got.StatusCode, got.Text)
	}
	set(true)
	for _, target := range targets {
		if got, want := r.Get("", target), first[target].anonymous; got.Text != want.Text || got.Header.Get("Etag") != want.Header.Get("Etag") {
			t.Errorf("%s, free again: %s, want %s", target, got.Text, want.Text)
		}
	}
	all(`"count":5,`)
	if got := r.Get("", "/api/gpu/H200/index-history?startDate=2025-11-03"); !strings.Contains(got.Text, "outside_free_window") {
		t.Errorf("the window of a GPU that is free again: %s", got.Text)
	}
}

// FuzzCatalog_EveryNameIsReachable adds whatever name the catalog takes: its GPU can be requested, in the path and in
// the query, and the response has its name.
func FuzzCatalog_EveryNameIsReachable(f *testing.F) {
	for _, name := range []string{"MI300X", "A/B", "A//B", "a%2Fb", "a%", "x?y=1&z", "x#y", "Ångström", "5090", `a\b`, `q"<&>`, "a+b", "a.", "1/..", "../x", "all"} {
		f.Add(name)
	}
	r := newRig(f)
	empty := r.Snapshots.Load()
	f.Fuzz(func(t *testing.T, name string) {
		defaults := assay.DefaultCatalog()
		catalog, err := defaults.With(assay.Catalog{GPUs: []assay.GPU{{Name: name, Free: true}}})
		if err != nil {
			return // a name that the catalog refuses has nothing to be reached
		}
		r.Snapshots.Store(empty.WithCatalog(catalog, 2))
		for _, target := range []string{"/api/gpu/" + url.PathEscape(name), "/api/daily-index?gpu=" + url.QueryEscape(name)} {
			r.Clock = r.Clock.Add(time.Minute) // so that no limit is passed
			recorder := httptest.NewRecorder()
			r.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, target, nil))
			var got web.ErrorBody
			if err := json.Unmarshal(recorder.Body.Bytes(), &got); err != nil || got.Code != "no_data" || !strings.Contains(got.Message, " "+name) {
				t.Errorf("%s: %d %s", target, recorder.Code, recorder.Body)
			}
		}
	})
}

func TestOpenAPI_DefaultIsTheFile(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	if got := r.Get("", "/openapi.yaml"); got.Text != string(api.OpenAPIText) {
		t.Error("under the catalog of a new database, another text than the file is served")
	}
	if got, want := decoded(t, r.Get("", "/openapi.json").Text), decoded(t, string(api.OpenAPIText)); !reflect.DeepEqual(got, want) {
		t.Error("JSON says other things than the file")
	}
}

// decoded reads YAML, of which JSON is a part.
func decoded(t *testing.T, text string) (document any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		t.Fatal(err)
	}
	return document
}

func TestOpenAPI_FollowsTheCatalog(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	r := newRig(t)
	old := r.Get("", "/openapi.json")
	r.UseCatalog(grown(t, added))
	asJSON, asYAML := r.Get("", "/openapi.json", "If-None-Match", old.Header.Get("Etag")), r.Get("", "/openapi.yaml")
	if asJSON.StatusCode != 200 || r.Get("", "/openapi.json", "If-None-Match", asJSON.Header.Get("Etag")).StatusCode != 304 {
		t.Error("the ETag does not follow the catalog")
	}
	if asYAML.Header.Get("Content-Type") != "application/yaml" || !strings.HasPrefix(asYAML.Text, "# The contract of the Assay Market Data API") {
		t.Errorf("YAML begins %.80q", asYAML.Text)
	}
	got, file := decoded(t, asJSON.Text), decoded(t, string(api.OpenAPIText))
	if !reflect.DeepEqual(got, decoded(t, asYAML.Text)) {
		t.Error("JSON and YAML say different things")
	}
	defaults := assay.DefaultCatalog()
	now := grown(t, added)
	lists, want := api.Enumerations(&defaults), api.Enumerations(&now)
	changed := make([]int, len(lists))
	compareEnums(t, "", file, got, func(path string, old, new []string) {
		for i, list := range lists {
			if slices.Equal(old, list) {
				changed[i]++
				if !slices.Equal(new, want[i]) {
					t.Errorf("%s is %q, want %q", path, new, want[i])
				}
				return
			}
		}
		if !slices.Equal(old, new) {
			t.Errorf("%s has become %q from %q", path, new, old)
		}
	})
	for i, what := range map[int]string{0: "GPUs", 2: "regions", 3: "memory types", 4: "names of memory types", 6: "labs", 8: "products"} {
		if changed[i] == 0 {
			t.Errorf("nothing enumerates %s", what)
		}
	}
}

// compareEnums compares two documents that may differ in their enumerations only, and passes those to f, without the
// words beside them.
func compareEnums(t *testing.T, path string, a, b any, f func(path string, a, b []string)) {
	t.Helper()
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			t.Fatalf("%s has other members", path)
		}
		for name, value := range a {
			old, isEnum := value.([]any)
			if _, list := b[name].([]any); isEnum && list && (name == "enum" || name == strict.ExtensibleEnum) {
				f(path, plainWords(old), plainWords(b[name].([]any)))
			} else {
				compareEnums(t, path+"/"+name, value, b[name], f)
			}
		}
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			t.Fatalf("%s has other items", path)
		}
		for i := range a {
			compareEnums(t, fmt.Sprint(path, "/", i), a[i], b[i], f)
		}
	default:
		if !reflect.DeepEqual(a, b) {
			t.Errorf("%s is %v, and was %v", path, b, a)
		}
	}
}

func plainWords(enum []any) (words []string) {
	for _, word := range enum {
		if word != nil && word != "" && word != assay.Global {
			words = append(words, fmt.Sprint(word))
		}
	}
	return words
}

// An enumeration that names something of the catalog must name all of a kind: otherwise it would not follow.
func TestOpenAPI_EnumerationsAreWhole(t *testing.T) {
	t.Parallel()
	var document yaml.Node
	if err := yaml.Unmarshal(api.OpenAPIText, &document); err != nil {
		t.Fatal(err)
	}
	defaults := assay.DefaultCatalog()
	lists := api.Enumerations(&defaults)
	whole := 0
	api.EachEnum(&document, func(enum *yaml.Node) {
		named := func(word *yaml.Node) bool {
			return slices.ContainsFunc(lists, func(list []string) bool { return slices.Contains(list, word.Value) })
		}
		if !slices.ContainsFunc(enum.Content, named) {
			return
		}
		if !slices.ContainsFunc(lists, func(list []string) bool { return api.Enumerates(enum, list) }) {
			t.Errorf("openapi.yaml:%d enumerates a part of a catalog, or more than it", enum.Line)
		}
		whole++
	})
	if whole < 8 {
		t.Errorf("%d enumerations are of the catalog, want 8 at least", whole)
	}
}

// Names that YAML would take for something else are enumerated as they are. A catalog of an old database may lack a
// kind altogether; its enumeration is then empty.
func TestOpenAPI_OddCatalogs(t *testing.T) {
	testenv.OneGoroutine(t)
	t.Parallel()
	var odd assay.Catalog
	for _, name := range []string{"5090", "true", "null", "1e5", "2026-01-01", "a: b # c", `q"'\`, "Ångström", "no", "0x1F"} {
		odd.GPUs = append(odd.GPUs, assay.GPU{Name: name})
	}
	catalog := grown(t, odd)
	document, err := apitest.Description(catalog)
	if err == nil {
		err = document.Validate(t.Context()) // with the examples
	}
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, name := range document.Components.Schemas["GpuModel"].Value.Enum {
		names = append(names, name.(string))
	}
	if !slices.Equal(names, catalog.GPUNames()) {
		t.Errorf("%q are enumerated as %q", catalog.GPUNames(), names)
	}

	text, err := api.OpenAPI(assay.Catalog{GPUs: odd.GPUs[:1]})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), `enum":["5090"]`) || !strings.Contains(string(text), `enum":[]`) {
		t.Error("the description of a small catalog enumerates more than that")
	}
}
