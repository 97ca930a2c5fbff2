// Package backtest computes what another methodology would have given and compares it, day by day, with what was
// published or with a third version: the prices of GPUs, or an index of labs. It only reads. Comparison.Chart draws the
// result as SVG.
package backtest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/publish"
	"github.com/assaydata/assay/internal/store"
)

// Options say what is compared.
type Options struct {
	Candidate index.Methodology
	Against   string // version to compare with; empty for the published values
	GPU       string // the only GPU to compare; empty for all
	From, To  int64  // slots that end, and days of labs that begin, in [From, To); 0 leaves that side open
	Progress  func(done float64, transactions int)

	Index  string // one of Indices, which is compared instead of the prices of GPUs
	Lab    string // the only lab to compare; empty for all
	Models string // the family of its models, of an index with families; empty for all of them
}

// Comparison holds the days of the global lines, or of an index, under two methodologies, each as if it had always been
// in effect.
type Comparison struct {
	Candidate string   // version of the candidate
	Index     string   // of Indices; empty for the prices of GPUs
	Against   string   // version of the base; empty for the published values, or those of the index as it is now
	Published []string // versions that governed the days, in the order of their effect
	Series    []Series
}

// Series are the days of one GPU or lab.
type Series struct {
	Name  string
	Days  []Day // in the order of time
	Stale int   // days whose published value is not what its methodology gives for the transactions as known now
}

// Day is one fixing, or the beginning of a day of a lab, with the values of the base and of the candidate.
type Day struct {
	At                    int64
	Base, Candidate       assay.Nanos
	HasBase, HasCandidate bool
}

// ErrNothingPublished says that there is nothing to compare with.
var ErrNothingPublished = errors.New("no day is published there")

// Run compares. It reads the database as of one moment, whatever is published meanwhile.
func Run(ctx context.Context, db *store.DB, o Options) (*Comparison, error) {
	r := &replay{Options: o, db: db, days: map[dayKey]*Day{}}
	if o.Index != "" {
		if err := r.compareLabs(ctx); err != nil {
			return nil, err
		}
		return &r.result, nil
	}
	if err := r.prepare(ctx); err != nil {
		return nil, err
	}
	if o.Against == "" {
		if err := r.readPublished(ctx); err != nil {
			return nil, err
		}
	}
	if err := r.compute(ctx); err != nil {
		return nil, err
	}
	return &r.result, nil
}

// replay is one run of a backtest.
type replay struct {
	Options
	db       *store.DB
	schedule index.Schedule
	against  index.Methodology // if Against names one
	counters store.Counters    // the moment as of which everything is read
	result   Comparison
	days     map[dayKey]*Day // the days of the result

	calculator   index.Calculator
	batch        []assay.Transaction
	transactions int
}

// dayKey names a day of a series.
type dayKey struct {
	series string
	at     int64
}

// prepare reads the rules and lists the days to compare.
func (r *replay) prepare(ctx context.Context) error {
	if err := r.readSchedule(ctx); err != nil {
		return err
	}
	counters, coverage, err := r.db.Head(ctx)
	if err != nil {
		return err
	}
	catalog, err := r.db.Catalog(ctx)
	if err != nil {
		return err
	}
	r.counters = counters
	for _, gpu := range catalog.GPUs {
		if r.GPU == "" || r.GPU == gpu.Name {
			r.addGPU(gpu.Name, coverage[store.CoverageKey{GPU: gpu.Name, Grain: assay.Daily}])
		}
	}
	if len(r.days) == 0 {
		return ErrNothingPublished
	}
	r.result.Published = r.governing(0)
	return nil
}

// readSchedule reads the methodology's versions. Unlike a publisher, a backtest adopts none where there is none.
func (r *replay) readSchedule(ctx context.Context) error {
	files, err := r.db.Methodologies(ctx)
	if err != nil {
		return err
	}
	switch {
	case len(files) > 0:
		r.schedule, err = index.ParseSchedule(files)
	case r.Index != "":
		r.schedule = index.Schedule{index.Plain()} // as the API does
	default:
		return ErrNothingPublished
	}
	if err != nil {
		return err
	}
	r.result.Index, r.result.Against, r.result.Candidate = r.Index, r.Against, r.Candidate.Version
	return r.checkMethodologies()
}

// checkMethodologies finds the version to compare with, and refuses a candidate with another fixing.
func (r *replay) checkMethodologies() error {
	candidate, stored := r.Candidate, r.schedule[0]
	if candidate.Zone.String() != stored.Zone.String() || candidate.FixingHour != stored.FixingHour {
		return fmt.Errorf("fixing: version %s fixes days at %02d:00 %s and this database at %02d:00 %s, "+
			"so their days cannot be compared",
			candidate.Version, candidate.FixingHour, candidate.Zone, stored.FixingHour, stored.Zone)
	}
	if r.Against == "" {
		return nil
	}
	against, ok := r.schedule.Version(r.Against)
	if !ok {
		versions := make([]string, len(r.schedule))
		for i, m := range r.schedule {
			versions[i] = m.Version
		}
		return fmt.Errorf("there is no version %q; this database has %s", r.Against, strings.Join(versions, ", "))
	}
	r.against = against
	return nil
}

// governing names the versions that were in effect when the days ended, which is so long after their instants.
func (r *replay) governing(ends int64) (versions []string) {
	for _, m := range r.schedule {
		for key := range r.days {
			if r.schedule.At(key.at+ends).Version == m.Version {
				versions = append(versions, m.Version)
				break
			}
		}
	}
	return versions
}

// addGPU lists the days of a GPU that are covered and requested.
func (r *replay) addGPU(gpu string, covered []store.Span) {
	list := Series{Name: gpu}
	for _, span := range covered {
		for at := r.schedule.NextSlot(assay.Daily, span.From); at <= span.To; at = r.schedule.NextSlot(assay.Daily, at) {
			if at >= r.From && (r.To == 0 || at < r.To) {
				list.Days = append(list.Days, Day{At: at})
			}
		}
	}
	r.add(list)
}

// add adds a series whose days are complete, so that they do not move any more.
func (r *replay) add(list Series) {
	for i := range list.Days {
		r.days[dayKey{list.Name, list.Days[i].At}] = &list.Days[i]
	}
	r.result.Series = append(r.result.Series, list)
}

// readPublished reads the published values: the newest revision of each day.
func (r *replay) readPublished(ctx context.Context) error {
	for i := range r.result.Series {
		list := &r.result.Series[i]
		if len(list.Days) == 0 {
			continue
		}
		first, last := list.Days[0].At, list.Days[len(list.Days)-1].At
		line := assay.Line{GPU: list.Name, Region: assay.Global}
		revisions, err := r.db.Revisions(ctx, line, assay.Daily, first, last, 0, r.counters.Publication)
		if err != nil {
			return err
		}
		for _, revision := range revisions { // a later one of the same day overwrites
			if day := r.days[dayKey{list.Name, revision.At}]; day != nil {
				day.Base, day.HasBase = revision.Value, !revision.Gone
			}
		}
	}
	return nil
}

// batchDays is how many days are computed at once: enough to spread the cost of a query, few enough for memory.
const batchDays = 4

// compute goes through the transactions in batches.
func (r *replay) compute(ctx context.Context) error {
	from, to := r.span()
	windows := index.NewWindows(r.schedule, assay.Daily)
	for at := from; at < to; {
		end := at
		for range batchDays {
			end = r.schedule.NextSlot(assay.Daily, end)
		}
		end = min(end, to)
		batch, err := publish.Known(ctx, r.db, r.batch[:0], at, end, r.counters.Receipt)
		if err != nil {
			return err
		}
		r.batch = batch
		r.transactions += len(batch)
		r.calculator.Load(batch)
		if err := windows.Each(batch, r.window); err != nil {
			return err
		}
		at = end
		if r.Progress != nil {
			r.Progress(float64(at-from)/float64(to-from), r.transactions)
		}
	}
	return nil
}

// span is the time from the beginning of the first day to the end of the last.
func (r *replay) span() (from, to int64) {
	from = math.MaxInt64
	for _, list := range r.result.Series {
		if n := len(list.Days); n > 0 {
			from = min(from, r.schedule.WindowStart(assay.Daily, list.Days[0].At))
			to = max(to, list.Days[n-1].At)
		}
	}
	return from, to
}

// window computes a day under the candidate and under the base.
func (r *replay) window(w index.Window) error {
	day := r.days[dayKey{w.GPU, w.At}]
	if day == nil || w.Region != assay.Global {
		return nil
	}
	day.Candidate, day.HasCandidate = r.value(w, r.Candidate)
	if r.Against != "" {
		day.Base, day.HasBase = r.value(w, r.against)
		return nil
	}
	value, ok := r.value(w, r.schedule.At(w.At))
	if ok != day.HasBase || value != day.Base {
		r.daysOf(w.GPU).Stale++
	}
	return nil
}

// value is what a methodology gives; ok is false below its minimum.
func (r *replay) value(w index.Window, m index.Methodology) (value assay.Nanos, ok bool) {
	d, ok := r.calculator.Compute(w.Rows, m)
	return d.Value, ok
}

func (r *replay) daysOf(gpu string) *Series {
	for i := range r.result.Series {
		if r.result.Series[i].Name == gpu {
			return &r.result.Series[i]
		}
	}
	return nil
}
