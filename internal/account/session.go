package account

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
)

// SessionLength is how long a session lasts however much it is used, and SessionIdle how long it lasts without use.
const (
	SessionLength = 14 * assay.Day
	SessionIdle   = store.SessionIdle
)

var errNoSession = &assay.Error{Kind: assay.NotFound, Code: "unknown_session", Message: "There is no such session."}

// sessions is the sessions as of one load.
type sessions struct {
	counter int64
	byHash  map[[32]byte]liveSession
}

// SessionCount is how many sessions there are.
func (s *Service) SessionCount() int {
	if known := s.sessions.Load(); known != nil {
		return len(known.byHash)
	}
	return 0
}

// liveSession is a session and when it was last used.
type liveSession struct {
	store.Session
	use *use
}

// use is when a session was last used, as far as this node knows. Requests write it, so it must not need the database.
type use struct {
	last   atomic.Int64
	stored atomic.Int64 // what the store knows
}

// useGrain is how exactly the last use is known: most requests of a busy session leave it as it is.
const useGrain = assay.Minute

// mark notes a use.
func (u *use) mark(now int64) {
	if now-u.last.Load() >= useGrain {
		u.last.Store(now)
	}
}

// learn takes over what the store knows of uses on other nodes.
func (u *use) learn(stored int64) {
	u.stored.Store(stored)
	for last := u.last.Load(); last < stored; last = u.last.Load() {
		if u.last.CompareAndSwap(last, stored) {
			return
		}
	}
}

// newSessions makes the sessions of a load. What this node knows of the use of a session stays.
func newSessions(list []store.Session, counter int64, before *sessions) *sessions {
	next := &sessions{counter: counter, byHash: make(map[[32]byte]liveSession, len(list))}
	for _, s := range list {
		one := liveSession{Session: s}
		if before != nil {
			one.use = before.byHash[s.Hash].use
		}
		if one.use == nil {
			one.use = &use{}
		}
		one.use.learn(s.LastUsedAt)
		next.byHash[s.Hash] = one
	}
	return next
}

// Session is a signed-in account and what it may read now.
type Session struct {
	AccountID int64
	Caller    assay.Caller
	ExpiresAt int64
}

// Identify finds the session of a token in memory. An unknown token may be from another process a moment ago, so the
// store is queried once, within the limit of the client's address. Otherwise the token is no one's.
func (s *Service) Identify(ctx context.Context, token string, client netip.Addr) (Session, bool) {
	hash, ok := hashToken(token)
	if !ok {
		return Session{}, false
	}
	found, err := s.find(ctx, hash, client)
	if err != nil {
		_, limited := errors.AsType[*assay.Error](err)
		if !limited && !errors.Is(err, store.ErrNoSession) && ctx.Err() == nil {
			s.Log.Error("find a session", "error", err)
		}
		return Session{}, false
	}
	return s.identify(found)
}

// IdentifyInMemory returns the session of a token without waiting for the database, for routes that serve data. A
// session that another process has just started is unknown until the next reading, which takes less than a second. A
// restricted one reads nothing.
func (s *Service) IdentifyInMemory(token string) (Session, bool) {
	hash, ok := hashToken(token)
	if !ok {
		return Session{}, false
	}
	found, ok := s.sessions.Load().byHash[hash]
	if !ok {
		return Session{}, false
	}
	session, ok := s.identify(found)
	if session.Caller.Restricted != assay.Unrestricted {
		return Session{}, false
	}
	return session, ok
}

// WatchSession returns what finds out whose session it is later on, and whether it still lasts. It does not keep the
// token itself, and does not count as a use of the session: a page that is left open does not keep its owner signed in.
func (s *Service) WatchSession(token string) func(now int64) (assay.Caller, bool) {
	hash, _ := hashToken(token) // that of no token is no one's
	return func(now int64) (assay.Caller, bool) {
		found, ok := s.sessions.Load().byHash[hash]
		if !ok {
			return assay.Caller{}, false
		}
		session, ok := s.ownerOf(found, now)
		return session.Caller, ok && session.Caller.Restricted == assay.Unrestricted
	}
}

// find finds a session in memory, or else in the store.
func (s *Service) find(ctx context.Context, hash [32]byte, client netip.Addr) (liveSession, error) {
	if found, ok := s.sessions.Load().byHash[hash]; ok {
		return found, nil
	}
	return s.lookUp(ctx, hash, client)
}

// identify returns the owner of a session that has not ended, and notes that it was used.
func (s *Service) identify(found liveSession) (Session, bool) {
	now := s.now()
	session, ok := s.ownerOf(found, now)
	if ok {
		found.use.mark(now)
	}
	return session, ok
}

// ownerOf returns the owner of a session that has not ended.
func (s *Service) ownerOf(found liveSession, now int64) (Session, bool) {
	one := s.people.Load().byID[found.AccountID]
	if one == nil || one.ClosedAt != 0 || found.end() <= now {
		return Session{}, false
	}
	caller := assay.Caller{Tier: one.tierAt(now), AccountID: found.AccountID}
	switch {
	case found.Restricted:
		caller.Tier, caller.Restricted = assay.Anonymous, assay.MustChangePassword
	case !one.SecondFactor && s.requires(one):
		caller.Tier, caller.Restricted = assay.Anonymous, assay.MustAddFactor
	}
	return Session{AccountID: found.AccountID, Caller: caller, ExpiresAt: found.ExpiresAt}, true
}

// end is when a session ends if it is not used again.
func (l liveSession) end() int64 { return min(l.ExpiresAt, l.use.last.Load()+SessionIdle) }

// SignOut ends a session. A token without a session is no error: its owner is signed out. client is the client's
// address, for the limit of lookups.
func (s *Service) SignOut(ctx context.Context, token string, client netip.Addr) error {
	hash, ok := hashToken(token)
	if !ok {
		return nil
	}
	found, err := s.find(ctx, hash, client)
	if errors.Is(err, store.ErrNoSession) {
		return nil
	}
	if err != nil {
		return err
	}
	ctx = store.WithActor(ctx, visitor)
	if session, ok := s.identify(found); ok {
		ctx = as(ctx, s.people.Load().byID[session.AccountID].Account)
	}
	if err := s.Store.EndSession(ctx, hash); err != nil && !errors.Is(err, store.ErrNoSession) {
		return err
	}
	s.refresh(ctx)
	return nil
}

// SessionsOf lists the sessions of an account, newest first. token is that of the session that asks, or empty.
func (s *Service) SessionsOf(ctx context.Context, accountID int64, token string) ([]assay.Session, error) {
	stored, err := s.Store.SessionsOf(ctx, accountID)
	if err != nil {
		return nil, err
	}
	current, _ := hashToken(token)
	now, known := s.now(), s.sessions.Load()
	list := []assay.Session{}
	for _, one := range stored {
		found := known.byHash[one.Hash]
		if found.use == nil {
			found.use = &use{}
		}
		found.Session = one
		found.use.learn(one.LastUsedAt)
		if found.end() <= now {
			continue
		}
		list = append(list, assay.Session{
			ID: one.ID, CreatedAt: assay.Timestamp(one.CreatedAt), LastUsedAt: assay.Timestamp(found.use.last.Load()),
			ExpiresAt: assay.Timestamp(found.end()), Address: optional(one.Address), UserAgent: optional(one.UserAgent),
			Current: one.Hash == current,
		})
	}
	return list, nil
}

// optional returns nil for an empty text.
func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// EndSession ends a session of an account by its public id.
func (s *Service) EndSession(ctx context.Context, accountID int64, id string) error {
	return s.end(ctx, accountID, func(ctx context.Context) error {
		err := s.Store.EndSessionOf(ctx, accountID, id)
		if errors.Is(err, store.ErrNoSession) {
			return errNoSession
		}
		return err
	})
}

// EndOtherSessions ends the sessions of an account except the one with a token, and returns how many.
func (s *Service) EndOtherSessions(ctx context.Context, accountID int64, token string) (ended int, err error) {
	err = s.end(ctx, accountID, func(ctx context.Context) error {
		ended, err = s.Store.EndSessions(ctx, accountID, exceptHash(token))
		return err
	})
	return ended, err
}

// end ends sessions as the account.
func (s *Service) end(ctx context.Context, accountID int64, end func(context.Context) error) error {
	one, err := s.person(accountID)
	if err != nil {
		return err
	}
	if err := end(as(ctx, one.Account)); err != nil {
		return err
	}
	s.refresh(ctx)
	return nil
}

// exceptHash is the hash of the session that stays, or nil for none.
func exceptHash(token string) []byte {
	hash, ok := hashToken(token)
	if !ok {
		return nil
	}
	return hash[:]
}

// useEvery is how often the last uses are written, and read from the other nodes. It is far less than SessionIdle.
const useEvery = 5 * time.Minute

// RunUse writes when sessions were last used every few minutes until the context ends. What was used after that needs a
// last FlushUse.
func (s *Service) RunUse(ctx context.Context) error {
	ticker := time.NewTicker(useEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			if err := cmp.Or(s.FlushUse(ctx), s.readUse(ctx)); err != nil && ctx.Err() == nil {
				s.Log.Error("write when sessions were last used", "error", err)
			}
		}
	}
}

// FlushUse writes when sessions were last used, in one transaction, if any was used.
func (s *Service) FlushUse(ctx context.Context) error {
	uses := map[[32]byte]int64{}
	known := s.sessions.Load()
	if known == nil {
		return nil // nothing was loaded, so nothing was used
	}
	for hash, one := range known.byHash {
		if last := one.use.last.Load(); last > one.use.stored.Load() {
			uses[hash] = last
		}
	}
	if len(uses) == 0 {
		return nil
	}
	if err := s.Store.UseSessions(ctx, uses); err != nil {
		return fmt.Errorf("write the last use of %d sessions: %w", len(uses), err)
	}
	for hash, last := range uses {
		known.byHash[hash].use.stored.Store(last)
	}
	return nil
}

// readUse reads when other nodes saw the sessions last.
func (s *Service) readUse(ctx context.Context) error {
	list, _, err := s.Store.Sessions(ctx)
	if err != nil {
		return fmt.Errorf("read the last use of sessions: %w", err)
	}
	known := s.sessions.Load()
	for _, one := range list {
		if found, ok := known.byHash[one.Hash]; ok {
			found.use.learn(one.LastUsedAt)
		}
	}
	return nil
}
