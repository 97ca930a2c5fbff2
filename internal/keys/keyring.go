// Package keys mints API keys and checks them. Only a key's SHA-256 is stored. The keyring has the hashes of all keys
// in memory, so a request's key is checked without the database, and follows the store, so a new or revoked key takes
// effect within a second. It reads only the keys that have changed, so a change costs the same however many there are.
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

// Lookup returns the owner of a key at the given instant, or the reason why the key is refused.
func (k *Keyring) Lookup(text string, now int64) (assay.Caller, error) {
	if !wellFormed(text) {
		return assay.Caller{}, errInvalid
	}
	var key [keyLength]byte // on the stack, unlike a conversion
	copy(key[:], text)
	found, ok := k.ring.Load().find(sha256.Sum256(key[:]))
	switch {
	case !ok:
		return assay.Caller{}, errInvalid
	case found.revoked || found.expires != 0 && found.expires <= now:
		return assay.Caller{}, errInactive
	}
	return found.caller, nil
}

// Watch returns what finds out whose key it is later on, and whether it is still valid. It does not keep the
// key itself.
func (k *Keyring) Watch(text string) func(now int64) (assay.Caller, bool) {
	hash := sha256.Sum256([]byte(text))
	return func(now int64) (assay.Caller, bool) {
		found, ok := k.ring.Load().find(hash)
		valid := ok && !found.revoked && (found.expires == 0 || now < found.expires)
		return found.caller, valid
	}
}

// Len is how many keys there are, revoked and expired ones included.
func (k *Keyring) Len() (n int) {
	if r := k.ring.Load(); r != nil {
		for _, part := range r.parts {
			n += len(part)
		}
	}
	return n
}

// Load loads what has changed.
func (k *Keyring) Load(ctx context.Context) error {
	k.loading.Lock()
	defer k.loading.Unlock()
	counters, err := k.Store.Counters(ctx)
	if err != nil {
		return fmt.Errorf("read the key counter: %w", err)
	}
	last := k.ring.Load()
	switch {
	case last == nil || counters.Keys < last.counters.Keys || counters.Accounts < last.counters.Accounts:
		last = newRing() // the first time, or the database is an older one
	case counters.Keys == last.counters.Keys && counters.Accounts == last.counters.Accounts:
		return nil
	}
	next, err := k.loadChanges(ctx, last)
	if err != nil {
		return fmt.Errorf("read the keys: %w", err)
	}
	k.ring.Store(next)
	return nil
}

// loadChanges returns a ring with what has changed after the last one. Accounts change seldom, so all of them are read
// if one has; but of the keys only those whose end may be another.
func (k *Keyring) loadChanges(ctx context.Context, last *ring) (*ring, error) {
	changes, err := k.Store.KeyChanges(ctx, last.counters)
	if err != nil {
		return nil, err
	}
	list, ends := changes.Keys, last.ends
	if changes.Directory != nil {
		ends = NewEnds(changes.Directory)
		if last.counters.Keys > 0 {
			others, err := k.Store.KeysOf(ctx, ends.changedAfter(last.ends)...)
			if err != nil {
				return nil, err
			}
			list = append(list, others...)
		}
	}
	return last.with(changes.Counters, ends, list), nil
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
