package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/assaydata/assay"
)

// LinePrint is a real-time print of a line.
type LinePrint struct {
	assay.Line
	assay.RealtimePrint
}

// realtimeRetention is how long real-time prints are stored.
const realtimeRetention = 2 * assay.Day

// AppendRealtime adds prints up to an instant and deletes old ones. A minute that has been printed does not change, nor
// get more lines: readers have it already.
func (db *DB) AppendRealtime(ctx context.Context, prints []LinePrint, upTo int64) error {
	return db.write(ctx, func(tx *tx) error {
		d, err := readDictionary(tx)
		if err != nil {
			return err
		}
		tx.logDue = true
		printed, err := tx.counter("realtime")
		if err != nil {
			return err
		}
		insert, err := tx.engine.newBulk(tx, realtimeTable)
		if err != nil {
			return err
		}
		defer insert.close()
		for _, p := range prints {
			if p.At <= printed {
				continue
			}
			gpu, ok := d.gpus.ids[p.GPU]
			region, inRegion := d.regions.ids[p.Region]
			if !ok || !inRegion && p.Region != assay.Global {
				return fmt.Errorf("real-time print of %s in %s: not in the catalog", p.GPU, p.Region)
			}
			if err := insert.add(p.At, gpu, region, int64(p.Value), p.Transactions, p.HourMicros); err != nil {
				return err
			}
		}
		if err := insert.flush(); err != nil {
			return err
		}
		if err := deleteOldPrints(tx, upTo-realtimeRetention); err != nil {
			return err
		}
		return tx.exec(`UPDATE counters SET value = $1 WHERE name = 'realtime' AND value < $1`, upTo)
	})
}

// deleteOldPrints deletes the oldest minutes before an instant: usually all of them, but after a pause, when there are
// millions, about as many prints as one call stores.
func deleteOldPrints(tx *tx, before int64) error {
	last := before - 1
	err := tx.QueryRowContext(tx.ctx, `SELECT at FROM realtime WHERE at < $1 ORDER BY at LIMIT 1 OFFSET $2`,
		before, deletedPrints).Scan(&last)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	return tx.exec(`DELETE FROM realtime WHERE at <= $1`, last)
}

// deletedPrints is about how many prints are deleted at once.
const deletedPrints = 30_000

// Realtime reads the prints in (after, upTo], in the order of time. The counter Realtime is the instant of the newest.
func (db *DB) Realtime(ctx context.Context, after, upTo int64) (prints []LinePrint, err error) {
	err = db.read(ctx, func(tx *tx) error {
		prints = nil
		return tx.each(`SELECT gpu_name, coalesce(region, 'global'), at, value_nanos, transactions, hour_micros
			FROM realtime JOIN gpus USING (gpu_id) LEFT JOIN regions USING (region_id)
			WHERE at > $1 AND at <= $2 ORDER BY at, gpu_id, region_id`, []any{after, upTo}, func(scan scanFunc) error {
			var p LinePrint
			if err := scan(&p.GPU, &p.Region, &p.At, &p.Value, &p.Transactions, &p.HourMicros); err != nil {
				return err
			}
			prints = append(prints, p)
			return nil
		})
	})
	return prints, err
}
