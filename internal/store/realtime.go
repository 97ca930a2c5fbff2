package store

import (
	"context"
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
		if err := tx.exec(`DELETE FROM realtime WHERE at < $1`, upTo-realtimeRetention); err != nil {
			return err
		}
		return tx.exec(`UPDATE counters SET value = $1 WHERE name = 'realtime' AND value < $1`, upTo)
	})
}

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
