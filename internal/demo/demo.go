// Package demo is a synthetic market, for trying the service out and for testing it. The market is a pure function of a
// seed and time; its transactions go through ingest and are published like those of any other feed, without a shortcut.
// The late ones arrive after their slots have been published, as they do in life.
package demo

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/ingest"
	"github.com/assaydata/assay/internal/publish"
	"github.com/assaydata/assay/internal/store"
)

// months is how much history a new demo has.
const months = 24

// Settings that a demo's database carries.
const (
	settingSeed = "demo_seed"
	settingFed  = "demo_fed" // arrivals up to this instant have been delivered
)

// Demo feeds a store from a synthetic market.
type Demo struct {
	Store     *store.DB
	Publisher *publish.Publisher
	Seed      int64
	Now       func() time.Time
	Log       *slog.Logger

	days    int // of history when not months; a test's is short
	market  *Market
	catalog assay.Catalog
	fed     int64
	pending []Arrival // generated and not yet delivered, in the order of arrival
	hour    int64     // the next hour to generate
}

// Progress hears how far a long step has come, from 0 to 1.
type Progress func(step string, done float64)

// Prepare brings the store up to now: a new one gets its history, a known one what it missed. It can be broken off and
// repeated at any point.
func (d *Demo) Prepare(ctx context.Context, progress Progress) error {
	now := d.Now().UnixMilli()
	known, err := d.open(ctx, now)
	if err != nil {
		return err
	}
	if err := d.deliver(ctx, now, false, func(done float64) { progress("importing transactions", done) }); err != nil {
		return err
	}
	publisher := *d.Publisher
	publisher.Now = func() time.Time { return time.UnixMilli(now) } // an hour that has ended meanwhile is not delivered yet
	if known {
		_, err = publisher.CatchUp(ctx)
	} else {
		start, span := d.fed, float64(max(1, now-d.fed))
		_, err = publisher.Backfill(ctx, start, now, func(at int64) { progress("publishing the index", float64(at-start)/span) })
	}
	if err != nil {
		return err
	}
	if err := d.deliver(ctx, now, true, func(float64) {}); err != nil {
		return err
	}
	if err := publisher.Realtime(ctx); err != nil {
		return err
	}
	from, err := d.toldUntil(ctx, now)
	if err != nil {
		return err
	}
	if err := d.tell(ctx, from, now); err != nil {
		return err
	}
	return d.advance(ctx, now)
}

// open reads the store's settings, or makes them. known tells that the store has its history already.
func (d *Demo) open(ctx context.Context, now int64) (known bool, err error) {
	if d.catalog, err = d.Store.Catalog(ctx); err != nil {
		return false, err
	}
	d.market = NewMarket(d.Seed, d.catalog)
	seed, err := d.Store.Setting(ctx, settingSeed)
	if err != nil {
		return false, err
	}
	fed, err := d.Store.Setting(ctx, settingFed)
	if err != nil {
		return false, err
	}
	switch {
	case seed != "" && seed != strconv.FormatInt(d.Seed, 10):
		return false, fmt.Errorf("the database holds the market of seed %s, not %d: use that seed, or another --dir or --store", seed, d.Seed)
	case fed != "":
		d.fed, err = strconv.ParseInt(fed, 10, 64)
		return true, err
	}
	_, filled, err := d.Store.FirstTransaction(ctx)
	if err != nil {
		return false, err
	}
	if seed == "" && filled {
		return false, fmt.Errorf("the database holds transactions that are not the demo's: use another --dir or --store")
	}
	d.fed = d.begin(now)
	return false, d.Store.SetSetting(ctx, settingSeed, strconv.FormatInt(d.Seed, 10))
}

// begin is where the history of a demo that is new at the given instant begins.
func (d *Demo) begin(now int64) int64 {
	if d.days > 0 {
		return assay.StartOfDay(now) - int64(d.days)*assay.Day
	}
	return assay.MonthsBack(now, months)
}

// deliver imports the arrivals in (fed, until]: the late ones, or the others.
func (d *Demo) deliver(ctx context.Context, until int64, late bool, progress func(float64)) error {
	importer := d.importer(until)
	var rows []Arrival
	// What arrives late was executed up to maxLate before.
	begin := max(assay.StartOfDay(d.fed-maxLate), d.begin(until))
	for hour := begin; hour <= until; hour += assay.Hour {
		rows = d.market.AppendHour(rows[:0], hour)
		for i := range rows {
			if a := &rows[i]; a.Late() == late && a.At > d.fed && a.At <= until {
				if err := importer.Add(ctx, a.Transaction); err != nil {
					return err
				}
			}
		}
		progress(float64(hour-begin) / float64(max(1, until-begin)))
	}
	return importer.Flush(ctx)
}

func (d *Demo) importer(now int64) *ingest.Importer[assay.Transaction] {
	return ingest.Transactions(ingest.Options{
		Store: d.Store, Catalog: d.catalog, NotAfter: func() int64 { return now },
		Rejected: func(r ingest.Reject) { d.Log.Error("demo row rejected", "source", r.File, "reason", r.Reason) },
	})
}

func (d *Demo) advance(ctx context.Context, now int64) error {
	d.fed = now
	return d.Store.SetSetting(ctx, settingFed, strconv.FormatInt(now, 10))
}

// tick is how often the feed delivers.
const tick = time.Second

// Feed goes on delivering transactions as they arrive, until the context ends. Prepare must have succeeded before.
func (d *Demo) Feed(ctx context.Context) error {
	d.hour = assay.StartOfDay(d.fed - maxLate)
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		if err := d.feed(ctx, d.Now().UnixMilli()); err != nil && ctx.Err() == nil {
			d.Log.Error("demo feed", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// feed delivers what has arrived by now.
func (d *Demo) feed(ctx context.Context, now int64) error {
	for ; d.hour <= now; d.hour += assay.Hour {
		d.pending = d.market.AppendHour(d.pending, d.hour)
		d.pending = slices.DeleteFunc(d.pending, func(a Arrival) bool { return a.At <= d.fed })
		slices.SortStableFunc(d.pending, func(a, b Arrival) int { return cmp.Compare(a.At, b.At) })
	}
	importer, n := d.importer(now), 0
	for n < len(d.pending) && d.pending[n].At <= now {
		if err := importer.Add(ctx, d.pending[n].Transaction); err != nil {
			return err
		}
		n++
	}
	if n == 0 {
		return nil
	}
	if err := importer.Flush(ctx); err != nil {
		return err
	}
	d.pending = slices.Delete(d.pending, 0, n)
	if err := d.tell(ctx, d.fed, now); err != nil {
		return err
	}
	return d.advance(ctx, now)
}

// tell imports what the families beside the transactions have to say of (from, until].
func (d *Demo) tell(ctx context.Context, from, until int64) error {
	for _, family := range []func(context.Context, int64, int64) error{d.read, d.observe, d.readModels, d.openSites} {
		if err := family(ctx, from, until); err != nil {
			return err
		}
	}
	return nil
}

// toldUntil is until when the families have told what they had to say: as far as the feed has come, or nothing yet where one
// of them is missing, as in a folder from before it was there. What is known changes nothing.
func (d *Demo) toldUntil(ctx context.Context, now int64) (int64, error) {
	c, err := d.Store.Counters(ctx)
	if err != nil || min(c.Utilization, slices.Min(c.Observed[:])) > 0 {
		return d.fed, err
	}
	return min(d.fed, d.begin(now)), nil
}
