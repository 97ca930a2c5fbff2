// Package account is about people: who signs in, what they were given, and the keys they make of it.
//
// An account has access by grants of its own, by the plans of the organizations it is a member of, or not at all. Both have
// a beginning and mostly an end, and are kept as a history that is never rewritten: what somebody may read at an instant
// is a question about that history, asked anew at every request, so nothing has to happen when a trial runs out. Service
// holds the history in memory and follows the store, like keys.Keyring does, so that a change by any process takes effect
// within a second and no reader waits for the database.
//
// Signing in gives a session: a token of 256 random bits that the browser keeps, and whose hash is stored. Passwords are kept
// as argon2id, and checking one takes the same work whether the account exists or not.
//
// Every change is written with an entry in the audit log, in one transaction. Who is said to have done it is
// store.WithActor's for the operator's methods; whatever an account does, it does in its own name.
package account

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/assaydata/assay/internal/keys"
	"github.com/assaydata/assay/internal/store"
)

// Service knows everybody. Load must have succeeded once before anything is asked.
type Service struct {
	Store *store.DB
	Keys  *keys.Keyring // hears of a new key before its owner does; nil where nobody presents keys
	Now   func() time.Time
	Log   *slog.Logger

	people   atomic.Pointer[people]
	sessions atomic.Pointer[sessions]
	loading  sync.Mutex   // held while reading, so that an older reading does not replace a newer one
	hashes   atomic.Int64 // how many passwords have been hashed; tests compare the work of sign-ins by it
}

// sessions is one reading of the sessions.
type sessions struct {
	counter int64
	byHash  map[[32]byte]store.Session
}

// Load reads what has changed.
func (s *Service) Load(ctx context.Context) error {
	s.loading.Lock()
	defer s.loading.Unlock()
	counters, err := s.Store.Counters(ctx)
	if err != nil {
		return fmt.Errorf("read the account counters: %w", err)
	}
	if p := s.people.Load(); p == nil || p.counter != counters.Accounts {
		directory, err := s.Store.Directory(ctx)
		if err != nil {
			return fmt.Errorf("read the accounts: %w", err)
		}
		s.people.Store(newPeople(&directory))
	}
	if n := s.sessions.Load(); n == nil || n.counter != counters.Sessions {
		list, counter, err := s.Store.Sessions(ctx)
		if err != nil {
			return fmt.Errorf("read the sessions: %w", err)
		}
		next := &sessions{counter: counter, byHash: make(map[[32]byte]store.Session, len(list))}
		for _, session := range list {
			next.byHash[session.Hash] = session
		}
		s.sessions.Store(next)
	}
	return nil
}

// Run keeps what is known current until the context ends.
func (s *Service) Run(ctx context.Context) error {
	s.Store.Follow(ctx, "accounts", s.Log, s.Load)
	return nil
}

// refresh reads what has changed, also of the keys. What it follows has been committed, so a failure is no failure of that: Run
// will show it.
func (s *Service) refresh(ctx context.Context) {
	err := s.Load(ctx)
	if err == nil && s.Keys != nil {
		err = s.Keys.Load(ctx)
	}
	if err != nil && ctx.Err() == nil {
		s.Log.Error("read what was just changed", "error", err)
	}
}

func (s *Service) now() int64 { return s.Now().UnixMilli() }
