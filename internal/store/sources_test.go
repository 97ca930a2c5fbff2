package store_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

func TestExpectedSources(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		ctx := store.WithActor(t.Context(), "operator:ada")
		want := func(step string, err, wantErr error, want ...store.ExpectedSource) {
			t.Helper()
			list, listErr := db.ExpectedSources(ctx)
			if !errors.Is(err, wantErr) || listErr != nil || !slices.Equal(list, want) {
				t.Errorf("%s: %v (%v, %v), want %v (%v)", step, list, err, listErr, want, wantErr)
			}
		}
		want("a new database", nil, nil)
		want("complete an unknown one", db.CompleteSource(ctx, "exchange", 90), store.ErrNotExpected)
		want("forget an unknown one", db.ForgetSource(ctx, "exchange"), store.ErrNotExpected)
		want("expect", db.ExpectSource(ctx, "exchange"), nil, store.ExpectedSource{Source: "exchange"})
		want("expect again", db.ExpectSource(ctx, "exchange"), store.ErrExpected, store.ExpectedSource{Source: "exchange"})
		want("expect another", db.ExpectSource(ctx, "broker"), nil,
			store.ExpectedSource{Source: "broker"}, store.ExpectedSource{Source: "exchange"})
		want("complete", db.CompleteSource(ctx, "broker", 90), nil,
			store.ExpectedSource{Source: "broker", CompleteUntil: 90}, store.ExpectedSource{Source: "exchange"})
		want("complete earlier", db.CompleteSource(ctx, "broker", 80), nil,
			store.ExpectedSource{Source: "broker", CompleteUntil: 90}, store.ExpectedSource{Source: "exchange"})
		want("forget", db.ForgetSource(ctx, "exchange"), nil, store.ExpectedSource{Source: "broker", CompleteUntil: 90})

		var log []string
		for _, e := range mustAudit(t, db, store.AuditFilter{}) {
			log = append(log, e.Actor+" "+e.Action+" "+e.Subject)
		}
		slices.Reverse(log)
		wantLog := []string{
			"operator:ada source.expect source:exchange", "operator:ada source.expect source:broker",
			"operator:ada source.complete source:broker", "operator:ada source.complete source:broker",
			"operator:ada source.forget source:exchange",
		}
		if !slices.Equal(log, wantLog) {
			t.Errorf("the audit log is %q, want %q", log, wantLog)
		}
	})
}

func TestLongestSilence(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		now := int64(1_790_000_000_000)
		db.Now = func() time.Time { return time.UnixMilli(now) }
		start := now
		want := func(from, to, want int64) {
			t.Helper()
			got, err := db.LongestSilence(t.Context(), store.Span{From: start + from, To: start + to})
			if err != nil || got != want {
				t.Errorf("from %d to %d: %d (%v), want %d", from, to, got, err, want)
			}
		}
		want(0, 0, 0)
		want(0, 60, 60)
		for i, at := range []int64{0, 10, 40, 50, -5, 70} { // the clock was wrong once
			now = start + at
			mustAppend(t, db, assay.Transaction{
				Source: "test", ID: string(rune('a' + i)), ExecutedAt: start, GPU: "H100 SXM", Price: assay.One, GPUs: 1,
				HourMicros: 1_000_000, Provider: "Acme", Verified: true,
			})
		}
		want(0, 50, 30)
		want(10, 40, 30)
		want(20, 30, 10)
		want(45, 100, 30)
		want(60, 60, 0)
	})
}
