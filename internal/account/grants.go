package account

import (
	"context"
	"errors"
	"fmt"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
)

// ErrHadTrial is the error for a second trial that was not explicitly requested.
var ErrHadTrial = errors.New("the account has had a trial")

// GrantRequest describes access to be granted to an account.
type GrantRequest struct {
	Plan  assay.Plan
	From  int64 // 0: now
	Until int64 // 0: open, or the length of a trial
	Again bool  // allow another trial
}

// AddGrant grants access to an account. A grant of another plan ends the one in force when it begins, which upgrades or
// downgrades the account. A grant of the same plan extends it.
func (s *Service) AddGrant(ctx context.Context, email string, request GrantRequest) (g assay.Grant, err error) {
	err = s.change(ctx, email, func(a assay.Account) error {
		g, err = s.Store.ChangeGrants(ctx, a.ID, func(has []assay.Grant, now int64) (store.GrantChange, error) {
			return decideGrant(has, request, now)
		})
		return err
	})
	return g, err
}

// EndGrant ends a grant now, and with it the keys based on it.
func (s *Service) EndGrant(ctx context.Context, grantID int64) error {
	if err := s.Store.EndGrant(ctx, grantID); err != nil {
		return fmt.Errorf("grant %d: %w", grantID, err)
	}
	s.refresh(ctx)
	return nil
}

// decideGrant decides how an account's grants change when another is added. No grant begins in the past: it would
// revive keys that have ended.
func decideGrant(has []assay.Grant, request GrantRequest, now int64) (store.GrantChange, error) {
	g, err := newGrant(request, now)
	if err != nil {
		return store.GrantChange{}, err
	}
	change := store.GrantChange{At: g.StartsAt, Add: g, Again: request.Again}
	for _, old := range has {
		if old.Plan == assay.PlanTrial && g.Plan == assay.PlanTrial && !request.Again {
			return change, fmt.Errorf("%w, from %s", ErrHadTrial, assay.FormatInstant(old.StartsAt))
		}
		ends, err := replaces(old, g)
		if err != nil {
			return change, err
		}
		if ends {
			change.End = append(change.End, old.ID)
		}
	}
	return change, nil
}

// newGrant makes the requested grant, with defaults filled in.
func newGrant(request GrantRequest, now int64) (assay.Grant, error) {
	g := assay.Grant{Plan: request.Plan, StartsAt: request.From, EndsAt: request.Until}
	if g.StartsAt == 0 {
		g.StartsAt = now
	}
	switch {
	case g.Plan.Tier() == assay.Anonymous:
		return g, fmt.Errorf("plan %q: allowed are trial, premium and full", g.Plan)
	case g.StartsAt < now:
		return g, fmt.Errorf("the start %s is past", assay.FormatInstant(g.StartsAt))
	case g.Plan == assay.PlanTrial && g.EndsAt != 0:
		return g, errors.New("a trial lasts 72 hours: it takes no end")
	case g.Plan == assay.PlanTrial:
		g.EndsAt = g.StartsAt + assay.TrialLength
	case g.EndsAt != 0 && g.EndsAt <= g.StartsAt:
		return g, fmt.Errorf("the end %s is not after the start %s",
			assay.FormatInstant(g.EndsAt), assay.FormatInstant(g.StartsAt))
	}
	return g, nil
}

// replaces reports whether a new grant ends an old one, or why both cannot exist.
func replaces(old, g assay.Grant) (bool, error) {
	until := old.Until()
	over := until != 0 && (until <= g.StartsAt || until <= old.StartsAt)
	later := old.StartsAt > g.StartsAt
	switch {
	case over || later && g.EndsAt != 0 && old.StartsAt >= g.EndsAt:
		return false, nil
	case old.Plan == g.Plan && !later && (until == 0 || g.EndsAt != 0 && g.EndsAt <= until):
		return false, fmt.Errorf("the account is granted %s for that time already (grant %d)", old.Plan, old.ID)
	case old.Plan == g.Plan:
		return false, nil
	case later:
		return false, fmt.Errorf("the account is granted %s from %s on: end grant %d first",
			old.Plan, assay.FormatInstant(old.StartsAt), old.ID)
	case g.Plan == assay.PlanTrial:
		return false, fmt.Errorf("the account has %s access, which a trial would take away: end grant %d first",
			old.Plan, old.ID)
	}
	return true, nil
}
