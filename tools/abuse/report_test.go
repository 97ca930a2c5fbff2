//go:build linux

package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assaydata/assay/tools/process"
	"github.com/assaydata/assay/tools/target"
)

// goodResults meet every goal, some of them barely.
func goodResults() *results {
	r := &results{options: options{seed: 7, requests: 1, scale: fullScale}, took: 2 * time.Second, lines: 1234}
	r.requests.count(&request{role: full}, &received{status: 200})
	r.requests.count(&request{role: full}, &received{status: 503})
	r.requests.count(&request{role: anonymous, broken: true}, nil)
	r.memory = []remembered{{"the warm-up", 100e6}, {"the requests", 120e6}, {"the attacks", 90e6}}
	r.quiet = attacked{
		name: "none", Readings: target.Readings{Count: 6000, P50: time.Millisecond, P99: 2 * time.Millisecond},
	}
	during := target.Readings{Count: 4000, P50: time.Millisecond, P99: 9 * time.Millisecond}
	r.attacks = []attacked{{"slow readers", 1500, 1500, 1500, during, 0.0042}}
	return r
}

func TestReport_Markdown(t *testing.T) {
	t.Parallel()
	const want = `3 hostile requests from 100,000 addresses with 100,000 keys (seed 7) in 2s, 1 a second:

| caller | requests | served | 304 | refused (4xx) | 429 | 503 with ` + "`Retry-After`" + ` | not HTTP |
|---|--:|--:|--:|--:|--:|--:|--:|
| anonymous | 1 | 0 | 0 | 0 | 0 | 0 | 1 |
| Premium key | 0 | 0 | 0 | 0 | 0 | 0 | 0 |
| Full key | 2 | 1 | 0 | 0 | 0 | 1 | 0 |
| revoked key | 0 | 0 | 0 | 0 | 0 | 0 | 0 |
| signed in | 0 | 0 | 0 | 0 | 0 | 0 | 0 |
| forged key or cookie | 0 | 0 | 0 | 0 | 0 | 0 | 0 |
| all | 3 | 1 | 0 | 0 | 0 | 1 | 1 |

Responses outside the description: 0. Panics, errors and secrets in the 1,234 lines of the log: 0.

Memory of the server: 100 MB after the warm-up, 120 MB after the requests, 90 MB after the attacks.

| attack | connections opened | requests | reader's requests | failed | p50 | p99 | of quiet | taken by the host |
|---|--:|--:|--:|--:|--:|--:|--:|--:|
| none | 0 | 0 | 6,000 | 0 | 1.00 ms | 2.00 ms | 1.0× | 0.0 % |
| slow readers | 1,500 | 1,500 | 4,000 | 0 | 1.00 ms | 9.00 ms | 4.5× | 0.4 % |
`
	if got := goodResults().markdown(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestReport_Check(t *testing.T) {
	t.Parallel()
	if err := goodResults().check(); err != nil {
		t.Error(err)
	}
	f := func(want string, spoil func(*results)) {
		t.Helper()
		r := goodResults()
		spoil(r)
		if err := r.check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	f("a panic", func(r *results) { r.failures = append(r.failures, nil, errors.New("a panic")) })
	f("121 MB of memory after the requests", func(r *results) { r.memory[1].resident = 121e6 })
	f("121 MB of memory after the attacks", func(r *results) { r.memory[2].resident = 121e6 })
	f("attack slow readers: the reader's p99 is 10.00 ms", func(r *results) { r.attacks[0].P99 = 10 * time.Millisecond })
	f("attack slow readers: only 1499 of 1500", func(r *results) { r.attacks[0].sent = 1499 })
	f("attack slow readers: 1 of the reader's 4000", func(r *results) { r.attacks[0].Failed, r.attacks[0].First = 1, "EOF" })
	f("attack none: 1 of", func(r *results) { r.quiet.Failed, r.quiet.First = 1, "EOF" })

	short := goodResults()
	short.options.short = true
	short.memory[1].resident, short.attacks[0].P99 = 500e6, time.Second
	if err := short.check(); err != nil {
		t.Errorf("a short run fails because of a number: %v", err)
	}
}

// The log watch finds what must not be in a log, also in what is written while it reads.
func TestLogWatch(t *testing.T) {
	t.Parallel()
	f := func(want, line string) {
		t.Helper()
		path := filepath.Join(t.TempDir(), "assay.log")
		text := "Assay 0.5.0 serves\n" + `{"time":"x","level":"INFO","msg":"request","path":"/"}` + "\n" + line
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		everyone := testCast()
		everyone.passwords = []string{"correct horse battery"}
		w, err := watchLog(&process.Process{Log: path}, everyone)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		stop()
		switch err := w.run(ctx); {
		case want == "" && err != nil:
			t.Errorf("%s: %v", line, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: got %v, want %q", line, err, want)
		}
	}
	f("", "")
	f("", `{"level":"WARN","msg":"slow"}`+"\n")
	f("", `{"level":"INFO","msg":"request","path":"sk_live_…"}`+"\n")
	f("an error of the server", `{"level":"ERROR","msg":"request failed"}`+"\n")
	f("an error of the server", `{"level":"WARN","msg":"http: panic serving"}`+"\n")
	f("not JSON", "goroutine 1 [running]:\n")
	f("not JSON", `{"level":"INFO"}{"level":"INFO"}`+"\n")
	f("an API key", `{"level":"INFO","path":"`+testCast().full[0]+`"}`+"\n")
	f("token or a password", `{"level":"INFO","path":"`+testCast().sessions[0].token+`"}`+"\n")
	f("token or a password", `{"level":"INFO","path":"correct horse battery"}`+"\n")
}

func TestParseOptions(t *testing.T) {
	t.Parallel()
	binary := os.Args[0]
	o, err := parseOptions([]string{"-assay", binary})
	if err != nil || o.requests != fullRequests || o.scale != fullScale || o.only >= 0 {
		t.Errorf("%+v, %v", o, err)
	}
	if o, err = parseOptions([]string{"-assay", binary, "-short"}); err != nil || o.requests != shortRequests || o.scale != shortScale {
		t.Errorf("-short: %+v, %v", o, err)
	}
	if o, err = parseOptions([]string{"-assay", binary, "-requests", "100"}); err != nil || o.requests != 100 || o.scale.warmUp != 100 {
		t.Errorf("-requests: %+v, %v", o, err)
	}
	for _, bad := range [][]string{{"x"}, {"-requests", "-1"}, {"-short", "-update", "x.md"}, {"-assay", "/no/such/file"}} {
		if _, err := parseOptions(append([]string{"-assay", binary}, bad...)); err == nil {
			t.Errorf("%v: no error", bad)
		}
	}
}

// A measurement that the host has disturbed is repeated, and what failed in it has failed all the same.
func TestCalmest(t *testing.T) {
	t.Parallel()
	f := func(taken []float64, wantTries int, wantTaken float64) {
		t.Helper()
		var host target.HostTime
		r := goodResults()
		r.hostTime = func() (target.HostTime, error) { return host, nil }
		tries := 0
		got, err := r.calmest(func() (attacked, error) {
			host.All += 1000
			host.Taken += 1000 * taken[tries]
			tries++
			return attacked{Readings: target.Readings{Count: tries, Failed: 1, First: "first"}}, nil
		})
		if err != nil || tries != wantTries || got.taken != wantTaken || got.Failed != tries || got.First != "first" {
			t.Errorf("%v: %+v after %d tries (%v), want %v after %d", taken, got, tries, err, wantTaken, wantTries)
		}
	}
	f([]float64{0.01}, 1, 0.01)
	f([]float64{0.5, 0}, 2, 0)
	f([]float64{0.25, 0.125, 0.5, 0.75}, mostTries, 0.125)
}
