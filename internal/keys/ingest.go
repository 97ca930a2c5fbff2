package keys

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/assaydata/assay/internal/store"
)

// IngestKeys checks the keys with which sources deliver rows. It has the hashes of all of them in memory and follows
// the store, as Keyring does for API keys, so a revoked key is refused within a second.
type IngestKeys struct {
	Store *store.DB
	Log   *slog.Logger

	known   atomic.Pointer[ingestRing]
	loading sync.Mutex // held while loading, so that older data does not replace newer data
}

// ingestRing is the keys as of one load. It is not changed afterwards.
type ingestRing struct {
	counter int64 // at that time
	byHash  map[[32]byte]store.IngestKey
}

// Lookup returns the key with a text, or the reason why it is refused.
func (k *IngestKeys) Lookup(text string) (store.IngestKey, error) {
	if len(text) != ingestLength || !strings.HasPrefix(text, IngestPrefix) || !checked(text) {
		return store.IngestKey{}, errInvalid
	}
	key, ok := k.known.Load().byHash[sha256.Sum256([]byte(text))]
	if !ok {
		return store.IngestKey{}, errInvalid
	}
	return key, k.Check(key)
}

// Check returns the reason why a key that was looked up earlier is refused now, if it is.
func (k *IngestKeys) Check(key store.IngestKey) error {
	if now, ok := k.known.Load().byHash[key.Hash]; !ok || now.RevokedAt != 0 {
		return errInactive
	}
	return nil
}

// Load loads what has changed. Keys of sources are few, so all of them are read if one has.
func (k *IngestKeys) Load(ctx context.Context) error {
	k.loading.Lock()
	defer k.loading.Unlock()
	counters, err := k.Store.Counters(ctx)
	if err != nil {
		return fmt.Errorf("read the counter of ingest keys: %w", err)
	}
	if last := k.known.Load(); last != nil && last.counter == counters.IngestKeys {
		return nil
	}
	list, counter, err := k.Store.IngestKeys(ctx)
	if err != nil {
		return fmt.Errorf("read the ingest keys: %w", err)
	}
	next := &ingestRing{counter: counter, byHash: make(map[[32]byte]store.IngestKey, len(list))}
	for _, key := range list {
		next.byHash[key.Hash] = key
	}
	k.known.Store(next)
	return nil
}

// Run keeps the keys up to date until the context ends. Load must have succeeded once before.
func (k *IngestKeys) Run(ctx context.Context) error {
	k.Store.Follow(ctx, "ingest keys", k.Log, k.Load)
	return nil
}

// CreateIngest mints and saves a key with which a source may deliver rows of some families.
func CreateIngest(
	ctx context.Context, db *store.DB, source string, families []string,
) (secret Secret, key store.IngestKey, err error) {
	for range mintAttempts {
		secret = mint(IngestPrefix)
		key = store.IngestKey{ID: secret.ID(), Hash: secret.Hash(), Source: source, Families: families}
		if key, err = db.CreateIngestKey(ctx, key); !errors.Is(err, store.ErrKeyIDExists) {
			return secret, key, err
		}
	}
	return Secret{}, store.IngestKey{}, fmt.Errorf("mint a key: %d ids in a row were taken: %w", mintAttempts, err)
}
