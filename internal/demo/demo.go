// Package demo is a synthetic market, for trying the service out and for testing it. It is a pure function of a seed
// and time, and its rows are imported and published like those of any other feed. Some arrive after their hour was
// published, as they do in life.
//
// # The price of a rental
//
// The logarithm of a price is a sum. Its parts, from the slow to the quick:
//
//   - the trend of the GPU model: older generations get cheaper faster (market.go)
//   - factors that move from day to day: the whole market, its data-center and its consumer half, the Hopper
//     generation, and each GPU model's own; they make prices correlate (path.go)
//   - the launch of a GPU model, whose first renters pay a premium and which presses on the prices of older models;
//     and a price cut by the largest provider, which the others follow within days (events.go)
//   - the time of the week and of the day, a little
//   - the region's spread, which returns to its mean; the provider's premium, which lasts; the size of the deal; and
//     chance
//
// A factor moves by random shocks and is pulled back to its mean. Shocks come in clusters: a GARCH(1,1) process makes
// large ones more likely after large ones. Regimes switch every few months: a tight market pulls prices up, a glut
// pulls them down, and both make them more volatile than a calm one. Utilization follows the same factors.
//
// The sizes of deals have a heavy tail, weekends are quieter than weekdays, and in thin regions some hours and a few
// days have no trade, so that the index has gaps there. The global index of a GPU model has none after its launch.
//
// Everything is computed with whole numbers, so that rows are the same on every machine: see micro.
package demo

import (
	"cmp"
	"context"
	"errors"
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

// Settings of a demo's database.
const (
	settingSeed   = "demo_seed"
	settingMarket = "demo_market" // the version of the market
	settingFed    = "demo_fed"    // arrivals up to this instant have been delivered
)

// marketVersion changes with every change of the rows that a seed gives: another version's market cannot be continued.
const marketVersion = "2"

// Demo feeds a store from a synthetic market.
type Demo struct {
	Store     *store.DB
	Publisher *publish.Publisher
	Seed      int64
	Now       func() time.Time
	Log       *slog.Logger

	days    int // of history, instead of months; for tests
	market  *Market
	catalog assay.Catalog
	fed     int64
	pending []Arrival // generated and not delivered yet, in order of arrival
	hour    int64     // the next hour to generate
}

// Progress is called as a long step advances, from 0 to 1.
type Progress func(step string, done float64)

// Prepare brings the store up to now: a new one gets its history, a known one what it missed. It can be interrupted and
// repeated at any point.
func (d *Demo) Prepare(ctx context.Context, progress Progress) error {
	now := d.Now().UnixMilli()
	known, err := d.open(ctx, now)
	if err != nil {
		return err
	}
	late, err := d.deliver(ctx, now, func(done float64) { progress("importing transactions", done) })
	if err != nil {
		return err
	}
	publisher := *d.Publisher
	publisher.Now = func() time.Time { return time.UnixMilli(now) } // an hour that ends meanwhile is not delivered yet
	if known {
		_, err = publisher.CatchUp(ctx)
	} else {
		start, span := d.fed, float64(max(1, now-d.fed))
		_, err = publisher.Backfill(ctx, start, now, func(at int64) {
			progress("publishing the index", float64(at-start)/span)
		})
	}
	if err != nil {
		return err
	}
	if err := importAll(ctx, ingest.Transactions(d.options(now)), slices.Values(late)); err != nil {
		return err
	}
	if err := publisher.Realtime(ctx); err != nil {
		return err
	}
	if err := d.bringFamilies(ctx, now); err != nil {
		return err
	}
	if _, err := publisher.RecordValues(ctx); err != nil {
		return err
	}
	progress("signing the days", 0)
	if err := publisher.Sign(ctx); err != nil { // so that everything can be verified as soon as it is served
		return err
	}
	progress("signing the days", 1)
	return d.advance(ctx, now)
}

// open reads the store's settings, or makes them. known tells that the store has its history already.
func (d *Demo) open(ctx context.Context, now int64) (known bool, err error) {
	if d.catalog, err = d.Store.Catalog(ctx); err != nil {
		return false, err
	}
	d.market = NewMarket(d.Seed, d.catalog)
	settings, err := d.settings(ctx)
	if err != nil {
		return false, err
	}
	if err := d.check(ctx, settings); err != nil {
		return false, err
	}
	if settings.fed != "" {
		d.fed, err = strconv.ParseInt(settings.fed, 10, 64)
		known = true
	} else {
		d.fed = d.begin(now)
	}
	if err == nil {
		err = d.Store.SetSetting(ctx, settingMarket, marketVersion)
	}
	if err == nil {
		err = d.Store.SetSetting(ctx, settingSeed, strconv.FormatInt(d.Seed, 10))
	}
	return known, err
}

type settings struct{ seed, market, fed string }

func (d *Demo) settings(ctx context.Context) (s settings, err error) {
	if s.seed, err = d.Store.Setting(ctx, settingSeed); err != nil {
		return s, err
	}
	if s.market, err = d.Store.Setting(ctx, settingMarket); err != nil {
		return s, err
	}
	s.fed, err = d.Store.Setting(ctx, settingFed)
	return s, err
}

// check refuses a store whose rows are not of this market.
func (d *Demo) check(ctx context.Context, s settings) error {
	if s.seed != "" && s.seed != strconv.FormatInt(d.Seed, 10) {
		return fmt.Errorf("the database holds the market of seed %s, not %d: use that seed, or another --dir or --store",
			s.seed, d.Seed)
	}
	_, filled, err := d.Store.FirstTransaction(ctx)
	switch {
	case err != nil || !filled:
		return err
	case s.seed == "":
		return errors.New("the database holds transactions that are not the demo's: use another --dir or --store")
	case s.market != marketVersion:
		return errors.New("the database holds the demo market of another release: use another --dir or --store")
	}
	return nil
}

// begin is where the history of a demo that is new at the given instant begins.
func (d *Demo) begin(now int64) int64 {
	if d.days > 0 {
		return assay.StartOfDay(now) - int64(d.days)*assay.Day
	}
	return assay.MonthsBack(now, months)
}

// deliver imports the arrivals in (fed, until] except the late ones. It returns those, to be imported after their hours
// are published.
func (d *Demo) deliver(ctx context.Context, until int64, progress func(float64)) (late []assay.Transaction, err error) {
	importer := ingest.Transactions(d.options(until))
	var rows []Arrival
	// A late row was executed up to maxLate before it arrives.
	begin := max(assay.StartOfDay(d.fed-maxLate), d.begin(until))
	for hour := begin; hour <= until; hour += assay.Hour {
		rows = d.market.AppendHour(rows[:0], hour)
		for i := range rows {
			switch a := &rows[i]; {
			case a.At <= d.fed || a.At > until:
			case a.Late():
				late = append(late, a.Transaction)
			default:
				err = importer.Add(ctx, a.Transaction)
			}
			if err != nil {
				return nil, err
			}
		}
		progress(float64(hour-begin) / float64(max(1, until-begin)))
	}
	return late, importer.Flush(ctx)
}

func (d *Demo) advance(ctx context.Context, now int64) error {
	d.fed = now
	return d.Store.SetSetting(ctx, settingFed, strconv.FormatInt(now, 10))
}

// tick is how often the feed delivers.
const tick = time.Second

// Feed delivers transactions as they arrive, until the context ends. Prepare must have succeeded before.
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

// feed delivers the rows that have arrived by now.
func (d *Demo) feed(ctx context.Context, now int64) error {
	for ; d.hour <= now; d.hour += assay.Hour {
		d.pending = d.market.AppendHour(d.pending, d.hour)
		d.pending = slices.DeleteFunc(d.pending, func(a Arrival) bool { return a.At <= d.fed })
		slices.SortStableFunc(d.pending, func(a, b Arrival) int { return cmp.Compare(a.At, b.At) })
	}
	importer, n := ingest.Transactions(d.options(now)), 0
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
	if err := d.bringFamilies(ctx, now); err != nil {
		return err
	}
	return d.advance(ctx, now)
}
