package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"maps"
	"math"
	"slices"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/proof"
)

// Ledger describes everything in the database as of one moment, without the transactions and records themselves. A
// reader who goes through those afterwards skips what is newer than the counters.
type Ledger struct {
	Counters      Counters
	Methodologies []assay.MethodologyFile
	Receipts      []Receipt
	assay.Amendments
	Notices      []assay.Notice
	Publications []assay.Publication
	Covers       Covers
	Coverage     Coverage
	Chains       []Chain
	Manifests    []assay.Manifest // in the order in which they were signed
	Unsigned     []int64
	Records      int64 // how many there are
	Packed       int64 // the version up to which points are packed
	Log          LedgerLog
}

// LedgerLog describes the log.
type LedgerLog struct {
	Origin      string
	Size        int64
	Listed      map[string]int64 // by the name of a numbered kind: the newest number
	Checkpoints []proof.SignedCheckpoint
	Anchors     []proof.Anchor
	KeyEvents   string // one in each line
}

// Ledger reads the ledger. A row that does not match its checksum, a missing number and a point without a record are an
// ErrDamaged that names them.
func (db *DB) Ledger(ctx context.Context) (l Ledger, err error) {
	err = db.read(ctx, l.readAll)
	return l, err
}

func (l *Ledger) readAll(t *tx) error {
	steps := []func(*tx) error{l.readNumbers, l.readReceived, l.readPublished, l.readManifests, l.countRecords, l.readLog}
	for _, read := range steps {
		if err := read(t); err != nil {
			return err
		}
	}
	return nil
}

// readNumbers reads the counters and checks that no number is missing in the numbered tables.
func (l *Ledger) readNumbers(tx *tx) (err error) {
	if l.Counters, err = readCounters(tx); err != nil {
		return err
	}
	for _, list := range []struct {
		thing, query string
		count        int64
	}{
		{"receipt", `SELECT receipt FROM receipts ORDER BY receipt`, l.Counters.Receipt},
		{"verification", `SELECT event FROM verifications ORDER BY event`, -1}, // there is no counter for them
		{"publication", `SELECT version FROM publications ORDER BY version`, l.Counters.Publication},
		{"manifest", `SELECT sequence FROM manifests ORDER BY sequence`, l.Counters.Manifest},
		{"notice", `SELECT notice FROM notices ORDER BY notice`, l.Counters.Notices},
		{"restatement", `SELECT restatement FROM restatements ORDER BY restatement`, l.Counters.Restatements},
		{"value record", `SELECT value_record FROM value_records ORDER BY value_record`, l.Counters.ValueRecords},
		{"methodology", `SELECT row_number() OVER () FROM methodologies`, l.Counters.Methodology},
	} {
		if err := checkNumbers(tx, list.thing, list.query, list.count); err != nil {
			return err
		}
	}
	return nil
}

// checkNumbers checks that a query returns the numbers from 1 to the count; with the count -1, from 1 without gaps.
func checkNumbers(tx *tx, thing, query string, count int64) error {
	last := int64(0)
	err := tx.each(query, nil, func(scan scanFunc) error {
		var number int64
		if err := scan(&number); err != nil {
			return err
		}
		if last++; number != last {
			return fmt.Errorf("%w: %s %d is missing; the next one is %d", ErrDamaged, thing, last, number)
		}
		return nil
	})
	if err == nil && count >= 0 && last != count {
		err = fmt.Errorf("%w: there should be %d rows of type %s, but there are %d", ErrDamaged, count, thing, last)
	}
	return err
}

func (l *Ledger) readReceived(tx *tx) (err error) {
	if l.Methodologies, err = readMethodologies(tx); err != nil {
		return err
	}
	if l.Receipts, err = readReceipts(tx); err != nil {
		return err
	}
	if l.Notices, err = readNotices(tx, 0, math.MaxInt64); err != nil {
		return err
	}
	if l.Amendments, err = readAmendments(tx, math.MinInt64, math.MaxInt64); err != nil {
		return err
	}
	// One whose instant is not a number is in no period, and was not read.
	numbers := `SELECT correction FROM corrections ORDER BY correction`
	return checkNumbers(tx, "correction", numbers, int64(len(l.Corrections)))
}

func (l *Ledger) readPublished(tx *tx) (err error) {
	if l.Publications, err = readPublications(tx); err != nil {
		return err
	}
	if l.Covers, err = readCovers(tx, ``); err != nil {
		return err
	}
	if l.Coverage, err = readCoverage(tx); err != nil {
		return err
	}
	if l.Packed, err = packedUpTo(tx); err != nil {
		return err
	}
	l.Chains, err = readChains(tx)
	return err
}

// readPublications reads all publications and checks them, together with their covers.
func readPublications(tx *tx) (list []assay.Publication, err error) {
	var sums []int64
	err = tx.each(`SELECT `+publicationColumns+`, checksum,
		reason IS NOT NULL AND reason = '' OR actor IS NOT NULL AND actor = ''
		FROM publications ORDER BY version`, nil, func(scan scanFunc) error {
		var p assay.Publication
		var sum int64
		var empty bool // an empty text where there should be NULL
		if err := scan(append(publicationFields(&p), &sum, &empty)...); err != nil {
			return err
		}
		if empty {
			return damagedPublication(&p)
		}
		list, sums = append(list, p), append(sums, sum)
		return nil
	})
	if err != nil {
		return list, err
	}
	return list, checkPublications(tx, list, sums)
}

func damagedPublication(p *assay.Publication) error {
	return fmt.Errorf("%w: publication %d of %s, or the time it covers, does not match its checksum",
		ErrDamaged, p.Version, assay.FormatInstant(p.PublishedAt))
}

// checkPublications compares publications, in the order of their versions, with their checksums. These include the
// covers, of which there are many, so it reads those of one version after another.
func checkPublications(tx *tx, list []assay.Publication, sums []int64) error {
	covers := Coverage{} // of the first publication that is not checked
	next := func() error {
		if publicationSum(list[0], covers) != sums[0] {
			return damagedPublication(&list[0])
		}
		list, sums, covers = list[1:], sums[1:], Coverage{}
		return nil
	}
	err := tx.each(`SELECT version, coalesce(gpu_name, ''), grain, from_ms, to_ms
		FROM publication_covers LEFT JOIN gpus USING (gpu_id) ORDER BY version`, nil, func(scan scanFunc) error {
		var version int64
		var key CoverageKey
		var span Span
		if err := scan(&version, &key.GPU, (*grainText)(&key.Grain), &span.From, &span.To); err != nil {
			return err
		}
		for len(list) > 0 && list[0].Version < version {
			if err := next(); err != nil {
				return err
			}
		}
		if len(list) == 0 || list[0].Version != version {
			return fmt.Errorf("%w: there is time covered by publication %d, but no such publication", ErrDamaged, version)
		}
		covers[key] = append(covers[key], span)
		return nil
	})
	for err == nil && len(list) > 0 {
		err = next()
	}
	return err
}

func (l *Ledger) readManifests(tx *tx) (err error) {
	if l.Manifests, err = readManifests(tx, `ORDER BY sequence`); err != nil {
		return err
	}
	l.Unsigned, err = readUnsigned(tx)
	return err
}

func (l *Ledger) readLog(tx *tx) (err error) {
	if l.Log.Size, err = tx.counter("log"); err != nil {
		return err
	}
	if l.Log.Checkpoints, err = readCheckpoints(tx); err != nil {
		return err
	}
	if l.Log.Anchors, err = readAnchors(tx); err != nil {
		return err
	}
	last := int64(0)
	if n := len(l.Log.Checkpoints); n > 0 {
		last = l.Log.Checkpoints[n-1].Size
	}
	if last != l.Counters.Checkpoint {
		return fmt.Errorf("%w: the last checkpoint of the log should have %d entries, but it has %d",
			ErrDamaged, l.Counters.Checkpoint, last)
	}
	if l.Log.Origin, err = readLogOrigin(tx); err != nil {
		return err
	}
	if l.Log.KeyEvents, err = readKeyEvents(tx); err != nil {
		return err
	}
	l.Log.Listed = map[string]int64{}
	for _, k := range numberedKinds {
		if l.Log.Listed[k.name], err = k.newest(tx); err != nil {
			return err
		}
	}
	return l.checkLogged(tx)
}

// afterUpgrade is the harmless reason for a log that lags behind: an upgrade whose last node is not replaced yet.
const afterUpgrade = "; if a program of a release before 0.6.0 has written since the tables were upgraded, " +
	"run 'assay publish' with this one, and verify again"

// checkLogged checks that the log is said to list everything.
func (l *Ledger) checkLogged(tx *tx) error {
	listed := map[string]int64{}
	err := tx.each(`SELECT kind, number FROM log_progress UNION ALL SELECT $1, count(*) FROM log_methodologies
		WHERE version IN (SELECT version FROM methodologies)`, []any{proof.MethodologyKind}, func(scan scanFunc) error {
		var kind string
		var number int64
		err := scan(&kind, &number)
		listed[kind] = number
		return err
	})
	if err != nil {
		return err
	}
	there := maps.Clone(l.Log.Listed)
	there[proof.CatalogKind] = l.Counters.Catalog
	there[proof.PublicationKind] = l.Counters.Publication
	there[proof.ManifestKind] = l.Counters.Manifest
	there[proof.MethodologyKind] = l.Counters.Methodology
	for _, kind := range slices.Sorted(maps.Keys(there)) {
		if listed[kind] != there[kind] {
			return fmt.Errorf("%w: the log lists everything of type %s up to number %d, but the last number is %d%s",
				ErrDamaged, kind, listed[kind], there[kind], afterUpgrade)
		}
	}
	return nil
}

// countRecords counts the records. A point without a record and a record without a series are an error that names them.
func (l *Ledger) countRecords(tx *tx) error {
	var points int64
	err := tx.QueryRowContext(tx.ctx,
		`SELECT (SELECT count(*) FROM points), (SELECT count(*) FROM records)`).Scan(&points, &l.Records)
	if err != nil {
		return err
	}
	err = tx.each(`SELECT series_id, gpu_id, region_id, grain FROM series WHERE gpu_id NOT IN (SELECT gpu_id FROM gpus)
		OR region_id <> 0 AND region_id NOT IN (SELECT region_id FROM regions)`, nil, func(scan scanFunc) error {
		var series, gpu, region int64
		var grain string
		if err := scan(&series, &gpu, &region, &grain); err != nil {
			return err
		}
		return fmt.Errorf("%w: series %d, %s of GPU %d in region %d, is not in the catalog",
			ErrDamaged, series, grain, gpu, region)
	})
	if err != nil {
		return err
	}
	stray := `SELECT series_id, at FROM records WHERE series_id NOT IN (SELECT series_id FROM series) LIMIT 1`
	what := "a record of a missing series"
	if points > l.Records {
		stray = `SELECT p.series_id, p.at FROM points p LEFT JOIN records r USING (series_id, at, revision)
			WHERE r.at IS NULL LIMIT 1`
		what = "a published point without a record"
	}
	keys, err := readSeriesKeys(tx)
	if err != nil {
		return err
	}
	return tx.each(stray, nil, func(scan scanFunc) error {
		var series, at int64
		if err := scan(&series, &at); err != nil {
			return err
		}
		key := keys[series]
		return fmt.Errorf("%w: there is %s: number %d, %s %s %s at %s",
			ErrDamaged, what, series, key.GPU, key.Region, key.Grain, assay.FormatInstant(at))
	})
}

// NextActivity returns the first instant from the given one on at which an hour with transactions begins or which the
// window of a record contains; ok is false when there is none.
func (db *DB) NextActivity(ctx context.Context, from int64) (at int64, ok bool, err error) {
	err = db.read(ctx, func(tx *tx) error {
		ok = false
		first, _ := segmentsOf(from, assay.Latest)
		var segment, record sql.NullInt64
		err := tx.each(`SELECT min(segment) FROM segments WHERE segment >= $1`, []any{int64(first)},
			func(scan scanFunc) error { return scan(&segment) })
		if err != nil {
			return err
		}
		err = tx.each(`SELECT min(at) FROM
			(SELECT (SELECT min(r.at) FROM records r WHERE r.series_id = s.series_id AND r.at > $1)
			AS at FROM series s) first_of_series`, []any{from}, func(scan scanFunc) error {
			if err := scan(&record); err != nil {
				return fmt.Errorf("%w: a record has an instant of another type: %w", ErrDamaged, err)
			}
			return nil
		})
		if err != nil {
			return err
		}
		at, ok = math.MaxInt64, segment.Valid || record.Valid
		if segment.Valid {
			at = segmentNumber(segment.Int64).hour()
		}
		if record.Valid {
			at = min(at, record.Int64-1) // its window ends at its instant
		}
		return nil
	})
	return at, ok, err
}

// ledgerSum returns a CRC-32C over the fields of a row of the ledger. Like that of a segment it detects damage,
// including damage to texts that no record repeats, such as an actor and a reason.
func ledgerSum(fields ...any) int64 {
	var b []byte
	for _, field := range fields {
		switch f := field.(type) {
		case int64:
			b = binary.LittleEndian.AppendUint64(b, uint64(f))
		case string:
			b = append(binary.AppendUvarint(b, uint64(len(f))), f...)
		default:
			panic(fmt.Sprintf("a checksum cannot contain a field of type %T", field))
		}
	}
	return int64(crc32.Checksum(b, castagnoli))
}

func publicationSum(p assay.Publication, covers Coverage) int64 {
	fields := []any{p.Version, p.PublishedAt, p.Methodology, p.Receipt, p.Reason, p.Actor}
	keys := slices.SortedFunc(maps.Keys(covers), func(a, b CoverageKey) int {
		return cmp.Or(cmp.Compare(a.GPU, b.GPU), cmp.Compare(a.Grain, b.Grain))
	})
	for _, key := range keys {
		spans := slices.SortedFunc(slices.Values(covers[key]), func(a, b Span) int { return cmp.Compare(a.From, b.From) })
		for _, s := range spans {
			fields = append(fields, key.GPU, key.Grain.String(), s.From, s.To)
		}
	}
	return ledgerSum(fields...)
}
