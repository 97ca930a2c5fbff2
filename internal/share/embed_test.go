package share_test

import (
	"encoding/json"
	"image/png"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/apitest"
	"github.com/assaydata/assay/internal/chart"
	"github.com/assaydata/assay/internal/share"
	"github.com/assaydata/assay/tools/testenv"
)

// An embedded chart can be framed by anyone; it runs no script, loads nothing and sets no cookie.
func TestEmbed(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	r := newRig(t)
	for _, target := range []string{
		"/embed/gpu/H100%20SXM", "/embed/gpu/H200?range=7d&theme=dark", "/embed/gpu/H100%20SXM?region=us-east&range=1m&theme=light",
	} {
		got := r.Get("", target)
		policy := got.Header.Get("Content-Security-Policy")
		if got.StatusCode != 200 || !strings.HasSuffix(policy, "; frame-ancestors *") || !strings.HasPrefix(policy, "default-src 'none';") ||
			strings.Contains(policy, "unsafe") || strings.Contains(policy, "script") {
			t.Errorf("%s: %d, the policy is %s", target, got.StatusCode, policy)
		}
		if got.Header.Get("X-Frame-Options") != "" || got.Header.Get("Set-Cookie") != "" || got.Header.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s: %v", target, got.Header)
		}
		if strings.Contains(got.Text, "<script") || regexp.MustCompile(` (src|style|on\w+)=`).MatchString(got.Text) {
			t.Errorf("%s: the page loads or runs something: %s", target, got.Text)
		}
		for _, part := range []string{"<svg ", `<link rel="alternate" type="application/json+oembed" href="/oembed?`, `<html lang="en" class="`} {
			if !strings.Contains(got.Text, part) {
				t.Errorf("%s: the page lacks %s:\n%.700s", target, part, got.Text)
			}
		}
	}
	apitest.Golden(t, "embed.html", r.Get("", "/embed/gpu/H200?range=7d").Text)
}

// Who embeds shows what everyone may read: keys and cookies do not count.
func TestEmbed_OnlyFree(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	f := func(target string, status int, code string) {
		t.Helper()
		for _, caller := range []string{"", "full", "full session"} {
			got := r.Get(caller, target)
			if got.StatusCode != status || !strings.Contains(got.Text, `"`+code+`"`) {
				t.Errorf("%s as %s: %d %s", target, caller, got.StatusCode, got.Text)
			}
		}
	}
	f("/embed/gpu/RTX%20PRO%206000%20WS", 401, "key_required")
	f("/embed/gpu/H300", 400, "unknown_gpu")
	f("/embed/gpu/%3Cscript%3E", 400, "unknown_gpu")
	f("/embed/gpu/H200?region=moon", 404, "unknown_region")
	f("/embed/gpu/H200?range=1y", 400, "invalid_parameter")
	f("/embed/gpu/H200?range="+strings.Repeat("9", 4000)+"y", 400, "invalid_parameter")
	f("/embed/gpu/H200?range=7d&range=1m", 400, "invalid_parameter")
	f("/embed/gpu/H200?theme=%22%3E%3Cscript%3E", 400, "invalid_parameter")
}

// GPU names are what an operator chose: none of them gets out of its place in a page or a picture.
func TestEmbed_HostileNames(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	r := newRig(t)
	const evil = `</title><script>alert('1')</script>"&<b>`
	path, _ := r.link("full session", `{"name":"mine","family":"memory","series":"mem_ddr5_16gb","range":"all"}`)
	catalog := assay.DefaultCatalog()
	for i, memory := range catalog.MemoryTypes {
		if memory.ID == "mem_ddr5_16gb" {
			catalog.MemoryTypes[i].MemoryType = evil
		}
	}
	r.UseCatalog(catalog)
	for _, style := range []string{"chart", "badge"} {
		got := r.Get("", path+".svg?style="+style)
		if got.StatusCode != 200 || strings.Contains(got.Text, "<script") || readXML(got.Text) != nil ||
			!strings.Contains(got.Text, "&lt;script&gt;") {
			t.Errorf("the %s has the name as it is: %d %.900s", style, got.StatusCode, got.Text)
		}
	}
}

// answer is a response of oEmbed.
type answer struct {
	Version, Type, Title, HTML string
	Width, Height              int
}

func TestOEmbed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ask := func(address, more string) (a answer) {
		t.Helper()
		got := r.Get("", "/oembed?url="+url.QueryEscape(address)+more)
		if got.StatusCode != 200 {
			t.Fatalf("%s: %d %s", address, got.StatusCode, got.Text)
		}
		r.Must(json.Unmarshal([]byte(got.Text), &a))
		return a
	}
	const frame = `<iframe src="http://example.com/embed/gpu/H100%20SXM" width="720" height="360" ` +
		`title="H100 SXM, USD per GPU-hour" loading="lazy" style="border:0"></iframe>`
	want := answer{"1.0", "rich", "H100 SXM, USD per GPU-hour", frame, 720, 360}
	for _, address := range []string{
		"http://example.com/embed/gpu/H100%20SXM", "http://example.com/gpu/H100%20SXM", "http://example.com/gpu/H100%20SXM#x",
		"http://example.com/gpu/H100%20SXM?range=all&compare=H200", "http://example.com/embed/gpu/H100%20SXM?theme=%22&range=%3Cb%3E",
	} {
		if got := ask(address, ""); got != want {
			t.Errorf("%s: got %+v", address, got)
		}
	}
	f := func(more string, width, height int) {
		t.Helper()
		if got := ask("http://example.com/gpu/H200", more); got.Width != width || got.Height != height {
			t.Errorf("%s: %d × %d, want %d × %d", more, got.Width, got.Height, width, height)
		}
	}
	f("&maxwidth=600", 600, 300)
	f("&maxheight=100", 200, 100)
	f("&maxwidth=10000&maxheight=10000", 720, 360)
	f("&maxwidth=300&maxheight=100", 200, 100)
	f("&format=json", 720, 360)
	if got := ask("http://example.com/embed/gpu/H200?range=7d&theme=dark&region=global", ""); !strings.Contains(got.HTML, `/embed/gpu/H200?range=7d&amp;theme=dark"`) {
		t.Errorf("%+v", got)
	}
}

func TestOEmbed_Refused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	f := func(target string, status int, code string) {
		t.Helper()
		if got := r.Get("", target); got.StatusCode != status || !strings.Contains(got.Text, `"`+code+`"`) {
			t.Errorf("%s: %d %s", target, got.StatusCode, got.Text)
		}
	}
	f("/oembed", 400, "invalid_parameter")
	f("/oembed?url=http%3A%2F%2Fexample.com%2Fgpu%2FH200&maxwidth=1", 400, "invalid_parameter")
	f("/oembed?url=http%3A%2F%2Fexample.com%2Fgpu%2FH200&format=xml", 501, "unknown_format")
	for _, address := range []string{
		"http://evil.example/embed/gpu/H200", "https://example.com/gpu/H200", "//example.com/gpu/H200", "/gpu/H200", "",
		"javascript:alert(1)", "http://example.com@evil.example/gpu/H200", "http://user@example.com/gpu/H200",
		"http://example.com.evil.example/gpu/H200", "http://example.com/gpu/H300", "http://example.com/gpu/RTX%20PRO%206000%20WS",
		"http://example.com/gpu/H200/x", "http://example.com/gpu/", "http://example.com/gpu/..%2f", "http://example.com/embed/embed/gpu/H200",
		"http://example.com/s/x.svg", "http://example.com/gpu/%zz", "http://example.com:80/gpu/H200",
	} {
		if address != "" {
			f("/oembed?url="+url.QueryEscape(address), 404, "not_embeddable")
		}
	}
}

// The public address counts, whatever a client says.
func TestOEmbed_PublicAddress(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *apitest.Config) { c.Web.PublicURL = "https://data.example" })
	got := r.Get("", "/oembed?url=https%3A%2F%2Fdata.example%2Fgpu%2FH200")
	if got.StatusCode != 200 || !strings.Contains(got.Text, `https://data.example/embed/gpu/H200\"`) {
		t.Errorf("%d %s", got.StatusCode, got.Text)
	}
	if got := r.Get("", "/oembed?url=http%3A%2F%2Fexample.com%2Fgpu%2FH200"); got.StatusCode != 404 {
		t.Errorf("another address: %d", got.StatusCode)
	}
}

// No other page of the server can be framed: only the embedded charts may.
func TestFrames_OnlyEmbedded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	framed := 0
	for _, group := range r.Groups {
		for _, route := range group.Routes {
			if route.Method != http.MethodGet || route.Path == "/api/stream" {
				continue
			}
			target := regexp.MustCompile(`\{\w+(\.\.\.)?\}`).ReplaceAllString(route.Path, "H200")
			got := r.Get("", target)
			if slices.ContainsFunc(got.Header["Content-Security-Policy"], func(p string) bool { return strings.Contains(p, "frame-ancestors *") }) {
				framed++
				if route.Path != "/embed/gpu/{gpuName}" {
					t.Errorf("%s can be framed", route.Path)
				}
			} else if strings.HasPrefix(got.Header.Get("Content-Type"), "text/html") {
				t.Errorf("%s is a page without a policy", route.Path)
			}
		}
	}
	if framed != 1 {
		t.Errorf("%d routes can be framed", framed)
	}
}

// pages are those of a dashboard that has any path.
type pages struct{ served int }

func (p *pages) Has(*http.Request) bool { return true }

func (p *pages) ServePage(w http.ResponseWriter, _ *http.Request, _ string) {
	p.served++
	w.WriteHeader(http.StatusOK)
}

// The pages about GPU models lead to the description of their chart, and no others.
func TestAnnounce(t *testing.T) {
	t.Parallel()
	f := func(origin, target, want string) {
		t.Helper()
		below := &pages{}
		recorder, request := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, target, nil)
		share.Announce(below).ServePage(recorder, request, origin)
		if got := recorder.Header().Get("Link"); got != want || below.served != 1 {
			t.Errorf("%s: got %s, want %s", target, got, want)
		}
	}
	const more = `>; rel="alternate"; type="application/json+oembed"`
	f("http://example.com", "/gpu/H100%20SXM?range=1y", "</oembed?format=json&url=http%3A%2F%2Fexample.com%2Fgpu%2FH100%2520SXM"+more)
	f("https://data.example", "/gpu/H200", "</oembed?format=json&url=https%3A%2F%2Fdata.example%2Fgpu%2FH200"+more)
	f("http://example.com", "/gpu/%3E%0d%0aSet-Cookie:x",
		"</oembed?format=json&url=http%3A%2F%2Fexample.com%2Fgpu%2F%253E%250d%250aSet-Cookie%3Ax"+more)
	f("http://example.com", "/gpu/", "")
	f("http://example.com", "/gpu/a/b", "")
	f("http://example.com", "/proof/H200", "")
	f("http://example.com", "/", "")
}

// The picture of a link to a free GPU model is its chart; no other one shows a value to any caller.
func TestPreview(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	r := newRig(t)
	picture := func(caller, target string) string {
		t.Helper()
		got := r.Get(caller, target)
		if got.StatusCode != 200 || got.Header.Get("Content-Type") != "image/png" || !strings.HasPrefix(got.Text, "\x89PNG\r\n") {
			t.Fatalf("%s as %s: %d %v %.200s", target, caller, got.StatusCode, got.Header, got.Text)
		}
		if policies := got.Header["Content-Security-Policy"]; len(policies) != 1 {
			t.Errorf("%s: the policies are %q", target, policies)
		}
		size, err := png.DecodeConfig(strings.NewReader(got.Text))
		if err != nil || size.Width != 2*chart.Width || size.Height != 2*chart.Height {
			t.Errorf("%s: %+v, %v", target, size, err)
		}
		return got.Text
	}
	cover, one := picture("", "/embed/picture"), picture("", "/embed/picture/H200")
	if one == cover || one == picture("", "/embed/picture/H100%20SXM") || one != picture("", "/embed/picture/H200") {
		t.Error("the pictures of two models, or of none, are the same, or those of one are not")
	}
	for _, caller := range []string{"", "full", "full session"} {
		if picture(caller, "/embed/picture/RTX%20PRO%206000%20WS") != cover {
			t.Errorf("as %s, the picture of a paid model shows something", caller)
		}
	}
	if got := r.Get("", "/embed/picture/H300"); got.StatusCode != 400 || !strings.Contains(got.Text, `"unknown_gpu"`) {
		t.Errorf("an unknown model: %d %s", got.StatusCode, got.Text)
	}

	snap := *r.Snapshots.Load()
	snap.Synthetic = true
	r.Use(&snap)
	if picture("", "/embed/picture") == cover || picture("", "/embed/picture/H200") == one {
		t.Error("pictures of synthetic data do not say so")
	}
}
