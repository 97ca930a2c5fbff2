package store

import (
	"context"
	"errors"

	"github.com/assaydata/assay"
)

// ExpectedSource is a source that delivers all the time, so that an hour without it is held.
type ExpectedSource struct {
	Source        string
	CompleteUntil int64 // everything executed before is delivered; 0 if the source has declared nothing
}

// ExpectedSources lists the expected sources by name.
func (db *DB) ExpectedSources(ctx context.Context) (list []ExpectedSource, err error) {
	err = db.read(ctx, func(tx *tx) error {
		list = nil
		return tx.each(`SELECT source, complete_until FROM expected_sources ORDER BY source`, nil,
			func(scan scanFunc) error {
				var s ExpectedSource
				err := scan(&s.Source, &s.CompleteUntil)
				list = append(list, s)
				return err
			})
	})
	return list, err
}

// ErrNotExpected is the error for a source that is not expected, ErrExpected for one that is already.
var (
	ErrNotExpected = errors.New("the source is not expected")
	ErrExpected    = errors.New("the source is expected already")
)

// ExpectSource adds an expected source.
func (db *DB) ExpectSource(ctx context.Context, source string) error {
	return db.write(ctx, func(tx *tx) error {
		err := changeOne(tx, ErrExpected, `INSERT INTO expected_sources (source, complete_until) VALUES ($1, 0)
			ON CONFLICT DO NOTHING`, source)
		if err != nil {
			return err
		}
		return tx.audit("source.expect", sourceSubject(source), nil)
	})
}

// ForgetSource removes an expected source. Its transactions stay.
func (db *DB) ForgetSource(ctx context.Context, source string) error {
	return db.write(ctx, func(tx *tx) error {
		if err := changeOne(tx, ErrNotExpected, `DELETE FROM expected_sources WHERE source = $1`, source); err != nil {
			return err
		}
		return tx.audit("source.forget", sourceSubject(source), nil)
	})
}

// CompleteSource records the declaration of an expected source that everything executed before an instant is delivered.
// A declaration is never taken back: an earlier instant changes nothing.
func (db *DB) CompleteSource(ctx context.Context, source string, until int64) error {
	return db.write(ctx, func(tx *tx) error {
		err := changeOne(tx, ErrNotExpected, `UPDATE expected_sources
			SET complete_until = CASE WHEN complete_until < $2 THEN $2 ELSE complete_until END WHERE source = $1`,
			source, until)
		if err != nil {
			return err
		}
		return tx.audit("source.complete", sourceSubject(source), detail{"until": assay.FormatInstant(until)})
	})
}

func sourceSubject(source string) string { return "source:" + source }
