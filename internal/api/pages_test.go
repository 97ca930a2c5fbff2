package api_test

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// pagedTargets are requests for every route that may have another page.
var pagedTargets = []string{
	"/api/gpu/H200/index-history?startDate=2026-01-10", "/api/gpu/H200/index-history?startDate=2026-01-20&granularity=auto",
	"/api/gpu/H200/index-history?startDate=2025-12-20&endDate=2026-01-25&granularity=auto",
	"/api/h100-history?startDate=2026-01-10", "/api/gpu/H200/history-simple?startDate=2026-01-10",
	"/api/gpu/H200/history-range?startDate=2026-01-10", "/api/gpu/H200/hourly?startDate=2026-02-03&endDate=2026-02-04",
	"/api/gpu/H200/rolling-24h-average/history?startDate=2026-01-10", "/api/gpu/H200/volatility?startDate=2026-01-10&endDate=2026-02-03",
	"/api/gpu/H200/volume-metrics?startDate=2025-12-01&endDate=2026-02-03",
	"/api/memory/mem_ddr5_16gb/history?startDate=2025-12-01", "/api/llm-coding/history?product=cc-prs&startDate=2025-12-01",
	"/api/otpi?startDate=2026-01-25&endDate=2026-01-31", "/api/otpi?date=2026-01-30", "/api/otpi",
	"/api/workload?startDate=2026-01-29", "/api/workload?lab=anthropic&startDate=2026-01-29&windowDays=1",
	"/api/neocloud/sites?lat=60&lng=10&radius_km=500", "/api/neocloud/sites?scope=all&city=o",
	"/api/corrections", "/api/corrections?gpuType=H100%20SXM",
}

// Page by page, with next or with the header Link, a reader gets every row once, in order.
func TestPages_EveryRowOnce(t *testing.T) {
	t.Parallel()
	for _, target := range pagedTargets {
		path, query, _ := strings.Cut(target, "?")
		orders, largest := []string{"", "asc", "desc"}, "10000"
		if strings.Contains(path, "sites") || strings.Contains(path, "corrections") {
			orders, largest = []string{""}, "1000"
		}
		for _, order := range orders {
			t.Run(target+" "+order, func(t *testing.T) {
				t.Parallel()
				r := newRig(t) // with limits of its own
				params, err := url.ParseQuery(query)
				if err != nil {
					t.Fatal(err)
				}
				if order != "" {
					params.Set("order", order)
				}
				whole := getPage(t, r, path, with(params, "limit", largest))
				if len(whole.rows) < 2 || whole.next != nil || whole.link != "" {
					t.Fatalf("%d rows, next %v, link %s", len(whole.rows), whole.next, whole.link)
				}
				for _, limit := range []string{"1", "2", "5"} {
					if len(whole.rows) > 60 && limit != "5" {
						continue
					}
					params := with(params, "limit", limit)
					var rows []string
					for pages := 0; ; pages++ {
						page := getPage(t, r, path, params)
						rows = append(rows, page.rows...)
						if (page.next != nil) != page.more || (page.link != "") != page.more || pages > len(whole.rows) {
							t.Fatalf("has_more is %t, next %v, link %s, page %d", page.more, page.next, page.link, pages)
						}
						if !page.more {
							break
						}
						for name, value := range page.next {
							params.Set(name, value)
						}
						if want := path + "?" + params.Encode(); page.link != "<"+want+`>; rel="next"` {
							t.Fatalf("link %s, next leads to %s", page.link, want)
						}
					}
					if diff := cmp.Diff(whole.rows, rows); diff != "" {
						t.Fatalf("limit %s: the pages have other rows (-whole +pages):\n%s", limit, diff)
					}
				}
			})
		}
	}
}

func with(params url.Values, name, value string) url.Values {
	changed := url.Values{}
	for key, values := range params {
		changed[key] = slices.Clone(values)
	}
	changed.Set(name, value)
	return changed
}

type page struct {
	rows []string
	more bool
	next map[string]string
	link string
}

func getPage(t *testing.T, r *rig, path string, params url.Values) page {
	t.Helper()
	got := r.Get("full", path+"?"+params.Encode())
	if got.StatusCode != 200 {
		t.Fatalf("%s?%s: %d %s", path, params.Encode(), got.StatusCode, got.Text)
	}
	var body struct {
		HasMore     bool `json:"has_more"`
		Next        json.RawMessage
		Data, Sites []json.RawMessage
	}
	if err := json.Unmarshal([]byte(got.Text), &body); err != nil {
		t.Fatal(err)
	}
	p := page{more: body.HasMore, link: got.Header.Get("Link")}
	for _, row := range append(body.Data, body.Sites...) {
		p.rows = append(p.rows, string(row))
	}
	switch {
	case len(body.Next) > 0 && body.Next[0] == '"': // the cursor of corrections, which is always there
		var cursor string
		if err := json.Unmarshal(body.Next, &cursor); err != nil {
			t.Fatal(err)
		}
		if p.more {
			p.next = map[string]string{"since": cursor}
		}
	case len(body.Next) > 0:
		if err := json.Unmarshal(body.Next, &p.next); err != nil {
			t.Fatal(err)
		}
	}
	return p
}
