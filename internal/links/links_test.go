package links_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/account"
	"github.com/assaydata/assay/internal/links"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

var now = time.Date(2026, 2, 4, 12, 34, 56, 0, time.UTC)

// newService is a service with an account that has a plan.
func newService(t *testing.T, db *store.DB, plan assay.Plan) (s *links.Service, owner assay.Caller) {
	t.Helper()
	clock := func() time.Time { return now }
	db.Now = clock
	accounts := &account.Service{Store: db, Now: clock, Log: slog.New(slog.DiscardHandler)}
	must(t, accounts.Load(t.Context()))
	a, err := accounts.AddAccount(t.Context(), "ann@example.com", "Ann", "", false)
	must(t, err)
	if plan != assay.PlanNone {
		_, err = accounts.AddGrant(t.Context(), "ann@example.com", account.GrantRequest{Plan: plan})
		must(t, err)
	}
	s = another(db, accounts)
	must(t, s.Load(t.Context()))
	return s, assay.Caller{Tier: plan.Tier(), AccountID: a.ID}
}

// another is the service of another node.
func another(db *store.DB, accounts *account.Service) *links.Service {
	clock := func() time.Time { return now }
	return &links.Service{Store: db, Accounts: accounts, Now: clock, Log: slog.New(slog.DiscardHandler)}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var h200 = assay.SharedSeries{Family: assay.SharedGPU, Series: "H200"}

// codeOf is the code of an error and the parameter that it names.
func codeOf(err error) string {
	e, ok := errors.AsType[*assay.Error](err)
	if !ok {
		return fmt.Sprint(err)
	}
	return strings.TrimSpace(e.Code + " " + e.Param)
}

func TestLinks_Lifecycle(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		s, owner := newService(t, db, assay.PlanFull)
		made, token, err := s.Create(t.Context(), owner, "badge", h200)
		must(t, err)
		if !regexp.MustCompile(`^shl_[a-z2-7]{26}$`).MatchString(token) || strings.Contains(made.ID, token[4:]) {
			t.Errorf("the token is %q, the id %q", token, made.ID)
		}
		want := assay.SharedSeries{Family: "gpu", Series: "H200", Region: "global", Granularity: "daily", Range: "3m"}
		if made.SharedSeries != want || made.Status != assay.LinkActive || made.Name != "badge" {
			t.Errorf("made %+v", made)
		}
		other := another(db, s.Accounts)
		must(t, other.Load(t.Context()))
		for _, node := range []*links.Service{s, other} {
			if open, ok := node.Open(token); !ok || open.SharedSeries != want || open.ID != made.ID || open.Owner != owner {
				t.Errorf("opened %+v, %t", open, ok)
			}
		}
		stored, _, err := db.ShareLinks(t.Context())
		must(t, err)
		if len(stored) != 1 || strings.Contains(fmt.Sprintf("%+v", stored), token) {
			t.Errorf("stored %+v", stored)
		}
		must(t, s.Revoke(t.Context(), owner, made.ID))
		if _, ok := s.Open(token); ok {
			t.Error("the node that revoked the link opens it")
		}
		must(t, other.Load(t.Context()))
		if _, ok := other.Open(token); ok {
			t.Error("the other node opens the link")
		}
		if err := s.Revoke(t.Context(), owner, made.ID); codeOf(err) != "unknown_share_link" {
			t.Errorf("revoked again: %v", err)
		}
		audit, err := db.AuditLog(t.Context(), store.AuditFilter{Subject: "account:ann@example.com"})
		must(t, err)
		text := fmt.Sprint(audit)
		if !strings.Contains(text, "share-link.add") || !strings.Contains(text, "share-link.remove") || strings.Contains(text, token) {
			t.Errorf("the audit log is %s", text)
		}
	})
}

func TestOpen_Wrong(t *testing.T) {
	t.Parallel()
	s, owner := newService(t, storetest.Open(t), assay.PlanFull)
	_, token, err := s.Create(t.Context(), owner, "badge", h200)
	must(t, err)
	for _, wrong := range []string{
		"", "shl_", token[:len(token)-1], token + "a", token[:len(token)-1] + "1", strings.ToUpper(token), " " + token[1:],
		"SHL_" + token[4:], token[4:], strings.Repeat("a", len(token)),
	} {
		if open, ok := s.Open(wrong); ok {
			t.Errorf("%q opens %+v", wrong, open)
		}
	}
}

func TestCreate_Refused(t *testing.T) {
	t.Parallel()
	s, owner := newService(t, storetest.Open(t), assay.PlanFull)
	f := func(name string, series assay.SharedSeries, want string) {
		t.Helper()
		if _, token, err := s.Create(t.Context(), owner, name, series); codeOf(err) != want || (token == "") != (err != nil) {
			t.Errorf("%q, %+v: %v, want %s", name, series, err, want)
		}
	}
	series := func(family, name, region, grain, span string) assay.SharedSeries {
		return assay.SharedSeries{Family: family, Series: name, Region: region, Granularity: grain, Range: span}
	}
	f("", h200, "invalid_parameter name")
	f(strings.Repeat("x", 65), h200, "invalid_parameter name")
	f("two\nlines", h200, "invalid_parameter name")
	f("sk_live_4fQz8K_secret", h200, "invalid_parameter name")
	f("shl_k3v7m2q9x4", h200, "invalid_parameter name")
	f("x", series("", "", "", "", ""), "invalid_parameter family")
	f("x", series("sites", "osl-1", "", "", ""), "invalid_parameter family")
	f("x", series("gpu", "H300", "", "", ""), "invalid_parameter series")
	f("x", series("gpu", "<script>", "", "", ""), "invalid_parameter series")
	f("x", series("coding", "cc-vs-codex", "", "", ""), "invalid_parameter series")
	f("x", series("memory", "H200", "", "", ""), "invalid_parameter series")
	f("x", series("gpu", "H200", "moon", "", ""), "invalid_parameter region")
	f("x", series("memory", "mem_ddr5_16gb", "us-east", "", ""), "invalid_parameter region")
	f("x", series("gpu", "H200", "", "minutely", ""), "invalid_parameter granularity")
	f("x", series("models", "openai", "", "hourly", ""), "invalid_parameter granularity")
	f("x", series("gpu", "H200", "", "", "999999999999y"), "invalid_parameter range")
	f("x", series("gpu", "H200", "", "hourly", "all"), "invalid_parameter range")
	for _, one := range []assay.SharedSeries{
		series("gpu", "H100 SXM", "us-east", "hourly", "1y"), series("utilization", "H200", "", "hourly", ""),
		series("memory", "mem_ddr5_16gb", "", "", "all"), series("models", "minimax", "", "", "all"),
		series("coding", "cc-merge", "", "", "7d"), series("gpu", "RTX PRO 6000 WS", "", "", ""),
	} {
		f("x", one, "<nil>")
	}
}

// An account makes links to what it may read, and a key no links to what only its account may.
func TestCreate_Access(t *testing.T) {
	t.Parallel()
	series := func(family, name, grain, span string) assay.SharedSeries {
		return assay.SharedSeries{Family: family, Series: name, Granularity: grain, Range: span}
	}
	all := []assay.SharedSeries{
		series("gpu", "H200", "daily", "3m"), series("gpu", "H200", "daily", "6m"), series("gpu", "RTX PRO 6000 WS", "daily", "7d"),
		series("gpu", "H200", "hourly", "7d"), series("memory", "mem_ddr5_16gb", "daily", "7d"), series("models", "openai", "daily", "1m"),
		series("models", "openai", "daily", "3m"), series("models", "minimax", "daily", "7d"), series("coding", "cc-prs", "daily", "7d"),
		series("utilization", "H200", "daily", "7d"), series("utilization", "H200", "hourly", "7d"),
	}
	for plan, want := range map[assay.Plan]string{
		assay.PlanNone: "+----+-----", assay.PlanPremium: "+++-++++++-", assay.PlanTrial: "+++-++++++-", assay.PlanFull: "+++++++++++",
	} {
		t.Run(string(plan), func(t *testing.T) {
			t.Parallel()
			s, owner := newService(t, storetest.Open(t), plan)
			got := ""
			for _, one := range all {
				_, _, err := s.Create(t.Context(), owner, "x", one)
				switch codeOf(err) {
				case "<nil>":
					got += "+"
				case "no_access":
					got += "-"
				default:
					t.Errorf("%+v: %v", one, err)
				}
			}
			if got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

func TestCreate_Callers(t *testing.T) {
	t.Parallel()
	s, owner := newService(t, storetest.Open(t), assay.PlanFull)
	made, _, err := s.Create(t.Context(), owner, "x", h200)
	must(t, err)
	f := func(caller assay.Caller, want string) {
		t.Helper()
		_, _, err := s.Create(t.Context(), caller, "x", h200)
		if codeOf(err) != want {
			t.Errorf("%+v creates: %v, want %s", caller, err, want)
		}
		if err := s.Revoke(t.Context(), caller, made.ID); codeOf(err) != want {
			t.Errorf("%+v revokes: %v, want %s", caller, err, want)
		}
	}
	f(assay.Caller{Tier: assay.Full, KeyID: "4fQz8K"}, "account_required") // a key of the operator
	f(assay.Caller{Tier: assay.Premium, KeyID: "4fQz8K", AccountID: owner.AccountID}, "key_too_low")
	f(assay.Caller{Tier: assay.Full, AccountID: 4711}, "account_required")
	if list, err := s.List(t.Context(), owner); err != nil || len(list) != 1 {
		t.Errorf("the links are %+v (%v)", list, err)
	}
	if _, err := s.List(t.Context(), assay.Caller{Tier: assay.Full, KeyID: "4fQz8K"}); codeOf(err) != "account_required" {
		t.Errorf("a key of the operator lists: %v", err)
	}
}

// Another account cannot list or revoke a link.
func TestLinks_OfOthers(t *testing.T) {
	t.Parallel()
	s, owner := newService(t, storetest.Open(t), assay.PlanFull)
	made, token, err := s.Create(t.Context(), owner, "x", h200)
	must(t, err)
	bob, err := s.Accounts.AddAccount(t.Context(), "bob@example.com", "Bob", "", false)
	must(t, err)
	other := assay.Caller{Tier: assay.Full, AccountID: bob.ID}
	if err := s.Revoke(t.Context(), other, made.ID); codeOf(err) != "unknown_share_link" {
		t.Errorf("revoked by another: %v", err)
	}
	if list, err := s.List(t.Context(), assay.Caller{AccountID: bob.ID}); err != nil || len(list) != 0 {
		t.Errorf("another lists %+v (%v)", list, err)
	}
	if _, ok := s.Open(token); !ok {
		t.Error("the link is gone")
	}
}

func TestCreate_Cap(t *testing.T) {
	t.Parallel()
	s, owner := newService(t, storetest.Open(t), assay.PlanFull)
	var last assay.ShareLink
	for range links.MaxLinks {
		var err error
		last, _, err = s.Create(t.Context(), owner, "x", h200)
		must(t, err)
	}
	if _, _, err := s.Create(t.Context(), owner, "x", h200); codeOf(err) != "too_many_share_links" {
		t.Errorf("one more: %v", err)
	}
	must(t, s.Revoke(t.Context(), owner, last.ID))
	if _, _, err := s.Create(t.Context(), owner, "x", h200); err != nil {
		t.Errorf("after one was revoked: %v", err)
	}
}

// A link opens nothing once its account is closed, also on a node that has not loaded the links since.
func TestOpen_AccountClosed(t *testing.T) {
	t.Parallel()
	s, owner := newService(t, storetest.Open(t), assay.PlanFull)
	_, token, err := s.Create(t.Context(), owner, "x", h200)
	must(t, err)
	must(t, s.Accounts.CloseAccount(t.Context(), "ann@example.com"))
	if open, ok := s.Open(token); ok {
		t.Errorf("opened %+v", open)
	}
	if _, _, err := s.Create(t.Context(), owner, "x", h200); codeOf(err) != "account_required" {
		t.Errorf("a closed account creates: %v", err)
	}
}

// Run follows what another process does.
func TestRun_Follows(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		s, owner := newService(t, db, assay.PlanFull)
		follower := another(db, s.Accounts)
		must(t, follower.Load(t.Context()))
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- follower.Run(ctx) }()
		made, token, err := s.Create(t.Context(), owner, "x", h200)
		must(t, err)
		wait := func(want bool) {
			t.Helper()
			deadline := time.Now().Add(20 * time.Second)
			for {
				changed := db.Changed()
				if _, ok := follower.Open(token); ok == want {
					return
				}
				select {
				case <-changed:
				case <-time.After(10 * time.Millisecond):
				}
				if time.Now().After(deadline) {
					t.Fatalf("the follower opens the link: %t", !want)
				}
			}
		}
		wait(true)
		must(t, s.Revoke(t.Context(), owner, made.ID))
		wait(false)
		stop()
		must(t, <-ended)
	})
}
