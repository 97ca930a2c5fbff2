package store

import (
	"context"
	"database/sql"
	"errors"
	"strings"
)

// IngestKey is a key with which a source delivers rows, as it is stored: without its text.
type IngestKey struct {
	ID        string // the six public characters of the key
	Hash      [32]byte
	Source    string   // the only one whose rows it may deliver
	Families  []string // that it may deliver
	CreatedAt int64
	RevokedAt int64 // 0: not revoked
}

// ingestKeys is the counter of these keys.
const ingestKeys = "ingest_keys"

// IngestKeys lists all ingest keys, oldest first, and the counter of their changes.
func (db *DB) IngestKeys(ctx context.Context) (list []IngestKey, counter int64, err error) {
	err = db.read(ctx, func(tx *tx) error {
		if counter, err = tx.counter(ingestKeys); err != nil {
			return err
		}
		list, err = readIngestKeys(tx, `true`)
		return err
	})
	return list, counter, err
}

// CreateIngestKey stores a new ingest key and sets its creation time.
func (db *DB) CreateIngestKey(ctx context.Context, k IngestKey) (IngestKey, error) {
	err := db.write(ctx, func(tx *tx) error {
		k.CreatedAt = tx.now
		families := strings.Join(k.Families, ",")
		// The row comes back only when it was inserted, so a taken id cannot be confused with a database error.
		err := tx.QueryRowContext(tx.ctx, `INSERT INTO ingest_keys (key_id, hash, source, families, created_at)
			VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING RETURNING key_id`,
			k.ID, k.Hash[:], k.Source, families, k.CreatedAt).Scan(&k.ID)
		if errors.Is(err, sql.ErrNoRows) {
			return ErrKeyIDExists
		}
		if err != nil {
			return err
		}
		return auditIngestKey(tx, "ingest-key.create", k.ID, detail{"source": k.Source, "families": families})
	})
	return k, err
}

// RevokeIngestKey ends an ingest key for good. Revoking it again changes nothing.
func (db *DB) RevokeIngestKey(ctx context.Context, id string) error {
	return db.write(ctx, func(tx *tx) error {
		list, err := readIngestKeys(tx, `key_id = $1`, id)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return ErrNoKey
		}
		if list[0].RevokedAt != 0 {
			return nil
		}
		if err := tx.exec(`UPDATE ingest_keys SET revoked_at = $1 WHERE key_id = $2`, tx.now, id); err != nil {
			return err
		}
		return auditIngestKey(tx, "ingest-key.revoke", id, detail{"source": list[0].Source})
	})
}

// auditIngestKey logs a change of an ingest key, and raises the counter of these keys.
func auditIngestKey(tx *tx, action, id string, d detail) error {
	if err := tx.audit(action, "ingest-key:"+id, d); err != nil {
		return err
	}
	_, err := tx.bump(ingestKeys)
	return err
}

func readIngestKeys(tx *tx, where string, args ...any) (list []IngestKey, err error) {
	err = tx.each(`SELECT key_id, hash, source, families, created_at, coalesce(revoked_at, 0)
		FROM ingest_keys WHERE `+where+` ORDER BY created_at, key_id`, args, func(scan scanFunc) error {
		var k IngestKey
		var hash []byte
		var families string
		if err := scan(&k.ID, &hash, &k.Source, &families, &k.CreatedAt, &k.RevokedAt); err != nil {
			return err
		}
		copy(k.Hash[:], hash)
		k.Families = strings.Split(families, ",")
		list = append(list, k)
		return nil
	})
	return list, err
}
