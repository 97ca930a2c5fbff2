package links

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/redact"
	"github.com/assaydata/assay/internal/store"
)

// MaxLinks is how many links an account may have: more than anyone needs, and few enough that links do not fill the
// memory of every node.
const MaxLinks = 50

// maxName is how many characters the name of a link may have.
const maxName = 64

func refuse(kind assay.Kind, code, format string, args ...any) error {
	return &assay.Error{Kind: kind, Code: code, Message: fmt.Sprintf(format, args...)}
}

var (
	errNoAccount = refuse(assay.Forbidden, "account_required",
		"Share links belong to accounts, and this key belongs to none. Use a key that an account has created, or sign in.")
	errLowKey = refuse(assay.Forbidden, "key_too_low",
		"This key has less access than its account, so it cannot make or revoke share links. Use another key, or sign in.")
	errNoLink  = refuse(assay.NotFound, "unknown_share_link", "There is no such share link.")
	errTooMany = refuse(assay.Forbidden, "too_many_share_links",
		"An account has at most %d share links. Delete one first.", MaxLinks)
)

// List lists the links of a caller's account, oldest first.
func (s *Service) List(ctx context.Context, caller assay.Caller) ([]assay.ShareLink, error) {
	tier, ok := s.Accounts.TierOf(caller.AccountID)
	if !ok {
		return nil, errNoAccount
	}
	catalog, err := s.Store.Catalog(ctx)
	if err != nil {
		return nil, err
	}
	stored, err := s.Store.ShareLinksOf(ctx, caller.AccountID)
	list := make([]assay.ShareLink, 0, len(stored))
	for i := range stored {
		list = append(list, s.show(&stored[i], tier, &catalog))
	}
	return list, err
}

func (s *Service) show(l *store.ShareLink, tier assay.Tier, catalog *assay.Catalog) assay.ShareLink {
	return assay.ShareLink{
		ID: l.ID, Name: l.Name, SharedSeries: l.SharedSeries, CreatedAt: assay.Timestamp(l.CreatedAt),
		Status: statusOf(l.SharedSeries, tier, catalog, s.Now().UnixMilli()),
	}
}

// Create makes a link, and returns its token, which is not shown again. This node opens it before Create returns.
func (s *Service) Create(
	ctx context.Context, caller assay.Caller, name string, series assay.SharedSeries,
) (l assay.ShareLink, token string, err error) {
	ctx, tier, err := s.writer(ctx, caller)
	if err != nil {
		return l, "", err
	}
	catalog, err := s.Store.Catalog(ctx)
	if err != nil {
		return l, "", err
	}
	if err := errors.Join(checkName(name), complete(&series, &catalog)); err != nil {
		return l, "", err
	}
	if err := mayRead(series, tier, &catalog, s.Now().UnixMilli()); err != nil {
		return l, "", err
	}
	token = newToken()
	added, err := s.Store.AddShareLink(ctx, store.ShareLink{
		ID: "sl_" + strings.ToLower(rand.Text()), Hash: hash(token), AccountID: caller.AccountID, Name: name,
		SharedSeries: series,
	}, MaxLinks)
	if err != nil {
		return l, "", translate(err)
	}
	s.refresh(ctx)
	return s.show(&added, tier, &catalog), token, nil
}

// Revoke ends a link for good.
func (s *Service) Revoke(ctx context.Context, caller assay.Caller, id string) error {
	ctx, _, err := s.writer(ctx, caller)
	if err != nil {
		return err
	}
	if err := s.Store.RemoveShareLink(ctx, caller.AccountID, id); err != nil {
		return translate(err)
	}
	s.refresh(ctx)
	return nil
}

// writer returns the access of a caller who may make and revoke the links of its account. A key that has less access
// than its account may not: a link would let it read what it may not read itself.
func (s *Service) writer(ctx context.Context, caller assay.Caller) (context.Context, assay.Tier, error) {
	view, err := s.Accounts.Account(caller.AccountID)
	switch {
	case err != nil || view.ClosedAt != 0:
		return ctx, view.Tier, errNoAccount
	case caller.Tier < view.Tier:
		return ctx, view.Tier, errLowKey
	}
	return store.WithActor(ctx, "account:"+view.Email), view.Tier, nil
}

// checkName refuses a name that is too long, cannot be shown on one line or holds a secret.
func checkName(name string) error {
	n := utf8.RuneCountInString(name)
	if n < 1 || n > maxName || assay.CheckVisible("name", name) != nil || redact.Keys(name) != name {
		return &assay.Error{
			Kind: assay.Invalid, Code: "invalid_parameter", Param: "name",
			Message: fmt.Sprintf(`Invalid value for "name": must be 1 to %d visible characters, and no key or token.`, maxName),
		}
	}
	return nil
}

// translate turns errors of the store into those that callers read.
func translate(err error) error {
	switch {
	case errors.Is(err, store.ErrNoShareLink):
		return errNoLink
	case errors.Is(err, store.ErrTooMany):
		return errTooMany
	case errors.Is(err, store.ErrNoAccount):
		return errNoAccount
	}
	return err
}
