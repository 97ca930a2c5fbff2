// Package keys mints API keys and checks them. Only a key's SHA-256 is stored. The keyring has the hashes of all keys
// in memory, so a request's key is checked without the database, and follows the store, so a new or revoked key takes
// effect within a second.
//
// An account's key is based on a grant of the account or on the plan of an organization. It is valid as long as that
// access continues without a gap. So the end of a key is known when it is loaded, and changes only with the directory,
// which the keyring follows too.
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

// The errors for a missing or refused key.
var (
	errInvalid  = &assay.Error{Kind: assay.Unauthorized, Code: "invalid_key", Message: "Invalid API key"}
	errInactive = &assay.Error{Kind: assay.Unauthorized, Code: "inactive_key", Message: "API key is inactive"}
)

// Keyring checks keys.
type Keyring struct {
	Store *store.DB
	Log   *slog.Logger

	ring    atomic.Pointer[ring]
	loading sync.Mutex // held while loading, so that older data does not replace newer data
}

// ring is the keys as of one load.
type ring struct {
	keys, accounts int64 // the counters at that time
	byHash         map[[32]byte]entry
}

type entry struct {
	caller  assay.Caller
	expires int64 // 0: never
	revoked bool
}

// Lookup returns the owner of a key at the given instant, or the reason why the key is refused.
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

// Load loads the keys if they have changed.
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
	directory, err := k.Store.Directory(ctx)
	if err != nil {
		return fmt.Errorf("read the keys: %w", err)
	}
	ends := NewEnds(&directory)
	next := &ring{
		keys: directory.Counters.Keys, accounts: directory.Counters.Accounts,
		byHash: make(map[[32]byte]entry, len(directory.Keys)),
	}
	for _, key := range directory.Keys {
		caller := assay.Caller{Tier: key.Tier, KeyID: key.ID, AccountID: key.AccountID}
		next.byHash[key.Hash] = entry{caller: caller, expires: ends.Of(key), revoked: key.RevokedAt != 0}
	}
	k.ring.Store(next)
	return nil
}

// Run keeps the keyring up to date until the context ends. Load must have succeeded once before.
func (k *Keyring) Run(ctx context.Context) error {
	k.Store.Follow(ctx, "keys", k.Log, k.Load)
	return nil
}

// Create mints and saves a key of the operator. expires is an instant, or 0 for never.
func Create(ctx context.Context, db *store.DB, tier assay.Tier, name string, expires int64) (Secret, store.Key, error) {
	return MintAndSave(ctx, store.Key{Tier: tier, Name: name, ExpiresAt: expires}, db.CreateKey)
}

// mintAttempts bounds how often an id is drawn that is taken. With a million keys that happens once in 57,000 draws, so
// even a second draw is rare.
const mintAttempts = 10

// MintAndSave mints a key like the given one and saves it. The save function stores the hash; when it reports
// store.ErrKeyIDExists, another key is drawn.
func MintAndSave(
	ctx context.Context, k store.Key, save func(context.Context, store.Key) (store.Key, error),
) (Secret, store.Key, error) {
	var err error
	for range mintAttempts {
		secret := Mint(k.Tier)
		k.ID, k.Hash = secret.ID(), secret.Hash()
		var key store.Key
		key, err = save(ctx, k)
		if !errors.Is(err, store.ErrKeyIDExists) {
			return secret, key, err
		}
	}
	return Secret{}, store.Key{}, fmt.Errorf("mint a key: %d ids in a row were taken: %w", mintAttempts, err)
}
