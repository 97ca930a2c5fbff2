// Package account manages accounts: sign-in, access, and the API keys of accounts.
//
// An account has access through its grants and through the plans of its organizations. Both have a beginning and
// usually an end, and are stored as a history that is never rewritten. What an account may read at an instant follows
// from that history and is computed for every request, so nothing has to run when a trial ends. Service has the history
// in memory and follows the store, as keys.Keyring does: a change by any process takes effect within a second, and no
// reader waits for the database.
//
// Signing in starts a session: a token of 256 random bits that the browser keeps, and whose hash is stored. A session
// ends after 14 days, and after a day without use. Passwords are stored as argon2id hashes. Checking a password takes
// the same work whether or not the account exists.
//
// An account with a second factor signs in in two steps. After the first, the browser has a ticket, not a session. The
// ticket is sealed and kept by the browser, so that any node can take the second step and visitors cannot make the
// server store anything. A code, a signature or a ticket works once, which the database ensures in the transaction that
// starts the session.
//
// Every change writes an entry to the audit log in its transaction. The operator's methods take the actor from
// store.WithActor; otherwise the account itself is the actor.
package account

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/assaydata/assay/internal/factor"
	"github.com/assaydata/assay/internal/hasher"
	"github.com/assaydata/assay/internal/keys"
	"github.com/assaydata/assay/internal/seal"
	"github.com/assaydata/assay/internal/store"
)

// Service manages the accounts. Load must have succeeded once before it is used.
type Service struct {
	Store *store.DB
	Keys  *keys.Keyring // loads a new key before its owner gets it; nil where no keys are checked
	Now   func() time.Time
	Log   *slog.Logger

	Secret   *seal.Key    // seals tickets and the secrets of authenticator apps; nil: no second factors
	Passkeys *factor.Site // nil: no passkeys
	Require  Requirement  // who must have a second factor

	Hasher     *hasher.Hasher // hashes passwords apart; nil: in this process
	HashMemory uint32         // to hash a password, in KiB; 0: the right amount, and tests that sign in often use less

	people   atomic.Pointer[people]
	sessions atomic.Pointer[sessions]
	devices  atomic.Pointer[devices]
	lookups  lookups
	queue    hashQueue    // of passwords to hash
	loading  sync.Mutex   // held while loading, so that older data does not replace newer data
	hashes   atomic.Int64 // how many passwords have been hashed; tests compare the work of sign-ins with it
}

// Load loads what has changed.
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
		s.sessions.Store(newSessions(list, counter, n))
	}
	if d := s.devices.Load(); d == nil || d.counter != counters.Devices {
		list, counter, err := s.Store.Devices(ctx)
		if err != nil {
			return fmt.Errorf("read the devices: %w", err)
		}
		s.devices.Store(newDevices(list, counter))
	}
	return nil
}

// Run keeps the service up to date until the context ends.
func (s *Service) Run(ctx context.Context) error {
	s.Store.Follow(ctx, "accounts", s.Log, s.Load)
	return nil
}

// refresh loads a change that was just committed, including that of a key. The change itself has succeeded, so an error
// is only logged; Run loads it later.
func (s *Service) refresh(ctx context.Context) {
	err := s.Load(ctx)
	if err == nil && s.Keys != nil {
		err = s.Keys.Load(ctx)
	}
	if err != nil && ctx.Err() == nil {
		s.Log.Error("load the change", "error", err)
	}
}

func (s *Service) now() int64 { return s.Now().UnixMilli() }
