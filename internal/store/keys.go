package store

import (
	"context"
	"database/sql"
	"errors"

	"github.com/assaydata/assay"
)

// Key is what is known of an API key: never its text.
type Key struct {
	ID        string // the public six characters of the key
	Hash      [32]byte
	Tier      assay.Tier
	Name      string
	CreatedAt int64
	ExpiresAt int64 // 0: never
	RevokedAt int64 // 0: not revoked
}

// Errors of the key methods.
var (
	ErrNoKey       = errors.New("there is no such key")
	ErrKeyIDExists = errors.New("the key id is taken")
)

// CreateKey keeps a new key. Its creation time is set here.
func (db *DB) CreateKey(ctx context.Context, k Key) (Key, error) {
	err := db.write(ctx, func(tx *tx) error {
		k.CreatedAt = tx.now
		result, err := tx.ExecContext(tx.ctx, `INSERT INTO keys (key_id, hash, tier, name, created_at, expires_at)
			VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING`,
			k.ID, k.Hash[:], k.Tier.String(), k.Name, k.CreatedAt, nullable(k.ExpiresAt))
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, ErrKeyIDExists)
		}
		_, err = tx.bump("keys")
		return err
	})
	return k, err
}

// RevokeKey ends a key for good. Revoking it again changes nothing.
func (db *DB) RevokeKey(ctx context.Context, id string) error {
	return db.write(ctx, func(tx *tx) error {
		result, err := tx.ExecContext(tx.ctx, `UPDATE keys SET revoked_at = coalesce(revoked_at, $1) WHERE key_id = $2`, tx.now, id)
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, ErrNoKey)
		}
		_, err = tx.bump("keys")
		return err
	})
}

// ListKeys lists every key, oldest first.
func (db *DB) ListKeys(ctx context.Context) (keys []Key, err error) {
	err = db.read(ctx, func(tx *tx) error {
		keys = nil
		return tx.each(`SELECT key_id, hash, tier, name, created_at, expires_at, revoked_at FROM keys
			ORDER BY created_at, key_id`, nil, func(scan scanFunc) error {
			var k Key
			var hash []byte
			var tier string
			var expires, revoked sql.NullInt64
			if err := scan(&k.ID, &hash, &tier, &k.Name, &k.CreatedAt, &expires, &revoked); err != nil {
				return err
			}
			copy(k.Hash[:], hash)
			k.ExpiresAt, k.RevokedAt = expires.Int64, revoked.Int64
			var err error
			k.Tier, err = assay.ParseTier(tier)
			keys = append(keys, k)
			return err
		})
	})
	return keys, err
}

// nullable is NULL for 0, which no instant we keep can be.
func nullable(ms int64) sql.NullInt64 { return sql.NullInt64{Int64: ms, Valid: ms != 0} }
