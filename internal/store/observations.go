package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/assaydata/assay"
)

// Observation is what a source reported: its key and its content, as JSON.
type Observation struct {
	Key  string
	Body []byte
}

// AppendObservations stores a batch of a family in one transaction: all of it or nothing. A known key with the same
// content changes nothing. Other content under a known key is a conflict or, if revise is set, a new revision, which
// counts as inserted. A later row is a later revision, whether both are in one batch or not.
func (db *DB) AppendObservations(
	ctx context.Context, family assay.Family, batch []Observation, revise bool,
) (a Appended, err error) {
	err = db.write(ctx, func(tx *tx) error {
		a, err = appendObservations(tx, family, batch, revise)
		return err
	})
	return a, err
}

func appendObservations(tx *tx, family assay.Family, batch []Observation, revise bool) (a Appended, err error) {
	received, err := nextReceived(tx, family.String())
	if err != nil {
		return a, err
	}
	find, err := tx.PrepareContext(tx.ctx, `SELECT revision, body FROM observations
		WHERE family = $1 AND key = $2 ORDER BY revision DESC LIMIT 1`)
	if err != nil {
		return a, err
	}
	defer find.Close()
	insert, err := tx.PrepareContext(tx.ctx, `INSERT INTO observations (family, key, revision, received_at, body, checksum)
		VALUES ($1, $2, $3, $4, $5, $6)`)
	if err != nil {
		return a, err
	}
	defer insert.Close()
	for i, o := range batch {
		var last int64
		var body string
		switch err := find.QueryRowContext(tx.ctx, family.String(), o.Key).Scan(&last, &body); {
		case errors.Is(err, sql.ErrNoRows):
			last = -1
		case err != nil:
			return a, err
		case body == string(o.Body):
			a.Duplicates++
			continue
		case !revise:
			a.Conflicts = append(a.Conflicts, i)
			continue
		}
		sum := observationSum(family, o, last+1, received)
		_, err := insert.ExecContext(tx.ctx, family.String(), o.Key, last+1, received, string(o.Body), sum)
		if err != nil {
			return a, err
		}
		a.Inserted++
	}
	if a.Inserted == 0 {
		return a, nil
	}
	tx.logDue = true
	return a, tx.exec(`INSERT INTO counters (name, value) VALUES ($1, $2)
		ON CONFLICT (name) DO UPDATE SET value = excluded.value`, family.String(), received)
}

func observationSum(family assay.Family, o Observation, revision, received int64) int64 {
	return ledgerSum(family.String(), o.Key, revision, received, string(o.Body))
}

// EachObservation calls f for every observation of a family that was received in (after, upTo], in the order of
// receipt. One that does not match its checksum is an ErrDamaged that names it.
func (db *DB) EachObservation(
	ctx context.Context, family assay.Family, after, upTo int64,
	f func(o Observation, revision int, received int64) error,
) error {
	return db.read(ctx, func(tx *tx) error {
		query := `SELECT key, body, revision, received_at, checksum FROM observations
			WHERE family = $1 AND received_at > $2 AND received_at <= $3 ORDER BY received_at, observation`
		return tx.each(query, []any{family.String(), after, upTo}, func(scan scanFunc) error {
			var o Observation
			var body string
			var revision, received, sum int64
			if err := scan(&o.Key, &body, &revision, &received, &sum); err != nil {
				return err
			}
			o.Body = []byte(body)
			if observationSum(family, o, revision, received) != sum {
				return fmt.Errorf("%w: %s %s, revision %d, does not match its checksum", ErrDamaged, family, o.Key, revision)
			}
			if err := f(o, int(revision), received); err != nil {
				return fmt.Errorf("%s %s, revision %d: %w", family, o.Key, revision, err)
			}
			return nil
		})
	})
}
