package main

import (
	"strings"
	"testing"
	"time"
)

func exampleNodesReport() nodesReport {
	times := func(millis ...int) (all []delay) {
		for _, m := range millis {
			all = append(all, delay{time.Duration(m) * time.Millisecond, time.Duration(m/2) * time.Millisecond})
		}
		return all
	}
	fast, slow := sample{rate: 40_000, p99: 9 * time.Millisecond}, sample{rate: 34_000, p99: 12 * time.Millisecond}
	return nodesReport{
		options: options{rounds: 5, duration: 5 * time.Second},
		server:  &postgres{settings: "fsync on"},
		file: postgresFileTimings{
			rows:          5_000_000,
			firstImport:   timing{count: 5_000_000, took: 40 * time.Second, reported: 126_000},
			secondImport:  timing{count: 5_000_000, took: 20 * time.Second, reported: 251_000},
			psqlImport:    timing{count: 5_000_000, took: 50 * time.Second},
			sqliteImport:  timing{count: 5_000_000, took: 25 * time.Second},
			publish:       timing{count: 600_000, took: 30 * time.Second},
			sqlitePublish: timing{count: 600_000, took: 15 * time.Second},
			verify:        timing{count: 5_000_000, took: 5 * time.Second, reported: 1_260_000},
			sqliteVerify:  timing{count: 5_000_000, took: 4 * time.Second, reported: 1_260_000},
		},
		reads: reads{
			engines:   []comparison{{scenario{name: "price"}, fast, fast, 1.01}},
			limits:    comparison{scenario{name: "price"}, slow, fast, 0.85},
			fallbacks: 1234,
			postgres:  nodeState{1200 * time.Millisecond, memory{200e6, 250e6}},
			sqlite:    nodeState{900 * time.Millisecond, memory{201e6, 251e6}},
		},
		delays: delays{times(100, 300, 200), times(40, 20, 60), times(80, 70, 90)},
	}
}

func TestNodesReport_Body(t *testing.T) {
	t.Parallel()
	const want = "one file of 5,000,000 transactions; medians of 5 rounds of 5s, 32 connections.\n" + `
- a machine
- PostgreSQL settings: fsync on

` + "| one file | seconds | per second | psql `\\copy` per second | ratio | on SQLite per second | ratio |\n" + `|---|--:|--:|--:|--:|--:|--:|
| import, rows | 40.0 | 125,000 | 100,000 | 1.25 | 200,000 | 0.62 |
| import again, known rows | 20.0 | 250,000 |  |  |  |  |
| publish, 600,000 values | 30.0 | 20,000 |  |  | 40,000 | 0.50 |
| verify, transactions | 5.0 | 1,000,000 |  |  | 1,250,000 | 0.80 |

| delay until all 3 read nodes have it | count | from the command's start: median | p99 | max | from its return: median | p99 | max |
|---|--:|--:|--:|--:|--:|--:|--:|
| a publication | 3 | 200.00 ms | 300.00 ms | 300.00 ms | 100.00 ms | 150.00 ms | 150.00 ms |
| a new key | 3 | 40.00 ms | 60.00 ms | 60.00 ms | 20.00 ms | 30.00 ms | 30.00 ms |
| a revoked key | 3 | 80.00 ms | 90.00 ms | 90.00 ms | 40.00 ms | 45.00 ms | 45.00 ms |

| reads | on PostgreSQL req/s | on SQLite req/s | ratio | on PostgreSQL p99 | on SQLite p99 |
|---|--:|--:|--:|--:|--:|
| price | 40,000 | 40,000 | 1.01 | 9.00 ms | 9.00 ms |

| a read node | first response after | resident memory after the load | peak memory |
|---|--:|--:|--:|
| on PostgreSQL | 1.2 s | 200 MB | 250 MB |
| on SQLite | 0.9 s | 201 MB | 251 MB |

| limits counted | in Redis, req/s | by each node, req/s | ratio | in Redis, p99 | by each node, p99 |
|---|--:|--:|--:|--:|--:|
| price | 34,000 | 40,000 | 0.85 | 12.00 ms | 9.00 ms |

Under this load the node counted requests itself, instead of in Redis, 1,234 times.
`
	if got := exampleNodesReport().body("- a machine\n\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestNodesReport_Judge(t *testing.T) {
	t.Parallel()
	f := func(change func(*nodesReport), wantLine string, wantOK bool) {
		t.Helper()
		r := exampleNodesReport()
		change(&r)
		var out strings.Builder
		err := conclude(&out, options{}, nodesSection, r)
		if (err == nil) != wantOK || !strings.Contains(out.String(), wantLine) {
			t.Errorf("error %v, output\n%swant line %q", err, out.String(), wantLine)
		}
	}
	f(func(*nodesReport) {}, "pass  import into PostgreSQL: 125,000 rows a second, at least 120,000\n", true)
	f(func(*nodesReport) {},
		"pass  a publication: on all nodes at most 300.00 ms after the command's start, less than 1000.00 ms\n", true)
	f(func(*nodesReport) {}, "pass  price: 1.01 of SQLite's requests a second, 0.95 to 1.05\n", true)
	f(func(r *nodesReport) { r.file.firstImport.took = time.Minute }, "FAIL  import into PostgreSQL: 83,333 rows a second",
		false)
	f(func(r *nodesReport) { r.delays.publications[1].sinceStart = time.Second },
		"FAIL  a publication: on all nodes at most 1000.00 ms", false)
	f(func(r *nodesReport) { r.delays.newKeys[0].sinceStart = 2 * time.Second },
		"FAIL  a new key: on all nodes at most 2000.00 ms", false)
	f(func(r *nodesReport) { r.delays.revokedKeys[2].sinceStart = 2 * time.Second },
		"FAIL  a revoked key: on all nodes at most 2000.00 ms", false)
	f(func(*nodesReport) {}, "pass  limits in Redis: 0.85 of the requests a second without, at least 0.80\n", true)
	f(func(r *nodesReport) { r.reads.limits.ratio = 0.79 }, "FAIL  limits in Redis: 0.79 of", false)
	f(func(r *nodesReport) { r.reads.engines[0].ratio = 0.94 }, "FAIL  price: 0.94 of SQLite's", false)
	f(func(r *nodesReport) { r.reads.engines[0].ratio = 1.06 }, "FAIL  price: 1.06 of SQLite's", false)
}
