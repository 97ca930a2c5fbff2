// Package links manages share links. A share link opens one series to everyone who has it, without a key, as far as the
// account that made it may read that series at that moment. So a spreadsheet or the README of a project can show a
// series, and no key is in its address.
//
// The address contains a token of 130 random bits. Only the token's SHA-256 is stored, and the token is shown once.
// Service has the hashes of all links in memory, so opening a link does not wait for the database, and follows the
// store, as keys.Keyring does: a link that is revoked on one node is refused by all within a second. The access of its
// account is looked up for each request, so a link ends with the account, and shows less when the account's plan ends.
package links

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/account"
	"github.com/assaydata/assay/internal/store"
)

// Service manages the links. Load must have succeeded once before links are opened.
type Service struct {
	Store    *store.DB
	Accounts *account.Service
	Now      func() time.Time
	Log      *slog.Logger

	opened  atomic.Pointer[opened]
	loading sync.Mutex // held while loading, so that older data does not replace newer data
}

// opened is the links as of one load, by the hash of their token. It is not changed afterwards.
type opened struct {
	counter int64 // at that time
	byHash  map[[32]byte]link
}

// link is what is needed to open a link.
type link struct {
	id        string
	accountID int64
	series    assay.SharedSeries
}

// A token is a prefix that is easy to find in a text, for those who look for leaked secrets, and random text. The
// package redact knows the prefix.
const tokenPrefix = "shl_"

func newToken() string { return tokenPrefix + strings.ToLower(rand.Text()) }

// tokenLength is the length of every token.
var tokenLength = len(newToken())

func hash(token string) [32]byte { return sha256.Sum256([]byte(token)) }

// Open returns what the link with a token shows now; ok is false if there is no such link. A token is looked up by its
// hash, so how long that takes says nothing about other tokens.
func (s *Service) Open(token string) (open assay.OpenLink, ok bool) {
	if len(token) != tokenLength || !strings.HasPrefix(token, tokenPrefix) {
		return open, false
	}
	found, ok := s.opened.Load().byHash[hash(token)]
	if !ok {
		return open, false
	}
	tier, ok := s.Accounts.TierOf(found.accountID)
	if !ok {
		return open, false
	}
	owner := assay.Caller{Tier: tier, AccountID: found.accountID}
	return assay.OpenLink{ID: found.id, SharedSeries: found.series, Owner: owner}, true
}

// Load loads what has changed. Links change seldom, so all of them are read if one has.
func (s *Service) Load(ctx context.Context) error {
	s.loading.Lock()
	defer s.loading.Unlock()
	counters, err := s.Store.Counters(ctx)
	if err != nil {
		return fmt.Errorf("read the counter of share links: %w", err)
	}
	if last := s.opened.Load(); last != nil && last.counter == counters.ShareLinks {
		return nil
	}
	list, counter, err := s.Store.ShareLinks(ctx)
	if err != nil {
		return fmt.Errorf("read the share links: %w", err)
	}
	next := &opened{counter: counter, byHash: make(map[[32]byte]link, len(list))}
	for i := range list {
		next.byHash[list[i].Hash] = link{list[i].ID, list[i].AccountID, list[i].SharedSeries}
	}
	s.opened.Store(next)
	return nil
}

// Run keeps the links up to date until the context ends.
func (s *Service) Run(ctx context.Context) error {
	s.Store.Follow(ctx, "share links", s.Log, s.Load)
	return nil
}

// refresh loads a change that was just committed. The change itself has succeeded, so an error is only logged; Run
// loads it later.
func (s *Service) refresh(ctx context.Context) {
	if err := s.Load(ctx); err != nil && ctx.Err() == nil {
		s.Log.Error("load the change", "error", err)
	}
}
