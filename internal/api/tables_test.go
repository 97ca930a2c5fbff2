package api_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/apitest"
	"github.com/assaydata/assay/internal/table"
)

// withoutRows are the routes that send no rows.
var withoutRows = []string{
	"/health", "/livez", "/readyz", "/openapi.json", "/openapi.yaml", "/api/publications/latest", "/api/neocloud/map",
	"/api/stream", "/api/bulk/{dataset}/{file}", "/api/gpu-overview",
}

// Every route with rows has columns, and they are what the description has: the same names, order and types.
func TestTables_AsDescribed(t *testing.T) {
	t.Parallel()
	document, err := apitest.Description(assay.DefaultCatalog())
	if err != nil {
		t.Fatal(err)
	}
	for _, route := range newRig(t).API.Routes().Routes {
		t.Run(route.Path, func(t *testing.T) {
			t.Parallel()
			operation := document.Paths.Find(apitest.DescribedPath(route.Path)).Get
			media := operation.Responses.Status(http.StatusOK).Value.Content
			if route.Table == nil {
				if !slices.Contains(withoutRows, route.Path) || media["text/csv"] != nil {
					t.Error("the route has no columns, or is described as if it had")
				}
				return
			}
			for _, f := range table.Formats {
				if media[f.MediaType()] == nil {
					t.Errorf("the format %s is not described", f.Name)
				}
			}
			if operation.Parameters.GetByInAndName("query", "format") == nil {
				t.Error("the parameter format is not described")
			}
			var rows map[string]*openapi3.SchemaRef
			required := map[string]bool{}
			collect(media["application/json"].Schema.Value, route.Table.Member, func(s *openapi3.Schema) {
				rows = s.Properties
				for _, name := range s.Required {
					required[name] = true
				}
			})
			described := columns(rows, required, "")
			got := map[string]string{}
			for _, c := range route.Table.Columns {
				got[c.Name] = fmt.Sprint(c.Kind, c.Optional)
				if want := described[c.Name]; want.name == "" || !slices.Contains(want.kinds, c.Kind) || want.optional != c.Optional {
					t.Errorf("column %+v, described as %+v", c, want)
				}
			}
			for name, c := range described {
				if got[name] == "" && !c.group {
					t.Errorf("the table lacks %q", name)
				}
			}
		})
	}
}

// collect finds the schema of a row in that of an envelope.
func collect(s *openapi3.Schema, member string, found func(*openapi3.Schema)) {
	for _, part := range slices.Concat(s.AllOf, s.OneOf, s.AnyOf) {
		collect(part.Value, member, found)
	}
	if rows := s.Properties[member]; rows != nil {
		row := rows.Value
		if len(row.OneOf) > 0 {
			row = row.OneOf[0].Value
		}
		if row.Items != nil {
			row = row.Items.Value
		}
		found(row)
	}
}

type describedColumn struct {
	name     string
	kinds    []table.Kind
	optional bool
	group    bool // of other columns
}

// columns are those that rows with some properties have.
func columns(properties openapi3.Schemas, required map[string]bool, prefix string) map[string]describedColumn {
	all := map[string]describedColumn{}
	for name, ref := range properties {
		s := ref.Value
		c := describedColumn{name: prefix + name, optional: !required[name] || s.Type.Includes("null")}
		if len(s.AllOf) == 1 {
			s = s.AllOf[0].Value
		}
		switch {
		case s.Type.Includes("object") && !s.Type.Includes("null") && len(s.Properties) > 0:
			needed := map[string]bool{}
			for _, inner := range s.Required {
				needed[inner] = true
			}
			for key, inner := range columns(s.Properties, needed, prefix+name+"_") {
				all[key] = inner
			}
			c.group = true
		case s.Type.Includes("object") || s.Type.Includes("array"):
			c.kinds = []table.Kind{table.JSON}
		case s.Type.Includes("integer"):
			c.kinds = []table.Kind{table.Integer}
		case s.Type.Includes("number"):
			c.kinds = []table.Kind{table.Decimal, table.Double}
		case s.Type.Includes("boolean"):
			c.kinds = []table.Kind{table.Boolean}
		case s.Format == "date-time":
			c.kinds = []table.Kind{table.Instant}
		case s.Format == "date":
			c.kinds = []table.Kind{table.Day}
		default:
			c.kinds = []table.Kind{table.Text}
		}
		all[c.name] = c
	}
	return all
}

// tableTargets are requests for every route with rows.
var tableTargets = []string{
	"/api/gpu-types", "/api/gpu-types-free", "/api/regions", "/api/token-types", "/api/token-types-free", "/api/memory-types",
	"/api/llm-coding/products", "/api/gpu/H100%20SXM", "/api/gpu-prices", "/api/daily-index?date=2026-01-30", "/api/day-index",
	"/api/daily-index/all", "/api/daily-index/H200/previous", "/api/gpu/H200/index-history",
	"/api/gpu/H200/index-history?order=desc&limit=7", "/api/gpu/H200/index-history?startDate=2030-01-01",
	"/api/gpu/H200/index-history?as_of=2026-02-02&startDate=2026-01-28", "/api/h100-history",
	"/api/gpu/H200/history?datetime=2026-01-30", "/api/gpu/H200/history-simple?limit=10", "/api/gpu/H200/history-range",
	"/api/gpu/H200/hourly", "/api/gpu/H200/index-history?granularity=hourly&startDate=2025-08-01", "/api/gpu/H200/realtime",
	"/api/gpu/H200/rolling-24h-average", "/api/gpu/H200/rolling-24h-average/history",
	"/api/gpu/H200/volatility?startDate=2025-08-01&endDate=2026-02-04", "/api/gpu/H200/volume-metrics?partial=true",
	"/api/gpu-utilization", "/api/memory-index", "/api/memory-index?type=mem_ddr5_16gb", "/api/memory/mem_ddr5_16gb/history",
	"/api/otpi?startDate=2025-01-01", "/api/workload", "/api/llm-coding/index?product=cc-prs",
	"/api/llm-coding/history?product=cc-vs-codex", "/api/neocloud/sites?country=Unknown&scope=all",
	"/api/neocloud/sites?lat=48.86&lng=2.35&radius_km=500", "/api/neocloud/sites/aggregate", "/api/methodology",
	"/api/notices", "/api/bulk", "/api/corrections", "/api/corrections/models",
}

// Every table has the rows of the JSON response, with the same values, for every route and every caller.
func TestTables_SameRowsAsJSON(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	tested := map[string]bool{}
	for _, caller := range []string{"", "premium", "full"} {
		for _, target := range tableTargets {
			as := func(format string) apitest.Reply {
				t.Helper()
				u, err := url.Parse(target)
				if err != nil {
					t.Fatal(err)
				}
				query := u.Query()
				query.Set("format", format)
				u.RawQuery = query.Encode()
				return r.Get(caller, u.String())
			}
			plain := as("json")
			for _, f := range table.Formats {
				got := as(f.Name)
				if got.StatusCode != plain.StatusCode {
					t.Errorf("%s as %q in %s: %d, JSON %d", target, caller, f.Name, got.StatusCode, plain.StatusCode)
					continue
				}
				if got.StatusCode != http.StatusOK {
					if got.Header.Get("Content-Type") != "application/json" {
						t.Errorf("%s: an error in %s", target, got.Header.Get("Content-Type"))
					}
					continue
				}
				tested[target] = true
				member := "data"
				if strings.HasPrefix(target, "/api/neocloud/sites?") {
					member = "sites"
				}
				want := flatRows(t, plain.Text, member)
				var rows []map[string]string
				switch f {
				case table.CSV:
					rows = csvRows(t, got.Text)
				case table.NDJSON:
					rows = flatRows(t, `{"data":[`+strings.ReplaceAll(strings.TrimSpace(got.Text), "\n", ",")+`]}`, "data")
				case table.Parquet:
					checkParquet(t, target, got.Text, plain.Text, len(want))
					continue
				}
				if diff := cmp.Diff(want, rows); diff != "" {
					t.Errorf("%s as %q in %s: %.2000s", target, caller, f.Name, diff)
				}
			}
		}
	}
	if len(tested) < len(tableTargets)-1 {
		t.Errorf("only %d of %d requests were served", len(tested), len(tableTargets))
	}
}

// flatRows are the rows of a response, as text, without what they lack.
func flatRows(t *testing.T, text, member string) (rows []map[string]string) {
	t.Helper()
	var envelope map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &envelope); err != nil {
		t.Fatalf("%v: %.300s", err, text)
	}
	raw := envelope[member]
	if raw[0] == '{' {
		raw = append(append(json.RawMessage{'['}, raw...), ']')
	}
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		t.Fatal(err)
	}
	for _, item := range list {
		row := map[string]string{}
		flatten(t, row, item, "")
		rows = append(rows, row)
	}
	return rows
}

func flatten(t *testing.T, row map[string]string, object json.RawMessage, prefix string) {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal(object, &members); err != nil {
		t.Fatal(err)
	}
	for name, value := range members {
		var text string
		switch {
		case name == "daily_stats":
			flatten(t, row, value, name+"_")
			continue
		case string(value) == "null":
			continue
		case value[0] == '"':
			if err := json.Unmarshal(value, &text); err != nil {
				t.Fatal(err)
			}
		default:
			text = string(value)
		}
		if text != "" {
			row[prefix+name] = text
		}
	}
}

// csvRows are the rows of a CSV table, without empty cells.
func csvRows(t *testing.T, text string) (rows []map[string]string) {
	t.Helper()
	lines, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatalf("%v: %.300s", err, text)
	}
	for _, line := range lines[1:] {
		row := map[string]string{}
		for i, cell := range line {
			if cell != "" {
				row[lines[0][i]] = cell
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// checkParquet opens a file as a reader of Parquet does, and compares what it says of itself with the JSON.
func checkParquet(t *testing.T, target, text, plain string, rows int) {
	t.Helper()
	file, err := parquet.OpenFile(strings.NewReader(text), int64(len(text)))
	if err != nil {
		t.Errorf("%s: %v", target, err)
		return
	}
	if file.NumRows() != int64(rows) {
		t.Errorf("%s: %d rows, want %d", target, file.NumRows(), rows)
	}
	var envelope struct{ Access, Granularity string }
	if err := json.Unmarshal([]byte(plain), &envelope); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"access": envelope.Access, "granularity": envelope.Granularity} {
		if got, _ := file.Lookup("assay." + name); got != want {
			t.Errorf("%s: %s is %q, want %q", target, name, got, want)
		}
	}
	if _, ok := file.Lookup("assay.methodology"); !ok {
		t.Errorf("%s does not say which methodology it follows", target)
	}
}

func TestTables_Headers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const history = "/api/gpu/H100%20SXM/index-history"
	f := func(name, target string, headers []string, status int, contentType, file string) apitest.Reply {
		t.Helper()
		got := r.Get("full", target, headers...)
		if got.StatusCode != status || got.Header.Get("Content-Type") != contentType ||
			got.Header.Get("Content-Disposition") != file {
			t.Errorf("%s: %d %v", name, got.StatusCode, got.Header)
		}
		if vary := got.Header.Get("Vary"); status == 200 && !strings.Contains(vary, "Accept,") {
			t.Errorf("%s: Vary: %s", name, vary)
		}
		return got
	}
	const csvType, jsonType = "text/csv; charset=utf-8; header=present", "application/json"
	const file = `attachment; filename="assay-gpu-h100-sxm-index-history-daily.csv"`
	plain := f("nothing", history, nil, 200, jsonType, "")
	first := f("parameter", history+"?format=csv", nil, 200, csvType, file)
	f("header", history, []string{"Accept", "text/csv"}, 200, csvType, file)
	f("header with more", history, []string{"Accept", "text/html, text/csv;q=0.9, */*;q=0.1"}, 200, csvType, file)
	f("JSON as good", history, []string{"Accept", "text/csv, application/json"}, 200, jsonType, "")
	f("JSON is better", history, []string{"Accept", "text/csv;q=0.5, application/json"}, 200, jsonType, "")
	f("not wanted", history, []string{"Accept", "text/csv;q=0"}, 200, jsonType, "")
	f("anything", history, []string{"Accept", "*/*"}, 200, jsonType, "")
	f("a browser", history, []string{"Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}, 200, jsonType, "")
	f("both", history+"?format=json", []string{"Accept", "text/csv"}, 200, jsonType, "")
	f("an error", "/api/gpu/X/index-history?format=csv", nil, 400, jsonType, "")
	f("a name", history+"?format=ndjson&granularity=hourly&region=us-east&startDate=2026-02-01&as_of=2026-02-03T10:00:00Z", nil,
		200, "application/x-ndjson",
		`attachment; filename="assay-gpu-h100-sxm-index-history-us-east-hourly-2026-02-01-2026-02-03t10-00-00z.ndjson"`)
	f("no rows", "/api/gpu/H200/index-history?format=csv&startDate=2030-01-01", nil, 200, csvType,
		`attachment; filename="assay-gpu-h200-index-history-daily-2030-01-01.csv"`)

	if got := r.Get("full", history+"?format=xml"); !strings.Contains(got.Text,
		`Invalid value \"xml\" for \"format\": must be json, csv, ndjson or parquet.`) {
		t.Errorf("%d %s", got.StatusCode, got.Text)
	}
	if got := r.Get("", "/health?format=csv"); got.Header.Get("X-Assay-Ignored") != "format" {
		t.Errorf("%v", got.Header)
	}
	tag := first.Header.Get("Etag")
	if tag == "" || tag == plain.Header.Get("Etag") {
		t.Errorf("tags %s and %s", tag, plain.Header.Get("Etag"))
	}
	for _, f := range table.Formats {
		target := history + "?format=" + f.Name
		for _, coding := range []string{"", "gzip", "zstd"} {
			whole := r.Get("full", target, "Accept-Encoding", coding)
			tag := whole.Header.Get("Etag")
			if again := r.Get("full", target, "Accept-Encoding", coding, "If-None-Match", tag); again.StatusCode != 304 ||
				again.Header.Get("Etag") != tag || again.Text != "" || again.Header.Get("Content-Type") != "" {
				t.Errorf("%s, %s: %d %v", f.Name, coding, again.StatusCode, again.Header)
			}
			if packed := whole.Header.Get("Content-Encoding"); (packed == coding) == (f == table.Parquet && coding != "") {
				t.Errorf("%s, %s: Content-Encoding: %s", f.Name, coding, packed)
			}
			head := r.Do(http.MethodHead, "full", target, "Accept-Encoding", coding)
			for _, name := range []string{"Etag", "Content-Type", "Content-Disposition", "Content-Encoding", "Content-Length"} {
				if head.Header.Get(name) != whole.Header.Get(name) || head.Text != "" {
					t.Errorf("HEAD %s, %s: %s: %q, GET has %q", f.Name, coding, name, head.Header.Get(name), whole.Header.Get(name))
				}
			}
		}
	}
}

// What changes nothing about the data changes no byte of a table.
func TestTables_Repeatable(t *testing.T) {
	t.Parallel()
	for _, target := range []string{"/api/gpu/H200/hourly?format=parquet", "/api/gpu/H200/index-history?format=parquet&as_of=2026-02-02"} {
		one, other := newRig(t).Get("full", target), newRig(t).Get("full", target)
		if one.Text != other.Text || one.Header.Get("Etag") != other.Header.Get("Etag") {
			t.Errorf("%s: two servers with the same data differ", target)
		}
	}
}
