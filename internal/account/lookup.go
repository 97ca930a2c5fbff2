package account

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/limit"
	"github.com/assaydata/assay/internal/store"
)

// How often tokens that are not in memory are looked up in the store. Only a session that another process has started
// within the last second needs it, so the limits are far above what people need; and a lookup that they refuse delays
// such a session by a second at most. Every node counts alone: the limits protect its database connections.
const (
	lookupWindow     = time.Minute
	lookupsAddress   = 30
	maxLookupAddress = 16_384
	lookupsPerSecond = 100 // of all addresses together

	// unknownFor is how long a token that the store does not know is not looked up again. A token cannot become a session
	// later: it is random, and its session is stored before anyone gets it.
	unknownFor = time.Second
	maxUnknown = 8192
)

// lookups limits the lookups of tokens that are not in memory. Anyone can send random tokens.
type lookups struct {
	once      sync.Once
	began     time.Time
	byAddress *limit.Limiter[netip.Addr]
	all       *limit.Limiter[struct{}]
	unknown   *limit.Limiter[[32]byte] // tokens that the store did not know a moment ago
}

// at is the time on the limiters' clock.
func (l *lookups) at(now time.Time) int64 {
	l.once.Do(func() {
		l.began = now
		l.byAddress = limit.New[netip.Addr](lookupsAddress, lookupWindow, maxLookupAddress, nil)
		l.all = limit.New[struct{}](lookupsPerSecond, time.Second, 1, nil)
		l.unknown = limit.New[[32]byte](1, unknownFor, maxUnknown, nil)
	})
	return int64(now.Sub(l.began))
}

// allow decides whether a client may have a token looked up.
func (l *lookups) allow(hash [32]byte, client netip.Addr, now time.Time) error {
	at := l.at(now)
	if _, refused := l.unknown.Refused(hash, at, 1); refused {
		return store.ErrNoSession
	}
	d := l.byAddress.Allow(client, at)
	if d.Allowed {
		d = l.all.Allow(struct{}{}, at)
	}
	if d.Allowed {
		return nil
	}
	return &assay.Error{
		Kind: assay.TooMany, Code: "rate_limited", RetryAfter: d.Reset,
		Message: fmt.Sprintf("Too many unknown sessions. Retry in %d seconds.", (d.Reset+time.Second-1)/time.Second),
	}
}

// remember notes that the store does not know a token.
func (l *lookups) remember(hash [32]byte, now time.Time) { l.unknown.Allow(hash, l.at(now)) }

// lookUp reads a session that is not in memory. It never writes.
func (s *Service) lookUp(requestCtx context.Context, hash [32]byte, client netip.Addr) (liveSession, error) {
	if err := s.lookups.allow(hash, client, s.Now()); err != nil {
		return liveSession{}, err
	}
	ctx, cancel := context.WithTimeout(requestCtx, findTimeout)
	defer cancel()
	found, err := s.Store.Session(ctx, hash)
	if errors.Is(err, store.ErrNoSession) {
		s.lookups.remember(hash, s.Now())
	}
	if err != nil {
		return liveSession{}, err
	}
	s.refresh(ctx) // its account may be as new as the session
	if loaded, ok := s.sessions.Load().byHash[hash]; ok {
		return loaded, nil
	}
	return newSessions([]store.Session{found}, 0, nil).byHash[hash], nil
}

// findTimeout bounds the wait for an unreachable database. A request with an unknown token is then treated as a
// visitor's.
const findTimeout = time.Second
