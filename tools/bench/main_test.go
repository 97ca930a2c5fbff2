package main

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParseOptions(t *testing.T) {
	t.Parallel()
	f := func(args, wantErr string) {
		t.Helper()
		_, err := parseOptions(strings.Fields(args))
		if (err == nil) != (wantErr == "") || err != nil && !strings.Contains(err.Error(), wantErr) {
			t.Errorf("parseOptions(%s): %v, want %q", args, err, wantErr)
		}
	}
	f("", "")
	f("-rounds 3 -duration 10s -update docs/performance.md", "")
	f("-rounds 0", "-rounds 0")
	f("-duration 1500ms", "whole seconds")
	f("-duration 2m", "1s to 60s")
	f("-short -update x.md", "too short")
	f("bin/assay", "unexpected argument")
	f("-engine -short", "")
	f("-engine -rows 1000,2000 -update docs/performance.md", "")
	f("-nodes -short", "")
	f("-nodes -engine", "one at a time")
	f("-peers -update docs/performance.md", "")
	f("-peers -nodes", "one at a time")
	f("-peers -engine", "one at a time")
	f("-reach -update docs/performance.md", "")
	f("-reach -nodes", "one at a time")
	f("-peers -rows 1000", "only with -engine or -nodes")
	f("-nodes -rows 1000", "")
	f("-rows 1000", "only with -engine or -nodes")
	f("-engine -rows 2000,1000", "increasing whole numbers")
	f("-engine -rows 1000,1000", "increasing whole numbers")
	f("-engine -rows 0", "increasing whole numbers")
	f("-engine -rows 1e6", "increasing whole numbers")
}

func TestParseOptions_Sizes(t *testing.T) {
	t.Parallel()
	f := func(args string, whole int, sizes ...int) {
		t.Helper()
		o, err := parseOptions(strings.Fields(args))
		if err != nil || !slices.Equal(o.sizes, sizes) || o.fileRows() != whole {
			t.Errorf("%s: sizes %v, one file of %d, %v; want %v, %d", args, o.sizes, o.fileRows(), err, sizes, whole)
		}
	}
	f("-engine", 5_000_000, 1_000_000, 5_000_000, 20_000_000)
	f("-engine -short", 10_000, 5000, 10_000, 20_000)
	f("-engine -rows 10,20", 20, 10, 20)
	f("-engine -short -rows 10", 10, 10)
}

func TestScenarios(t *testing.T) {
	t.Parallel()
	late := time.Date(2026, 3, 1, 1, 0, 0, 0, time.FixedZone("east", 2*3600)) // still February in UTC
	all := newScenarios(apiKeys{Premium: "p", Full: "f"}, late)
	if got, want := all[2].path, "/api/gpu/H100%20SXM/index-history?startDate=2025-12-01"; got != want {
		t.Errorf("90 days: got %s, want %s", got, want)
	}
	if got, err := all[2].file(); err != nil || got != "/api/gpu/H100 SXM/index-history" {
		t.Errorf("file: got %q, %v", got, err)
	}
}

func TestScenarios_Ranges(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 1, 30, 0, 0, time.UTC)
	all := newScenarios(apiKeys{Full: "f"}, now)
	s := all[len(all)-1]
	seen := map[string]bool{}
	for _, r := range s.requests() {
		file, err := r.file()
		from, to, _ := strings.Cut(strings.TrimPrefix(file, "/"), "/")
		to, path, _ := strings.Cut(to, "/")
		if err != nil || path != "api/gpu/H100 SXM/index-history" || from > to || to > "2026-02-28T01:00:00Z" ||
			!strings.Contains(r.path, "&startDate="+from+"&endDate="+to) || !r.gzip || r.key != "f" {
			t.Fatalf("%s is in %s, %v", r.path, file, err)
		}
		seen[r.path] = true
	}
	if len(seen) != rangeCount || strings.Count(pathList(s), "\n") != rangeCount || pathList(all[0]) != "" {
		t.Errorf("%d different ranges, want %d", len(seen), rangeCount)
	}
	s.ranges[3].body, s.ranges[4].body = []byte("abc"), []byte("de")
	s.ranges = s.ranges[3:5]
	if s.smallest() != 2 || all[0].smallest() != 0 {
		t.Errorf("the smallest has %d bytes", s.smallest())
	}
}

func TestNginxConfig(t *testing.T) {
	t.Parallel()
	sites := []site{{Addr: "127.0.0.1:1", Root: "www/0"}, {Addr: "127.0.0.1:2", Root: "www/1", Gzip: true}}
	asRoot, asUser := string(nginxConfig(true, sites)), string(nginxConfig(false, sites))
	if !strings.HasPrefix(asRoot, "user root;") || strings.Contains(asUser, "user ") {
		t.Errorf("the user line belongs to root alone:\n%s\n%s", asRoot, asUser)
	}
	if strings.Count(asUser, "listen 127.0.0.1:") != 2 || strings.Count(asUser, "gzip_static on;") != 1 {
		t.Error(asUser)
	}
}
