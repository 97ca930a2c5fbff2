package verify

import (
	"cmp"
	"context"
	"hash/crc32"
	"math"
	"slices"
	"sync"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/proof"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/verifier"
)

// Options narrow a verification of a database. The zero value checks everything.
type Options struct {
	From, To int64  // slots that end in [From, To); 0 leaves that side open
	GPU      string // the only GPU to check; empty for all
	Workers  int    // 0 is 1
	Since    string // a signed checkpoint that the log must continue; empty for none. Everything must be checked.
	Signatures

	Progress Progress // may be nil

	rows int // maxRows in a test
}

// Signatures is what a verification asks of signatures. The zero value accepts any key.
type Signatures struct {
	// PublicKeys are accepted, and those that have taken their place with their signature: one of them must have signed
	// each manifest, and every day that is over.
	PublicKeys    [][]byte
	Now           int64 // the verifier's clock, which says which days are over
	AllowUnsigned bool  // days that are over may be unsigned
}

// everything says that nothing is left out, so that totals can be checked too.
func (o *Options) everything() bool { return o.From == 0 && o.To == 0 && o.GPU == "" }

// period is the time in which the slots end.
func (o *Options) period() store.Span {
	all := store.Span{From: math.MinInt64, To: math.MaxInt64}
	if o.From != 0 {
		all.From = o.From
	}
	if o.To != 0 {
		all.To = o.To
	}
	return all
}

// A chunk has several days if they are small, to spread the cost of a query. A day that is large is split by GPU.
const (
	chunkDays = 4
	maxRows   = 150_000 // transactions and records in memory, of all workers together: about 75 MB
	maxGroups = 1000
)

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
	salt, err := db.LogSalt(ctx)
	if err != nil {
		return report, err
	}
	keys, err := verifier.ReadKeys(ledger.Log.Origin, ledger.Log.KeyEvents)
	if err != nil {
		return report, differs("%v", err)
	}
	o.PublicKeys = keys.Reached(o.PublicKeys)
	v := &verification{
		Options: o, keys: keys, db: db, salt: salt, schedule: schedule, ledger: &ledger,
		findings: newFindings(ledger.Manifests),
		tally:    store.NewTally(ledger.Counters.Receipt), entryKey: newEntryKey(), points: pointSums{},
	}
	for _, check := range []func(context.Context) error{
		v.split, v.checkChunks, v.checkChains, v.checkTotals, v.checkPacked, v.checkManifests, v.checkValues,
		v.checkLog,
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
	keys     *verifier.Keys
	db       *store.DB
	salt     proof.Salt
	schedule index.Schedule
	ledger   *store.Ledger // as of the start
	parts    []store.Part  // one for each chunk, in the order of time
	entryKey *entryKey

	// What workers do not do, see checkChunks.
	ids    store.IDSum // of the table of transaction ids
	idsErr error
	log    *logWalk
	logErr error
	packed *packedSums

	mu sync.Mutex // guards what follows
	findings
	next    int    // chunk to take
	checked []bool // by chunk
	done    int    // how many are
	prefix  int    // how many are from the first on
	failed  int    // first chunk that differs
	failure error
	tally   *store.Tally
	records entrySum // of their entries in the log
	points  pointSums

	received entrySum // of the entries of transactions
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
			v.failed, v.checked = len(v.parts), make([]bool, len(v.parts))
			return nil
		}
		// An instant outside the calendar is damage and would make the loop endless. So is one before at: SQLite
		// sorts a value that is not a number as if it were one.
		if next < max(at, assay.Earliest) || next >= assay.Latest {
			return differs("there is a transaction or a record at %d ms: that is out of order, or not in the years 1 to 9999",
				next)
		}
		if at, err = v.addParts(ctx, v.schedule.LastSlot(assay.Daily, next), end); err != nil {
			return err
		}
	}
}

// addParts adds the parts from a fixing on: of some days or, if even one is too large, of one day for several groups of
// GPUs. It returns where they end.
func (v *verification) addParts(ctx context.Context, from, end int64) (to int64, err error) {
	limit := int64(max(1, cmp.Or(v.rows, maxRows)/max(1, v.Workers)))
	var rows int64
	for _, days := range []int64{chunkDays, 1} {
		to = from
		for range days {
			to = min(v.schedule.NextSlot(assay.Daily, to), end)
		}
		if rows, err = v.db.CountWindow(ctx, from, to); err != nil {
			return to, err
		}
		if rows += days * v.dailyRecords(); rows <= limit {
			v.parts = append(v.parts, store.Part{Span: store.Span{From: from, To: to}})
			return to, nil
		}
	}
	groups := min(rows/limit+1, maxGroups)
	for group := range groups {
		v.parts = append(v.parts, store.Part{
			Span:  store.Span{From: from, To: to},
			Other: group > 0,
			Wants: func(gpu string) bool { return int64(crc32.ChecksumIEEE([]byte(gpu)))%groups == group },
		})
	}
	return to, nil
}

// dailyRecords is how many records a day has if every slot has one.
func (v *verification) dailyRecords() (n int64) {
	for _, c := range v.ledger.Chains {
		if c.Grain == assay.Hourly {
			n += assay.Day / assay.Hour
		} else {
			n++
		}
	}
	return n
}

// checkChunks lets the workers take the chunks in the order of time. Once one differs, only earlier ones matter. What
// can only be read in one piece is read beside them, and judged after them: a chunk says more about what is wrong.
func (v *verification) checkChunks(ctx context.Context) error {
	var workers, others sync.WaitGroup
	ctx, cancel := context.WithCancel(ctx)
	if v.everything() {
		others.Go(func() { v.ids, v.idsErr = v.db.IDSum(ctx, v.ledger.Counters.Receipt) })
		others.Go(func() { v.log, v.logErr = v.walkLog(ctx) })
		others.Go(func() { v.packed = v.sumPacked(ctx) })
	}
	for range max(1, v.Workers) {
		workers.Go(func() { v.work(ctx) })
	}
	workers.Wait()
	if v.failure != nil {
		cancel()
	}
	others.Wait()
	cancel()
	return v.failure
}

// work is one worker: it checks chunks until none is left.
func (v *verification) work(ctx context.Context) {
	checker := newChecker(v.schedule, v.ledger.Covers, v.period())
	tally := store.NewTally(v.ledger.Counters.Receipt)
	received := receivedSum{
		key: v.entryKey, newest: v.ledger.Counters.Receipt, groups: proof.NewTransactionGroups(v.salt),
	}
	tally.Segment = received.segment
	var records entrySum
	points := pointSums{}
	var c chunk
	for {
		i, ok := v.take()
		if !ok {
			break
		}
		received.digests = c.digests[:0]
		err := v.read(ctx, &c, tally, v.parts[i])
		if c.digests = received.digests; v.parts[i].Wants != nil {
			c.digests = c.digests[:0] // they are of all GPUs
		}
		if err == nil {
			err = checker.check(&c)
		}
		if v.everything() {
			records.join(v.entryKey.recordSum(c.listed))
			points.addRecords(v.entryKey, c.listed, v.ledger.Packed)
		}
		v.put(i, &c, err)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.tally.Join(tally)
	v.records.join(records)
	v.points.join(points)
	v.received.join(received.sum)
}

func (v *verification) take() (i int, ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	i = v.next
	v.next++
	return i, i < v.failed
}

// read fills a chunk with a part of what the database holds.
func (v *verification) read(ctx context.Context, c *chunk, tally *store.Tally, part store.Part) error {
	if err := v.readTransactions(ctx, c, tally, part); err != nil {
		return err
	}
	c.partial = part.Wants != nil || !v.everything()
	c.amendments = between(c.amendments, v.ledger.Amendments, part.From, part.To)
	return v.readRecords(ctx, c, part)
}

func (v *verification) readTransactions(
	ctx context.Context, c *chunk, tally *store.Tally, part store.Part,
) (err error) {
	c.transactions = c.transactions[:0]
	if !v.everything() {
		tally = nil
	}
	if v.GPU != "" {
		if part.Wants != nil && !part.Wants(v.GPU) {
			return nil
		}
		part.Wants = func(gpu string) bool { return gpu == v.GPU }
	}
	c.transactions, err = v.db.AppendPart(ctx, c.transactions, part, tally)
	if v.From != 0 || v.To != 0 {
		c.transactions = slices.DeleteFunc(c.transactions, func(t assay.Transaction) bool { return !v.counts(t.ExecutedAt) })
	}
	return err
}

// counts reports whether a transaction of that instant belongs to a slot of the period.
func (v *verification) counts(executedAt int64) bool {
	period := v.period()
	return slices.ContainsFunc(assay.Grains, func(grain assay.Grain) bool {
		slot := v.schedule.NextSlot(grain, executedAt)
		return slot >= period.From && slot < period.To
	})
}

// readRecords reads the records of all GPUs of a part, because manifests list all.
func (v *verification) readRecords(ctx context.Context, c *chunk, part store.Part) (err error) {
	part.From, part.To = part.From+1, part.To+1
	if c.listed, err = v.db.AppendPartRecords(ctx, c.listed[:0], part); err != nil {
		return err
	}
	period := v.period()
	c.listed = slices.DeleteFunc(c.listed, func(r store.Record) bool {
		return r.Version > v.ledger.Counters.Publication || r.At < period.From || r.At >= period.To
	})
	if c.records = c.listed; v.GPU != "" {
		c.records = slices.DeleteFunc(slices.Clone(c.listed), func(r store.Record) bool { return r.GPU != v.GPU })
	}
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
	v.checked[i] = true
	v.done++
	v.closeDays()
	if v.Progress != nil {
		v.Progress(float64(v.done)/float64(len(v.parts)), v.report.Transactions)
	}
}

// closeDays closes the days before the first chunk that is not checked yet.
func (v *verification) closeDays() {
	for v.prefix < len(v.parts) && v.checked[v.prefix] {
		v.prefix++
	}
	if v.prefix < len(v.parts) {
		v.days.close(v.parts[v.prefix].From + 1)
	} else {
		v.days.close(math.MaxInt64)
	}
}

// checkChains checks the chain of every series and, if everything was read, its length and head.
func (v *verification) checkChains(context.Context) error {
	for _, head := range v.ledger.Chains {
		c := v.chains[head.SeriesKey]
		delete(v.chains, head.SeriesKey)
		if c == nil {
			c = &chain{}
		}
		if err := c.check(head.SeriesKey); err != nil {
			return err
		}
		if v.everything() && !c.endsWith(head) {
			return differs("%s %s %s: the chain has %d records and does not end with the head of %d",
				head.GPU, head.Region, head.Grain, c.records(), head.Records)
		}
	}
	for key := range v.chains {
		return differs("%s %s %s: there are records, but the series has no chain", key.GPU, key.Region, key.Grain)
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
		v.tally.Received[r.Number] = 0
	}
	for number, n := range v.tally.Received {
		if n > 0 {
			return differs("receipt %d is missing, but %d transactions name it", number, n)
		}
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
	if int64(v.report.Records) != v.ledger.Records || v.verifications != len(v.ledger.Verifications) ||
		v.corrections != len(v.ledger.Corrections) {
		return differs("there are %d records, %d verifications and %d corrections, but %d, %d and %d belong to transactions",
			v.ledger.Records, len(v.ledger.Verifications), len(v.ledger.Corrections),
			v.report.Records, v.verifications, v.corrections)
	}
	return nil
}

// checkManifests checks all manifests, and that those of the requested days list their records.
func (v *verification) checkManifests(context.Context) error {
	from, to := int64(math.MinInt64), int64(math.MaxInt64) // the days that were read in full
	if v.From != 0 {
		from = assay.StartOfDay(v.From + assay.Day - 1)
	}
	if v.To != 0 {
		to = assay.StartOfDay(v.To)
	}
	outside := func(day int64) bool { return day < from || day >= to }
	receipts := map[int64]int64{}
	for _, p := range v.ledger.Publications {
		receipts[p.Version] = p.Receipt
	}
	if err := checkManifests(v.ledger.Manifests, receipts); err != nil {
		return err
	}
	for i := range v.ledger.Manifests {
		m := &v.ledger.Manifests[i]
		if _, ok := receipts[m.Publication]; !ok && m.Publication != 0 {
			return differs("%s: it names publication %d, which does not exist", manifestName(m), m.Publication)
		}
	}
	if err := v.checkSigned(&signing{Signatures: v.Signatures, outside: outside, ended: v.signedBy()}); err != nil {
		return err
	}
	return v.checkUnsignedList(outside)
}

// signedBy is the instant by which days must have ended to be signed: that of the last publication but one, because the
// signing after the last one may still be under way.
func (v *verification) signedBy() int64 {
	if n := len(v.ledger.Publications); n > 1 {
		return v.ledger.Publications[n-2].PublishedAt
	}
	return 0
}

// checkUnsignedList checks the list by which the publisher knows what to sign.
func (v *verification) checkUnsignedList(outside func(day int64) bool) error {
	listed := slices.DeleteFunc(slices.Clone(v.ledger.Unsigned), outside)
	found := make([]int64, len(v.report.Unsigned))
	for i, u := range v.report.Unsigned {
		found[i] = u.Day
	}
	for _, day := range found {
		if !slices.Contains(listed, day) {
			return differs("%s: records are in no manifest, but the day is not listed as unsigned", assay.FormatDay(day))
		}
	}
	for _, day := range listed {
		if !slices.Contains(found, day) {
			return differs("%s: it is listed as unsigned, but its manifest lists all its records", assay.FormatDay(day))
		}
	}
	return nil
}
