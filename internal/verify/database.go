package verify

import (
	"context"
	"math"
	"slices"
	"sync"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/store"
)

// Options narrow a verification of a database. The zero value checks everything.
type Options struct {
	From, To   int64    // slots that end in [From, To); 0 leaves that side open
	GPU        string   // the only GPU to check; empty for all
	PublicKeys [][]byte // one of them must have signed each manifest; none accepts any
	Workers    int      // 0 is 1
	Progress   Progress // may be nil
}

// everything says that nothing is left out, so that totals can be checked too.
func (o *Options) everything() bool { return o.From == 0 && o.To == 0 && o.GPU == "" }

// chunkDays is how many days are checked at once: enough to spread the cost of a query, few enough for memory.
const chunkDays = 4

// Database proves what a database holds, or names the first difference. Data that arrives meanwhile is ignored.
func Database(ctx context.Context, db *store.DB, o Options) (report Report, err error) {
	ledger, err := db.Ledger(ctx)
	if err != nil {
		return report, err
	}
	schedule, err := scheduleOf(ledger.Methodologies)
	if err != nil {
		return report, err
	}
	if err := checkLedger(&ledger, schedule); err != nil {
		return report, err
	}
	v := &verification{Options: o, db: db, schedule: schedule, ledger: &ledger}
	v.links, v.tally.Received = links{}, map[int64]int{}
	for _, check := range []func(context.Context) error{
		v.split, v.checkChunks, v.checkChains, v.checkTotals, v.checkManifests,
	} {
		if err := check(ctx); err != nil {
			return v.report, err
		}
	}
	return v.report, nil
}

// verification is one run of Database.
type verification struct {
	Options
	db       *store.DB
	schedule index.Schedule
	ledger   *store.Ledger // as of the start
	spans    []store.Span  // of the chunks, in the order of time

	ids    store.IDSum // of the table of transaction ids
	idsErr error

	mu sync.Mutex // guards what follows
	findings
	next    int // chunk to take
	done    int
	failed  int // first chunk that differs
	failure error
	tally   store.Tally
}

// split divides the requested time into chunks, each from a fixing to a fixing. Time without any data gets none.
func (v *verification) split(ctx context.Context) error {
	at, end := int64(math.MinInt64), int64(math.MaxInt64)
	if v.From != 0 {
		at = v.schedule.LastSlot(assay.Daily, v.From-1)
	}
	if v.To != 0 {
		end = v.schedule.NextSlot(assay.Daily, v.To-1)
	}
	for {
		next, ok, err := v.db.NextActivity(ctx, at)
		if err != nil {
			return err
		}
		if !ok || next >= end {
			v.failed = len(v.spans)
			return nil
		}
		// An instant outside the calendar is damage and would make the loop endless. So is one before at: SQLite
		// sorts a value that is not a number as if it were one.
		if next < max(at, assay.Earliest) || next >= assay.Latest {
			return differs("there is a transaction or a record at %d ms: that is out of order, or not in the years 1 to 9999",
				next)
		}
		span := store.Span{From: v.schedule.LastSlot(assay.Daily, next)}
		span.To = span.From
		for range chunkDays {
			span.To = v.schedule.NextSlot(assay.Daily, span.To)
		}
		v.spans = append(v.spans, span)
		at = span.To
	}
}

// checkChunks lets the workers take the chunks in the order of time. Once one differs, only earlier ones matter.
func (v *verification) checkChunks(ctx context.Context) error {
	var wg sync.WaitGroup
	if v.everything() {
		wg.Go(func() { v.ids, v.idsErr = v.db.IDSum(ctx, v.ledger.Counters.Receipt) })
	}
	for range max(1, v.Workers) {
		wg.Go(func() { v.work(ctx) })
	}
	wg.Wait()
	return v.failure
}

// work is one worker: it checks chunks until none is left.
func (v *verification) work(ctx context.Context) {
	checker := newChecker(v.schedule, v.ledger.Covers, v.GPU)
	tally := store.Tally{Received: map[int64]int{}}
	var c chunk
	for {
		i, ok := v.take()
		if !ok {
			break
		}
		err := v.read(ctx, &c, &tally, v.spans[i])
		if err == nil {
			err = checker.check(&c)
		}
		v.put(i, &c, err)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.tally.Join(&tally)
}

func (v *verification) take() (i int, ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	i = v.next
	v.next++
	return i, i < v.failed
}

// read fills a chunk with what the database holds of a span.
func (v *verification) read(ctx context.Context, c *chunk, tally *store.Tally, span store.Span) (err error) {
	receipt, version := v.ledger.Counters.Receipt, v.ledger.Counters.Publication
	if v.everything() {
		c.transactions, err = v.db.AppendTallied(ctx, c.transactions[:0], span.From, span.To, receipt, tally)
	} else {
		c.transactions, err = v.db.AppendWindow(ctx, c.transactions[:0], span.From, span.To)
	}
	if err != nil {
		return err
	}
	c.verifications = c.verifications[:0]
	for _, e := range v.ledger.Events {
		if e.ExecutedAt >= span.From && e.ExecutedAt < span.To {
			c.verifications = append(c.verifications, e)
		}
	}
	c.records, err = v.db.AppendRecords(ctx, c.records[:0], span.From+1, span.To+1)
	if err != nil {
		return err
	}
	c.records = slices.DeleteFunc(c.records, func(r store.Record) bool { return r.Version > version })
	return nil
}

// put takes over the outcome of a chunk.
func (v *verification) put(i int, c *chunk, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err != nil {
		if i < v.failed {
			v.failed, v.failure = i, err
		}
		return
	}
	v.add(c)
	v.done++
	if v.Progress != nil {
		v.Progress(float64(v.done)/float64(len(v.spans)), v.report.Transactions)
	}
}

// checkChains checks the chain of every series and, if everything was read, its length and head.
func (v *verification) checkChains(context.Context) error {
	for _, chain := range v.ledger.Chains {
		links := v.links[chain.SeriesKey]
		if err := checkLinks(chain.SeriesKey, links); err != nil {
			return err
		}
		if !v.everything() {
			continue
		}
		n := int64(len(links))
		if n != chain.Records || links[n-1].sequence != n || links[n-1].hash != chain.Head {
			return differs("%s %s %s: the chain has %d records and does not end with the head of %d",
				chain.GPU, chain.Region, chain.Grain, n, chain.Records)
		}
	}
	for key := range v.links {
		if !slices.ContainsFunc(v.ledger.Chains, func(c store.Chain) bool { return c.SeriesKey == key }) {
			return differs("%s %s %s: there are records, but the series has no chain", key.GPU, key.Region, key.Grain)
		}
	}
	return nil
}

// checkTotals checks that every receipt still has its transactions, that every transaction can be found by its id,
// and that nothing was left out. It needs everything to be read.
func (v *verification) checkTotals(ctx context.Context) error {
	if !v.everything() {
		return nil
	}
	for _, r := range v.ledger.Receipts {
		if n := v.tally.Received[r.Number]; n != r.Rows {
			return differs("receipt %d of %s: %d transactions came with it, %d are stored",
				r.Number, assay.FormatInstant(r.ReceivedAt), r.Rows, n)
		}
		delete(v.tally.Received, r.Number)
	}
	for number, n := range v.tally.Received {
		return differs("receipt %d is missing, but %d transactions name it", number, n)
	}
	if v.idsErr != nil {
		return v.idsErr
	}
	if v.ids != v.tally.IDs {
		misplaced, err := v.db.FindMisplaced(ctx)
		if err != nil {
			return err
		}
		return differs("%s", misplaced)
	}
	if int64(v.report.Records) != v.ledger.Records || v.verifications != len(v.ledger.Events) {
		return differs("there are %d records and %d verifications, but %d and %d belong to transactions",
			v.ledger.Records, len(v.ledger.Events), v.report.Records, v.verifications)
	}
	return nil
}

// checkManifests checks the manifests of the requested days, and that every day with records has one or is unsigned.
func (v *verification) checkManifests(context.Context) error {
	from, to := int64(math.MinInt64), int64(math.MaxInt64) // the days that were read in full
	if v.From != 0 {
		from = assay.StartOfDay(v.From + assay.Day - 1)
	}
	if v.To != 0 {
		to = assay.StartOfDay(v.To)
	}
	outside := func(day int64) bool { return day < from || day >= to }
	list := slices.Clone(v.ledger.Manifests)
	list = slices.DeleteFunc(list, func(m assay.Manifest) bool { return outside(m.Day) })
	if err := checkManifests(list, len(list) == len(v.ledger.Manifests)); err != nil {
		return err
	}
	if err := v.checkSigners(list, v.PublicKeys); err != nil {
		return err
	}
	unsigned := slices.DeleteFunc(slices.Clone(v.ledger.Unsigned), outside)
	v.report.Manifests, v.report.Unsigned = len(list), len(unsigned)
	return checkSigned(list, unsigned, v.links.days(), outside)
}
