package share_test

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"image/png"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/apitest"
	"github.com/assaydata/assay/tools/testenv"
)

// rig adds what the tests of this package need.
type rig struct{ *apitest.Rig }

func newRig(t testing.TB, options ...func(*apitest.Config)) *rig {
	t.Helper()
	return &rig{apitest.New(t, options...)}
}

// link makes a share link as a session, and returns its address without the extension, and its id.
func (r *rig) link(caller, body string) (path, id string) {
	r.Test.Helper()
	got := r.Write(http.MethodPost, caller, "/api/share-links", body)
	var made struct {
		Token string
		Data  struct{ ID string }
	}
	r.Must(json.Unmarshal([]byte(got.Text), &made))
	if got.StatusCode != http.StatusCreated || made.Token == "" {
		r.Test.Fatalf("%s as %s: %d %s", body, caller, got.StatusCode, got.Text)
	}
	return "/s/" + made.Token, made.Data.ID
}

// all are a link of each family, and the request that gives the same rows with a key.
var all = []struct{ name, body, same string }{
	{"gpu", `"family":"gpu","series":"H200"`, "/api/gpu/H200/index-history?startDate=2025-11-04"},
	{
		"paid", `"family":"gpu","series":"RTX PRO 6000 WS","range":"1y"`,
		"/api/gpu/RTX%20PRO%206000%20WS/index-history?startDate=2025-02-04",
	},
	{
		"region", `"family":"gpu","series":"H100 SXM","region":"us-east","range":"7d"`,
		"/api/gpu/H100%20SXM/index-history?startDate=2026-01-28&region=us-east",
	},
	{
		"hourly", `"family":"gpu","series":"H200","granularity":"hourly","range":"7d"`,
		"/api/gpu/H200/index-history?startDate=2026-01-28&granularity=hourly",
	},
	{
		"memory", `"family":"memory","series":"mem_ddr5_16gb","range":"all"`,
		"/api/memory/mem_ddr5_16gb/history?startDate=1970-01-01&limit=10000",
	},
	{"models", `"family":"models","series":"openai","range":"1m"`, "/api/otpi?lab=openai&startDate=2026-01-04"},
	{
		"coding", `"family":"coding","series":"cc-prs","range":"all"`,
		"/api/llm-coding/history?product=cc-prs&startDate=1970-01-01&limit=10000",
	},
	{
		"utilization", `"family":"utilization","series":"H200","granularity":"hourly","range":"1m"`,
		"/api/gpu/H200/volume-metrics?startDate=2026-01-04&granularity=hourly&order=asc&limit=10000",
	},
}

// A link shows what its route responds to the key of its owner, in every form.
func TestLink_ShowsTheSeries(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	r := newRig(t)
	for _, one := range all {
		t.Run(one.name, func(t *testing.T) {
			r.Test = t
			path, _ := r.link("full session", `{"name":"mine",`+one.body+`}`)
			if got, want := r.Get("", path+".json"), r.Get("full session", one.same); got.StatusCode != 200 || got.Text != want.Text {
				t.Errorf("JSON: %d %s\nwant %s", got.StatusCode, got.Text, want.Text)
			}
			csv, want := r.Get("", path+".csv"), r.Get("full session", one.same+"&format=csv")
			if csv.StatusCode != 200 || csv.Text != want.Text || strings.Count(csv.Text, "\r\n") < 2 {
				t.Errorf("CSV: %d %s\nwant %s", csv.StatusCode, csv.Text, want.Text)
			}
			name := csv.Header.Get("Content-Disposition")
			if !strings.HasPrefix(name, `attachment; filename="assay-`) || strings.Contains(name, "shl") {
				t.Errorf("the file is called %s", name)
			}
			for _, query := range []string{"", "?style=badge", "?theme=dark"} {
				svg := r.Get("", path+".svg"+query)
				if err := readXML(svg.Text); svg.StatusCode != 200 || err != nil || !strings.HasPrefix(svg.Text, "<svg ") {
					t.Errorf("SVG: %d %v", svg.StatusCode, err)
				}
				if picture := r.Get("", path+".png"+query); picture.StatusCode != 200 || readPNG(picture.Text) != nil {
					t.Errorf("PNG: %d %v", picture.StatusCode, readPNG(picture.Text))
				}
			}
		})
	}
}

func readXML(text string) error {
	decoder := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func readPNG(text string) error {
	_, err := png.Decode(strings.NewReader(text))
	return err
}

// The pictures of a link are those of its series, and say so.
func TestLink_Pictures(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	r := newRig(t)
	path, _ := r.link("full session", `{"name":"mine","family":"gpu","series":"H200","range":"7d"}`)
	apitest.Golden(t, "h200.svg", r.Get("", path+".svg").Text)
	apitest.Golden(t, "h200-badge.svg", r.Get("", path+".svg?style=badge").Text)
	snap := *r.Snapshots.Load()
	snap.Synthetic = true
	r.Use(&snap)
	for _, target := range []string{path + ".svg", path + ".svg?style=badge", "/embed/gpu/H200"} {
		got := r.Get("", target)
		if !strings.Contains(strings.ToLower(got.Text), ">synthetic data: no market price<") &&
			!strings.Contains(got.Text, "synthetic</text>") || got.Header.Get("X-Assay-Synthetic") != "true" {
			t.Errorf("%s does not say that its data is synthetic: %s", target, got.Text)
		}
	}
	for _, query := range []string{"?style=poster", "?theme=pink", "?style=badge&style=chart"} {
		if got := r.Get("", path+".svg"+query); got.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %d %s", query, got.StatusCode, got.Text)
		}
	}
}

// A response through a link keeps the link secret, runs nothing, sets no cookie, and may be cached for a minute at
// most.
func TestLink_Headers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	path, _ := r.link("full session", `{"name":"mine","family":"gpu","series":"H200"}`)
	for _, extension := range []string{"csv", "json", "svg", "png", "gif"} {
		got := r.Get("", path+"."+extension)
		for name, want := range map[string]string{
			"Referrer-Policy": "no-referrer", "X-Robots-Tag": "noindex", "X-Content-Type-Options": "nosniff",
			"Cross-Origin-Resource-Policy": "cross-origin", "Set-Cookie": "", "Access-Control-Allow-Origin": "*", "Link": "",
		} {
			if value := got.Header.Get(name); value != want {
				t.Errorf("%s: %s is %q, want %q", extension, name, value, want)
			}
		}
		policy := got.Header.Get("Content-Security-Policy")
		if !strings.HasPrefix(policy, "default-src 'none'; style-src 'sha256-") || !strings.HasSuffix(policy, "frame-ancestors 'none'") ||
			strings.Contains(policy, "unsafe") {
			t.Errorf("%s: the policy is %s", extension, policy)
		}
		cached, vary := got.Header.Get("Cache-Control"), got.Header.Get("Vary")
		if extension == "gif" {
			if got.StatusCode != 404 || cached != "no-store" {
				t.Errorf("%s: %d, %s", extension, got.StatusCode, cached)
			}
			continue
		}
		if cached != "public, max-age=4" || vary != "Accept-Encoding" { // it is 12:34:56
			t.Errorf("%s: Cache-Control %q, Vary %q", extension, cached, vary)
		}
		again := r.Get("", path+"."+extension, "If-None-Match", got.Header.Get("ETag"))
		if again.StatusCode != http.StatusNotModified || again.Text != "" {
			t.Errorf("%s again: %d", extension, again.StatusCode)
		}
	}
}

// A link shows what its owner may read now, and nothing once it is revoked or its owner is gone.
func TestLink_FollowsItsOwner(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const me, email = "free session", "free@example.com"
	r.Session(me)
	full := r.Grant(email, assay.PlanFull)
	hourly, _ := r.link(me, `{"name":"hourly","family":"gpu","series":"H200","granularity":"hourly","range":"7d"}`)
	old, _ := r.link(me, `{"name":"old","family":"gpu","series":"H200","range":"all"}`)
	paid, _ := r.link(me, `{"name":"paid","family":"gpu","series":"RTX PRO 6000 WS"}`)
	memory, _ := r.link(me, `{"name":"memory","family":"memory","series":"mem_ddr5_16gb"}`)
	going, id := r.link(me, `{"name":"going","family":"gpu","series":"H200"}`)
	f := func(path string, status int, parts ...string) {
		t.Helper()
		got := r.Get("", path+".json")
		if got.StatusCode != status {
			t.Errorf("%d %.200s, want %d", got.StatusCode, got.Text, status)
		}
		for _, part := range parts {
			if !strings.Contains(got.Text, part) {
				t.Errorf("%.300s lacks %s", got.Text, part)
			}
		}
	}
	statuses := func() (list []string) {
		var shown struct{ Data []struct{ Status string } }
		r.Must(json.Unmarshal([]byte(r.Get(me, "/api/share-links").Text), &shown))
		for _, one := range shown.Data {
			list = append(list, one.Status)
		}
		slices.Sort(list) // all were made in one instant
		return list
	}
	f(hourly, 200, `"access":"full","granularity":"hourly"`)
	f(old, 200, `"access":"full"`, `"timestamp":"2025-08-01T20:00:00.000Z"`)
	f(going, 200)
	if got := r.Do(http.MethodDelete, me, "/api/share-links/"+id); got.StatusCode != 200 {
		t.Fatalf("%d %s", got.StatusCode, got.Text)
	}
	f(going, 404, `"unknown_share_link"`)
	if got := statuses(); !slices.Equal(got, []string{"active", "active", "active", "active"}) {
		t.Errorf("with Full access the links are %v", got)
	}

	r.Must(r.Accounts.EndGrant(t.Context(), full.ID))
	premium := r.Grant(email, assay.PlanPremium)
	f(hourly, 200, `"access":"premium","granularity":"daily"`)
	f(paid, 200, `"access":"premium"`)

	r.Must(r.Accounts.EndGrant(t.Context(), premium.ID))
	f(hourly, 200, `"access":"public-3mo","granularity":"daily"`)
	f(old, 200, `"access":"public-3mo"`, `"data":[{"timestamp":"2025-11-04T21:00:00.000Z"`)
	f(paid, 403, `"no_access"`)
	f(memory, 403, `"no_access"`)
	if got := statuses(); !slices.Equal(got, []string{"no_access", "no_access", "reduced", "reduced"}) {
		t.Errorf("without a plan the links are %v", got)
	}
	for _, extension := range []string{".svg", ".png", ".csv"} {
		if got := r.Get("", paid+extension); got.StatusCode != 403 || strings.Contains(got.Text, "2.") {
			t.Errorf("%s: %d %s", extension, got.StatusCode, got.Text)
		}
	}

	r.Must(r.Accounts.CloseAccount(t.Context(), email))
	f(old, 404, `"unknown_share_link"`)
}

// A link to what the operator has taken out of the catalog is gone.
func TestLink_SeriesHidden(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	r := newRig(t)
	path, _ := r.link("full session", `{"name":"mine","family":"gpu","series":"H200"}`)
	catalog := assay.DefaultCatalog()
	catalog.GPUs = slices.DeleteFunc(catalog.GPUs, func(g assay.GPU) bool { return g.Name == "H200" })
	r.UseCatalog(catalog)
	if got := r.Get("", path+".svg"); got.StatusCode != 404 || !strings.Contains(got.Text, `"unknown_series"`) {
		t.Errorf("%d %s", got.StatusCode, got.Text)
	}
}

// A popular link uses up neither the limits of its owner nor those of its readers, and many links are no way around the
// limits of keys.
func TestLink_Limits(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var paths []string
	for range 6 {
		path, _ := r.link("full session", `{"name":"mine","family":"gpu","series":"H200"}`)
		paths = append(paths, path+".csv")
	}
	const peer = "198.51.100.9:1"
	first := r.Get("", paths[0], "peer", peer)
	if policy := first.Header.Get("RateLimit-Policy"); policy != `"link";q=60;w=60` {
		t.Errorf("the policy is %s", policy)
	}
	for range 59 {
		r.Get("", paths[0], "peer", peer)
	}
	over := r.Get("", paths[0]) // from another address
	if over.StatusCode != 429 || !strings.Contains(over.Text, "Rate limit of 60 requests per minute exceeded. Retry in 60 seconds.") {
		t.Errorf("%d %s", over.StatusCode, over.Text)
	}
	if got := r.Get("", "/api/gpu/H200", "peer", peer); got.Header.Get("RateLimit") != `"public";r=59;t=60` {
		t.Errorf("the reader's limit: %s", got.Header.Get("RateLimit"))
	}
	if got := r.Get("full session", "/api/share-links"); got.StatusCode != 200 || strings.Contains(got.Header.Get("RateLimit"), "r=5;") {
		t.Errorf("the owner's limit: %d %s", got.StatusCode, got.Header.Get("RateLimit"))
	}
	for _, path := range paths[1:5] {
		for range 60 {
			r.Get("", path)
		}
	}
	if got := r.Get("", paths[5]); got.StatusCode != 429 || got.Header.Get("RateLimit-Policy") != `"links";q=300;w=60` {
		t.Errorf("after 300 requests: %d %s", got.StatusCode, got.Header.Get("RateLimit-Policy"))
	}
	r.Clock = r.Clock.Add(time.Minute)
	if got := r.Get("", paths[0]); got.StatusCode != 200 {
		t.Errorf("a minute later: %d", got.StatusCode)
	}
}

// Guessing is limited, and those who share the guesser's address can still open their links.
func TestLink_Guesses(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	path, _ := r.link("full session", `{"name":"mine","family":"gpu","series":"H200"}`)
	const peer = "198.51.100.7:1"
	wrong := []string{
		"/s/shl_aaaaaaaaaaaaaaaaaaaaaaaaaa.csv", "/s/x.csv", path + "a.csv", path[:len(path)-1] + ".csv", path,
		path + ".csv.svg", path + ".CSV", path + ".html", "/s/.csv", "/s/" + strings.ToUpper(path[3:]) + ".csv",
		path + "%00.csv", path + ".csv%20",
	}
	for i := range 60 {
		target := wrong[i%len(wrong)]
		if got := r.Get("", target, "peer", peer); got.StatusCode != 404 || !strings.Contains(got.Text, `"unknown_share_link"`) {
			t.Errorf("%s: %d %s", target, got.StatusCode, got.Text)
		}
	}
	if got := r.Get("", wrong[0], "peer", peer); got.StatusCode != 429 {
		t.Errorf("the 61st guess: %d", got.StatusCode)
	}
	if got := r.Get("", path+".csv", "peer", peer); got.StatusCode != 200 {
		t.Errorf("a right link from the same address: %d %s", got.StatusCode, got.Text)
	}
}

// Tricks with the path lead nowhere, and no log line has the token.
func TestLink_PathsAndLogs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	path, _ := r.link("full session", `{"name":"mine","family":"gpu","series":"H200"}`)
	token := strings.TrimPrefix(path, "/s/")
	for _, target := range []string{
		path + ".csv/..", path + ".csv/../../api/keys", "/s/../" + path + ".csv", "/s//" + token + ".csv", path + ".csv/",
		path + ".csv/x", "/s/%2e%2e/" + token + ".csv", "/s", "/s/", "/x/" + token, path + "%2Fx.csv", path + "%2f..%2f.csv",
		"/S/" + token + ".csv", "/api" + path + ".csv",
	} {
		if got := r.Get("", target); got.StatusCode != 404 || strings.Contains(got.Text, token) {
			t.Errorf("%s: %d %s", target, got.StatusCode, got.Text)
		}
	}
	for _, target := range []string{path + ".csv", path + ".svg?theme=" + token, path + ".json?x=" + token} {
		if got := r.Get("", target); strings.Contains(got.Text, token) || strings.Contains(fmt.Sprint(got.Header), token) {
			t.Errorf("%s: the response repeats the token: %v %s", target, got.Header, got.Text)
		}
	}
	if got := r.Do(http.MethodPost, "", path+".csv"); got.StatusCode != 405 || strings.Contains(got.Text, token) {
		t.Errorf("POST: %d %s", got.StatusCode, got.Text)
	}
	if logs := r.Logs.String(); strings.Contains(logs, token) || !strings.Contains(logs, `"path":"/s/{file}"`) {
		t.Errorf("the log has the token:\n%s", logs)
	}
}

// Nothing of the request but the address counts: no key, no cookie.
func TestLink_IgnoresCallers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	path, _ := r.link("free session", `{"name":"mine","family":"gpu","series":"H200"}`)
	want := r.Get("", path+".json")
	for _, caller := range []string{"full", "full session", "revoked", "unknown key"} {
		got := r.Get(caller, path+".json")
		if got.Text != want.Text || !strings.Contains(got.Text, `"access":"public-3mo"`) {
			t.Errorf("as %s: %d %.200s", caller, got.StatusCode, got.Text)
		}
	}
	if lines := strings.Count(r.Logs.String(), `"path":"/s/{file}","status":200`); lines != 5 ||
		strings.Contains(r.Logs.String(), `"path":"/s/{file}","status":200,"bytes":0,"key"`) {
		t.Errorf("%d log lines", lines)
	}
}

// A response in any encoding is the same, and HEAD has its headers.
func TestLink_EncodingsAndHead(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	path, _ := r.link("full session", `{"name":"mine","family":"gpu","series":"H200","range":"all"}`)
	for _, extension := range []string{".csv", ".json", ".svg", ".png"} {
		plain := r.Get("", path+extension)
		compressed := r.Get("", path+extension, "Accept-Encoding", "gzip")
		if (compressed.Header.Get("Content-Encoding") == "gzip") != (extension != ".png") {
			t.Errorf("%s: the encoding is %q", extension, compressed.Header.Get("Content-Encoding"))
		}
		head := r.Do(http.MethodHead, "", path+extension)
		if head.StatusCode != 200 || head.Text != "" || head.Header.Get("ETag") != plain.Header.Get("ETag") ||
			head.Header.Get("Content-Type") != plain.Header.Get("Content-Type") {
			t.Errorf("%s: HEAD: %d %v", extension, head.StatusCode, head.Header)
		}
	}
}
