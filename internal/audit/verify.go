package audit

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"math"
	"slices"
	"sync"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/store"
)

// Verifier proves what a database holds.
type Verifier struct {
	Store     *store.DB
	From, To  int64  // slots that end in [From, To); both 0 for everything
	GPU       string // empty for all
	PublicKey []byte // that every manifest must be signed with; nil for any
	Workers   int
	Progress  func(done float64, transactions int) // may be nil; called by one goroutine at a time
}

// stretchDays is how many days are checked at once: enough to spread the cost of a query, few enough for memory.
const stretchDays = 4

// Verify proves everything, or names the first difference. What is received or published meanwhile is left out.
func (v *Verifier) Verify(ctx context.Context) (report Report, err error) {
	ledger, err := v.Store.Ledger(ctx)
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
	w := &work{Verifier: v, schedule: schedule, ledger: &ledger, links: links{}, tally: store.Tally{Received: map[int64]int{}}}
	if err := w.split(ctx); err != nil {
		return report, err
	}
	if err := w.run(ctx); err != nil {
		return w.report, err
	}
	if err := w.chains(); err != nil {
		return w.report, err
	}
	if v.whole() {
		if err := w.totals(ctx); err != nil {
			return w.report, err
		}
	}
	return w.report, w.manifests()
}

func (v *Verifier) whole() bool { return v.From == 0 && v.To == 0 && v.GPU == "" }

// work is one verification under way.
type work struct {
	*Verifier
	schedule index.Schedule
	ledger   *store.Ledger // as it was when the work began
	parts    []store.Span

	mu      sync.Mutex
	next    int // part to take
	done    int
	failed  int // first part that differs
	failure error
	report  Report
	links   links
	tally   store.Tally
	events  int         // that belong to transactions
	ids     store.IDSum // as the table of ids has it
	idsErr  error
}

// split cuts the time that was asked for, as far as there is anything in it, into parts that begin and end with a fixing.
func (w *work) split(ctx context.Context) error {
	at, end := int64(math.MinInt64), int64(math.MaxInt64)
	if w.From != 0 {
		at = w.schedule.LastSlot(assay.Daily, w.From-1)
	}
	if w.To != 0 {
		end = w.schedule.NextSlot(assay.Daily, w.To-1)
	}
	for {
		next, ok, err := w.Store.NextActivity(ctx, at)
		if err != nil {
			return err
		}
		if !ok || next >= end {
			w.failed = len(w.parts)
			return nil
		}
		// An instant that cannot be written is damage, and would make endless work.
		if next < max(at, assay.Earliest) || next >= assay.Latest { // before: what is no number counts as one, in its place
			return differs("there is a transaction or a record at %d ms, which is no instant of the years 1 to 9999 or is out of order", next)
		}
		part := store.Span{From: w.schedule.LastSlot(assay.Daily, next)}
		part.To = part.From
		for range stretchDays {
			part.To = w.schedule.NextSlot(assay.Daily, part.To)
		}
		w.parts = append(w.parts, part)
		at = part.To
	}
}

// run has the workers take the parts in the order of time. Once one differs, only parts before it matter.
func (w *work) run(ctx context.Context) error {
	var wg sync.WaitGroup
	if w.whole() {
		wg.Go(func() { w.ids, w.idsErr = w.Store.IDSum(ctx, w.ledger.Counters.Receipt) })
	}
	for range max(1, w.Workers) {
		wg.Go(func() {
			checker := newChecker(w.schedule, w.ledger.Covers, w.GPU)
			var s stretch
			own := store.Tally{Received: map[int64]int{}}
			for {
				i, ok := w.take()
				if !ok {
					break
				}
				w.put(i, &s, w.part(ctx, checker, &s, &own, w.parts[i]))
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			w.tally.Join(&own)
		})
	}
	wg.Wait()
	return w.failure
}

func (w *work) take() (i int, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	i = w.next
	w.next++
	return i, i < w.failed
}

// part reads and checks one part.
func (w *work) part(ctx context.Context, c *checker, s *stretch, tally *store.Tally, span store.Span) (err error) {
	if w.whole() {
		s.transactions, err = w.Store.AppendTallied(ctx, s.transactions[:0], span.From, span.To, w.ledger.Counters.Receipt, tally)
	} else {
		s.transactions, err = w.Store.AppendWindow(ctx, s.transactions[:0], span.From, span.To)
	}
	if err != nil {
		return err
	}
	s.events = s.events[:0]
	for _, e := range w.ledger.Events {
		if e.ExecutedAt >= span.From && e.ExecutedAt < span.To {
			s.events = append(s.events, e)
		}
	}
	if s.records, err = w.Store.AppendRecords(ctx, s.records[:0], span.From+1, span.To+1); err != nil {
		return err
	}
	s.records = slices.DeleteFunc(s.records, func(r store.Record) bool { return r.Version > w.ledger.Counters.Publication })
	return c.check(s)
}

// put takes what a worker has found.
func (w *work) put(i int, s *stretch, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		if i < w.failed {
			w.failed, w.failure = i, err
		}
		return
	}
	w.report.Transactions += len(s.transactions)
	w.report.Records += len(s.records)
	w.events += len(s.events)
	w.links.add(s.records)
	w.done++
	if w.Progress != nil {
		w.Progress(float64(w.done)/float64(len(w.parts)), w.report.Transactions)
	}
}

// chains follows the chain of every series and, when everything was read, holds its length and its end against the head.
func (w *work) chains() error {
	for _, chain := range w.ledger.Chains {
		links := w.links[chain.SeriesKey]
		if err := checkLinks(chain.SeriesKey, links); err != nil {
			return err
		}
		if !w.whole() {
			continue
		}
		if n := int64(len(links)); n != chain.Records || links[n-1].sequence != n || links[n-1].hash != chain.Head {
			return differs("%s %s %s: the chain has %d records and does not end with the head of %d", chain.GPU, chain.Region, chain.Grain, n, chain.Records)
		}
	}
	for key := range w.links {
		if !slices.ContainsFunc(w.ledger.Chains, func(c store.Chain) bool { return c.SeriesKey == key }) {
			return differs("%s %s %s: there are records, and the series has no chain", key.GPU, key.Region, key.Grain)
		}
	}
	return nil
}

// totals checks that every receipt still has the transactions that came with it, that every transaction can be found by
// its id, and that nothing was left out.
func (w *work) totals(ctx context.Context) error {
	for _, r := range w.ledger.Receipts {
		if n := w.tally.Received[r.Number]; n != r.Rows {
			return differs("receipt %d of %s: %d transactions came with it, and %d are there", r.Number, assay.FormatInstant(r.ReceivedAt), r.Rows, n)
		}
		delete(w.tally.Received, r.Number)
	}
	for number, n := range w.tally.Received {
		return differs("receipt %d is not there, and %d transactions say that they came with it", number, n)
	}
	if w.idsErr != nil {
		return w.idsErr
	}
	if w.ids != w.tally.IDs {
		place, err := w.Store.FindMisplaced(ctx)
		return errors.Join(err, differs("%s", place))
	}
	if int64(w.report.Records) != w.ledger.Records || w.events != len(w.ledger.Events) {
		return differs("there are %d records and %d verifications, and %d and %d belong to transactions",
			w.ledger.Records, len(w.ledger.Events), w.report.Records, w.events)
	}
	return nil
}

// manifests checks the manifests of the days asked for, and that every day with records has one or waits for it.
func (w *work) manifests() error {
	from, to := int64(math.MinInt64), int64(math.MaxInt64) // whole days that were read
	if w.From != 0 {
		from = assay.StartOfDay(w.From + assay.Day - 1)
	}
	if w.To != 0 {
		to = assay.StartOfDay(w.To) // days that begin before it end by then
	}
	outside := func(day int64) bool { return day < from || day >= to }
	list := slices.DeleteFunc(slices.Clone(w.ledger.Manifests), func(m assay.Manifest) bool { return outside(m.Day) })
	if err := checkManifests(list, len(list) == len(w.ledger.Manifests)); err != nil {
		return err
	}
	if err := w.signers(list); err != nil {
		return err
	}
	unsigned := slices.DeleteFunc(slices.Clone(w.ledger.Unsigned), outside)
	w.report.Manifests, w.report.Unsigned = len(list), len(unsigned)
	return checkSigned(list, unsigned, w.links.days(), outside)
}

// signers lists who signed, and refuses a key that is not the one asked for.
func (w *work) signers(list []assay.Manifest) error {
	for i := range list {
		m := &list[i]
		if w.PublicKey != nil && !bytes.Equal(m.PublicKey, w.PublicKey) {
			return differs("manifest of %s, revision %d: it is signed with another key", assay.FormatDay(m.Day), m.Revision)
		}
		if text := base64.StdEncoding.EncodeToString(m.PublicKey); !slices.Contains(w.report.PublicKeys, text) {
			w.report.PublicKeys = append(w.report.PublicKeys, text)
		}
	}
	return nil
}
