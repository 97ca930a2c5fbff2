// Package keys mints API keys and recognises them. Only a key's SHA-256 is kept; the keyring holds the hashes of all keys
// in memory, so that a request's key is checked without the database, and follows the store so that a new or revoked
// key takes effect within a second.
package keys

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
)

// What a caller reads when a key is refused.
var (
	ErrRequired = &assay.Error{Kind: assay.Unauthorized, Code: "key_required", Message: "API key required. Use Authorization: Bearer YOUR_API_KEY"}
	errInvalid  = &assay.Error{Kind: assay.Unauthorized, Code: "invalid_key", Message: "Invalid API key"}
	errInactive = &assay.Error{Kind: assay.Unauthorized, Code: "inactive_key", Message: "API key is inactive"}
)

// Keyring recognises keys.
type Keyring struct {
	Store *store.DB
	Log   *slog.Logger

	ring atomic.Pointer[ring]
}

// ring is one reading of the keys.
type ring struct {
	counter int64
	byHash  map[[32]byte]entry
}

type entry struct {
	caller  assay.Caller
	expires int64 // 0: never
	revoked bool
}

// Lookup tells whose key it is at the given instant, or why it does not count.
func (k *Keyring) Lookup(text string, now int64) (assay.Caller, error) {
	if !wellFormed(text) {
		return assay.Caller{}, errInvalid
	}
	found, ok := k.ring.Load().byHash[sha256.Sum256([]byte(text))]
	switch {
	case !ok:
		return assay.Caller{}, errInvalid
	case found.revoked || found.expires != 0 && found.expires <= now:
		return assay.Caller{}, errInactive
	}
	return found.caller, nil
}

// Load reads the keys if they have changed.
func (k *Keyring) Load(ctx context.Context) error {
	counters, err := k.Store.Counters(ctx)
	if err != nil {
		return fmt.Errorf("read the key counter: %w", err)
	}
	if r := k.ring.Load(); r != nil && r.counter == counters.Keys {
		return nil
	}
	list, err := k.Store.ListKeys(ctx)
	if err != nil {
		return fmt.Errorf("read the keys: %w", err)
	}
	next := &ring{counter: counters.Keys, byHash: make(map[[32]byte]entry, len(list))}
	for _, key := range list {
		next.byHash[key.Hash] = entry{assay.Caller{Tier: key.Tier, KeyID: key.ID}, key.ExpiresAt, key.RevokedAt != 0}
	}
	k.ring.Store(next)
	return nil
}

// Run keeps the keyring current until the context ends. Load must have succeeded once before.
func (k *Keyring) Run(ctx context.Context) error {
	changed := k.Store.Changed()
	for {
		if err := k.Load(ctx); err != nil && ctx.Err() == nil {
			k.Log.Error("refresh the keyring", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
			changed = k.Store.Changed()
		case <-time.After(refreshAnyway):
		}
	}
}

// refreshAnyway bounds how long a failed refresh goes unrepeated.
const refreshAnyway = time.Second

// Create mints a key and keeps its hash. expires is an instant, or 0 for never.
func Create(ctx context.Context, db *store.DB, tier assay.Tier, name string, expires int64) (Secret, store.Key, error) {
	for {
		secret := Mint(tier)
		key, err := db.CreateKey(ctx, store.Key{ID: secret.ID(), Hash: secret.Hash(), Tier: tier, Name: name, ExpiresAt: expires})
		if errors.Is(err, store.ErrKeyIDExists) {
			continue // six characters can meet again; the next draw will differ
		}
		return secret, key, err
	}
}
