package apitest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

// Updating reports whether the tests write what they compare with.
func Updating() bool { return *update }

// Golden compares text with a file under testdata.
func Golden(t testing.TB, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got); make golden writes it:\n%s", file, diff)
	}
}

// GoldenResponse compares the response to a GET request with a file under testdata. Each case can be run alone: no rate
// limit has counted anything before.
func (r *Rig) GoldenResponse(t *testing.T, name, caller, target string, headers ...string) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		r.Test, r.Server = t, r.newWebServer()
		text := fmt.Sprintf("GET %s as %s\n\n%s", target, caller, r.Get(caller, target, headers...).Golden())
		Golden(t, filepath.Join("responses", name+".txt"), text)
	})
}

// shown are the headers that a golden response shows.
var shown = []string{
	"Content-Type", "Cache-Control", "Vary", "Etag", "Last-Modified", "Ratelimit-Policy", "Ratelimit", "Retry-After",
	"Www-Authenticate", "Allow", "Deprecation", "Sunset", "Link",
}

// Golden is the response as golden files show it.
func (r Reply) Golden() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d\n", r.StatusCode)
	for _, name := range shown {
		for _, value := range r.Header[name] {
			fmt.Fprintf(&b, "%s: %s\n", name, value)
		}
	}
	body := strings.ReplaceAll(r.Text, r.Header.Get("X-Request-Id"), "REQUEST-ID")
	return b.String() + "\n" + strings.ReplaceAll(body, "},{", "},\n {") + "\n"
}
