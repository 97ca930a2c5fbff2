package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// adminLine is how the log names the port of --admin-addr.
var adminLine = regexp.MustCompile(`"msg":"metrics are served","address":"([^"]+)"`)

// watched is a server of its own with --admin-addr.
type watched struct {
	*process
	admin string
}

// startWatched starts a server and waits until it responds, healthy or not.
func startWatched(t *testing.T, args ...string) *watched {
	t.Helper()
	needProgram(t)
	dir := t.TempDir()
	args = append(args, "--dir", filepath.Join(dir, "data"), "--admin-addr", "127.0.0.1:0")
	p, err := startCommand(nil, dir, "server", exec.Command(program, args...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	admin, err := adminOf(filepath.Join(dir, "server.err"))
	if err != nil {
		t.Fatal(err)
	}
	return &watched{p, admin}
}

// adminOf reads the address of --admin-addr from a log.
func adminOf(log string) (address string, err error) {
	err = until(patience, 10*time.Millisecond, func() error {
		text, err := os.ReadFile(log)
		if found := adminLine.FindSubmatch(text); found != nil {
			address = "http://" + string(found[1])
			return err
		}
		return fmt.Errorf("the log does not name the address:\n%s (%w)", text, err)
	})
	return address, err
}

// fetch returns the status, the type and the text of a response.
func fetch(t *testing.T, address, accept string) (status int, contentType, text string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	if accept != "" {
		request.Header.Set("Accept", accept)
	}
	response, err := newClient(t).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header.Get("Content-Type"), string(body)
}

// The port of --admin-addr has metrics in both formats and profiles, and the public one has nothing of it.
func TestAdmin_Serve(t *testing.T) {
	t.Parallel()
	w := startWatched(t, "serve", "--init")
	if err := until(patience, 10*time.Millisecond, w.healthy); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/metrics", "/debug/pprof/", "/debug/pprof/heap", "/debug/vars"} {
		if status, _, text := fetch(t, w.url+path, ""); status != http.StatusNotFound || strings.Contains(text, "goroutine") {
			t.Errorf("%s on the public port: %d %.200s", path, status, text)
		}
	}
	status, contentType, text := fetch(t, w.admin+"/metrics", "")
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if status != http.StatusOK || !strings.HasPrefix(contentType, "text/plain; version=0.0.4") || err != nil {
		t.Fatalf("/metrics: %d, %s, %v", status, contentType, err)
	}
	for name := range families {
		if !strings.HasPrefix(name, "assay_") {
			t.Errorf("there is a metric %s", name)
		}
	}
	wantDeployedNames(t, func(name string) bool {
		_, ok := families[name]
		return ok
	})
	accept := "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"
	status, contentType, text = fetch(t, w.admin+"/metrics", accept)
	if status != http.StatusOK || !strings.HasPrefix(contentType, "application/openmetrics-text; version=1.0.0") ||
		!strings.HasSuffix(text, "# EOF\n") {
		t.Errorf("OpenMetrics: %d, %s", status, contentType)
	}
	status, _, text = fetch(t, w.admin+"/health", "")
	if status != http.StatusOK || !strings.Contains(text, `"healthy"`) {
		t.Errorf("/health: %d %s", status, text)
	}
	if status, _, text := fetch(t, w.admin+"/debug/pprof/goroutine?debug=1", ""); status != http.StatusOK ||
		!strings.Contains(text, "serveAdmin") {
		t.Errorf("a profile: %d %.200s", status, text)
	}
	if status, _, _ := fetch(t, w.admin+"/api/regions", ""); status != http.StatusNotFound {
		t.Errorf("market data on the port of --admin-addr: %d", status)
	}
}

// onlyWith are metrics that a node without further flags does not have, or not before something has happened.
var onlyWith = map[string]string{
	"assay_limit_shared": "--limits", "assay_limit_fallbacks_total": "--limits",
	"assay_replica_lag_seconds": "--store-read", "assay_alert_message_age_seconds": "a message that waits",
	"assay_checkpoint_age_seconds": "a checkpoint", "assay_checkpoint_cosignatures": "a checkpoint",
	"assay_feed_age_seconds":   "an import",
	"assay_family_age_seconds": "data", "assay_fixings_missed": "a publication",
	"assay_publication_lag_seconds":                  "a publication",
	"assay_tls_certificate_expiry_timestamp_seconds": "--tls-cert or --acme-domain",
}

// wantDeployedNames checks that a node has the metrics that the rules and the dashboard name.
func wantDeployedNames(t *testing.T, has func(name string) bool) {
	t.Helper()
	names := map[string]bool{}
	for _, file := range []string{"prometheus/rules.yml", "grafana/assay.json"} {
		text, err := os.ReadFile("../../deploy/" + file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range regexp.MustCompile(`\bassay_[a-z0-9_]+`).FindAllString(string(text), -1) {
			names[name] = true
		}
	}
	for name := range names {
		family := name
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			if base, ok := strings.CutSuffix(name, suffix); ok && has(base) {
				family = base
			}
		}
		if !has(family) && onlyWith[name] == "" {
			t.Errorf("a node has no metric %s", name)
		}
	}
	if len(names) < 40 {
		t.Errorf("only %d names were found", len(names))
	}
}

// The demo has values, so all of what is only there with data is there.
func TestAdmin_Demo(t *testing.T) {
	t.Parallel()
	needProgram(t)
	demo, err := sharedDemo()
	if err != nil {
		t.Fatal(err)
	}
	_, contentType, text := fetch(t, demo.admin+"/metrics", "")
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil || !strings.HasPrefix(contentType, "text/plain") {
		t.Fatalf("%s, %v", contentType, err)
	}
	for _, name := range []string{
		"assay_checkpoint_age_seconds", "assay_feed_age_seconds", "assay_family_age_seconds", "assay_fixings_missed",
		"assay_publication_lag_seconds", "assay_snapshot_points",
	} {
		if families[name] == nil {
			t.Errorf("the demo has no metric %s", name)
		}
	}
	for _, key := range []string{demo.keys.Full, demo.keys.Premium} {
		if strings.Contains(text, key) || strings.Contains(text, key[:20]) {
			t.Error("the metrics have a key")
		}
	}
}

func TestAdmin_Check(t *testing.T) {
	t.Parallel()
	f := func(addr string, expose bool, want string) {
		t.Helper()
		var c adminConfig
		err := c.setAddr(addr)
		if c.expose = expose; err == nil {
			err = c.check()
		}
		if got := fmt.Sprint(err); err != nil && (want == "" || !strings.Contains(got, want)) || err == nil && want != "" {
			t.Errorf("%q, exposed %v: %v, want %q", addr, expose, err, want)
		}
	}
	f("", false, "")
	f("127.0.0.1:9090", false, "")
	f("127.8.0.1:9090", false, "")
	f("[::1]:9090", false, "")
	f("localhost:0", false, "")
	f("127.0.0.1:9090", true, "")
	f("10.0.0.5:9090", true, "")
	f("0.0.0.0:9090", true, "")
	f("0.0.0.0:9090", false, "--admin-expose")
	f("10.0.0.5:9090", false, "--admin-expose")
	f(":9090", false, "--admin-expose")
	f("[::]:9090", false, "--admin-expose")
	f("node1:9090", false, "--admin-expose")
	f("localhost.example:9090", false, "--admin-expose")
	f("", true, "--admin-expose needs --admin-addr")
	f("9090", false, "must be HOST:PORT")
	f("127.0.0.1:http", false, "the port must be a number")
	f("127.0.0.1:99999", false, "the port must be a number")
}

// An address that other machines reach ends the program at once, unless it is meant.
func TestAdmin_RefusesPublicAddress(t *testing.T) {
	t.Parallel()
	needProgram(t)
	dir := t.TempDir()
	args := []string{"serve", "--init", "--dir", filepath.Join(dir, "data"), "--admin-addr", "0.0.0.0:0"}
	_, err := startServer(dir, "server", args...)
	if err == nil || !strings.Contains(err.Error(), "--admin-expose") {
		t.Errorf("the error is %v", err)
	}
}

// Metrics are there while the node waits for its database, and say so.
func TestAdmin_BeforeTheDatabase(t *testing.T) {
	t.Parallel()
	w := startWatched(t, "serve", "--role", "read")
	want := []string{"\nassay_database_up 0\n", "\nassay_ready 0\n", `assay_role_info{role="read"} 1`}
	_, _, text := fetch(t, w.admin+"/metrics", "")
	for _, line := range want {
		if !strings.Contains(text, line) {
			t.Errorf("there is no %q in\n%s", line, text)
		}
	}
	status, _, text := fetch(t, w.admin+"/health", "")
	var health struct{ Status string }
	if err := json.Unmarshal([]byte(text), &health); err != nil || status != 503 || health.Status != "starting" {
		t.Errorf("/health: %d %s (%v)", status, text, err)
	}
}
