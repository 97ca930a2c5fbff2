package publish

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store/storetest"
)

// newUnhurried is newGuarded with a pass each minute, because these tests take hours.
func newUnhurried(t *testing.T, at int64) *guarded {
	t.Helper()
	g := newGuarded(t, at)
	g.waitMost = time.Minute
	return g
}

// feedUntil goes to an instant, with a feed that delivers a row every five minutes.
func (g *guarded) feedUntil(t *testing.T, to int64) {
	t.Helper()
	const pause = 5 * assay.Minute
	for at := (g.Now().UnixMilli() + pause - 1) / pause * pause; at < to; at += pause {
		g.until(at)
		row := rentals(at, at+1)[0]
		row.ID = "fed at " + assay.FormatInstant(at)
		mustAppend(t, g.db, row)
	}
	g.until(to)
}

// served is a publisher that has run from eight to ten past nine, and was stopped.
func served(t *testing.T) *guarded {
	t.Helper()
	g := newUnhurried(t, instant(5, 8, 0))
	g.start(t)
	g.feedUntil(t, instant(5, 9, 10))
	g.want(t, Current, "", instant(5, 9, 0))
	g.end(t)
	return g
}

const gapReason = "Nothing was published from 2026-03-05T09:10:00.000Z to 2026-03-05T12:10:00.000Z"

// After a restore, or when the machine was down, nothing is published until what came meanwhile is imported and an
// operator says so.
func TestRun_Restored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := served(t)
		noon := instant(5, 12, 0)
		g.until(noon + 10*assay.Minute)
		g.start(t)
		g.want(t, Held, gapReason, instant(5, 9, 0))
		g.feedUntil(t, noon+20*assay.Minute) // of now: it says nothing about the time before
		g.want(t, Held, gapReason, instant(5, 9, 0))
		missed := rentals(instant(5, 9, 15), noon+10*assay.Minute)
		mustAppendOnTime(t, g.db, missed[:len(missed)/2]...)
		<-time.After(time.Minute)
		g.want(t, Held, gapReason, instant(5, 9, 0))
		mustAppendOnTime(t, g.db, missed[len(missed)/2:]...)
		g.declareComplete(t)
		<-time.After(61 * time.Second)
		g.want(t, Current, "", noon)
		g.end(t)
	})
}

// An operator who imports and publishes before the server starts has said it all.
func TestRun_RestoredAndPublished(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := served(t)
		noon := instant(5, 12, 0)
		g.until(noon + 9*assay.Minute)
		mustAppendOnTime(t, g.db, rentals(instant(5, 9, 15), noon+9*assay.Minute)...)
		g.declareComplete(t)
		g.until(noon + 10*assay.Minute)
		g.start(t)
		g.want(t, Current, "", noon)
		g.end(t)
	})
}

// A gap inside the hour that is running holds it, too.
func TestRun_GapInAnHour(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := served(t)
		g.until(instant(5, 9, 40))
		g.start(t)
		g.want(t, Held, "Nothing was published from 2026-03-05T09:10:00.000Z", instant(5, 9, 0))
		g.feedUntil(t, instant(5, 10, 20))
		g.want(t, Held, "Nothing was published from 2026-03-05T09:10:00.000Z", instant(5, 9, 0))
		g.confirm(t)
		<-time.After(61 * time.Second)
		g.want(t, Current, "", instant(5, 10, 0))
		g.end(t)
	})
}

// A feed that delivered while no publisher ran shows that nothing is missing. Nor is anything after a short restart.
func TestRun_NoGap(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		feed func(t *testing.T, g *guarded)
	}{
		{"the feed went on", func(t *testing.T, g *guarded) { g.feedUntil(t, instant(5, 11, 30)) }},
		{"restarted", func(t *testing.T, g *guarded) {
			g.feedUntil(t, instant(5, 11, 57))
			g.start(t)
			synctest.Wait()
			g.end(t)
			g.until(instant(5, 12, 1))
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := served(t)
				test.feed(t, g)
				g.start(t)
				g.want(t, Current, "", g.Now().UnixMilli()/assay.Hour*assay.Hour)
				g.end(t)
			})
		})
	}
}

// A machine that starts with a clock three days ahead, and is corrected, has missed only the time that it was down.
func TestRun_GapOfAWrongClock(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		down   time.Duration
		state  State
		reason string
	}{
		{"restarted", 2 * time.Minute, Current, ""},
		{"was down", 20 * time.Minute, Held, "Nothing was published from 2026-03-05T09:10:00.000Z to 2026-03-05T09:30:10.000Z"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := served(t)
				g.waitMost = 10 * time.Second
				<-time.After(test.down)
				g.ahead.Add(int64(72 * time.Hour))
				g.start(t)
				g.want(t, Held, "to 2026-03-08T09:", instant(5, 9, 0))
				g.ahead.Add(-int64(72 * time.Hour))
				<-time.After(11 * time.Second)
				g.want(t, test.state, test.reason, instant(5, 9, 0))
				g.end(t)
			})
		})
	}
}

// A database that was away is a gap, too, although the publisher ran.
func TestRun_GapOfTheDatabase(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newUnhurried(t, instant(5, 8, 0))
		g.start(t)
		g.feedUntil(t, instant(5, 9, 10))
		storetest.Exec(t, g.db, `ALTER TABLE counters RENAME TO away`)
		g.until(instant(5, 10, 20))
		if g.state != Failing {
			t.Errorf("publishing is %s, want %s", g.state, Failing)
		}
		storetest.Exec(t, g.db, `ALTER TABLE away RENAME TO counters`)
		<-time.After(2 * time.Second)
		g.want(t, Held, "Nothing was published from 2026-03-05T09:10:00.000Z", instant(5, 9, 0))
		g.end(t)
	})
}

// A server that starts hours before its feed begins with the hour of the first transaction. The hours before are
// history, which an operator can still import and publish.
func TestRun_StartsBeforeTheFeed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newUnhurried(t, instant(5, 8, 0))
		g.start(t)
		g.until(instant(5, 11, 20))
		g.want(t, Held, nothingYet, 0)
		g.feedUntil(t, instant(5, 12, 1))
		g.want(t, Current, "", instant(5, 12, 0))
		mustAppendOnTime(t, g.db, rentals(instant(5, 8, 0), instant(5, 11, 0))...)
		g.end(t)
	})
}

// An hour without a transaction of an expected source is held, even if later ones have some, until one arrives, the
// source is declared complete, or an operator publishes.
func TestRun_ExpectedSource(t *testing.T) {
	t.Parallel()
	other := func(at int64) assay.Transaction {
		row := rentals(at, at+1)[0]
		row.Source = "exchange"
		return row
	}
	ten, eleven, noon := instant(5, 10, 0), instant(5, 11, 0), instant(5, 12, 0)
	for _, test := range []struct {
		name    string
		release func(t *testing.T, g *guarded)
	}{
		{"a transaction", func(t *testing.T, g *guarded) { mustAppendOnTime(t, g.db, other(eleven-1)) }},
		{"the source", func(t *testing.T, g *guarded) {
			if err := g.db.CompleteSource(t.Context(), "exchange", eleven); err != nil {
				t.Fatal(err)
			}
		}},
		{"an operator", func(t *testing.T, g *guarded) { g.declareComplete(t) }},
		{"no longer expected", func(t *testing.T, g *guarded) {
			if err := g.db.ForgetSource(t.Context(), "exchange"); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := newUnhurried(t, instant(5, 9, 30))
				if err := g.db.ExpectSource(t.Context(), "exchange"); err != nil {
					t.Fatal(err)
				}
				mustAppend(t, g.db, other(ten-1))
				g.start(t)
				g.feedUntil(t, ten+assay.Second)
				g.want(t, Current, "", ten)
				g.feedUntil(t, eleven+30*assay.Minute)
				g.want(t, Held, "No transaction of exchange has been received for the hour to 2026-03-05T11:00:00.000Z.", ten)
				mustAppendOnTime(t, g.db, other(eleven+30*assay.Minute))
				g.feedUntil(t, noon+assay.Minute)
				g.want(t, Held, "No transaction of exchange has been received for the hour to 2026-03-05T11:00:00.000Z.", ten)
				test.release(t, g)
				<-time.After(61 * time.Second)
				g.want(t, Current, "", noon)
				g.end(t)
			})
		})
	}
}
