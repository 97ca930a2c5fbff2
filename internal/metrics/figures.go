package metrics

import (
	"context"
	"sync"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/store"
)

// figures reads the database seldom, however often someone asks for metrics.
type figures struct {
	node *Node

	mu   sync.Mutex // held while the database is read: those who ask meanwhile get the same
	at   time.Time
	last store.Figures
	ok   bool
}

const (
	// figuresFor is how long figures are used: less than the shortest usual interval of a scrape.
	figuresFor = 2 * time.Second
	// figuresTimeout bounds reading them, so that a slow database does not take all metrics with it.
	figuresTimeout = 5 * time.Second
)

// read returns the figures; not ok if the database does not respond.
func (f *figures) read(ctx context.Context) (store.Figures, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.at.IsZero() && time.Since(f.at) < figuresFor {
		return f.last, f.ok
	}
	f.last, f.ok = store.Figures{}, false
	db, _ := f.node.Databases()
	if db != nil && f.node.Status.DatabaseResponds() {
		ctx, cancel := context.WithTimeout(ctx, figuresTimeout)
		defer cancel()
		var err error
		if f.last, err = db.Figures(ctx); err != nil {
			f.node.Log.Warn("the metrics of the database cannot be read", "error", err)
		}
		f.ok = err == nil
	}
	f.at = time.Now()
	return f.last, f.ok
}

// transactions is the family of transactions, as imports call it.
const transactions = "transactions"

// importsOf lists the imports of all families, also of those without any.
func importsOf(f store.Figures) []store.ImportedRows {
	all := []store.ImportedRows{{Family: transactions}}
	for family := range assay.FamilyUtilization + 1 {
		all = append(all, store.ImportedRows{Family: family.String()})
	}
	for _, i := range f.Imports {
		for k := range all {
			if all[k].Family == i.Family {
				all[k] = i
			}
		}
	}
	return all
}

// feed is when a family was last received.
type feed struct {
	family string
	at     int64
}

// feedsOf lists the families of which anything was received.
func feedsOf(f store.Figures) (list []feed) {
	add := func(family string, at int64) {
		if at != 0 {
			list = append(list, feed{family, at})
		}
	}
	add(transactions, f.TransactionAt)
	add(assay.FamilyUtilization.String(), f.Counters.Utilization)
	for i, at := range f.Counters.Observed {
		add(assay.Family(i).String(), at)
	}
	return list
}

// fixing is what is missing of a grain.
type fixing struct {
	grain  string
	lag    int64 // since the oldest missing one was due
	missed int64
}

const (
	// grace is how long publishing what is due, and noticing it, may take before it counts as missed.
	grace = assay.Minute
	// mostMissed bounds counting what is missing: a database may be years old.
	mostMissed = 10_000
)

// fixings are those of the values of GPUs: as this node serves them, or on a node that only publishes as the database
// has them. There are none before the first publication.
func (n *Node) fixings(f store.Figures, ok bool) (list []fixing) {
	hours, days, files := int64(0), int64(0), []assay.MethodologyFile(nil)
	snap := n.Snapshots.Load()
	switch {
	case snap != nil:
		hours, days, files = snap.Covered, snap.CoveredDays, snap.Methodologies
	case ok:
		for key := range f.Coverage {
			if key.Grain == assay.Hourly {
				hours = max(hours, f.Coverage.End(key))
			} else {
				days = max(days, f.Coverage.End(key))
			}
		}
		files = f.Methodologies
	}
	schedule, _ := index.ReadableSchedule(files) // who computes with a version that cannot be read logs it
	now := n.now()
	current := n.Status.Publishing().State == "current" // also if the series have ended
	for _, g := range []struct {
		grain   assay.Grain
		covered int64
	}{{assay.Hourly, hours}, {assay.Daily, days}} {
		if g.covered != 0 {
			list = append(list, missing(schedule, g.grain, g.covered, now, current))
		}
	}
	if ok && f.Counters.Realtime != 0 {
		next := f.Counters.Realtime + assay.Minute
		delay := schedule.At(next).Delay()
		minute := fixing{grain: "minute", lag: max(0, now-next-delay), missed: max(0, (now-next-delay-grace)/assay.Minute+1)}
		if minute.missed = min(minute.missed, mostMissed); current || now-next-delay < grace {
			minute.missed = 0
		}
		if current {
			minute.lag = 0
		}
		list = append(list, minute)
	}
	return list
}

// missing finds what is due and not covered.
func missing(schedule index.Schedule, grain assay.Grain, covered, now int64, current bool) fixing {
	m := fixing{grain: grain.String()}
	if current {
		return m
	}
	next := schedule.NextSlot(grain, covered)
	m.lag = max(0, now-next-schedule.At(next).Delay())
	last := schedule.LastDue(grain, now-grace)
	for ; next <= last && m.missed < mostMissed; next = schedule.NextSlot(grain, next) {
		m.missed++
	}
	return m
}
