package metrics_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/assaydata/assay/internal/apitest"
	"github.com/assaydata/assay/internal/keys"
	"github.com/assaydata/assay/internal/linelog"
	"github.com/assaydata/assay/internal/metrics"
	"github.com/assaydata/assay/internal/publish"
	"github.com/assaydata/assay/internal/store"
)

// rig is a server whose metrics can be read.
type rig struct {
	*apitest.Rig
	node     *metrics.Node
	registry *prometheus.Registry
}

func newRig(t *testing.T, options ...func(*apitest.Config)) *rig {
	t.Helper()
	r := &rig{Rig: apitest.New(t, options...)}
	r.RegistryOf(r.DB)
	return r
}

// RegistryOf makes the registry of a node with a database; nil is one that is not open yet.
func (r *rig) RegistryOf(db *store.DB) {
	r.Test.Helper()
	keyring := &keys.Keyring{Store: r.DB, Log: slog.New(slog.DiscardHandler)}
	r.Must(keyring.Load(context.Background()))
	lines := linelog.New(io.Discard, time.Now)
	r.Test.Cleanup(func() { _ = lines.Close() })
	r.node = &metrics.Node{
		Release: "1.2.3", Commit: "0123456789ab", Go: "go1.26", Now: func() time.Time { return r.Clock },
		Log: slog.New(slog.NewJSONHandler(&r.Logs, nil)), Lines: lines, Server: r.Server, Status: r.Status,
		Hub: r.Config.Web.Hub, API: r.API, Snapshots: r.Snapshots, Behind: func() time.Duration { return time.Second },
		Publisher: &publish.Publisher{}, Alerts: r.Alerts, Keys: keyring, Accounts: r.Accounts, Witnesses: 2, Folder: r.Dir,
		Databases: func() (*store.DB, *store.DB) { return db, db },
	}
	r.registry = metrics.NewRegistry(r.node)
}

// scrape reads the metrics in the format that a scraper prefers; empty is the text of Prometheus.
func (r *rig) scrape(accept string) (text, contentType string) {
	r.Test.Helper()
	request := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	request.Host = "127.0.0.1:9090"
	if accept != "" {
		request.Header.Set("Accept", accept)
	}
	w := httptest.NewRecorder()
	metrics.Handler(r.registry, r.Server, true, r.node.Log).ServeHTTP(w, request)
	if w.Code != http.StatusOK {
		r.Test.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return w.Body.String(), w.Header().Get("Content-Type")
}

// want checks that the metrics have these lines, such as `assay_ready 1`.
func (r *rig) want(lines ...string) {
	r.Test.Helper()
	text, _ := r.scrape("")
	for _, line := range lines {
		name, _, _ := strings.Cut(line, " ")
		name, _, _ = strings.Cut(name, "{")
		if !strings.Contains(text, "\n"+line+"\n") {
			found := regexp.MustCompile(`(?m)^`+regexp.QuoteMeta(name)+`[ {].*$`).FindAllString(text, -1)
			r.Test.Errorf("there is no line %s, but:\n%s", line, strings.Join(found, "\n"))
		}
	}
}

// without checks that there is no metric of that name.
func (r *rig) without(names ...string) {
	r.Test.Helper()
	text, _ := r.scrape("")
	for _, name := range names {
		if strings.Contains(text, "\n"+name+" ") || strings.Contains(text, "\n"+name+"{") {
			r.Test.Errorf("there is %s", name)
		}
	}
}
