package store

import (
	"context"
	"database/sql"
	"errors"

	"github.com/assaydata/assay"
)

// Key is an API key as it is stored: without its text.
type Key struct {
	ID         string // the six public characters of the key
	Hash       [32]byte
	Tier       assay.Tier
	Name       string
	CreatedAt  int64
	ExpiresAt  int64  // 0: never
	RevokedAt  int64  // 0: not revoked
	AccountID  int64  // 0: a key of the operator
	Basis      string // what an account's key is based on: grant or organization
	OrgID      int64  // the organization it is based on; 0: none
	LastUsedAt int64  // 0: never
	Limit      int    // requests per minute; 0: that of its plan
}

// Errors of the key methods.
var (
	ErrNoKey       = errors.New("there is no such key")
	ErrKeyIDExists = errors.New("the key id is taken")
)

// KeyMadeError says that a request has made a key before.
type KeyMadeError struct{ KeyID string }

func (e *KeyMadeError) Error() string { return "this request has made the key " + e.KeyID }

// CreateKey stores a new key and sets its creation time.
func (db *DB) CreateKey(ctx context.Context, k Key) (Key, error) {
	err := db.write(ctx, func(tx *tx) error { return createKey(tx, &k, "key.create", detail{}) })
	return k, err
}

func createKey(tx *tx, k *Key, action string, d detail) error {
	k.CreatedAt = tx.now
	// The row comes back only when it was inserted, so a taken id cannot be confused with a database error.
	err := tx.QueryRowContext(tx.ctx, `INSERT INTO keys
		(key_id, hash, tier, name, created_at, expires_at, account_id, basis, org_id, rate_limit)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING RETURNING key_id`,
		k.ID, k.Hash[:], k.Tier.String(), k.Name, k.CreatedAt, nullable(k.ExpiresAt),
		nullable(k.AccountID), nullText(k.Basis), nullable(k.OrgID), k.Limit).Scan(&k.ID)
	if errors.Is(err, sql.ErrNoRows) {
		return ErrKeyIDExists
	}
	if err != nil {
		return err
	}
	d["key"], d["tier"], d["name"] = k.ID, k.Tier.String(), k.Name
	if k.ExpiresAt != 0 {
		d["expires_at"] = assay.FormatInstant(k.ExpiresAt)
	}
	if k.Basis != "" {
		d["basis"] = k.Basis
	}
	if k.Limit != 0 {
		d["limit"] = k.Limit
	}
	return auditKey(tx, *k, action, d)
}

// KeyRequest is a request of an account for one more key.
type KeyRequest struct {
	Key Key
	// Name is what the caller calls the request. The second one of that name is a KeyMadeError. Empty: it has no name.
	Name string
	// Admit may refuse the key. It gets the account's keys, and as writers wait for each other, no other key is created
	// meanwhile.
	Admit func(existing []Key) error
}

// CreateAccountKey is CreateKey for a key of an account.
func (db *DB) CreateAccountKey(ctx context.Context, r KeyRequest) (Key, error) {
	err := db.write(ctx, func(tx *tx) error {
		if err := r.admit(tx); err != nil {
			return err
		}
		return r.create(tx, "key.create", detail{})
	})
	return r.Key, err
}

func (r *KeyRequest) create(tx *tx, action string, d detail) error {
	err := createKey(tx, &r.Key, action, d)
	if err != nil || r.Name == "" {
		return err
	}
	return tx.exec(`INSERT INTO key_requests (account_id, request, key_id) VALUES ($1, $2, $3)`,
		r.Key.AccountID, r.Name, r.Key.ID)
}

func (r *KeyRequest) admit(tx *tx) error {
	if r.Name != "" {
		made := &KeyMadeError{}
		err := tx.QueryRowContext(tx.ctx, `SELECT key_id FROM key_requests WHERE account_id = $1 AND request = $2`,
			r.Key.AccountID, r.Name).Scan(&made.KeyID)
		if err == nil {
			return made
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
	}
	existing, err := readKeys(tx, `account_id = $1`, r.Key.AccountID)
	if err != nil {
		return err
	}
	return r.Admit(existing)
}

// ReplaceKey stores a key of an account that replaces an old one, which ends at the given instant unless it ends
// earlier.
func (db *DB) ReplaceKey(ctx context.Context, old string, oldEnds int64, r KeyRequest) (Key, error) {
	err := db.write(ctx, func(tx *tx) error {
		if err := r.admit(tx); err != nil {
			return err
		}
		err := tx.exec(`UPDATE keys SET expires_at = $1 WHERE key_id = $2 AND (expires_at IS NULL OR expires_at > $1)`,
			oldEnds, old)
		if err != nil {
			return err
		}
		return r.create(tx, "key.rotate", detail{"replaces": old, "until": assay.FormatInstant(oldEnds)})
	})
	return r.Key, err
}

// RevokeKey ends a key for good. Revoking it again changes nothing.
func (db *DB) RevokeKey(ctx context.Context, id string) error {
	return db.write(ctx, func(tx *tx) error {
		list, err := readKeys(tx, `key_id = $1`, id)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return ErrNoKey
		}
		if list[0].RevokedAt != 0 {
			return nil
		}
		if err := tx.exec(`UPDATE keys SET revoked_at = $1 WHERE key_id = $2`, tx.now, id); err != nil {
			return err
		}
		return auditKey(tx, list[0], "key.revoke", detail{"key": id})
	})
}

// LimitKey sets how many requests per minute a key has; 0 is as many as its plan.
func (db *DB) LimitKey(ctx context.Context, id string, limit int) error {
	return db.write(ctx, func(tx *tx) error {
		list, err := readKeys(tx, `key_id = $1`, id)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return ErrNoKey
		}
		if err := tx.exec(`UPDATE keys SET rate_limit = $1 WHERE key_id = $2`, limit, id); err != nil {
			return err
		}
		return auditKey(tx, list[0], "key.limit", detail{"key": id, "limit": limit})
	})
}

// auditKey logs a change of a key under its account, and raises the counter of the keys.
func auditKey(tx *tx, k Key, action string, d detail) error {
	subject := "key:" + k.ID
	if k.AccountID != 0 {
		a, err := accountByID(tx, k.AccountID)
		if err != nil {
			return err
		}
		subject = "account:" + a.Email
	}
	if err := tx.audit(action, subject, d); err != nil {
		return err
	}
	_, err := tx.bump("keys")
	return err
}

// ListKeys lists every key, oldest first.
func (db *DB) ListKeys(ctx context.Context) (keys []Key, err error) {
	err = db.read(ctx, func(tx *tx) error {
		keys, err = readKeys(tx, `true`)
		return err
	})
	return keys, err
}

// KeysOf lists the keys of accounts: account by account, oldest first.
func (db *DB) KeysOf(ctx context.Context, accounts ...int64) (keys []Key, err error) {
	err = db.read(ctx, func(tx *tx) error {
		for _, account := range accounts {
			list, err := readKeys(tx, `account_id = $1`, account)
			if err != nil {
				return err
			}
			keys = append(keys, list...)
		}
		return nil
	})
	return keys, err
}

// KeyChanges are the changes that decide which keys are valid, as of one moment.
type KeyChanges struct {
	Counters  Counters
	Keys      []Key      // that were created, or end at another time
	Directory *Directory // nil if it has not changed
}

// KeyChanges reads what has changed after the given counters; after Counters{} that is everything.
func (db *DB) KeyChanges(ctx context.Context, after Counters) (c KeyChanges, err error) {
	err = db.read(ctx, func(tx *tx) error {
		c = KeyChanges{}
		if c.Counters, err = readCounters(tx); err != nil {
			return err
		}
		if c.Keys, err = readKeys(tx, `changed > $1`, after.Keys); err != nil || c.Counters.Accounts == after.Accounts {
			return err
		}
		directory, err := readDirectory(tx)
		c.Directory = &directory
		return err
	})
	return c, err
}

func readKeys(tx *tx, where string, args ...any) (keys []Key, err error) {
	err = tx.each(`SELECT key_id, hash, tier, name, created_at, coalesce(expires_at, 0), coalesce(revoked_at, 0),
		coalesce(account_id, 0), coalesce(basis, ''), coalesce(org_id, 0), coalesce(last_used_at, 0), rate_limit
		FROM keys WHERE `+where+` ORDER BY created_at, key_id`, args, func(scan scanFunc) error {
		var k Key
		var hash []byte
		var tier string
		err := scan(&k.ID, &hash, &tier, &k.Name, &k.CreatedAt, &k.ExpiresAt, &k.RevokedAt,
			&k.AccountID, &k.Basis, &k.OrgID, &k.LastUsedAt, &k.Limit)
		if err != nil {
			return err
		}
		copy(k.Hash[:], hash)
		k.Tier, err = assay.ParseTier(tier)
		keys = append(keys, k)
		return err
	})
	return keys, err
}

// nullable returns NULL for 0, which is no instant or id that we store.
func nullable(n int64) sql.NullInt64 { return sql.NullInt64{Int64: n, Valid: n != 0} }
