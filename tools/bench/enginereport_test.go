package main

import (
	"strings"
	"testing"
	"time"
)

func exampleEngineReport() engineReport {
	return engineReport{
		options: options{rounds: 5, duration: 5 * time.Second, hourRows: 2000},
		file: fileTimings{
			rows:         5_000_000,
			firstImport:  timing{count: 5_000_000, took: 40 * time.Second, reported: 126_000},
			secondImport: timing{count: 5_000_000, took: 20 * time.Second, reported: 251_000},
			sqliteImport: timing{count: 5_000_000, took: 50 * time.Second},
			publish:      timing{count: 600_000, took: 30 * time.Second},
			verify:       timing{count: 5_000_000, took: 4 * time.Second, reported: 1_260_000},
			sqliteRead:   timing{count: 5_000_000, took: time.Second},
		},
		growth: []growth{
			{stored: 1_000_000, now: hourCost{
				50 * time.Millisecond, 40 * time.Millisecond, timing{count: 1_010_000, took: 2 * time.Second},
			}},
			{stored: 5_000_000, now: hourCost{
				55 * time.Millisecond, 41 * time.Millisecond, timing{count: 5_020_000, took: 6 * time.Second},
			}},
			{stored: 20_000_000, now: hourCost{
				60 * time.Millisecond, 44 * time.Millisecond, timing{count: 20_000_000, took: 16 * time.Second},
			}},
		},
		readLoad: readLoad{
			quiet: sample{rate: 40000, p50: 600 * time.Microsecond, p99: 9 * time.Millisecond},
			busy:  sample{rate: 30000, p50: 800 * time.Microsecond, p99: 12 * time.Millisecond},
			hours: 62,
		},
	}
}

func TestEngineReport_Body(t *testing.T) {
	t.Parallel()
	const want = "one file of 5,000,000 transactions; medians of 5 hours of 2,000 transactions; reads for 5s, 32 connections.\n" + `
- a machine

| one file | seconds | per second | reported per second | sqlite3 per second | ratio |
|---|--:|--:|--:|--:|--:|
| import, rows | 40.0 | 125,000 | 126,000 | 100,000 | 1.25 |
| import again, known rows | 20.0 | 250,000 | 251,000 |  |  |
| publish, 600,000 values | 30.0 | 20,000 |  |  |  |
| verify, transactions | 4.0 | 1,250,000 | 1,260,000 | 5,000,000 | 0.25 |

| stored transactions | import of an hour | publication of an hour, processor time | verified per second |
|---|--:|--:|--:|
| 1,000,000 | 50.00 ms | 40.00 ms | 505,000 |
| 5,000,000 | 55.00 ms | 41.00 ms | 836,667 |
| 20,000,000 | 60.00 ms | 44.00 ms | 1,250,000 |

With 20 times as much stored, an hour takes 1.20 times as long to import and 1.10 times as long to publish.

` + "| reads of `/api/gpu/H200` | req/s | p50 | p99 | hours published |\n" + `|---|--:|--:|--:|--:|
| without publishing | 40,000 | 0.60 ms | 9.00 ms | 0 |
| while hours are published | 30,000 | 0.80 ms | 12.00 ms | 62 |
`
	if got := exampleEngineReport().body("- a machine\n\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestEngineReport_Judge(t *testing.T) {
	t.Parallel()
	f := func(change func(*engineReport), wantLine string, wantOK bool) {
		t.Helper()
		r := exampleEngineReport()
		change(&r)
		var out strings.Builder
		err := conclude(&out, options{}, engineSection, r)
		if (err == nil) != wantOK || !strings.Contains(out.String(), wantLine) {
			t.Errorf("error %v, output\n%swant line %q", err, out.String(), wantLine)
		}
	}
	f(func(*engineReport) {}, "pass  import: 125,000 rows a second, at least 100,000\n", true)
	f(func(*engineReport) {}, "pass  verify: 1,250,000 transactions a second, at least 1,000,000\n", true)
	f(func(*engineReport) {}, "pass  publishing an hour: 1.10 times as long with the largest size, at most 2.00\n", true)
	f(func(r *engineReport) { r.file.firstImport.took = time.Minute }, "FAIL  import: 83,333 rows a second", false)
	f(func(r *engineReport) { r.growth[2].now.verify.took = time.Minute }, "FAIL  verify: 333,333 transactions a second",
		false)
	f(func(r *engineReport) { r.growth[2].now.publishTime = 81 * time.Millisecond },
		"FAIL  publishing an hour: 2.02 times", false)
	before := func(publish time.Duration) func(*engineReport) {
		return func(r *engineReport) {
			r.options.before = "earlier"
			for i := range r.growth {
				r.growth[i].before = hourCost{time.Second, publish, timing{count: 900, took: time.Second}}
			}
		}
	}
	f(before(40*time.Millisecond),
		"pass  publishing an hour: 1.10 times as long as with the program before, at most 1.30\n", true)
	f(before(30*time.Millisecond), "FAIL  publishing an hour: 1.47 times as long as with the program before", false)
	f(before(40*time.Millisecond), "publication before", true)
}

func TestEngineReport_ShortNeverJudges(t *testing.T) {
	t.Parallel()
	r := exampleEngineReport()
	r.file.firstImport.took = time.Hour
	var out strings.Builder
	err := conclude(&out, options{short: true}, engineSection, r)
	if err != nil || strings.Contains(out.String(), "FAIL") {
		t.Errorf("error %v, output\n%s", err, out.String())
	}
}
