package store_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

func mustAudit(t *testing.T, db *store.DB, f store.AuditFilter) []store.AuditEntry {
	t.Helper()
	list, err := db.AuditLog(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestAuditLog(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		clock := int64(100)
		db.Now = func() time.Time { return time.UnixMilli(clock) }
		ctx := store.WithActor(t.Context(), "operator:ada")
		check := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			clock += 100
		}
		a := mustAccount(t, db, "ann@example.com")
		clock = 200
		_, err := db.CreateKey(ctx, store.Key{ID: "aaaaaa", Tier: assay.Full, Name: "desk", AccountID: a.ID, Basis: "grant"})
		check(err)
		check(db.RevokeKey(ctx, "aaaaaa"))
		check(db.RevokeKey(ctx, "aaaaaa")) // changes nothing, so it is not logged
		check(db.SetGPUFree(ctx, "H200", false))
		entry := func(id, at int64, actor, action, subject, detail string) store.AuditEntry {
			return store.AuditEntry{ID: id, At: at, Actor: actor, Action: action, Subject: subject, Detail: detail}
		}
		all := []store.AuditEntry{
			entry(4, 500, "operator:ada", "catalog.set", "catalog", `{"free":false,"gpu":"H200"}`),
			entry(3, 300, "operator:ada", "key.revoke", "account:ann@example.com", `{"key":"aaaaaa"}`),
			entry(2, 200, "operator:ada", "key.create", "account:ann@example.com",
				`{"basis":"grant","key":"aaaaaa","name":"desk","tier":"full"}`),
			entry(1, 100, "system", "account.add", "account:ann@example.com", `{"has_password":true,"name":"Ann"}`),
		}
		f := func(filter store.AuditFilter, want ...store.AuditEntry) {
			t.Helper()
			if got := mustAudit(t, db, filter); !slices.Equal(got, want) {
				t.Errorf("%+v: the log is\n%+v, want\n%+v", filter, got, want)
			}
		}
		f(store.AuditFilter{}, all...)
		f(store.AuditFilter{Subject: "account:ann@example.com"}, all[1:]...)
		f(store.AuditFilter{Subject: "account:ann"})
		f(store.AuditFilter{Since: 300}, all[:2]...)
		f(store.AuditFilter{Limit: 1}, all[0])
		f(store.AuditFilter{Subject: "account:ann@example.com", Since: 150, Limit: 1}, all[1])
	})
}

// No entry can be changed or removed, not even without the store.
func TestAuditLog_AppendOnly(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		mustAccount(t, db, "ann@example.com")
		want := mustAudit(t, db, store.AuditFilter{})
		raw := storetest.Raw(t, db)
		defer raw.Close()
		const replaced = `SELECT audit_id, at, 'another', action, subject, detail FROM audit`
		statements := []string{`UPDATE audit SET actor = 'another'`, `DELETE FROM audit`}
		if storetest.IsPostgres(t, db) {
			statements = append(statements, `TRUNCATE audit`,
				`INSERT INTO audit (audit_id, at, actor, action, subject, detail) `+replaced+
					` ON CONFLICT (audit_id) DO UPDATE SET actor = excluded.actor`)
		} else {
			statements = append(statements, `INSERT OR REPLACE INTO audit `+replaced)
		}
		for _, statement := range statements {
			_, err := raw.ExecContext(t.Context(), statement)
			if want := "the audit log is only ever added to"; err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: the error is %v, want one with %q", statement, err, want)
			}
		}
		if got := mustAudit(t, db, store.AuditFilter{}); !slices.Equal(got, want) {
			t.Errorf("the log is %+v, want %+v", got, want)
		}
	})
}

// A confirmation counts if it was given in the period, its ends included.
func TestPublishingConfirmed(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		db.Now = func() time.Time { return time.UnixMilli(100) }
		if err := db.ConfirmPublishing(store.WithActor(t.Context(), "operator:ada"), 90); err != nil {
			t.Fatal(err)
		}
		if e := mustAudit(t, db, store.AuditFilter{}); len(e) != 1 || e[0].Actor != "operator:ada" ||
			e[0].Action != "publishing.confirm" || e[0].Detail != `{"until":"1970-01-01T00:00:00.090Z"}` {
			t.Errorf("the audit log has %+v", e)
		}
		for _, period := range []struct {
			from, to int64
			want     bool
		}{{0, 99, false}, {0, 100, true}, {100, 100, true}, {101, 200, false}} {
			if got, err := db.PublishingConfirmed(t.Context(), period.from, period.to); got != period.want || err != nil {
				t.Errorf("from %d to %d: %t (%v)", period.from, period.to, got, err)
			}
		}
	})
}

// Both what confirms publishing and what declares it complete is an operator's word. A word of the future is not given.
func TestLastWord(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		clock := int64(100)
		db.Now = func() time.Time { return time.UnixMilli(clock) }
		want := func(now, want int64) {
			t.Helper()
			if at, err := db.LastWord(t.Context(), now); at != want || err != nil {
				t.Errorf("the last word at %d was given at %d (%v), want %d", now, at, err, want)
			}
		}
		want(1000, 0)
		if err := db.DeclareComplete(t.Context(), 90); err != nil {
			t.Fatal(err)
		}
		want(99, 0)
		want(100, 100)
		if confirmed, err := db.PublishingConfirmed(t.Context(), 0, 1000); confirmed || err != nil {
			t.Errorf("a declaration confirms the clock (%v)", err)
		}
		clock = 200
		if err := db.ConfirmPublishing(t.Context(), 90); err != nil {
			t.Fatal(err)
		}
		want(199, 100)
		want(1000, 200)
	})
}
