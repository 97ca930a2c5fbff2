package main

import (
	"net/url"
	"time"
)

// scenario is one kind of request, with the answer Assay gives to it.
type scenario struct {
	name  string
	path  string  // path and query as sent
	key   string  // API key; empty for an anonymous caller
	gzip  bool    // ask for the compressed answer
	floor float64 // least share of nginx's requests per second; zero is reported, not judged

	body  []byte // the answer's bytes on the wire
	plain []byte // the same, decompressed
}

// newScenarios lists what is measured. The 90 days include today and stay inside the three months open to everybody.
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

type header struct{ name, value string }

// headers are the request's headers but for the client address, which changes with every request.
func (s scenario) headers() []header {
	var h []header
	if s.key != "" {
		h = append(h, header{"Authorization", "Bearer " + s.key})
	}
	if s.gzip {
		h = append(h, header{"Accept-Encoding", "gzip"})
	}
	return h
}

// file is where a server of static files looks for the answer, below its root.
func (s scenario) file() (string, error) {
	u, err := url.Parse(s.path)
	if err != nil {
		return "", err
	}
	return u.Path, nil
}
