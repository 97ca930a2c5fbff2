package main

import (
	"strings"
	"testing"
	"time"
)

func examplePeers() peersReport {
	at := func(name string, rate float64) peerSample {
		return peerSample{
			name: name, sample: sample{rate: rate, p50: 300 * time.Microsecond, p99: 2 * time.Millisecond}, size: 1234,
		}
	}
	return peersReport{results: []peersResult{
		{
			ask: ask{
				scenario: scenario{name: "price"}, values: make([]value, 1), goals: map[string]float64{nameExpress: 20},
			},
			servers: []peerSample{at(nameAssay, 60_000), at(nameExpress, 2500)},
		},
		{
			ask: ask{
				scenario: scenario{name: "90 days"}, values: make([]value, 90), goals: map[string]float64{nameVictoria: 5},
			},
			servers: []peerSample{
				at(nameAssay, 50_000), at(nameNginx, 100_000), at(nameQuery, 5000), at(nameExport, 8000),
			},
		},
	}}
}

func TestPeersReport_Table(t *testing.T) {
	t.Parallel()
	r := examplePeers()
	r.options = options{rounds: 5, duration: 5 * time.Second}
	want := `medians of 5 rounds of 5s in turns, 32 connections.

- a machine

| request, server | req/s | p50 | p99 | bytes | Assay / it |
|---|--:|--:|--:|--:|--:|
| **price** |  |  |  |  |  |
| Assay | 60,000 | 0.30 ms | 2.00 ms | 1,234 |  |
| Express, PostgreSQL | 2,500 | 0.30 ms | 2.00 ms | 1,234 | 24.00 |
| **90 days: 90 values** |  |  |  |  |  |
| Assay | 50,000 | 0.30 ms | 2.00 ms | 1,234 |  |
| nginx, files | 100,000 | 0.30 ms | 2.00 ms | 1,234 | 0.50 |
| VictoriaMetrics, query | 5,000 | 0.30 ms | 2.00 ms | 1,234 | 10.00 |
| VictoriaMetrics, export | 8,000 | 0.30 ms | 2.00 ms | 1,234 | 6.25 |
`
	if got := r.body("- a machine\n\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A goal is met if Assay is fast enough beside the faster way to ask a peer, and missed if the peer was not measured.
func TestPeersReport_Judge(t *testing.T) {
	t.Parallel()
	f := func(change func(*peersReport), wantLine string, wantOK bool) {
		t.Helper()
		r := examplePeers()
		change(&r)
		var out strings.Builder
		v := verdicts{w: &out}
		r.judge(&v)
		if err := v.err(); (err == nil) != wantOK || !strings.Contains(out.String(), wantLine) {
			t.Errorf("error %v, output\n%swant line %q", err, out.String(), wantLine)
		}
	}
	f(func(*peersReport) {}, "pass  price: 24.0 times Express, PostgreSQL, at least 20.0\n", true)
	f(func(*peersReport) {}, "pass  90 days: 6.2 times VictoriaMetrics, at least 5.0\n", true)
	f(func(r *peersReport) { r.results[1].servers[3].sample.rate = 12_500 },
		"FAIL  90 days: 4.0 times VictoriaMetrics, at least 5.0\n", false)
	f(func(r *peersReport) { r.results[0].servers = r.results[0].servers[:1] },
		"FAIL  price: 0.0 times Express, PostgreSQL, at least 20.0\n", false)
}
