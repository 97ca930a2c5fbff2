package account

import (
	"context"
	"errors"
	"net/netip"
	"strings"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
)

// The errors of a sign-in. A password sign-in has one message for every failure, so that it does not reveal which
// accounts exist.
var (
	errSignIn        = signInError("Email or password is wrong.")
	errClosed        = signInError("This account is closed.")
	errOtherIdentity = signInError("This account signs in with another identity.")
	errWrongCurrent  = &assay.Error{
		Kind: assay.Forbidden, Code: "wrong_password", Message: "The current password is wrong.",
	}
)

func signInError(message string) *assay.Error {
	return &assay.Error{Kind: assay.Unauthorized, Code: "sign_in_failed", Message: message}
}

// visitor is the actor who is not signed in.
const visitor = "visitor"

// Client is what a request shows of the program that sends it.
type Client struct {
	Address   netip.Addr
	UserAgent string // the header
	Session   string // the token of its session, which ends when it signs in; or empty
	Device    string // the token that it got at an earlier sign-in, or empty
}

// address is a client's address in the audit log, empty for none.
func (c Client) address() string {
	if !c.Address.IsValid() {
		return ""
	}
	return c.Address.String()
}

// SignedIn is a sign-in that has succeeded or, with Next, one that needs a second factor and has no session yet.
type SignedIn struct {
	Account assay.Account
	Session Token
	Device  Token       // for the browser to keep when the session ends
	Next    *SecondStep // nil: it has succeeded
}

// SignIn starts a session with an account's password, or the second step if the account has a second factor.
func (s *Service) SignIn(ctx context.Context, client Client, email, password string) (SignedIn, error) {
	account, err := s.Store.AccountByEmail(ctx, NormalEmail(email))
	if err != nil && !errors.Is(err, store.ErrNoAccount) {
		return SignedIn{}, err
	}
	hash, _, err := s.Store.Password(ctx, account.ID) // empty if there is no such account
	if err != nil {
		return SignedIn{}, err
	}
	ok, err := s.matches(ctx, s.knowsDevice(client.Device, account.ID), password, hash)
	if err != nil {
		return SignedIn{}, err
	}
	if !ok || account.ClosedAt != 0 {
		if err := s.Store.FailSession(store.WithActor(ctx, visitor), account, client.address()); err != nil {
			return SignedIn{}, err
		}
		return SignedIn{}, errSignIn
	}
	return s.next(ctx, client, account, store.ByPassword)
}

// SignInAs starts a session, or the second step, for an OpenID Connect identity. The account is found by issuer and
// subject. Otherwise the account with that email address, which the provider must have verified, is linked with the
// identity; if there is none, an account without a grant is added.
func (s *Service) SignInAs(
	ctx context.Context, client Client, issuer, subject, email, name string,
) (SignedIn, error) {
	who := store.Identity{Issuer: issuer, Subject: subject, Email: NormalEmail(email), Name: strings.TrimSpace(name)}
	if err := checkEmail(who.Email); err != nil {
		return SignedIn{}, err
	}
	if checkName("name", who.Name, 0) != nil {
		who.Name = "" // an unusable name is no reason to refuse the sign-in
	}
	account, err := s.Store.AccountOf(store.WithActor(ctx, "account:"+who.Email), who)
	switch {
	case errors.Is(err, store.ErrOtherIdentity):
		return SignedIn{}, errOtherIdentity
	case err != nil:
		return SignedIn{}, err
	case account.ClosedAt != 0:
		return SignedIn{}, errClosed
	}
	return s.next(ctx, client, account, store.ByOIDC)
}

// start starts a session of an account. The session that the client had ends, whichever account it belonged to.
func (s *Service) start(ctx context.Context, client Client, account assay.Account, by store.SignIn) (SignedIn, error) {
	in := SignedIn{Account: account, Session: newToken(s.now() + SessionLength)}
	by.Replaces, _ = hashToken(client.Session) // zero for none
	in.Device, by.Device = s.deviceToken(client.Device, account.ID)
	hash, _ := hashToken(in.Session.text)
	session := store.Session{
		Hash: hash, ID: newSessionID(), AccountID: account.ID, ExpiresAt: in.Session.Expires,
		Address: client.address(), UserAgent: shortAgent(client.UserAgent),
	}
	_, err := s.Store.StartSession(as(ctx, account), session, by)
	if errors.Is(err, store.ErrNoAccount) {
		return SignedIn{}, errSignIn // closed a moment ago
	}
	if errors.Is(err, store.ErrSecondFactor) {
		return SignedIn{}, errTicketEnded // its first second factor was added a moment ago
	}
	if err != nil {
		return SignedIn{}, err
	}
	s.refresh(ctx)
	return in, nil
}

// ChangePassword replaces an account's password and ends its sessions except the one with the given token, which may
// then do everything.
func (s *Service) ChangePassword(ctx context.Context, accountID int64, current, next, except string) error {
	one, err := s.person(accountID)
	if err != nil {
		return err
	}
	stored, _, err := s.Store.Password(ctx, accountID)
	if err != nil {
		return err
	}
	ok, err := s.matches(ctx, true, current, stored)
	if err != nil {
		return err
	}
	if !ok {
		return errWrongCurrent
	}
	hash, err := s.hashPassword(ctx, one.Account, next)
	if err != nil {
		return err
	}
	change := store.NewPassword{Hash: hash}
	if err := s.Store.SetPassword(as(ctx, one.Account), accountID, change, exceptHash(except)); err != nil {
		return err
	}
	s.refresh(ctx)
	return nil
}

// as makes the account the actor.
func as(ctx context.Context, a assay.Account) context.Context {
	return store.WithActor(ctx, "account:"+a.Email)
}
