// Package notify finds the alerts that fire and delivers their messages.
//
// Evaluating is exact: up to where alerts have been evaluated is stored in the transaction that queues their messages,
// so a node that ends in between loses none and repeats none. Delivering is at least once: a message is done when its
// receiver has accepted it and that is stored. A node that ends in between, or is paused, leaves it to another node,
// which sends it again under the same id. An endpoint gets its messages in order, because only the first one that is
// pending is attempted.
//
// One node works at a time, the holder of the store's lease. It gives the lease back when nothing is due, so an idle
// server writes nothing.
package notify

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/assaydata/assay/internal/account"
	"github.com/assaydata/assay/internal/mail"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/webhook"
)

// Service manages alerts and delivers them.
type Service struct {
	Store    *store.DB
	Accounts *account.Service // whose secret key seals those of webhooks
	Sender   *webhook.Sender
	Mail     *mail.Config // nil: no mail
	Now      func() time.Time
	Log      *slog.Logger

	LeaseTimeout time.Duration // replaces leaseTimeout in tests
	Jitter       func() float64

	attempts attempts    // for Attempts
	seen     store.Lease // of another node
	seenAt   time.Time   // when it was first seen, by the clock that only runs forward
}

const (
	// leaseTimeout is how long the holder of the lease may be silent. It is longer than an attempt by the time in which
	// the holder must have renewed the lease before it begins one.
	leaseTimeout = webhook.Timeout + freshFor
	// freshFor is how old a renewal may be when an attempt begins.
	freshFor = 5 * time.Second
	// renewEvery is how often a holder renews the lease.
	renewEvery = 2 * time.Second
	// lookEvery is how often a node looks for work without having noticed a change.
	lookEvery = time.Second
	// releaseTimeout bounds giving the lease back when the node stops.
	releaseTimeout = 2 * time.Second
)

// Run evaluates and delivers until the context ends.
func (s *Service) Run(ctx context.Context) error {
	failing := false
	for ctx.Err() == nil {
		changed := s.Store.Changed()
		err := s.workIfDue(ctx)
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // the node stops
		case err != nil && !errors.Is(err, store.ErrLeaseLost) && !failing:
			failing = true
			s.Log.Error("cannot evaluate or deliver alerts; trying again", "error", err)
		case err == nil && failing:
			failing = false
			s.Log.Info("evaluating and delivering alerts again")
		}
		if err != nil {
			changed = nil // what failed a moment ago is not tried at once
		}
		select {
		case <-ctx.Done():
		case <-changed:
		case <-time.After(lookEvery):
		}
	}
	return nil
}

// workIfDue takes the lease if something is due and the lease can be had, and works until nothing is due.
func (s *Service) workIfDue(ctx context.Context) error {
	due, err := s.isDue(ctx)
	if err != nil || !due {
		return err
	}
	asked := time.Now()
	lease, taken, err := s.take(ctx)
	if err != nil || !taken {
		return err
	}
	h := s.newHolder(lease, asked)
	err = h.work(ctx)
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	if released := s.Store.ReleaseLease(ending, h.lease); err == nil && !errors.Is(released, store.ErrLeaseLost) {
		err = released
	}
	return err
}

// isDue reports whether there is something to evaluate or to deliver now.
func (s *Service) isDue(ctx context.Context) (bool, error) {
	ready, err := s.readPublished(ctx)
	if err != nil || ready.isNew() {
		return err == nil, err
	}
	list, err := s.Store.NextDeliveries(ctx)
	now := s.now()
	for i := range list {
		if isDue(&list[i], now) {
			return true, err
		}
	}
	return false, err
}

// take takes the lease if it is free, or if its holder has been silent for too long.
func (s *Service) take(ctx context.Context) (lease store.Lease, taken bool, err error) {
	now, err := s.Store.Lease(ctx)
	if err != nil {
		return lease, false, err
	}
	if now.Held && now != s.seen {
		s.seen, s.seenAt = now, time.Now()
	}
	if now.Held && time.Since(s.seenAt) < s.leaseTimeout() {
		return lease, false, nil
	}
	lease, err = s.Store.TakeLease(ctx, now)
	if errors.Is(err, store.ErrLeaseLost) {
		return lease, false, nil
	}
	return lease, err == nil, err
}

func (s *Service) leaseTimeout() time.Duration {
	if s.LeaseTimeout > 0 {
		return s.LeaseTimeout
	}
	return leaseTimeout
}

func (s *Service) now() int64 { return s.Now().UnixMilli() }

// access returns what an account may read now; ok is false if it is closed.
func (s *Service) access(accountID int64) (view account.View, ok bool) {
	view, err := s.Accounts.Account(accountID)
	return view, err == nil && view.ClosedAt == 0
}
