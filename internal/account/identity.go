package account

import (
	"context"
	"errors"
	"strings"

	"github.com/assaydata/assay/internal/store"
)

// The errors of a sign-in through OpenID Connect.
var (
	errClosed        = signInError("This account is closed.")
	errOtherIdentity = signInError("This account signs in with another identity.")
	errLinkPassword  = signInError("This is not the password of your account on this server.")
)

// Identity is who a provider of OpenID Connect has signed in. The provider has verified the email address.
type Identity struct {
	Issuer, Subject, Email, Name string

	// The ticket that brought the identity, which works once, and when it ends in milliseconds.
	TicketID   [16]byte
	TicketEnds int64
}

// stored is an identity and its ticket as they are stored, or the error of an email address that no account can have.
func (who Identity) stored() (store.Identity, store.Ticket, error) {
	identity := store.Identity{
		Issuer: who.Issuer, Subject: who.Subject, Email: NormalEmail(who.Email), Name: strings.TrimSpace(who.Name),
	}
	if checkName("name", identity.Name, 0) != nil {
		identity.Name = "" // an unusable name is no reason to refuse the sign-in
	}
	return identity, store.Ticket{ID: who.TicketID, ExpiresAt: who.TicketEnds}, checkEmail(identity.Email)
}

// SignInAs starts a session, or the second step, for an identity. The account is found by issuer and subject, and
// otherwise by email address; if there is none, an account without a grant is added. An account that has a password is
// linked with an identity only by Link, so that a provider cannot take it over alone.
func (s *Service) SignInAs(ctx context.Context, client Client, who Identity) (SignedIn, error) {
	identity, ticket, err := who.stored()
	if err != nil {
		return SignedIn{}, err
	}
	account, unlinked, err := s.Store.AccountOf(store.WithActor(ctx, "account:"+identity.Email), identity, ticket)
	switch {
	case err != nil:
		return SignedIn{}, identityError(err)
	case account.ClosedAt != 0:
		return SignedIn{}, errClosed
	case unlinked:
		return SignedIn{Account: account, MustLink: true}, nil
	}
	return s.next(ctx, client, account, store.ByOIDC)
}

// Link links the account that has the email address of an identity, given its password, and continues as SignInAs.
func (s *Service) Link(ctx context.Context, client Client, who Identity, password string) (SignedIn, error) {
	identity, ticket, err := who.stored()
	if err != nil {
		return SignedIn{}, err
	}
	account, hash, err := s.check(ctx, client, identity.Email, password)
	if errors.Is(err, errSignIn) {
		return SignedIn{}, errLinkPassword
	}
	if err != nil {
		return SignedIn{}, err
	}
	if err := s.Store.LinkIdentity(as(ctx, account), account.ID, hash, identity, ticket); err != nil {
		return SignedIn{}, identityError(err)
	}
	s.refresh(ctx)
	return s.next(ctx, client, account, store.ByOIDC)
}

// identityError is what a caller reads when the store refuses an identity.
func identityError(err error) error {
	switch {
	case errors.Is(err, store.ErrOtherIdentity):
		return errOtherIdentity
	case errors.Is(err, store.ErrTicketUsed), errors.Is(err, store.ErrPasswordChanged):
		return ErrSignInEnded
	default:
		return err
	}
}
