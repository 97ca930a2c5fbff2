package store

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/proof"
)

// The entries of the log, as they follow from the tables. The writer appends them, and a verification compares them
// with the log.

// methodologiesWhere reads methodologies in the order of their adoption.
func methodologiesWhere(tx *tx, where string) (list []assay.MethodologyFile, err error) {
	err = tx.each(`SELECT `+methodologyColumns+` FROM methodologies `+where+`
		ORDER BY adopted_at, effective_at`, nil, func(scan scanFunc) error {
		var m assay.MethodologyFile
		err := scan(methodologyFields(&m)...)
		list = append(list, m)
		return err
	})
	return list, err
}

func publicationEntry(tx *tx, salt proof.Salt, version int64) (entry []byte, err error) {
	var p assay.Publication
	err = tx.QueryRowContext(tx.ctx, `SELECT `+publicationColumns+` FROM publications WHERE version = $1`, version).
		Scan(publicationFields(&p)...)
	if err != nil {
		return nil, err
	}
	var covers []byte
	err = tx.each(`SELECT gpu_name, grain, from_ms, to_ms FROM publication_covers JOIN gpus USING (gpu_id)
		WHERE version = $1 ORDER BY gpu_name, grain, from_ms`, []any{version}, func(scan scanFunc) error {
		var gpu string
		var grain assay.Grain
		var from, to int64
		err := scan(&gpu, (*grainText)(&grain), &from, &to)
		covers = proof.AppendCover(covers, gpu, grain, from, to)
		return err
	})
	return proof.AppendPublicationEntry(nil, salt, &p, covers), err
}

// A group of series has about groupRecords records, and not too many series for the parameters of a query.
const (
	groupRecords = 20_000
	groupSeries  = 500
)

// seriesGroups divides the series of a publication into groups, in the order of its records.
func seriesGroups(tx *tx, version int64) (groups [][]any, err error) {
	var records int64
	err = tx.each(`SELECT `+seriesNames+`, series_id, p.first_at, p.last_at FROM publication_series p
		JOIN series USING (series_id) `+joinSeriesNames+`
		WHERE p.version = $1 ORDER BY gpu_name, region_name, grain`, []any{version}, func(scan scanFunc) error {
		var key SeriesKey
		var id, first, last int64
		if err := scan(&key.GPU, &key.Region, (*grainText)(&key.Grain), &id, &first, &last); err != nil {
			return err
		}
		if n := len(groups); n == 0 || records >= groupRecords || len(groups[n-1]) == groupSeries {
			groups, records = append(groups, nil), 0
		}
		slot := assay.Hour
		if key.Grain == assay.Daily {
			slot = assay.Day
		}
		records += (last-first)/slot + 1
		groups[len(groups)-1] = append(groups[len(groups)-1], id)
		return nil
	})
	return groups, err
}

// eachRecordEntry calls f for the entry of each record of a publication, of these series or, without any, of all. The
// entry is reused.
func eachRecordEntry(tx *tx, version int64, series []any, f func(hash assay.Hash, entry []byte)) error {
	var entry, body []byte
	var wanted strings.Builder
	for i := range series {
		fmt.Fprintf(&wanted, ", $%d", i+2)
	}
	condition := ""
	if len(series) > 0 {
		condition = ` AND p.series_id IN (` + wanted.String()[2:] + `)`
	}
	query := `SELECT ` + seriesNames + `, r.at, r.revision, r.body FROM publication_series p
		JOIN series USING (series_id) ` + joinSeriesNames + `
		JOIN records r ON r.series_id = p.series_id AND r.at >= p.first_at AND r.at <= p.last_at
		WHERE p.version = $1` + condition + ` ORDER BY gpu_name, region_name, grain, r.at, r.revision`
	return tx.each(query, append([]any{version}, series...), func(scan scanFunc) error {
		var d assay.Determination
		if err := scan(&d.GPU, &d.Region, (*grainText)(&d.Grain), &d.At, &d.Revision, &body); err != nil {
			return err
		}
		made, n := binary.Varint(body)
		if n <= 0 || len(body) < len(d.Hash) {
			return errBody
		}
		if made != version { // another version of the same time
			return nil
		}
		copy(d.Hash[:], body[len(body)-len(d.Hash):])
		entry = proof.AppendRecordEntry(entry[:0], &d, version)
		f(d.Hash, entry)
		return nil
	})
}

// EachExpectedEntry calls f for each entry that the log must have, as of a moment, except for those of records and of
// transactions. The entry is reused.
func (db *DB) EachExpectedEntry(ctx context.Context, l *Ledger, f func(kind string, entry []byte) error) error {
	return db.read(ctx, func(tx *tx) error {
		salt, err := readLogSalt(tx)
		if err != nil {
			return err
		}
		var entry []byte
		for i := range l.Methodologies {
			entry = proof.AppendMethodologyEntry(entry[:0], salt, &l.Methodologies[i])
			if err := f(proof.MethodologyKind, entry); err != nil {
				return err
			}
		}
		for i := range l.Manifests {
			entry = proof.AppendManifestEntry(entry[:0], &l.Manifests[i])
			if err := f(proof.ManifestKind, entry); err != nil {
				return err
			}
		}
		for i := range l.Publications {
			entry, err := publicationEntry(tx, salt, l.Publications[i].Version)
			if err != nil {
				return err
			}
			if err := f(proof.PublicationKind, entry); err != nil {
				return err
			}
		}
		for _, k := range numberedKinds {
			if k.name == proof.RealtimeKind {
				continue // see EachKeptEntry
			}
			err := k.each(tx, salt, math.MinInt64, l.Log.Listed[k.name], func(entry []byte) error {
				return f(proof.EntryKind(entry), entry)
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// EachKeptEntry calls f for each entry that the log must have of what changes or is deleted in the database, and of
// which the log therefore has more: the catalog and real-time prints. It returns since when all prints are there. The
// entry is reused.
func (db *DB) EachKeptEntry(ctx context.Context, l *Ledger, f func(entry []byte) error) (since int64, err error) {
	err = db.read(ctx, func(tx *tx) error {
		salt, err := readLogSalt(tx)
		if err != nil {
			return err
		}
		now, err := readCounters(tx)
		if err != nil {
			return err
		}
		if now.Catalog == l.Counters.Catalog { // it has not been changed meanwhile
			entry, err := catalogEntry(tx, now.Catalog)
			if err == nil {
				err = f(entry)
			}
			if err != nil {
				return err
			}
		}
		since = now.Realtime - realtimeRetention
		return eachRealtimeEntry(tx, salt, math.MinInt64, l.Counters.Realtime, f)
	})
	return since, err
}

// EachTransactionsEntry calls f for each entry of transactions that the log must have, as of a moment.
func (db *DB) EachTransactionsEntry(ctx context.Context, l *Ledger, f func(entry []byte) error) error {
	return db.read(ctx, func(tx *tx) error {
		numbers, err := segmentNumbers(tx, `WHERE `+receiptColumn+` <= $1`, l.Counters.Receipt)
		if err != nil {
			return err
		}
		return eachTransactionsEntry(tx, numbers, f)
	})
}

// EachRecordEntry calls f for the entry of each record, as of a moment. The entry is reused.
func (db *DB) EachRecordEntry(ctx context.Context, l *Ledger, f func(entry []byte) error) error {
	return db.read(ctx, func(tx *tx) (err error) {
		for i := range l.Publications {
			failed := eachRecordEntry(tx, l.Publications[i].Version, nil, func(_ assay.Hash, entry []byte) {
				if err == nil {
					err = f(entry)
				}
			})
			if err == nil {
				err = failed
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}
