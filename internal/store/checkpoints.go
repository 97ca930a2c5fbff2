package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"errors"
	"regexp"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/merkle"
	"github.com/assaydata/assay/internal/proof"
	"golang.org/x/mod/sumdb/tlog"
)

// logOrigin is the setting with the name of the log.
const logOrigin = "log_origin"

// newOrigin makes up a name that no other log has.
func newOrigin() string {
	random := make([]byte, 8)
	_, _ = rand.Read(random) // it never fails
	return "assay/" + hex.EncodeToString(random)
}

var logName = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z._/-]{0,99}$`)

// CheckLogName checks that a log can have a name.
func CheckLogName(name string) error {
	if !logName.MatchString(name) {
		return errors.New("must be 1 to 100 letters, digits, dots, hyphens, underscores and slashes")
	}
	return nil
}

// NameLog gives the log a name of the operator's choice, which no other log may have, before anything is signed.
func (db *DB) NameLog(ctx context.Context, name string) error {
	if err := CheckLogName(name); err != nil {
		return err
	}
	return db.write(ctx, func(tx *tx) error {
		signed, err := tx.counter("checkpoint")
		if err != nil {
			return err
		}
		events, err := readKeyEvents(tx)
		if err != nil {
			return err
		}
		if signed > 0 || events != "" {
			return errors.New("the log is signed with its name already")
		}
		return tx.exec(`UPDATE settings SET value = $1 WHERE name = $2`, name, logOrigin)
	})
}

// LogHead describes the whole log.
type LogHead struct {
	Origin string
	Size   int64
	Root   assay.Hash

	PublishedAt int64 // of the last publication; 0 if there is none

	Signed     proof.SignedCheckpoint // the last one; its Size is 0 if there is none
	SignedRoot assay.Hash             // the hash over as many entries, as they are now
}

// LogHead reads the state of the log.
func (db *DB) LogHead(ctx context.Context) (h LogHead, err error) {
	err = db.withTree(ctx, func(tx *tx, r merkle.Reader, size int64) error {
		h.Size, r = size, r.Once() // both hashes are mostly over the same tiles
		if h.Origin, err = readLogOrigin(tx); err != nil {
			return err
		}
		if h.Signed, err = lastCheckpoint(tx); err != nil {
			return err
		}
		err = tx.QueryRowContext(tx.ctx, `SELECT coalesce((SELECT published_at FROM publications ORDER BY version DESC
			LIMIT 1), 0)`).Scan(&h.PublishedAt)
		if err != nil {
			return err
		}
		root, err := tlog.TreeHash(size, r)
		if err != nil {
			return err
		}
		h.Root = assay.Hash(root)
		signed, err := tlog.TreeHash(min(h.Signed.Size, size), r)
		h.SignedRoot = assay.Hash(signed)
		return err
	})
	return h, err
}

func readLogOrigin(tx *tx) (origin string, err error) {
	err = tx.QueryRowContext(tx.ctx, `SELECT value FROM settings WHERE name = $1`, logOrigin).Scan(&origin)
	return origin, err
}

// LogKey returns the key by which other programs check the log's checkpoints; it is empty as long as there is none.
func (db *DB) LogKey(ctx context.Context) (key string, err error) {
	err = db.read(ctx, func(tx *tx) error {
		last, err := lastCheckpoint(tx)
		if err != nil || last.Size == 0 {
			return err
		}
		origin, err := readLogOrigin(tx)
		if err != nil {
			return err
		}
		key, err = proof.VerifierKey(origin, last.PublicKey)
		return err
	})
	return key, err
}

const checkpointColumns = `size, signed_at, public_key, note`

func lastCheckpoint(tx *tx) (proof.SignedCheckpoint, error) { return checkpointAt(tx, assay.Latest) }

// checkpointAt returns the newest checkpoint that was signed by an instant; its Size is 0 if there is none.
func checkpointAt(tx *tx, at int64) (c proof.SignedCheckpoint, err error) {
	query := `SELECT ` + checkpointColumns + ` FROM checkpoints WHERE signed_at <= $1 ORDER BY size DESC LIMIT 1`
	err = tx.QueryRowContext(tx.ctx, query, at).Scan(&c.Size, &c.SignedAt, &c.PublicKey, &c.Note)
	if errors.Is(err, sql.ErrNoRows) {
		return proof.SignedCheckpoint{}, nil
	}
	return c, err
}

// AddCheckpoint stores a checkpoint. One that is not newer than the last changes nothing.
func (db *DB) AddCheckpoint(ctx context.Context, c proof.SignedCheckpoint) error {
	return db.write(ctx, func(tx *tx) error {
		if err := checkSigner(tx, c.PublicKey); err != nil {
			return err
		}
		last, err := tx.counter("checkpoint")
		if err != nil || c.Size <= last {
			return err
		}
		err = tx.exec(`INSERT INTO checkpoints (`+checkpointColumns+`) VALUES ($1, $2, $3, $4)`,
			c.Size, c.SignedAt, c.PublicKey, c.Note)
		if err != nil {
			return err
		}
		return tx.exec(`UPDATE counters SET value = $1 WHERE name = 'checkpoint'`, c.Size)
	})
}

// LastCheckpoint returns the newest checkpoint, with the signatures of witnesses; its Size is 0 if there is none.
func (db *DB) LastCheckpoint(ctx context.Context) (c proof.SignedCheckpoint, err error) {
	err = db.read(ctx, func(tx *tx) error {
		if c, err = lastCheckpoint(tx); err != nil {
			return err
		}
		return addCosignatures(tx, &c, assay.Latest)
	})
	return c, err
}

// CheckpointNote returns the checkpoint of a size as the log has signed it, without the signatures of witnesses, which
// come later and are not the same on every node.
func (db *DB) CheckpointNote(ctx context.Context, size int64) (note string, err error) {
	err = db.read(ctx, func(tx *tx) error {
		return tx.QueryRowContext(tx.ctx, `SELECT note FROM checkpoints WHERE size = $1`, size).Scan(&note)
	})
	return note, err
}

// AddCosignature stores the line by which a witness has signed the checkpoint of a size. A second one of the same
// witness changes nothing.
func (db *DB) AddCosignature(ctx context.Context, size int64, witness, line string) error {
	return db.write(ctx, func(tx *tx) error {
		return tx.exec(`INSERT INTO cosignatures (size, witness, received_at, line) VALUES ($1, $2, $3, $4)
			ON CONFLICT DO NOTHING`, size, witness, tx.now, line)
	})
}

// addCosignatures adds the signatures of witnesses to a checkpoint, as far as they were there at an instant.
func addCosignatures(tx *tx, c *proof.SignedCheckpoint, by int64) error {
	return eachCosignature(tx, c.Size, by, func(_, line string) { c.Note += line })
}

func eachCosignature(tx *tx, size, by int64, f func(witness, line string)) error {
	return tx.each(`SELECT witness, line FROM cosignatures WHERE size = $1 AND received_at <= $2 ORDER BY witness`,
		[]any{size, by}, func(scan scanFunc) error {
			var witness, line string
			err := scan(&witness, &line)
			f(witness, line)
			return err
		})
}

// Unwitnessed returns the newest checkpoint as the log has signed it, and the names of the witnesses that have signed
// it too. The size is 0 if there is none.
func (db *DB) Unwitnessed(ctx context.Context) (size int64, signed string, witnesses []string, err error) {
	err = db.read(ctx, func(tx *tx) error {
		witnesses = nil
		last, err := lastCheckpoint(tx)
		if err != nil {
			return err
		}
		size, signed = last.Size, last.Note
		return eachCosignature(tx, size, assay.Latest, func(witness, _ string) { witnesses = append(witnesses, witness) })
	})
	return size, signed, witnesses, err
}

func readCheckpoints(tx *tx) (list []proof.SignedCheckpoint, err error) {
	err = tx.each(`SELECT `+checkpointColumns+` FROM checkpoints ORDER BY size`, nil, func(scan scanFunc) error {
		var c proof.SignedCheckpoint
		err := scan(&c.Size, &c.SignedAt, &c.PublicKey, &c.Note)
		list = append(list, c)
		return err
	})
	return list, err
}
