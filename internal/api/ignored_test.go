package api_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/apitest"
)

// Every parameter that the description has is known to its route, and any other is reported as ignored.
func TestIgnored_AsDescribed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	document, err := apitest.Description(assay.DefaultCatalog())
	if err != nil {
		t.Fatal(err)
	}
	fill := strings.NewReplacer(
		"{gpuName}", "H200", "{memoryType}", "mem_ddr5_16gb", "{family}", "models", "{index}", "otpi", "{path}", "x", "{id}", "x",
	)
	served := 0
	for path, item := range document.Paths.Map() {
		if item.Get == nil {
			continue
		}
		target := fill.Replace(path) + "?" + described(item.Get).Encode()
		got := r.Get("full", target)
		if got.StatusCode != http.StatusOK {
			continue
		}
		served++
		if ignored := got.Header.Get("X-Assay-Ignored"); ignored != "" {
			t.Errorf("%s ignores %s", target, ignored)
		}
		if ignored := r.Get("full", target+"&nonsense=1").Header.Get("X-Assay-Ignored"); ignored != "nonsense" {
			t.Errorf("%s&nonsense=1 ignores %q", target, ignored)
		}
	}
	if served < 30 {
		t.Errorf("%d routes were served", served)
	}
}

// described is a query with all parameters of an operation: an example for those that it needs, and nothing for the
// others.
func described(operation *openapi3.Operation) url.Values {
	query := url.Values{}
	for _, ref := range operation.Parameters {
		p := ref.Value
		if p.In != openapi3.ParameterInQuery {
			continue
		}
		query.Set(p.Name, "")
		if p.Required {
			query.Set(p.Name, map[string]string{
				"datetime": "2026-01-30", "date": "2026-01-30", "startDate": "2026-01-20", "endDate": "2026-02-01", "product": "cc-prs",
				"series": "openai", "region": "global", "version": "1.0.0",
			}[p.Name])
		}
	}
	return query
}

// A caller who asks for strict handling gets an error for a parameter that would change nothing.
func TestIgnored_Strict(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	f := func(target, prefer string, status int, want string) {
		t.Helper()
		got := r.Get("", target, "Prefer", prefer)
		if got.StatusCode != status || !strings.Contains(got.Text+got.Header.Get("X-Assay-Ignored"), want) {
			t.Errorf("%s, %s: %d %s %v, want %d %s", target, prefer, got.StatusCode, got.Text, got.Header, status, want)
		}
	}
	const strict = "handling=strict"
	f("/api/daily-index?gputype=H200", "", 200, "gputype")
	f("/api/daily-index?gputype=H200", "handling=lenient", 200, "gputype")
	f("/api/daily-index?gputype=H200", strict, 400,
		`"Unknown parameter \"gputype\": this path takes as_of, date, format, gpu, gpuType, gpu_name, gpu_type and region."`)
	f("/api/daily-index?gputype=H200", `respond-async, Handling="strict"; x=y`, 400, `"code":"unknown_parameter"`)
	f("/api/gpu-types?gpu=H200", strict, 400, `"Unknown parameter \"gpu\": this path takes format."`)
	f("/api/gpu-types?gpu=%zz", strict, 400, `"code":"invalid_parameter"`)
	f("/api/gpu-types?gpu=%zz", "", 200, `"success":true`)
	f("/api/daily-index?gpuType=H200", strict, 200, `"gpu_type":"H200"`)
	f("/api/daily-index?a=1&b=2&a=3&%0d%0aX:=4", "", 200, "a, b, %0D%0AX%3A")
	f("/api/daily-index?"+r.Keys["full"]+"=1", "", 200, "sk_live_")
	if got := r.Get("", "/api/daily-index?"+r.Keys["full"]+"=1"); strings.Contains(got.Header.Get("X-Assay-Ignored"), r.Keys["full"]) {
		t.Error("the header repeats a key")
	}
	if got := r.Get("", "/api/daily-index", "Prefer", strict); got.Header.Get("Preference-Applied") != strict {
		t.Errorf("applied: %q", got.Header.Get("Preference-Applied"))
	}
}

// A GPU may be named as the rows name it.
func TestDaily_SpellingsOfGPU(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	want := r.Get("", "/api/daily-index?gpuType=H200").Text
	for _, query := range []string{"gpu=H200", "gpu_type=H200", "gpu_name=H200", "gpu_name=H200&gpu=H200"} {
		if got := r.Get("", "/api/daily-index?"+query); got.Text != want {
			t.Errorf("%s: %s", query, got.Text)
		}
	}
	got := r.Get("", "/api/daily-index?gpu_type=H200&gpu_name=B200")
	if got.StatusCode != 400 || !strings.Contains(got.Text, `for \"gpu_name\": must be the same as gpu_type, or absent`) {
		t.Errorf("%d %s", got.StatusCode, got.Text)
	}
}
