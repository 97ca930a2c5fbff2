package publish

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// guarded is a running publisher with a horizon, whose reports and log a test can read.
type guarded struct {
	*running
	state  State
	reason string
	log    bytes.Buffer
}

func newGuarded(t *testing.T, at int64) *guarded {
	g := &guarded{running: newRunning(t, at)}
	g.Horizon = DefaultHorizon
	g.Report = func(state State, reason string) { g.state, g.reason = state, reason }
	g.Log = slog.New(slog.NewTextHandler(&g.log, nil))
	return g
}

// want checks the last report, whose reason contains a text, and that everything up to an instant and nothing after it
// is covered.
func (g *guarded) want(t *testing.T, state State, reason string, covered int64) {
	t.Helper()
	synctest.Wait()
	if g.state != state || !strings.Contains(g.reason, reason) || (reason == "") != (g.reason == "") {
		t.Errorf("at %s publishing is %s: %q, want %s: %q", assay.FormatInstant(g.Now().UnixMilli()), g.state, g.reason,
			state, reason)
	}
	end := readWorld(t, g.db).coverage.End(store.CoverageKey{GPU: "H100 SXM", Grain: assay.Hourly})
	if end != covered {
		t.Errorf("at %s hours are covered to %s, want %s", assay.FormatInstant(g.Now().UnixMilli()),
			assay.FormatInstant(end), assay.FormatInstant(covered))
	}
}

// confirm says what assay publish --confirm says.
func (g *guarded) confirm(t *testing.T) {
	t.Helper()
	if err := g.db.ConfirmPublishing(t.Context(), g.Now().UnixMilli()); err != nil {
		t.Fatal(err)
	}
}

// declareComplete says what assay publish says.
func (g *guarded) declareComplete(t *testing.T) {
	t.Helper()
	if err := g.db.DeclareComplete(t.Context(), g.Now().UnixMilli()); err != nil {
		t.Fatal(err)
	}
}

// A clock that is three days ahead for a while publishes nothing, signs nothing and prints nothing. Once it is right
// again, publishing continues by itself, and what arrived meanwhile is not late.
func TestRun_ClockJump(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		noon := instant(5, 12, 0)
		g := newGuarded(t, noon+30*assay.Second)
		g.Key = signingKey
		mustAppend(t, g.db, rentals(noon-2*assay.Hour, noon)...)
		ok(t)(g.Backfill(t.Context(), noon-2*assay.Hour, noon, nil))
		g.start(t)
		g.want(t, Current, "", noon)

		g.ahead.Add(int64(72 * time.Hour))
		<-time.After(14 * time.Second)
		g.want(t, Held, "The clock has jumped ahead by 72h0m0s.", noon)
		if list := manifests(t, g.db); len(list) != 0 {
			t.Errorf("days were signed by a wrong clock: %+v", list)
		}
		mustAppendOnTime(t, g.db, rentals(noon, noon+assay.Hour)...)

		g.ahead.Add(-int64(72 * time.Hour))
		g.until(noon + assay.Minute + 500)
		g.want(t, Current, "", noon)
		if prints := printsOf(t, g.db, global); prints[len(prints)-1].At != noon+assay.Minute {
			t.Errorf("the last print is %+v", prints[len(prints)-1])
		}
		g.until(noon + assay.Hour + assay.Second)
		g.want(t, Current, "", noon+assay.Hour)
		for _, line := range []string{"publishing is held", "publishing continues"} {
			if n := strings.Count(g.log.String(), line); n != 1 {
				t.Errorf("the log says %d times %q:\n%s", n, line, &g.log)
			}
		}
		g.end(t)
	})
}

// A clock that was wrong before it jumped is trusted as soon as the operator says so. A confirmation from before the
// jump does not count.
func TestRun_ClockConfirmed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		noon := instant(5, 12, 0)
		g := newGuarded(t, noon+30*assay.Second)
		mustAppend(t, g.db, rentals(noon-assay.Hour, noon+2*assay.Hour)...)
		g.confirm(t)
		g.start(t)
		synctest.Wait()
		g.ahead.Add(int64(time.Hour))
		<-time.After(time.Minute)
		g.want(t, Held, "The clock has jumped ahead by 1h0m0s.", 0)
		g.confirm(t)
		<-time.After(11 * time.Second)
		g.want(t, Current, "", noon+assay.Hour)
		g.end(t)
	})
}

// Small corrections of the clock do not add up to a jump, and a clock that is set back holds nothing up.
func TestRun_ClockCorrected(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		noon := instant(5, 12, 0)
		g := newGuarded(t, noon+assay.Minute)
		mustAppend(t, g.db, rentals(noon-assay.Hour, noon+assay.Hour)...)
		g.start(t)
		for range 5 {
			synctest.Wait()
			g.ahead.Add(int64(50 * time.Second))
			<-time.After(11 * time.Second)
			g.want(t, Current, "", 0)
		}
		g.ahead.Add(-int64(4 * time.Minute))
		<-time.After(11 * time.Second)
		g.want(t, Current, "", 0)
		g.until(noon + assay.Hour + 11*assay.Second)
		g.want(t, Current, "", noon+assay.Hour)
		g.end(t)
	})
}

// Two hours after the newest transaction nothing more is published, until the next one arrives.
func TestRun_Horizon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		noon := instant(5, 12, 0)
		g := newUnhurried(t, noon-assay.Hour)
		g.start(t)
		g.want(t, Held, "No transaction has been received yet.", 0)
		g.until(noon - 30*assay.Minute)
		mustAppend(t, g.db, rentals(noon-assay.Hour, noon-30*assay.Minute)...)
		g.until(noon + assay.Hour + assay.Second)
		g.want(t, Current, "", noon+assay.Hour)
		g.until(noon + 2*assay.Hour + assay.Second)
		g.want(t, Held, "No transaction has been received since 2026-03-05T11:30:00.000Z.", noon+assay.Hour)
		g.until(noon + 5*assay.Hour + 30*assay.Minute)
		g.want(t, Held, "No transaction has been received since 2026-03-05T11:30:00.000Z.", noon+assay.Hour)
		mustAppendOnTime(t, g.db, rentals(noon+assay.Hour, noon+5*assay.Hour+30*assay.Minute)...)
		<-time.After(61 * time.Second)
		g.want(t, Current, "", noon+5*assay.Hour)
		g.end(t)
	})
}

// A publisher that starts with a clock that is wrong, and whose feed uses the same clock, is held by what the rows say.
func TestRun_HorizonOfTheRows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		noon := instant(5, 12, 0)
		g := newGuarded(t, noon)
		mustAppend(t, g.db, rentals(noon-2*assay.Hour, noon)...)
		ok(t)(g.Backfill(t.Context(), noon-2*assay.Hour, noon, nil))
		g.ahead.Add(int64(72 * time.Hour))
		mustAppend(t, g.db, rentals(noon, noon+20*assay.Minute)...) // received in three days
		g.declareComplete(t)
		g.start(t)
		g.want(t, Held, "No transaction has been received since 2026-03-05T13:00:00.000Z.", noon+3*assay.Hour)
		g.end(t)
	})
}

// What failed is reported in words that everyone may read.
func TestRun_ReportsFailures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		noon := instant(5, 12, 0)
		g := newGuarded(t, noon-assay.Second)
		mustAppend(t, g.db, rentals(noon-assay.Hour, noon)...)
		g.start(t)
		synctest.Wait()
		storetest.Exec(t, g.db, `ALTER TABLE points RENAME TO away`)
		g.until(noon + assay.Second)
		if g.state != Failing || g.reason != "The last attempt has failed. Its error is in the log of the publisher." {
			t.Errorf("publishing is %s: %q", g.state, g.reason)
		}
		storetest.Exec(t, g.db, `ALTER TABLE away RENAME TO points`)
		<-time.After(2 * time.Second)
		g.want(t, Current, "", noon)
		g.end(t)
	})
}

// The database's clock is a second witness: nothing is published by a clock that differs from it, and one that has
// jumped to it is trusted.
func TestClockGuard_Database(t *testing.T) {
	t.Parallel()
	storetest.EachEngine(t, func(t *testing.T, address func(testing.TB) string) {
		db := storetest.OpenIn(t, address(t))
		if _, has, err := db.Clock(t.Context()); err != nil || !has {
			if err != nil {
				t.Fatal(err)
			}
			return // SQLite has none
		}
		p, _ := newPublisher(db, 0)
		var ahead time.Duration
		p.Now = func() time.Time { return time.Now().Add(ahead) }
		want := func(g *clockGuard, text string) {
			t.Helper()
			held, err := g.check(t.Context())
			if err != nil || !strings.Contains(held, text) || (text == "") != (held == "") {
				t.Errorf("held because of %q (%v), want %q", held, err, text)
			}
		}
		g := newClockGuard(p)
		want(g, "")
		ahead = 2 * time.Hour
		want(g, "The clock is 2h0m0s ahead of the database's.")
		ahead = -2 * time.Hour
		want(g, "The clock is 2h0m0s behind the database's.")
		late := newClockGuard(p)
		ahead = 0
		want(g, "")
		want(late, "") // a jump of two hours, to the right time

		// An operator may know that it is the database's clock that is wrong.
		ahead = 2 * time.Hour
		want(g, "The clock is 2h0m0s ahead of the database's.")
		db.Now = p.Now
		if err := db.ConfirmPublishing(t.Context(), p.Now().UnixMilli()); err != nil {
			t.Fatal(err)
		}
		want(g, "")
		want(g, "")
		ahead = 3 * time.Hour
		want(g, "The clock is 3h0m0s ahead of the database's.")
	})
}
