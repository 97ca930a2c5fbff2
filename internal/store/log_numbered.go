package store

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/proof"
)

// entryFunc is called with an entry, which is reused.
type entryFunc func(entry []byte) error

// numberedKind is a kind of entries that follow from rows with numbers, or with instants that only rise: those after
// the number in log_progress are not in the log yet.
type numberedKind struct {
	name string // in log_progress
	last string // a query for the newest number
	each func(tx *tx, s proof.Salt, after, upTo int64, f entryFunc) error
}

// newest is the newest number.
func (k *numberedKind) newest(tx *tx) (number int64, err error) {
	var found any
	if err := tx.QueryRowContext(tx.ctx, k.last).Scan(&found); err != nil || found == nil {
		return 0, err
	}
	number, ok := wholeNumber(found)
	if !ok {
		return 0, fmt.Errorf("%w: the log lists %s by number, and the last one is no number", ErrDamaged, k.name)
	}
	return number, nil
}

// regionName is the region of a row, given what it is without one. Like the other names, it is null if there is none of
// that number, which is an error when it is read.
func regionName(without string) string {
	return `CASE WHEN region_id = 0 THEN '` + without + `' ELSE region END`
}

// numberedKinds are all of them. Receipts come first: their transactions follow them in the log.
var numberedKinds = slices.Concat([]numberedKind{
	{proof.ReceiptKind, counterQuery("receipt"), eachReceiptEntry},
	{proof.VerificationKind, `SELECT max(event) FROM verifications`, eachVerificationEntry},
	{proof.CorrectionKind, `SELECT max(correction) FROM corrections`, eachCorrectionEntry},
	{proof.ConflictsKind, `SELECT max(received_at) FROM conflicts`, eachConflictsEntry},
	{proof.UtilizationKind, counterQuery("utilization"), eachUtilizationEntry},
	{proof.RealtimeKind, counterQuery("realtime"), eachRealtimeEntry},
	{proof.AuditKind, `SELECT max(audit_id) FROM audit`, eachAuditEntry},
	{proof.KeyKind, `SELECT max(event) FROM key_events`, eachKeyEntry},
	{proof.ImportKind, `SELECT max(import) FROM imports`, eachImportEntry},
	{proof.ComplaintKind, `SELECT max(event) FROM complaint_events`, eachComplaintEntry},
	{proof.NoticeKind, counterQuery("notices"), eachNoticeEntry},
	{proof.RestatementKind, counterQuery("restatements"), eachRestatementEntry},
	{proof.ValueKind, counterQuery("value_records"), eachValueEntry},
}, observationEntries())

// counterQuery is null for a counter that does not exist, such as that of a family newer than the database.
func counterQuery(name string) string {
	return `SELECT max(value) FROM counters WHERE name = '` + name + `'`
}

func observationEntries() (kinds []numberedKind) {
	for family := range assay.NumFamilies {
		kinds = append(kinds, numberedKind{
			name: proof.ObservationsKind + " " + family.String(), last: counterQuery(family.String()),
			each: func(tx *tx, s proof.Salt, after, upTo int64, f entryFunc) error {
				return eachObservationsEntry(tx, s, family, after, upTo, f)
			},
		})
	}
	return kinds
}

func eachAuditEntry(tx *tx, s proof.Salt, after, upTo int64, f entryFunc) error {
	var entry []byte
	return tx.each(`SELECT audit_id, at, actor, action, subject, detail FROM audit
		WHERE audit_id > $1 AND audit_id <= $2 ORDER BY audit_id`, []any{after, upTo}, func(scan scanFunc) error {
		var a proof.AuditEntry
		if err := scan(&a.ID, &a.At, &a.Actor, &a.Action, &a.Subject, &a.Detail); err != nil {
			return err
		}
		entry = proof.AppendAuditEntry(entry[:0], s, &a)
		return f(entry)
	})
}

func eachReceiptEntry(tx *tx, _ proof.Salt, after, upTo int64, f entryFunc) error {
	var entry []byte
	return tx.each(`SELECT receipt, received_at, rows FROM receipts WHERE receipt > $1 AND receipt <= $2
		ORDER BY receipt`, []any{after, upTo}, func(scan scanFunc) error {
		var number, receivedAt, rows int64
		if err := scan(&number, &receivedAt, &rows); err != nil {
			return err
		}
		entry = proof.AppendReceiptEntry(entry[:0], number, receivedAt, rows)
		return f(entry)
	})
}

// segmentEntries makes the entries of segments.
type segmentEntries struct {
	groups  *proof.TransactionGroups
	list    []assay.Transaction
	digests []assay.Hash
}

func newSegmentEntries(tx *tx) (*segmentEntries, error) {
	salt, err := readLogSalt(tx)
	return &segmentEntries{groups: proof.NewTransactionGroups(salt)}, err
}

// of is the entry of the rows of a segment.
func (e *segmentEntries) of(number segmentNumber, rows []row) []byte {
	e.list = e.list[:0]
	for i := range rows {
		e.list = append(e.list, *rows[i].Transaction)
	}
	return e.entry(number)
}

// entry is the entry of the list.
func (e *segmentEntries) entry(number segmentNumber) []byte {
	e.digests = e.digests[:0]
	for i := range e.list {
		e.digests = append(e.digests, proof.Transaction(&e.list[i]))
	}
	return e.groups.AppendEntry(nil, number.receipt(), number.hour(), e.list, e.digests)
}

// eachTransactionsEntry calls f for the transactions of segments, with an entry that it may keep.
func eachTransactionsEntry(tx *tx, numbers []segmentNumber, f entryFunc) error {
	d, err := readDictionary(tx)
	if err != nil {
		return err
	}
	e, err := newSegmentEntries(tx)
	for _, number := range numbers {
		if err != nil {
			break
		}
		err = tx.eachSegment(`WHERE segment = $1`, []any{int64(number)}, func(s *segment) error {
			e.list, err = d.appendSegment(e.list[:0], s)
			return err
		})
		if err == nil {
			err = f(e.entry(number))
		}
	}
	return err
}

func eachVerificationEntry(tx *tx, s proof.Salt, after, upTo int64, f entryFunc) error {
	list, err := readVerifications(tx, `event > $1 AND event <= $2`, after, upTo)
	if err != nil {
		return err
	}
	return eachEntry(list, s, proof.AppendVerificationEntry, f)
}

func eachCorrectionEntry(tx *tx, s proof.Salt, after, upTo int64, f entryFunc) error {
	list, err := readCorrections(tx, `correction > $1 AND correction <= $2`, after, upTo)
	if err != nil {
		return err
	}
	return eachEntry(list, s, proof.AppendCorrectionEntry, f)
}

// eachEntry calls f for the entry of each element of a list.
func eachEntry[T any](list []T, s proof.Salt, add func([]byte, proof.Salt, *T) []byte, f entryFunc) error {
	var entry []byte
	for i := range list {
		entry = add(entry[:0], s, &list[i])
		if err := f(entry); err != nil {
			return err
		}
	}
	return nil
}

// batches makes entries of rows that come in the order of their batches.
type batches struct {
	begin func(at int64) *proof.Batch
	f     entryFunc
	batch *proof.Batch // the current one; nil before the first
	entry []byte
}

// at returns the batch of an instant.
func (b *batches) at(at int64) (*proof.Batch, error) {
	if b.batch != nil && b.batch.At == at {
		return b.batch, nil
	}
	err := b.end()
	b.batch = b.begin(at)
	return b.batch, err
}

// end ends the current batch.
func (b *batches) end() error {
	if b.batch == nil {
		return nil
	}
	b.entry = b.batch.AppendEntry(b.entry[:0])
	return b.f(b.entry)
}

// eachBatchEntry calls f for the batches of a query. Its first column is the instant of the batch, and row adds the
// rest.
func eachBatchEntry(
	tx *tx, begin func(at int64) *proof.Batch, query string, args []any, f entryFunc,
	row func(scan scanFunc, at *int64) (add func(*proof.Batch), err error),
) error {
	b := batches{begin: begin, f: f}
	err := tx.each(query, args, func(scan scanFunc) error {
		var at int64
		add, err := row(scan, &at)
		if err != nil {
			return err
		}
		batch, err := b.at(at)
		if err == nil {
			add(batch)
		}
		return err
	})
	if err != nil {
		return err
	}
	return b.end()
}

func beginBatch(s proof.Salt, kind string) func(at int64) *proof.Batch {
	return func(at int64) *proof.Batch { return proof.NewBatch(s, kind, at) }
}

func eachConflictsEntry(tx *tx, s proof.Salt, after, upTo int64, f entryFunc) error {
	var t assay.Transaction
	var evidence string
	var sum int64
	add := func(b *proof.Batch) { b.AddConflict(&t) }
	return eachBatchEntry(tx, beginBatch(s, proof.ConflictsKind),
		`SELECT received_at, source, c.id, c.executed_at, gpu_name, `+regionName("")+`, provider, price_nanos, gpus,
			hour_micros, verified, evidence, verified_by, checksum
			FROM conflicts c LEFT JOIN sources USING (source_id) LEFT JOIN gpus USING (gpu_id)
			LEFT JOIN providers USING (provider_id) LEFT JOIN regions USING (region_id)
			WHERE received_at > $1 AND received_at <= $2
			ORDER BY received_at, source, c.id, checksum`, []any{after, upTo}, f,
		func(scan scanFunc, at *int64) (func(*proof.Batch), error) {
			err := scan(at, &t.Source, &t.ID, &t.ExecutedAt, &t.GPU, &t.Region, &t.Provider, &t.Price, &t.GPUs,
				&t.HourMicros, &t.Verified, &evidence, &t.VerifiedBy, &sum)
			if err != nil {
				return nil, err
			}
			if t.Evidence, err = assay.ParseEvidence(evidence); err != nil || sum != contentSum(&t) || !t.HasWholeEvidence() {
				return nil, damagedConflict(&t)
			}
			return add, nil
		})
}

func eachObservationsEntry(tx *tx, s proof.Salt, family assay.Family, after, upTo int64, f entryFunc) error {
	var key, body string
	var revision, sum int64
	add := func(b *proof.Batch) { b.AddObservation(key, revision, body) }
	begin := func(at int64) *proof.Batch { return proof.NewObservations(s, family.String(), at) }
	return eachBatchEntry(tx, begin, `SELECT received_at, key, revision, body, checksum FROM observations
		WHERE family = $1 AND received_at > $2 AND received_at <= $3 ORDER BY received_at, observation`,
		[]any{family.String(), after, upTo}, f,
		func(scan scanFunc, at *int64) (func(*proof.Batch), error) {
			err := scan(at, &key, &revision, &body, &sum)
			o := Observation{Key: key, Body: []byte(body)}
			if err == nil && sum != observationSum(family, o, revision, *at) {
				err = fmt.Errorf("%w: %s %s, revision %d, does not match its checksum", ErrDamaged, family, key, revision)
			}
			return add, err
		})
}

func eachUtilizationEntry(tx *tx, s proof.Salt, after, upTo int64, f entryFunc) error {
	var r assay.UtilizationReading
	add := func(b *proof.Batch) { b.AddUtilization(&r) }
	return eachBatchEntry(tx, beginBatch(s, proof.UtilizationKind),
		`SELECT received_at, source, gpu_name, `+regionName("")+`, recorded_at, rented_gpus, tracked_gpus, revision
			FROM utilization LEFT JOIN sources USING (source_id) LEFT JOIN gpus USING (gpu_id)
			LEFT JOIN regions USING (region_id) WHERE received_at > $1 AND received_at <= $2
			ORDER BY received_at, gpu_name, coalesce(region, ''), recorded_at, source, revision`, []any{after, upTo}, f,
		func(scan scanFunc, at *int64) (func(*proof.Batch), error) {
			return add, scan(at, &r.Source, &r.GPU, &r.Region, &r.At, &r.Rented, &r.Tracked, &r.Revision)
		})
}

func eachRealtimeEntry(tx *tx, s proof.Salt, after, upTo int64, f entryFunc) error {
	var line assay.Line
	var p assay.RealtimePrint
	add := func(b *proof.Batch) { p.At = b.At; b.AddPrint(line, &p) }
	return eachBatchEntry(tx, beginBatch(s, proof.RealtimeKind),
		`SELECT at, gpu_name, `+regionName(assay.Global)+`, value_nanos, transactions, hour_micros
			FROM realtime LEFT JOIN gpus USING (gpu_id) LEFT JOIN regions USING (region_id)
			WHERE at > $1 AND at <= $2 ORDER BY at, gpu_id, region_id`, []any{after, upTo}, f,
		func(scan scanFunc, at *int64) (func(*proof.Batch), error) {
			return add, scan(at, &line.GPU, &line.Region, &p.Value, &p.Transactions, &p.HourMicros)
		})
}

// catalogEntry is the entry of the catalog as it is; nil if it is empty, as when the database is being created. Its
// text has a line for each thing, in the order of the catalog.
func catalogEntry(tx *tx, version int64) ([]byte, error) {
	c, err := readCatalog(tx)
	if err != nil || len(c.GPUs) == 0 {
		return nil, err
	}
	var text []byte
	line := func(kind string, fields ...string) {
		text = append(text, kind...)
		for _, field := range fields {
			text = assay.AppendString(append(text, '\t'), field)
		}
		text = append(text, '\n')
	}
	for _, g := range c.GPUs {
		line("gpu", g.Name, strconv.FormatBool(g.Free))
	}
	for _, r := range c.Regions {
		line("region", r)
	}
	for _, l := range c.Labs {
		line("lab", l.Lab, l.Label, strconv.FormatBool(l.Free))
	}
	for _, m := range c.MemoryTypes {
		line("memory type", m.ID, m.MemoryType, m.Category)
	}
	err = tx.each(`SELECT id, label, category, kind, tool, tool2, coalesce(series_label, ''), coalesce(series_label2, '')
		FROM coding_products ORDER BY position`, nil, func(scan scanFunc) error {
		var p [8]string
		err := scan(&p[0], &p[1], &p[2], &p[3], &p[4], &p[5], &p[6], &p[7])
		line("coding product", p[:]...)
		return err
	})
	if err != nil {
		return nil, err
	}
	err = tx.each(`SELECT kind, name FROM hidden ORDER BY kind, name`, nil, func(scan scanFunc) error {
		var kind, name string
		err := scan(&kind, &name)
		line("hidden", kind, name)
		return err
	})
	return proof.AppendCatalogEntry(nil, version, text), err
}
