package web

import (
	"sync/atomic"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/latency"
)

// traffic counts the requests of a route. Every route has its own, made with the route table, so that counting a
// request costs a few additions and looks nothing up.
type traffic struct {
	outcomes [assay.Full + 1][len(Statuses) + 1]atomic.Uint64 // by tier and status; the last is any other status
	took     latency.Histogram
}

// Statuses are those that the server responds with.
var Statuses = [...]int{
	200, 204, 206, 303, 304, 400, 401, 403, 404, 405, 406, 409, 410, 413, 414, 415, 416, 422, 428, 429, 500, 501, 502,
	503, 504,
}

// statusIndex is where a status is in Statuses, plus one; 0 is any other.
var statusIndex = func() (index [600]uint8) {
	for i, status := range Statuses {
		index[status] = uint8(i + 1)
	}
	return index
}()

func (t *traffic) count(tier assay.Tier, status int, took time.Duration) {
	if status < 0 || status >= len(statusIndex) {
		status = 0
	}
	t.outcomes[tier][statusIndex[status]].Add(1)
	t.took.Observe(took)
}

// Traffic is what was requested of a route.
type Traffic struct {
	Method, Route string
	Outcomes      []Outcome // those that there were
	Took          latency.Counts
}

// Outcome is how often callers of a tier got a status.
type Outcome struct {
	Tier     assay.Tier
	Status   int // 0: another one than the server usually responds with
	Requests uint64
}

// The routes of requests for what is not in the route table.
const (
	PagesRoute   = "pages"   // a page or a file of the dashboard
	UnknownRoute = "unknown" // a path that there is not
)

// read returns the requests; ok is false if there were none.
func (t *traffic) read(method, route string) (all Traffic, ok bool) {
	all = Traffic{Method: method, Route: route}
	for tier := range t.outcomes {
		for i := range t.outcomes[tier] {
			n := t.outcomes[tier][i].Load()
			if n == 0 {
				continue
			}
			status := 0
			if i > 0 {
				status = Statuses[i-1]
			}
			all.Outcomes = append(all.Outcomes, Outcome{assay.Tier(tier), status, n})
		}
	}
	all.Took = t.took.Read()
	return all, len(all.Outcomes) > 0
}

// Traffic returns what was requested since the server started, by route. Requests in flight are not in it.
func (s *Server) Traffic() (list []Traffic) {
	add := func(t *traffic, method, route string) {
		if all, ok := t.read(method, route); ok {
			list = append(list, all)
		}
	}
	for _, route := range s.routes {
		add(route.traffic, route.Method, route.Path)
	}
	add(&s.pages, "", PagesRoute)
	add(&s.unknown, "", UnknownRoute)
	return list
}

// InFlight is how many requests are being served.
func (s *Server) InFlight() int64 { return s.inFlight.Load() }

// trafficOf is where a request is counted.
func (s *Server) trafficOf(r *Request) *traffic {
	switch {
	case r.route != nil:
		return r.route.traffic
	case r.page:
		return &s.pages
	}
	return &s.unknown
}

// Connections are those of a server.
type Connections struct {
	Open    int
	Refused int // since the server started, because there were too many
	Failed  int // since the server started, in the TLS handshake
}

// Connections counts the connections of all listeners, streams included.
func (s *Server) Connections() (all Connections) {
	s.listenersMu.Lock()
	defer s.listenersMu.Unlock()
	for _, cs := range s.listeners {
		cs.mu.Lock()
		all.Open += len(cs.all)
		all.Refused += cs.refusedEver
		all.Failed += cs.failedEver
		cs.mu.Unlock()
	}
	return all
}

// Decisions are those of a limiter.
type Decisions struct {
	Limit            string // its name, as in the header RateLimit
	Allowed, Refused uint64
}

// decided counts decisions.
type decided struct{ allowed, refused atomic.Uint64 }

func (d *decided) count(allowed bool) {
	if allowed {
		d.allowed.Add(1)
	} else {
		d.refused.Add(1)
	}
}

// Decisions returns how the rate limits of requests have decided since the server started.
func (s *Server) Decisions() []Decisions {
	current := s.settings.Load()
	return []Decisions{
		s.byAddress.decisions(), s.bySession.decisions(), current.byKey.decisions(), current.byAccount.decisions(),
	}
}

func (l *Limiter[K]) decisions() Decisions {
	return Decisions{l.config.Name, l.decided.allowed.Load(), l.decided.refused.Load()}
}
