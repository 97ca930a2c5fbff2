package personal_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/dashboard"
	"github.com/assaydata/assay/internal/personal"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// newService is a service with an account.
func newService(t *testing.T, db *store.DB) (s *personal.Service, owner int64) {
	t.Helper()
	db.Now = func() time.Time { return time.Date(2026, 2, 4, 12, 34, 56, 0, time.UTC) }
	a, err := db.AddAccount(t.Context(), store.NewAccount{Email: "ann@example.com", Name: "Ann"})
	if err != nil {
		t.Fatal(err)
	}
	return &personal.Service{Store: db, IsPage: dashboard.IsPage}, a.ID
}

// codeOf is the code of an error and the parameter that it names.
func codeOf(err error) string {
	e, ok := errors.AsType[*assay.Error](err)
	if !ok {
		return fmt.Sprint(err)
	}
	return strings.TrimSpace(e.Code + " " + e.Param)
}

func TestWatchlist_Refused(t *testing.T) {
	t.Parallel()
	s, owner := newService(t, storetest.Open(t))
	f := func(want, message string, gpus ...string) {
		t.Helper()
		_, err := s.SetWatchlist(t.Context(), owner, gpus, "")
		if codeOf(err) != want || !strings.Contains(err.Error(), message) {
			t.Errorf("%q: %v, want %s with %q", gpus, err, want, message)
		}
	}
	f("invalid_parameter gpu_types", "must be a list of GPU models")
	f("unknown_gpu gpu_types", `Invalid GPU type "H300". Allowed: H100 SXM, H200,`, "H200", "H300")
	f("unknown_gpu gpu_types", `Invalid GPU type "h200"`, "h200")
	f("unknown_gpu gpu_types", `Invalid GPU type ""`, "")
	f("unknown_gpu gpu_types", `Invalid GPU type "\u202eH200"`, "\u202eH200")
	f("unknown_gpu gpu_types", `Invalid GPU type "sk_live_…"`, "sk_live_abcdef")
	f("unknown_gpu gpu_types", strings.Repeat("x", 80)+`…"`, strings.Repeat("x", 3000))
	f("invalid_parameter gpu_types", `has "H200" twice`, "H200", "B200", "H200")
	f("invalid_parameter gpu_types", "has 51 GPU models, allowed are at most 50", make([]string, 51)...)
	if got, err := s.Watchlist(t.Context(), owner); err != nil || len(got.GPUs) != 0 {
		t.Errorf("it watches %q (%v)", got.GPUs, err)
	}
}

// A change that was made from an earlier list is refused: it would undo the one of another page.
func TestWatchlist_Version(t *testing.T) {
	t.Parallel()
	s, owner := newService(t, storetest.Open(t))
	first, err := s.Watchlist(t.Context(), owner)
	if err != nil || first.GPUs == nil {
		t.Fatalf("%+v (%v)", first, err)
	}
	one, err := s.SetWatchlist(t.Context(), owner, []string{"H200"}, first.Version)
	if err != nil || one.Version == first.Version {
		t.Fatalf("%+v (%v)", one, err)
	}
	if _, err := s.SetWatchlist(t.Context(), owner, []string{"B200"}, first.Version); codeOf(err) != "watchlist_changed" {
		t.Errorf("the version before: %v", err)
	}
	two, err := s.SetWatchlist(t.Context(), owner, []string{"H200", "B200"}, one.Version)
	if err != nil {
		t.Fatal(err)
	}
	turned, err := s.SetWatchlist(t.Context(), owner, []string{"B200", "H200"}, "")
	if err != nil || turned.Version == two.Version {
		t.Errorf("another order has the version %s (%v)", turned.Version, err)
	}
	got, err := s.Watchlist(t.Context(), owner)
	if diff := cmp.Diff(turned, got); err != nil || diff != "" {
		t.Errorf("(%v) %s", err, diff)
	}
}

func TestWatchlist_WithoutHidden(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	s, owner := newService(t, db)
	_, err := s.SetWatchlist(t.Context(), owner, []string{"H200", "B200"}, "")
	err = errors.Join(err, db.Hide(t.Context(), assay.CatalogEntry{Kind: assay.KindGPU, Name: "H200"}))
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Watchlist(t.Context(), owner)
	if diff := cmp.Diff([]string{"B200"}, got.GPUs); err != nil || diff != "" {
		t.Errorf("(%v) %s", err, diff)
	}
	if _, err := s.SetWatchlist(t.Context(), owner, []string{}, got.Version); err != nil {
		t.Errorf("with the version of what is shown: %v", err)
	}
}

func TestViews_Refused(t *testing.T) {
	t.Parallel()
	s, owner := newService(t, storetest.Open(t))
	f := func(name, path, want string) {
		t.Helper()
		if _, err := s.SaveView(t.Context(), owner, name, path); codeOf(err) != want {
			t.Errorf("%q, %q: %v, want %s", name, path, err, want)
		}
	}
	const wrongPath, wrongName = "invalid_parameter path", "invalid_parameter name"
	longest := "/gpu/H200?compare=" + strings.Repeat("x", 2000-len("/gpu/H200?compare="))
	for i, path := range []string{
		"/", "/?show=watchlist", "/gpu/H100%20SXM?range=1Y&compare=B200", "/proof/H200?date=2026-02-03", "/memory", longest,
		"/tokens?lab=openai,google", "/workload", "/coding", "/sites?site=sf%2F1",
	} {
		f(fmt.Sprint(i), path, "<nil>")
	}
	for _, path := range []string{
		"", "memory", "//evil.example", "///evil.example", `/\evil.example`, `\\evil.example`, "/%5Cevil.example", "/.//evil",
		"/./memory", "/gpu/..", "/gpu/../memory", "/gpu/%2e%2e", "/memory/", "javascript:alert(1)", "https://evil.example/memory",
		"/memory#top", "/memory?a=b c", "/memory?a=\n", "/memory\x00", "/memory?a=\u202e", "/memory?a=%zz", "/gpu/%zz", "/nothing",
		"/gpu", "/gpu/a/b", "/signin", "/signin?next=/memory", "/%73ignin", "/s/shl_abc.csv", "/api/keys", "/openapi.json",
		longest + "x", "/gpu/sk_live_abcdef", "/memory?filter=shl_abc", "/memory?filter=sk%5Flive%5Fabc", "/gpu/sk%5Flive%5Fabc",
		"/@evil.example", "/:80@evil.example/memory",
	} {
		f("a name", path, wrongPath)
	}
	for _, name := range []string{
		"", " ", "a ", strings.Repeat("ü", 81), "a\nb", "a\x00", "\u202ename", "a\u200b", "a\xff", "sk_live_abcdef", "shl_abc",
	} {
		f(name, "/memory", wrongName)
	}
	f(strings.Repeat("ü", 80), "/memory", "<nil>")
	f("0", "/memory", "view_exists")
}

func TestViews_AtMost(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testViewsAtMost)
}

func testViewsAtMost(t *testing.T, db *store.DB) {
	s, owner := newService(t, db)
	var first personal.View
	for i := range personal.MaxViews {
		v, err := s.SaveView(t.Context(), owner, fmt.Sprint("view ", i), "/memory")
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = v
		}
	}
	_, err := s.SaveView(t.Context(), owner, "one more", "/memory")
	if codeOf(err) != "too_many_views" || !strings.Contains(err.Error(), "at most 100 saved views. Delete one first.") {
		t.Errorf("one more: %v", err)
	}
	if err := s.RemoveView(t.Context(), owner, first.ID); err != nil {
		t.Fatal(err)
	}
	if err := s.RemoveView(t.Context(), owner, first.ID); codeOf(err) != "unknown_view" {
		t.Errorf("deleted again: %v", err)
	}
	for _, id := range []string{"", "sv_\x00", "\xff"} {
		if err := s.RemoveView(t.Context(), owner, id); codeOf(err) != "unknown_view" {
			t.Errorf("%q: %v", id, err)
		}
	}
	if _, err := s.SaveView(t.Context(), owner, "one more", "/memory"); err != nil {
		t.Error(err)
	}
}
