package account

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/keys"
	"github.com/assaydata/assay/internal/store"
)

// AddAccount adds an account. Without a password it can sign in only through OpenID Connect. A temporary password has
// to be changed at the first sign-in.
func (s *Service) AddAccount(
	ctx context.Context, email, name, password string, temporary bool,
) (assay.Account, error) {
	n := store.NewAccount{
		Email: NormalEmail(email), Name: strings.TrimSpace(name), Temporary: temporary && password != "",
	}
	if err := errors.Join(checkEmail(n.Email), checkName("name", n.Name, 0)); err != nil {
		return assay.Account{}, err
	}
	if password != "" {
		var err error
		if n.Password, err = s.hashPassword(ctx, assay.Account{Email: n.Email, Name: n.Name}, password); err != nil {
			return assay.Account{}, err
		}
	}
	a, err := s.Store.AddAccount(ctx, n)
	if err != nil {
		return a, fmt.Errorf("add %s: %w", n.Email, err)
	}
	s.refresh(ctx)
	return a, nil
}

// CloseAccount permanently ends an account's sessions and keys. Its email address stays taken, because the audit log
// uses it.
func (s *Service) CloseAccount(ctx context.Context, email string) error {
	return s.change(ctx, email, func(a assay.Account) error { return s.Store.CloseAccount(ctx, a.ID) })
}

// SetPassword replaces an account's password and ends its sessions. A temporary one has to be changed at the next
// sign-in.
func (s *Service) SetPassword(ctx context.Context, email, password string, temporary bool) error {
	return s.change(ctx, email, func(a assay.Account) error {
		text, err := s.hashPassword(ctx, a, password)
		if err != nil {
			return err
		}
		return s.Store.SetPassword(ctx, a.ID, store.NewPassword{Hash: text, Temporary: temporary}, nil)
	})
}

// EndSessionFor ends a session of an account on behalf of the operator, by its public id.
func (s *Service) EndSessionFor(ctx context.Context, email, id string) error {
	return s.change(ctx, email, func(a assay.Account) error { return s.Store.EndSessionOf(ctx, a.ID, id) })
}

// EndSessionsFor ends all sessions of an account on behalf of the operator, and returns how many.
func (s *Service) EndSessionsFor(ctx context.Context, email string) (ended int, err error) {
	err = s.change(ctx, email, func(a assay.Account) error {
		ended, err = s.Store.EndSessions(ctx, a.ID, nil)
		return err
	})
	return ended, err
}

// change changes an open account and refreshes the service.
func (s *Service) change(ctx context.Context, email string, act func(assay.Account) error) error {
	a, err := s.Store.AccountByEmail(ctx, NormalEmail(email))
	if err == nil && a.ClosedAt != 0 {
		err = fmt.Errorf("the account was closed at %s", assay.FormatInstant(a.ClosedAt))
	}
	if err == nil {
		err = act(a)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", NormalEmail(email), err)
	}
	s.refresh(ctx)
	return nil
}

// CreateKeyFor creates a key for an account on behalf of the operator, of the tier that the account itself could
// create.
func (s *Service) CreateKeyFor(
	ctx context.Context, email, name string,
) (secret keys.Secret, view assay.Key, err error) {
	err = s.change(ctx, email, func(a assay.Account) error {
		one, err := s.current(ctx, a.ID)
		if err != nil {
			return err
		}
		secret, view, err = s.createKey(ctx, one, name, "")
		return err
	})
	return secret, view, err
}

// AddOrganization adds an organization with a plan.
func (s *Service) AddOrganization(ctx context.Context, name string, plan assay.Plan) (assay.Organization, error) {
	name = strings.TrimSpace(name)
	if err := checkName("name", name, 1); err != nil {
		return assay.Organization{}, err
	}
	o, err := s.Store.AddOrganization(ctx, name, plan)
	if err != nil {
		return o, fmt.Errorf("add %q: %w", name, err)
	}
	s.refresh(ctx)
	return o, nil
}

// SetPlan changes the plan of an organization from now on; a trial ends automatically. Keys based on the old plan end.
func (s *Service) SetPlan(ctx context.Context, name string, plan assay.Plan) error {
	return s.changeOrganization(ctx, name, func(org int64) error { return s.Store.SetPlan(ctx, org, plan) })
}

// AddMember makes an account a member of an organization, or changes its role there.
func (s *Service) AddMember(ctx context.Context, name, email, role string) error {
	if role != assay.RoleOwner && role != assay.RoleMember {
		return fmt.Errorf("role %q: allowed are %s and %s", role, assay.RoleOwner, assay.RoleMember)
	}
	return s.changeOrganization(ctx, name, func(org int64) error {
		return s.change(ctx, email, func(a assay.Account) error { return s.Store.AddMember(ctx, org, a.ID, role) })
	})
}

// RemoveMember ends a membership and the keys based on it.
func (s *Service) RemoveMember(ctx context.Context, name, email string) error {
	return s.changeOrganization(ctx, name, func(org int64) error {
		a, err := s.Store.AccountByEmail(ctx, NormalEmail(email))
		if err == nil {
			err = s.Store.RemoveMember(ctx, org, a.ID)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", NormalEmail(email), err)
		}
		return nil
	})
}

func (s *Service) changeOrganization(ctx context.Context, name string, act func(org int64) error) error {
	if err := s.Load(ctx); err != nil {
		return err
	}
	o := s.people.Load().organization(strings.TrimSpace(name))
	if o == nil {
		return fmt.Errorf("%q: %w", name, store.ErrNoOrganization)
	}
	if err := act(o.ID); err != nil {
		return fmt.Errorf("%q: %w", name, err)
	}
	s.refresh(ctx)
	return nil
}

// Accounts returns every account, oldest first.
func (s *Service) Accounts() (views []View) {
	now := s.now()
	for _, one := range s.people.Load().inOrder() {
		views = append(views, one.view(now))
	}
	return views
}

// AccountByEmail returns the account with an email address.
func (s *Service) AccountByEmail(email string) (View, error) {
	if one := s.people.Load().byEmail[NormalEmail(email)]; one != nil {
		return one.view(s.now()), nil
	}
	return View{}, fmt.Errorf("%s: %w", NormalEmail(email), store.ErrNoAccount)
}

// Organizations returns every organization, oldest first.
func (s *Service) Organizations() (shown []assay.Organization) {
	now := s.now()
	for _, o := range s.people.Load().organizationsInOrder() {
		shown = append(shown, o.view(now))
	}
	return shown
}
