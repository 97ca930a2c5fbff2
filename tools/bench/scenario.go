package main

import (
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

	body  []byte // as sent
	plain []byte // the same, decompressed
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
		{name: "price", path: price, floor: 0.45},
		{name: "price, Full key", path: price, key: k.Full},
		{name: "90 days", path: days, floor: 0.45},
		{name: "90 days, Premium key", path: days, key: k.Premium},
		{name: "hourly, all, raw", path: hourly, key: k.Full},
		{name: "hourly, all, gzip", path: hourly, key: k.Full, gzip: true, floor: 0.6},
	}
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

// file is the path below its root from which a server of static files serves the response.
func (s scenario) file() (string, error) {
	u, err := url.Parse(s.path)
	if err != nil {
		return "", err
	}
	return u.Path, nil
}
