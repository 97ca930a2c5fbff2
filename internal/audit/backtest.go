package audit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/store"
)

// Backtester asks what another methodology would have published. It only reads.
type Backtester struct {
	Store     *store.DB
	Candidate index.Methodology
	Against   string // version to compare with; empty for what was published
	GPU       string // empty for all
	From, To  int64  // slots that end in [From, To); 0 leaves that side open
	Progress  func(done float64, transactions int)
}

// Comparison is the days of the global lines under two methodologies, each as if it had always been in effect.
type Comparison struct {
	Candidate string   // version of the candidate
	Against   string   // version of the base; empty when it is what was published
	Published []string // versions that governed the days, in the order of their effect
	Lines     []Compared
}

// Compared is the days of one GPU.
type Compared struct {
	GPU   string
	Days  []Day // in the order of time
	Stale int   // days whose published value is not what its own methodology gives on the inputs as they are known now
}

// Day is one fixing: the value of the base and of the candidate, each where there is one.
type Day struct {
	At                    int64
	Base, Candidate       assay.Nanos
	HasBase, HasCandidate bool
}

// ErrNothingPublished says that there is nothing to compare with.
var ErrNothingPublished = errors.New("no day is published there")

// Run replays what is published. All of it is read as of one moment, whatever is published meanwhile.
func (b *Backtester) Run(ctx context.Context) (*Comparison, error) {
	r := &replay{Backtester: b, slots: map[slot]*Day{}}
	if err := r.prepare(ctx); err != nil {
		return nil, err
	}
	if b.Against == "" {
		if err := r.published(ctx); err != nil {
			return nil, err
		}
	}
	if err := r.compute(ctx); err != nil {
		return nil, err
	}
	return &r.result, nil
}

// replay is one backtest under way.
type replay struct {
	*Backtester
	schedule index.Schedule
	against  index.Methodology // where Against names one
	counters store.Counters    // the moment everything is read as of
	result   Comparison
	slots    map[slot]*Day // days of the result

	calculator   index.Calculator
	batch        []assay.Transaction
	transactions int
}

// prepare reads the rules and makes room for the days.
func (r *replay) prepare(ctx context.Context) error {
	files, err := r.Store.Methodologies(ctx)
	if err != nil {
		return err
	}
	if len(files) == 0 { // a publisher would adopt one, and a backtest must leave no trace
		return ErrNothingPublished
	}
	if r.schedule, err = index.ParseSchedule(files); err != nil {
		return err
	}
	if err := r.checkMethodologies(); err != nil {
		return err
	}
	var coverage store.Coverage
	if r.counters, coverage, err = r.Store.Head(ctx); err != nil {
		return err
	}
	catalog, err := r.Store.Catalog(ctx)
	if err != nil {
		return err
	}
	r.result.Against, r.result.Candidate = r.Against, r.Candidate.Version
	for _, gpu := range catalog.GPUs {
		if r.GPU == "" || r.GPU == gpu.Name {
			r.addLine(gpu.Name, coverage[store.CoverageKey{GPU: gpu.Name, Grain: assay.Daily}])
		}
	}
	if len(r.slots) == 0 {
		return ErrNothingPublished
	}
	r.result.Published = r.governing()
	return nil
}

// governing names the versions that were in effect on the days.
func (r *replay) governing() (versions []string) {
	for _, m := range r.schedule {
		for s := range r.slots {
			if r.schedule.At(s.at).Version == m.Version {
				versions = append(versions, m.Version)
				break
			}
		}
	}
	return versions
}

// checkMethodologies finds the version to compare with, and refuses a candidate whose days are others.
func (r *replay) checkMethodologies() error {
	fixed := r.schedule[0]
	if c := r.Candidate; c.Zone.String() != fixed.Zone.String() || c.FixingHour != fixed.FixingHour {
		return fmt.Errorf("fixing: version %s fixes days at %02d:00 %s and this database at %02d:00 %s, so their days cannot be compared",
			c.Version, c.FixingHour, c.Zone, fixed.FixingHour, fixed.Zone)
	}
	if r.Against == "" {
		return nil
	}
	var ok bool
	if r.against, ok = r.schedule.Version(r.Against); !ok {
		versions := make([]string, len(r.schedule))
		for i, m := range r.schedule {
			versions[i] = m.Version
		}
		return fmt.Errorf("there is no version %q; this database has %s", r.Against, strings.Join(versions, ", "))
	}
	return nil
}

// addLine makes room for the days of a GPU that are covered and asked for.
func (r *replay) addLine(gpu string, covered []store.Span) {
	line := Compared{GPU: gpu}
	for _, span := range covered {
		for at := r.schedule.NextSlot(assay.Daily, span.From); at <= span.To; at = r.schedule.NextSlot(assay.Daily, at) {
			if at >= r.From && (r.To == 0 || at < r.To) {
				line.Days = append(line.Days, Day{At: at})
			}
		}
	}
	for i := range line.Days { // once the list has its place
		r.slots[slot{dailyKey(gpu), line.Days[i].At}] = &line.Days[i]
	}
	r.result.Lines = append(r.result.Lines, line)
}

func dailyKey(gpu string) store.SeriesKey {
	return store.SeriesKey{Line: assay.Line{GPU: gpu, Region: assay.Global}, Grain: assay.Daily}
}

// published fills in what was published: of each day the newest revision.
func (r *replay) published(ctx context.Context) error {
	for i := range r.result.Lines {
		line := &r.result.Lines[i]
		if len(line.Days) == 0 {
			continue
		}
		first, last := line.Days[0].At, line.Days[len(line.Days)-1].At
		key := dailyKey(line.GPU)
		revisions, err := r.Store.Revisions(ctx, key.Line, key.Grain, first, last, 0, r.counters.Publication)
		if err != nil {
			return err
		}
		for _, revision := range revisions { // a later one of the same day overwrites
			if day := r.slots[slot{key, revision.At}]; day != nil {
				day.Base, day.HasBase = revision.Value, !revision.Gone
			}
		}
	}
	return nil
}

// compute goes through the transactions, a few days at a time.
func (r *replay) compute(ctx context.Context) error {
	from, to := r.span()
	windows := index.NewWindows(r.schedule, assay.Daily)
	for at := from; at < to; {
		end := at
		for range stretchDays {
			end = r.schedule.NextSlot(assay.Daily, end)
		}
		end = min(end, to)
		if err := r.read(ctx, at, end); err != nil {
			return err
		}
		if err := windows.Each(r.batch, r.window); err != nil {
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
	for _, line := range r.result.Lines {
		if n := len(line.Days); n > 0 {
			from, to = min(from, r.schedule.WindowStart(assay.Daily, line.Days[0].At)), max(to, line.Days[n-1].At)
		}
	}
	return from, to
}

// read takes the transactions of a stretch as they are known.
func (r *replay) read(ctx context.Context, from, to int64) (err error) {
	if r.batch, err = r.Store.AppendWindow(ctx, r.batch[:0], from, to); err != nil {
		return err
	}
	events, err := r.Store.Verifications(ctx, from, to)
	if err != nil {
		return err
	}
	r.transactions += len(r.batch)
	r.batch = index.Known(r.batch, events, r.counters.Receipt)
	index.Order(r.batch)
	r.calculator.Load(r.batch)
	return nil
}

// window computes a day under the candidate and under what it is compared with.
func (r *replay) window(w index.Window) error {
	day := r.slots[slot{store.SeriesKey{Line: w.Line, Grain: w.Grain}, w.At}]
	if day == nil {
		return nil
	}
	day.Candidate, day.HasCandidate = r.value(w, r.Candidate)
	if r.Against != "" {
		day.Base, day.HasBase = r.value(w, r.against)
		return nil
	}
	if value, ok := r.value(w, r.schedule.At(w.At)); ok != day.HasBase || value != day.Base {
		r.line(w.GPU).Stale++
	}
	return nil
}

// value is what a methodology gives; nothing where the day is below its minimum.
func (r *replay) value(w index.Window, m index.Methodology) (value assay.Nanos, ok bool) {
	d, ok := r.calculator.Compute(w.Rows, m)
	return d.Value, ok
}

func (r *replay) line(gpu string) *Compared {
	for i := range r.result.Lines {
		if r.result.Lines[i].GPU == gpu {
			return &r.result.Lines[i]
		}
	}
	return nil
}

// Differs tells that both have a value, and not the same.
func (d *Day) Differs() bool { return d.HasBase && d.HasCandidate && d.Base != d.Candidate }

// Difference is how far the candidate is from the base, in percent of the base, rounded half-even to nine decimals. There
// is none where a value is missing or the base is zero.
func (d *Day) Difference() (percent assay.Nanos, ok bool) {
	if !d.HasBase || !d.HasCandidate || d.Base == 0 {
		return 0, false
	}
	change := new(big.Int).Mul(big.NewInt(int64(d.Candidate-d.Base)), big.NewInt(int64(100*assay.One)))
	return assay.Nanos(assay.DivideHalfEven(change, big.NewInt(int64(d.Base)))), true
}

// Summary is what days come to. The differences are of the days that have one.
type Summary struct {
	Days      int // that are published, with a value or without
	Base      int // of those, with a value of the base
	Candidate int // with a value of the candidate
	Moved     int // with values of both that differ
	Compared  int // with a difference in percent

	// In percent of the base, rounded half-even to four decimals.
	Mean, MeanAbsolute, Largest assay.Nanos
	LargestAt                   int64 // the first day of the largest difference, up or down
}

// Summary sums up the days of a GPU.
func (c *Compared) Summary() Summary { return summarise(*c) }

// Summary sums up the days of all GPUs.
func (c *Comparison) Summary() Summary { return summarise(c.Lines...) }

// Stale counts the days whose published value is not what its own methodology gives on the inputs as they are known now.
func (c *Comparison) Stale() (days int) {
	for i := range c.Lines {
		days += c.Lines[i].Stale
	}
	return days
}

func summarise(lines ...Compared) (s Summary) {
	var largest assay.Nanos // its size
	sum, absolute := new(big.Int), new(big.Int)
	for _, line := range lines {
		for i := range line.Days {
			d := &line.Days[i]
			s.count(d)
			percent, ok := d.Difference()
			if !ok {
				continue
			}
			s.Compared++
			size := max(percent, -percent)
			sum.Add(sum, big.NewInt(int64(percent)))
			absolute.Add(absolute, big.NewInt(int64(size)))
			if size > largest || size == largest && size > 0 && d.At < s.LargestAt {
				largest, s.Largest, s.LargestAt = size, index.ChangePct(d.Candidate, d.Base), d.At
			}
		}
	}
	s.Mean, s.MeanAbsolute = mean(sum, s.Compared), mean(absolute, s.Compared)
	return s
}

func (s *Summary) count(d *Day) {
	s.Days++
	for _, c := range []struct {
		counts bool
		n      *int
	}{{d.HasBase, &s.Base}, {d.HasCandidate, &s.Candidate}, {d.Differs(), &s.Moved}} {
		if c.counts {
			*c.n++
		}
	}
}

// mean is the sum of n percentages divided by n, rounded to four decimals; without any it is zero.
func mean(sum *big.Int, n int) assay.Nanos {
	unit := assay.Unit(4)
	return assay.Nanos(assay.DivideHalfEven(sum, big.NewInt(int64(unit)*int64(max(n, 1))))) * unit
}
