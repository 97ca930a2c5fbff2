package metrics

import (
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof" //nolint:gosec // G108: its routes are in a mux that only the administration's listener serves
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

const (
	// scrapesAtOnce is how many requests for metrics are served at a time; further ones get a 503.
	scrapesAtOnce = 4
	// scrapeTimeout is longer than the database may take.
	scrapeTimeout = 10 * time.Second
)

// Handler serves /metrics, /health, and on a loopback address /debug/pprof/. Profiles show how the program works inside
// and cost it time, so they never leave the machine. The command line is not among them: it may have passwords in it.
//
// Pages of other sites must not get anything either, although the browser may be on this machine: what a page of
// another site sends is refused, and so is a request to a name that anyone may point here.
func Handler(metrics prometheus.Gatherer, health http.Handler, loopback bool, log *slog.Logger) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{
		EnableOpenMetrics: true, MaxRequestsInFlight: scrapesAtOnce, Timeout: scrapeTimeout,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelError), ErrorHandling: promhttp.ContinueOnError,
	}))
	mux.Handle("GET /health", health)
	if loopback {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
		mux.HandleFunc("GET /debug/pprof/cmdline", http.NotFound)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "none" && site != "same-origin" {
			http.Error(w, "Pages of other sites get nothing here.", http.StatusForbidden)
			return
		}
		if loopback && !isLocalName(r.Host) {
			http.Error(w, "Use localhost or an IP address: other names get nothing here.", http.StatusForbidden)
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		mux.ServeHTTP(w, r)
	})
}

// isLocalName reports whether a Host header names this machine in a way that no one else can: by its address, or as
// localhost.
func isLocalName(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	if len(name) > 1 && name[0] == '[' && name[len(name)-1] == ']' {
		name = name[1 : len(name)-1]
	}
	return name == "localhost" || net.ParseIP(name) != nil
}
