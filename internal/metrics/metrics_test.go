package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/apitest"
	"github.com/assaydata/assay/internal/proof"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
	"github.com/assaydata/assay/internal/web"
)

// Names and helps follow the conventions of Prometheus, and all names begin alike.
func TestMetrics_Lint(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.Get("", "/api/gpu/H200")
	problems, err := testutil.GatherAndLint(r.registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	families, err := r.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if len(families) < 60 {
		t.Errorf("there are %d metrics", len(families))
	}
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "assay_") || len(f.GetHelp()) < 10 {
			t.Errorf("%s: %q", f.GetName(), f.GetHelp())
		}
	}
}

func TestMetrics_Formats(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.Get("full", "/api/gpu/H200/hourly")
	text, contentType := r.scrape("")
	if !strings.HasPrefix(contentType, "text/plain; version=0.0.4") {
		t.Errorf("the type is %s", contentType)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if len(families) < 60 {
		t.Errorf("%d metrics", len(families))
	}
	open, contentType := r.scrape("application/openmetrics-text; version=1.0.0")
	if !strings.HasPrefix(contentType, "application/openmetrics-text; version=1.0.0") {
		t.Errorf("the type is %s", contentType)
	}
	if !strings.HasSuffix(open, "\n# EOF\n") {
		t.Errorf("it does not end with # EOF")
	}
	line := regexp.MustCompile(`^(# (HELP|TYPE|UNIT) [a-z0-9_]+ .+|[a-z0-9_]+(\{([a-z_]+="[^"]*",?)+\})? \S+|# EOF)$`)
	for l := range strings.Lines(open) {
		if l = strings.TrimSuffix(l, "\n"); !line.MatchString(l) {
			t.Errorf("the line %q", l)
		}
	}
}

// What happened is counted where it belongs.
func TestMetrics_Requests(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.Get("", "/api/gpu/H200")
	r.Get("full", "/api/gpu/H200")
	r.Get("", "/api/gpu/H200/hourly")
	r.Get("", "/api/gpu/nothing%20like%20that")
	r.Do(http.MethodDelete, "", "/api/regions")
	r.Get("", "/no/such/path")
	r.want(
		`assay_http_requests_total{method="GET",route="/api/gpu/{gpuName}",status="2xx",tier="anonymous"} 1`,
		`assay_http_requests_total{method="GET",route="/api/gpu/{gpuName}",status="2xx",tier="full"} 1`,
		`assay_http_requests_total{method="GET",route="/api/gpu/{gpuName}",status="4xx",tier="anonymous"} 1`,
		`assay_http_requests_total{method="GET",route="/api/gpu/{gpuName}/hourly",status="4xx",tier="anonymous"} 1`,
		`assay_http_requests_total{method="GET",route="/api/regions",status="4xx",tier="anonymous"} 1`,
		`assay_http_requests_total{method="",route="unknown",status="4xx",tier="anonymous"} 1`,
		`assay_http_request_duration_seconds_count{method="GET",route="/api/gpu/{gpuName}"} 3`,
		`assay_http_responses_total{code="200"} 2`,
		`assay_http_responses_total{code="401"} 1`,
		`assay_http_responses_total{code="400"} 1`,
		`assay_http_responses_total{code="404"} 1`,
		`assay_http_responses_total{code="405"} 1`,
		`assay_http_responses_total{code="503"} 0`,
		`assay_http_requests_in_flight 0`,
		`assay_limit_decisions_total{decision="allowed",limit="public"} 4`,
		`assay_limit_decisions_total{decision="refused",limit="public"} 0`,
		`assay_keys 4`,
		`assay_build_info{commit="0123456789ab",go="go1.26",version="1.2.3"} 1`,
		`assay_role_info{role="all"} 1`,
		`assay_ready 1`,
		`assay_snapshot_version 7`,
		`assay_witnesses 2`,
	)
	r.without("assay_limit_shared", "assay_replica_lag_seconds")
}

// A client that is over its limit, and a failure of the server.
func TestMetrics_Failures(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for range 61 {
		r.Get("", "/api/regions", "peer", "192.0.2.77:1")
	}
	r.Panic = true
	r.Get("full", "/api/gpu/H200/determination?timestamp=2026-02-04T12:00:00Z")
	r.want(
		`assay_limit_decisions_total{decision="allowed",limit="public"} 60`,
		`assay_limit_decisions_total{decision="refused",limit="public"} 1`,
		`assay_http_responses_total{code="429"} 1`,
		`assay_http_responses_total{code="500"} 1`,
		`assay_http_requests_in_flight 0`,
	)
}

// maxSeries is how many series a node may have, whatever its clients send. Each route has some fifteen.
const maxSeries = 6000

// Whatever clients send, the number of series stays small, and no text of theirs becomes a label.
func TestMetrics_Cardinality(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	segment := regexp.MustCompile(`\{[^}]*\}`)
	attack := func(round int) {
		evil := []string{
			"H200", fmt.Sprintf("made-up-%d", round), url.PathEscape("\"}\n# HELP x\n"), strings.Repeat("x", 3000),
		}
		callers := []string{"", "Bearer " + r.Keys["full"], "Bearer sk_live_made" + strings.Repeat("up", round), "x"}
		for _, group := range r.Groups {
			for _, route := range group.Routes {
				if strings.HasSuffix(route.Path, "/stream") {
					continue // it lasts; others test it
				}
				for i, value := range evil {
					path := segment.ReplaceAllLiteralString(route.Path, value)
					for _, method := range []string{"GET", "POST", "DELETE", fmt.Sprintf("MADE%d", round)} {
						request := httptest.NewRequest(method, "/", strings.NewReader(""))
						parsed, err := url.ParseRequestURI(path + "?limit=" + value)
						r.Must(err)
						request.URL, request.RequestURI = parsed, path
						request.RemoteAddr = fmt.Sprintf("198.51.%d.%d:1", round, i)
						request.Header.Set("Authorization", callers[i])
						request.Header.Set("X-Request-Id", fmt.Sprintf("evil-%d", round))
						r.ServeHTTP(httptest.NewRecorder(), request)
					}
				}
				r.Clock = r.Clock.Add(time.Second)
			}
		}
	}
	count := func() int {
		text, _ := r.scrape("")
		n := 0
		for line := range strings.Lines(text) {
			if !strings.HasPrefix(line, "#") {
				n++
			}
		}
		for _, bad := range []string{"made-up", "xxxx", "evil", "MADE", "sk_live", "sk_prem", "198.51"} {
			if strings.Contains(text, bad) {
				t.Errorf("the metrics have %q of a client", bad)
			}
		}
		return n
	}
	attack(1)
	first := count()
	attack(2)
	if second := count(); second > first+first/20 || second > maxSeries || first < 500 {
		t.Errorf("%d series after every route was requested, %d after twice as many requests; at most %d", first, second,
			maxSeries)
	}
}

// While the database is away, what is in memory is shown, and nothing waits.
func TestMetrics_DatabaseAway(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.PingErr = errors.New("away")
	r.Clock = r.Clock.Add(time.Hour)
	r.Status.CheckDatabase(context.Background())
	r.want(`assay_database_up 0`, `assay_snapshot_version 7`, `assay_data_age_seconds 3600`)
	r.without("assay_late_transactions", "assay_log_entries", "assay_import_rows_total", "assay_feed_age_seconds")
	r.RegistryOf(nil)
	r.want(`assay_database_up 0`)
	r.without("assay_database_errors_total")
}

// A fixing is missed a minute after it was due, and no more once it is published.
func TestMetrics_Fixings(t *testing.T) {
	t.Parallel()
	f := func(name string, after time.Duration, state string, want ...string) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			covered := time.UnixMilli(r.Snapshots.Load().Covered)
			r.Clock = covered.Add(after)
			r.Status.CheckDatabase(context.Background())
			if state != "" {
				r.Status.ReportPublishing(web.Publishing{State: state})
			}
			r.want(want...)
		})
	}
	const (
		lag    = `assay_publication_lag_seconds{family="gpu",grain="hourly"} `
		missed = `assay_fixings_missed{family="gpu",grain="hourly"} `
	)
	f("nothing is due", 59*time.Minute, "", lag+"0", missed+"0")
	const delay = 5 * time.Second // of the fixture's methodology
	f("the next one is due", 60*time.Minute+30*time.Second+delay, "", lag+"30", missed+"0")
	f("it is missed", 61*time.Minute+delay, "", lag+"60", missed+"1")
	f("and two more", 3*time.Hour+time.Minute+delay, "held", lag+"7260", missed+"3",
		`assay_publishing_state{state="held"} 1`, `assay_publishing_state{state="current"} 0`)
	f("the series have ended", 100*time.Hour, "current", lag+"0", missed+"0")
	f("a clock set back", -time.Hour, "", lag+"0", missed+"0")
}

// The figures of the database are those that it has, on both engines.
func TestMetrics_Figures(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		r := &rig{Rig: apitest.New(t)}
		at := r.Clock
		db.Now = func() time.Time { return at.Add(-time.Minute) }
		ctx := t.Context()
		x := assay.Transaction{
			Source: "a", ID: "1", ExecutedAt: at.Add(-2 * time.Hour).UnixMilli(), GPU: "H200", Region: "us-east",
			Provider: "Alder", Price: 2_000_000_000, GPUs: 1, HourMicros: 1_000_000, Verified: true,
		}
		if _, err := db.AppendTransactions(ctx, []assay.Transaction{x}); err != nil {
			t.Fatal(err)
		}
		x.Price++
		if _, err := db.AppendTransactions(ctx, []assay.Transaction{x}); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			i := proof.Import{Family: "transactions", File: "rows.csv", Rows: 3, Known: 2, Rejected: 1}
			if _, err := db.AddImport(ctx, i); err != nil {
				t.Fatal(err)
			}
		}
		r.RegistryOf(db)
		r.want(
			`assay_database_up 1`,
			`assay_import_files_total{family="transactions"} 2`,
			`assay_import_rows_total{family="transactions",outcome="new"} 6`,
			`assay_import_rows_total{family="transactions",outcome="known"} 4`,
			`assay_import_rows_total{family="transactions",outcome="rejected"} 2`,
			`assay_import_rows_total{family="memory",outcome="rejected"} 0`,
			`assay_feed_age_seconds{family="transactions"} 60`,
			`assay_conflicting_rows 1`,
			`assay_late_transactions 0`,
			`assay_log_signed_entries 0`,
			`assay_manifests_missing 0`,
			`assay_alert_messages_pending 0`,
			`assay_database_errors_total{database="primary",reason="disk_full"} 0`,
		)
	})
}
