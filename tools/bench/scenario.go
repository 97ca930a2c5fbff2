package main

import (
	"math/rand/v2"
	"net/url"
	"slices"
	"time"
)

// scenario is a request with Assay's response to it.
type scenario struct {
	name    string
	path    string  // path and query as sent
	key     string  // API key; empty for an anonymous caller
	session string  // cookie of a session; empty for a caller who has not signed in
	gzip    bool    // request the compressed response
	floor   float64 // least share of nginx's requests per second; zero is reported, not judged
	goal    float64 // the share that is wanted; zero for none

	ranges []scenario // requested at random instead of the path; nil for none

	body  []byte // as sent
	plain []byte // the same, decompressed
}

// requests are what the scenario requests.
func (s *scenario) requests() []scenario {
	if s.ranges != nil {
		return s.ranges
	}
	return []scenario{*s}
}

// smallest is the size of the smallest response.
func (s *scenario) smallest() int {
	size := len(s.body)
	for i, r := range s.ranges {
		if i == 0 || len(r.body) < size {
			size = len(r.body)
		}
	}
	return size
}

// newScenarios lists what is measured. The 90 days include today and stay inside the free window of three months.
func newScenarios(k apiKeys, now time.Time) []scenario {
	const (
		price   = "/api/gpu/H100%20SXM"
		history = price + "/index-history"
		hourly  = history + "?granularity=hourly" // no range: from the first hour on
	)
	days := history + "?startDate=" + now.UTC().AddDate(0, 0, -89).Format(time.DateOnly)
	return []scenario{
		{name: "price", path: price, floor: 0.6, goal: 0.85},
		{name: "price, Full key", path: price, key: k.Full, floor: 0.5, goal: 0.8},
		{name: "90 days", path: days, floor: 0.55, goal: 0.8},
		{name: "90 days, Premium key", path: days, key: k.Premium},
		{name: "hourly, all, raw", path: hourly, key: k.Full},
		{name: "hourly, all, gzip", path: hourly, key: k.Full, gzip: true, floor: 0.55, goal: 0.9},
		withRanges(scenario{name: "hourly, arbitrary range, raw", path: hourly, key: k.Full, floor: 0.5, goal: 0.5}, now),
		withRanges(scenario{
			name: "hourly, arbitrary range, gzip", path: hourly, key: k.Full, gzip: true, floor: 0.4, goal: 0.5,
		}, now),
	}
}

// rangeCount is how many ranges are requested: more than any client would have asked for before, and few enough for the
// files that nginx serves.
const rangeCount = 150

// leastHours is how many hours a range has at least: a response of fewer is too short to be compressed.
const leastHours = 24

// withRanges returns the scenario with ranges of the demo's two years, always the same ones: from any hour to any later
// one.
func withRanges(s scenario, now time.Time) scenario {
	rng := rand.New(rand.NewPCG(1, 1))
	const span = 720 * 24
	first := now.UTC().Truncate(time.Hour).Add(-(span + leastHours) * time.Hour)
	s.ranges = make([]scenario, rangeCount)
	for i := range s.ranges {
		from, to := rng.IntN(span), rng.IntN(span)
		hour := func(n int) string { return first.Add(time.Duration(n) * time.Hour).Format(time.RFC3339) }
		r := s
		r.ranges = nil
		from, to = min(from, to), max(from, to, min(from, to)+leastHours)
		r.path += "&startDate=" + hour(from) + "&endDate=" + hour(to)
		s.ranges[i] = r
	}
	return s
}

// distinctScenarios keeps the scenarios of a short run: one that needs no key, one that needs a key and one with gzip.
func distinctScenarios(all []scenario) []scenario {
	seen := map[[2]bool]bool{}
	return slices.DeleteFunc(all, func(s scenario) bool {
		feature := [2]bool{s.key != "", s.gzip}
		defer func() { seen[feature] = true }()
		return seen[feature]
	})
}

type header struct{ name, value string }

// headers are the request's headers, except the client address, which changes with every request.
func (s scenario) headers() []header {
	var h []header
	if s.key != "" {
		h = append(h, header{"Authorization", "Bearer " + s.key})
	}
	if s.session != "" {
		h = append(h, header{"Cookie", s.session})
	}
	if s.gzip {
		h = append(h, header{"Accept-Encoding", "gzip"})
	}
	return h
}

// file is the path below its root from which a server of static files serves the response. That of a range has a folder
// for its start and its end.
func (s scenario) file() (string, error) {
	u, err := url.Parse(s.path)
	if err != nil {
		return "", err
	}
	q := u.Query()
	if !q.Has("endDate") {
		return u.Path, nil
	}
	return "/" + q.Get("startDate") + "/" + q.Get("endDate") + u.Path, nil
}
