package store

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"

	"github.com/assaydata/assay"
)

// AppendUtilization stores a batch of readings in one transaction: all of it or nothing. Source, GPU, region and
// instant identify a reading, so a repeated batch changes nothing. Other numbers are a conflict or, if revise is set, a
// new revision, which counts as inserted.
func (db *DB) AppendUtilization(
	ctx context.Context, batch []assay.UtilizationReading, revise bool,
) (a Appended, err error) {
	err = db.write(ctx, func(tx *tx) error {
		a, err = appendUtilization(tx, batch, revise)
		return err
	})
	return a, err
}

func appendUtilization(tx *tx, batch []assay.UtilizationReading, revise bool) (a Appended, err error) {
	received, err := nextReceived(tx, "utilization")
	if err != nil {
		return a, err
	}
	in, err := newReadings(tx, received, revise)
	if err != nil {
		return a, err
	}
	defer in.close()
	for i := range batch {
		inserted, same, err := in.append(&batch[i])
		switch {
		case err != nil:
			return a, err
		case inserted:
			a.Inserted++
		case same:
			a.Duplicates++
		default:
			a.Conflicts = append(a.Conflicts, i)
		}
	}
	if a.Inserted == 0 {
		return a, nil
	}
	tx.logDue = true
	return a, tx.exec(`UPDATE counters SET value = $1 WHERE name = 'utilization'`, received)
}

// nextReceived returns the received_at of a batch: now, or later if needed to exceed every earlier one, and what was
// known for a record of a value. So a reader who has seen one batch finds the next, even if both came in one
// millisecond or the clock was set back. The counter of the family has the last one, if there was any.
func nextReceived(tx *tx, counter string) (received int64, err error) {
	err = tx.QueryRowContext(tx.ctx, `SELECT coalesce(max(value) + 1, 0) FROM counters WHERE name IN ($1, $2)`,
		counter, "values_known_at").Scan(&received)
	return max(received, tx.now), err
}

// readings writes one batch.
type readings struct {
	tx           *tx
	names        dictionary
	received     int64
	revise       bool
	insert, find *sql.Stmt
}

func newReadings(tx *tx, received int64, revise bool) (in *readings, err error) {
	in = &readings{tx: tx, received: received, revise: revise}
	if in.names, err = readDictionary(tx); err != nil {
		return nil, err
	}
	in.insert, err = tx.PrepareContext(tx.ctx, `INSERT INTO utilization
		(recorded_at, source_id, gpu_id, region_id, rented_gpus, tracked_gpus, received_at, revision)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING`)
	if err != nil {
		return nil, err
	}
	in.find, err = tx.PrepareContext(tx.ctx, `SELECT rented_gpus = $5 AND tracked_gpus = $6, revision FROM utilization
		WHERE recorded_at = $1 AND source_id = $2 AND gpu_id = $3 AND region_id = $4 ORDER BY revision DESC LIMIT 1`)
	return in, err
}

// append inserts a reading, or compares it with the newest revision that is stored.
func (in *readings) append(r *assay.UtilizationReading) (inserted, same bool, err error) {
	source, err := in.names.sources.add(in.tx, insertSource, r.Source)
	if err != nil {
		return false, false, err
	}
	gpu, ok := in.names.gpus.ids[r.GPU]
	if !ok {
		return false, false, fmt.Errorf("utilization reading of %s: GPU %q is not in the catalog", r.Source, r.GPU)
	}
	region, ok := in.names.regions.ids[r.Region]
	if !ok && r.Region != "" {
		return false, false, fmt.Errorf("utilization reading of %s: region %q is not in the catalog", r.Source, r.Region)
	}
	row := []any{r.At, source, gpu, region, r.Rented, r.Tracked}
	if inserted, err = in.add(row, 0); inserted || err != nil { // nearly all are new
		return inserted, false, err
	}
	var newest int
	if err = in.find.QueryRowContext(in.tx.ctx, row...).Scan(&same, &newest); same || !in.revise || err != nil {
		return false, same, err
	}
	inserted, err = in.add(row, newest+1)
	return inserted, false, err
}

// add inserts a revision, unless it is known.
func (in *readings) add(row []any, revision int) (inserted bool, err error) {
	result, err := in.insert.ExecContext(in.tx.ctx, append(slices.Clip(row), in.received, revision)...)
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n > 0, err
}

func (in *readings) close() {
	_ = in.insert.Close()
	_ = in.find.Close()
}

// maxTracked is the most that readings can have: they are summed up.
const maxTracked = math.MaxUint32

// EachUtilization calls f for every reading received in (after, upTo], in the order of receipt, GPU, region, instant,
// source and revision. The reading is reused between calls.
func (db *DB) EachUtilization(
	ctx context.Context, after, upTo int64, f func(*assay.UtilizationReading) error,
) error {
	return db.read(ctx, func(tx *tx) error {
		d, err := readDictionary(tx)
		if err != nil {
			return err
		}
		var r assay.UtilizationReading
		var source, gpu, region int64
		return tx.each(`SELECT recorded_at, source_id, gpu_id, region_id, rented_gpus, tracked_gpus, received_at, revision
			FROM utilization WHERE received_at > $1 AND received_at <= $2
			ORDER BY received_at, gpu_id, region_id, recorded_at, source_id, revision`,
			[]any{after, upTo}, func(scan scanFunc) error {
				err := scan(&r.At, &source, &gpu, &region, &r.Rented, &r.Tracked, &r.Received, &r.Revision)
				if err != nil {
					return err
				}
				r.Source, r.GPU, r.Region = d.sources.texts[source], d.gpus.texts[gpu], d.regions.texts[region]
				if r.Rented < 0 || r.Rented > r.Tracked || r.Tracked < 1 || r.Tracked > maxTracked {
					return fmt.Errorf("%w: the reading of %s has %d of %d GPUs", ErrDamaged, r.Key(), r.Rented, r.Tracked)
				}
				return f(&r)
			})
	})
}
