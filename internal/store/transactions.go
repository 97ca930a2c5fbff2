package store

import (
	"context"
	"fmt"

	"github.com/assaydata/assay"
)

// Appended tells what became of a batch.
type Appended struct {
	Inserted   int
	Duplicates int   // rows that were there already, with the same content
	Conflicts  []int // positions of rows whose id is known with other content; they changed nothing
}

const transactionColumns = 11

const insertTransactions = `INSERT INTO transactions (executed_at, source_id, id, gpu_id, region_id, provider_id,
	price_nanos, gpus, hour_micros, verified, received_at) VALUES `

// AppendTransactions adds a batch in one transaction: all of it is kept, or none. Rows are known by source and id, so a
// repeated batch changes nothing.
func (db *DB) AppendTransactions(ctx context.Context, batch []assay.Transaction) (a Appended, err error) {
	err = db.write(ctx, func(tx *tx) error {
		a, err = appendTransactions(tx, batch)
		return err
	})
	return a, err
}

func appendTransactions(tx *tx, batch []assay.Transaction) (a Appended, err error) {
	d, err := readDictionary(tx)
	if err != nil {
		return a, err
	}
	insert, err := newBulk(tx, insertTransactions, ` ON CONFLICT DO NOTHING`, transactionColumns)
	if err != nil {
		return a, err
	}
	defer insert.close()
	args := make([]any, 0, bulkRows*transactionColumns)
	for start := 0; start < len(batch); start += bulkRows {
		part := batch[start:min(start+bulkRows, len(batch))]
		args = args[:0]
		for i := range part {
			if args, err = appendTransactionArgs(args, tx, &d, &part[i]); err != nil {
				return a, err
			}
		}
		inserted, err := insert.insert(args)
		if err != nil {
			return a, err
		}
		a.Inserted += inserted
		if inserted == len(part) {
			continue
		}
		conflicts, err := findConflicts(tx, args, len(part))
		if err != nil {
			return a, err
		}
		a.Duplicates += len(part) - inserted - len(conflicts)
		for _, i := range conflicts {
			a.Conflicts = append(a.Conflicts, start+i)
		}
	}
	return a, nil
}

func appendTransactionArgs(args []any, tx *tx, d *dictionary, t *assay.Transaction) ([]any, error) {
	source, err := d.sources.add(tx, `INSERT INTO sources (source) VALUES ($1) RETURNING source_id`, t.Source)
	if err != nil {
		return nil, err
	}
	provider, err := d.providers.add(tx, `INSERT INTO providers (provider) VALUES ($1) RETURNING provider_id`, t.Provider)
	if err != nil {
		return nil, err
	}
	gpu, ok := d.gpus.ids[t.GPU]
	if !ok {
		return nil, fmt.Errorf("transaction %s of %s: GPU %q is not in the catalog", t.ID, t.Source, t.GPU)
	}
	region, ok := d.regions.ids[t.Region]
	if !ok && t.Region != "" {
		return nil, fmt.Errorf("transaction %s of %s: region %q is not in the catalog", t.ID, t.Source, t.Region)
	}
	return append(args, t.ExecutedAt, source, t.ID, gpu, region, provider,
		int64(t.Price), t.GPUs, t.HourMicros, verifiedInt(t.Verified), tx.now), nil
}

func verifiedInt(verified bool) int64 {
	if verified {
		return 1
	}
	return 0
}

// add gives the id of a name, inserting the name when it is new.
func (n *names) add(tx *tx, insert, text string) (int64, error) {
	if id, ok := n.ids[text]; ok {
		return id, nil
	}
	var id int64
	if err := tx.QueryRowContext(tx.ctx, insert, text).Scan(&id); err != nil {
		return 0, err
	}
	n.ids[text], n.texts[id] = id, text
	return id, nil
}

// findConflicts gives the positions of the rows whose stored content differs from what was to be inserted.
func findConflicts(tx *tx, args []any, rows int) (conflicts []int, err error) {
	find, err := tx.PrepareContext(tx.ctx, `SELECT count(*) FROM transactions WHERE executed_at = $1 AND source_id = $2 AND id = $3
		AND gpu_id = $4 AND region_id = $5 AND provider_id = $6 AND price_nanos = $7 AND gpus = $8 AND hour_micros = $9
		AND verified = $10`)
	if err != nil {
		return nil, err
	}
	defer find.Close()
	for i := range rows {
		row := args[i*transactionColumns : (i+1)*transactionColumns]
		same := 0
		if err := find.QueryRowContext(tx.ctx, row[:transactionColumns-1]...).Scan(&same); err != nil {
			return nil, err
		}
		if same == 0 {
			conflicts = append(conflicts, i)
		}
	}
	return conflicts, nil
}

// EachVerified calls f for every verified transaction executed in [from, to), in the order of time, source and id. The
// transaction is reused: f copies what it keeps.
func (db *DB) EachVerified(ctx context.Context, from, to int64, f func(*assay.Transaction) error) error {
	return db.read(ctx, func(tx *tx) error {
		d, err := readDictionary(tx)
		if err != nil {
			return err
		}
		var t assay.Transaction
		var source, gpu, region, provider, price int64
		return tx.each(`SELECT executed_at, source_id, id, gpu_id, region_id, provider_id, price_nanos, gpus, hour_micros
			FROM transactions WHERE executed_at >= $1 AND executed_at < $2 AND verified = 1
			ORDER BY executed_at, source_id, id`, []any{from, to}, func(scan scanFunc) error {
			if err := scan(&t.ExecutedAt, &source, &t.ID, &gpu, &region, &provider, &price, &t.GPUs, &t.HourMicros); err != nil {
				return err
			}
			t.Source, t.GPU, t.Region, t.Provider = d.sources.texts[source], d.gpus.texts[gpu], d.regions.texts[region], d.providers.texts[provider]
			t.Price, t.Verified = assay.Nanos(price), true
			return f(&t)
		})
	})
}

// TransactionSpan gives the instants of the first and the last transaction; both are 0 when there is none.
func (db *DB) TransactionSpan(ctx context.Context) (first, last int64, err error) {
	err = db.read(ctx, func(tx *tx) error {
		return tx.QueryRowContext(tx.ctx, `SELECT coalesce(min(executed_at), 0), coalesce(max(executed_at), 0) FROM transactions`).Scan(&first, &last)
	})
	return first, last, err
}

// CountTransactions counts what is stored.
func (db *DB) CountTransactions(ctx context.Context) (n int, err error) {
	err = db.read(ctx, func(tx *tx) error {
		return tx.QueryRowContext(tx.ctx, `SELECT count(*) FROM transactions`).Scan(&n)
	})
	return n, err
}
