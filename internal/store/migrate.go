package store

import (
	"github.com/assaydata/assay"
)

// moves are what migrations leave to the program, by file.
var moves = map[string]func(*tx) error{"migrations/sqlite/002_proof.sql": moveTransactions}

// moveRows is how many transactions are moved at once; a test's are few.
var moveRows = 250_000

// moveTransactions brings transactions over from the table before receipts and checksums.
func moveTransactions(tx *tx) error {
	d, err := readDictionary(tx)
	if err != nil {
		return err
	}
	batch := make([]assay.Transaction, 0, 1024)
	flush := func() error {
		_, err := appendTransactions(tx, batch)
		batch = batch[:0]
		return err
	}
	var source, gpu, region, provider int64
	err = tx.each(`SELECT executed_at, source_id, id, gpu_id, region_id, provider_id, price_nanos, gpus, hour_micros, verified FROM transactions_1
		ORDER BY executed_at, source_id, id`, nil, func(scan scanFunc) error {
		var t assay.Transaction
		if err := scan(&t.ExecutedAt, &source, &t.ID, &gpu, &region, &provider, &t.Price, &t.GPUs, &t.HourMicros, &t.Verified); err != nil {
			return err
		}
		t.Source, t.GPU, t.Region, t.Provider = d.sources.texts[source], d.gpus.texts[gpu], d.regions.texts[region], d.providers.texts[provider]
		if batch = append(batch, t); len(batch) < moveRows {
			return nil
		}
		return flush()
	})
	if err == nil {
		err = flush()
	}
	if err != nil {
		return err
	}
	return tx.exec(`DROP TABLE transactions_1`)
}
