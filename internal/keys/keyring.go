// Package keys mints API keys and recognises them. Only a key's SHA-256 is kept; the keyring holds the hashes of all keys
// in memory, so that a request's key is checked without the database, and follows the store so that a new or revoked
// key takes effect within a second.
//
// An account's key hangs on what it was created by, a grant of the account's own or the plan of an organization: it counts
// as long as that has gone on without a gap. So the end of a key is known when it is loaded, and changes only with the
// register, which the keyring follows too.
package keys

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

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

	ring    atomic.Pointer[ring]
	loading sync.Mutex // held while reading, so that an older reading does not replace a newer one
}

// ring is one reading of the keys.
type ring struct {
	keys, accounts int64 // the counters it was read at
	byHash         map[[32]byte]entry
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
	k.loading.Lock()
	defer k.loading.Unlock()
	counters, err := k.Store.Counters(ctx)
	if err != nil {
		return fmt.Errorf("read the key counter: %w", err)
	}
	if r := k.ring.Load(); r != nil && r.keys == counters.Keys && r.accounts == counters.Accounts {
		return nil
	}
	register, err := k.Store.Register(ctx)
	if err != nil {
		return fmt.Errorf("read the keys: %w", err)
	}
	ends := NewEnds(&register)
	next := &ring{keys: register.Counters.Keys, accounts: register.Counters.Accounts, byHash: make(map[[32]byte]entry, len(register.Keys))}
	for _, key := range register.Keys {
		caller := assay.Caller{Tier: key.Tier, KeyID: key.ID, AccountID: key.AccountID}
		next.byHash[key.Hash] = entry{caller, ends.Of(key), key.RevokedAt != 0}
	}
	k.ring.Store(next)
	return nil
}

// Run keeps the keyring current until the context ends. Load must have succeeded once before.
func (k *Keyring) Run(ctx context.Context) error {
	k.Store.Follow(ctx, "keys", k.Log, k.Load)
	return nil
}

// Create mints a key of the operator's own and keeps its hash. expires is an instant, or 0 for never.
func Create(ctx context.Context, db *store.DB, tier assay.Tier, name string, expires int64) (Secret, store.Key, error) {
	return MintAndKeep(ctx, store.Key{Tier: tier, Name: name, ExpiresAt: expires}, db.CreateKey)
}

// MintAndKeep mints a key like the given one, and has its hash kept.
func MintAndKeep(ctx context.Context, k store.Key, keep func(context.Context, store.Key) (store.Key, error)) (Secret, store.Key, error) {
	for {
		secret := Mint(k.Tier)
		k.ID, k.Hash = secret.ID(), secret.Hash()
		key, err := keep(ctx, k)
		if errors.Is(err, store.ErrKeyIDExists) {
			continue // six characters can meet again; the next draw will differ
		}
		return secret, key, err
	}
}
