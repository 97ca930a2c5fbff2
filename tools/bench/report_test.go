package main

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func exampleReport() serverReport {
	price := result{
		scenario: scenario{name: "price", floor: 0.45, goal: 0.85},
		assay:    sample{rate: 30000, p50: 900 * time.Microsecond, p99: 4 * time.Millisecond},
		nginx:    sample{rate: 60000, p50: 450 * time.Microsecond, p99: 2 * time.Millisecond},
	}
	keyed := price
	keyed.scenario = scenario{name: "price, Full key"}
	keyed.assay.rate = 6000
	quick, slow := &steadyRoute{route: "/health"}, &steadyRoute{route: "/api/workload"}
	quick.sample.p99, slow.sample.p99 = time.Millisecond, 4*time.Millisecond
	return serverReport{
		results: []result{price, keyed},
		memory:  memory{resident: 120e6, peak: 200e6},
		steady:  []*steadyRoute{quick, slow},
		proofs:  proofTimes{proof: sample{p99: 900 * time.Microsecond}, livez: sample{p99: 800 * time.Microsecond}},
	}
}

func TestReport_Judge(t *testing.T) {
	t.Parallel()
	f := func(change func(*serverReport), wantLine string, wantOK bool) {
		t.Helper()
		r := exampleReport()
		change(&r)
		var out strings.Builder
		v := verdicts{w: &out}
		r.judge(&v)
		err := v.err()
		if (err == nil) != wantOK || !strings.Contains(out.String(), wantLine) {
			t.Errorf("error %v, output\n%swant line %q", err, out.String(), wantLine)
		}
	}
	f(func(*serverReport) {}, "pass  price: 0.50 of nginx, at least 0.45\n", true)
	f(func(r *serverReport) { r.results[0].assay.rate = 24000 }, "FAIL  price: 0.40 of nginx, at least 0.45\n", false)
	f(func(r *serverReport) { r.steady[1].sample.p99 = 5 * time.Millisecond },
		"FAIL  every route at 2,000 requests a second: p99 of the slowest, /api/workload, is 5.00 ms, less than 5.00 ms\n",
		false)
	f(func(r *serverReport) { r.proofs.proof.p99 = time.Millisecond },
		"FAIL  proofs at 2,000 requests a second: the p99 is 1.00 ms, less than 1.00 ms (0.80 ms for /livez)\n", false)
	f(func(r *serverReport) { r.memory.resident = 301e6 }, "FAIL  resident memory: 301 MB, less than 300 MB\n", false)
}

func TestReport_ShortNeverJudges(t *testing.T) {
	t.Parallel()
	r := exampleReport()
	r.results[0].assay.rate = 1
	var out strings.Builder
	err := conclude(&out, options{short: true}, serverSection, r)
	if err != nil || strings.Contains(out.String(), "FAIL") {
		t.Errorf("error %v, output\n%s", err, out.String())
	}
}

func TestMarkdownTable(t *testing.T) {
	t.Parallel()
	want := `| case | Assay req/s | nginx req/s | ratio | goal | Assay p50 | Assay p99 | nginx p50 | nginx p99 | ratio of p99 |
|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|
| price | 30,000 | 60,000 | 0.50 | 0.85 | 0.90 ms | 4.00 ms | 0.45 ms | 2.00 ms | 2.0 |
| price, Full key | 6,000 | 60,000 | 0.10 |  | 0.90 ms | 4.00 ms | 0.45 ms | 2.00 ms | 2.0 |
`
	if got := markdownTable(exampleReport().table()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestDistinctScenarios(t *testing.T) {
	t.Parallel()
	got := distinctScenarios(newScenarios(apiKeys{Premium: "p", Full: "f"}, time.Now()))
	var names []string
	for _, s := range got {
		names = append(names, s.name)
	}
	if want := []string{"price", "price, Full key", "hourly, all, gzip"}; !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
}
