// Package intake takes what sources deliver while the server runs: bodies of POST /api/ingest, with an ingest key, and
// files in a watched folder. A delivery is parsed, checked and stored as assay import does it with a file, by the same
// code: batch by batch, each one transaction. Rows have keys, so a delivery that was cut off is sent again as a whole.
//
// Nothing of a delivery is kept in memory but the batch that is being filled and the one that is being written. While
// the database is busy, no more is read, and the connection slows the sender down.
package intake

import (
	"context"
	"crypto/ed25519"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/keys"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/tracing"
)

// Config is what a service needs.
type Config struct {
	Keys     *keys.IngestKeys
	Writes   bool        // whether this node may write
	Draining func() bool // whether this node is shutting down
	// SigningKey returns the key that signs receipts; nil if there is none.
	SigningKey func(ctx context.Context, db *store.DB) (ed25519.PrivateKey, error)
	Folder     string          // for bodies that must be on a disk to be read
	Traces     *tracing.Tracer // nil: deliveries are not traced
	Now        func() time.Time
	Log        *slog.Logger
}

// Service takes deliveries.
type Service struct {
	Config
	db atomic.Pointer[store.DB] // nil before the store is open

	mu    sync.Mutex
	total int            // deliveries in progress; guarded by mu
	byKey map[string]int // likewise; guarded by mu
}

// New makes a service. It refuses deliveries until Open is called.
func New(c Config) *Service { return &Service{Config: c, byKey: map[string]int{}} }

// Open lets deliveries in. The keys must be loaded.
func (s *Service) Open(db *store.DB) { s.db.Store(db) }

// How many deliveries there are at a time. Each takes memory for two batches, and their transactions wait for each
// other, so more of them would be no faster.
const (
	mostDeliveries = 4
	mostOfKey      = 2
)

// retryBusy is when a sender may try again who has met others.
const retryBusy = 5 * time.Second

var errBusy = &assay.Error{
	Kind: assay.Unavailable, Code: "busy", RetryAfter: retryBusy,
	Message: "Too many bodies are being stored at the moment, of your key or of all. Send fewer at a time.",
}

// enter takes a place for a delivery.
func (s *Service) enter(key string) (leave func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.total == mostDeliveries || s.byKey[key] == mostOfKey {
		return nil, errBusy
	}
	s.total++
	s.byKey[key]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.total--
		if s.byKey[key]--; s.byKey[key] == 0 {
			delete(s.byKey, key)
		}
	}, nil
}
