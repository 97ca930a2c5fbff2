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
	Address netip.Addr
	Device  string // the token that it got at an earlier sign-in, or empty
}

// address is a client's address in the audit log, empty for none.
func (c Client) address() string {
	if !c.Address.IsValid() {
		return ""
	}
	return c.Address.String()
}

// SignedIn is a sign-in that has succeeded.
type SignedIn struct {
	Account assay.Account
	Session Token
	Device  Token // for the browser to keep when the session ends
}

// SignIn starts a session with an account's password.
func (s *Service) SignIn(ctx context.Context, client Client, email, password string) (SignedIn, error) {
	account, err := s.Store.AccountByEmail(ctx, NormalEmail(email))
	if err != nil && !errors.Is(err, store.ErrNoAccount) {
		return SignedIn{}, err
	}
	hash, err := s.Store.Password(ctx, account.ID) // empty if there is no such account
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
	return s.start(ctx, client, account, "password")
}

// SignInAs starts a session for an OpenID Connect identity. The account is found by issuer and subject. Otherwise the
// account with that email address, which the provider must have verified, is linked with the identity; if there is
// none, an account without a grant is added.
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
	return s.start(ctx, client, account, "oidc")
}

// start starts a session of an account.
func (s *Service) start(ctx context.Context, client Client, account assay.Account, how string) (SignedIn, error) {
	in := SignedIn{Account: account, Session: newToken(s.now() + SessionLength)}
	by := store.SignIn{How: how, Address: client.address()}
	in.Device, by.Device = s.deviceToken(client.Device, account.ID)
	hash, _ := hashToken(in.Session.text)
	session := store.Session{Hash: hash, AccountID: account.ID, ExpiresAt: in.Session.Expires}
	_, err := s.Store.StartSession(as(ctx, account), session, by)
	if errors.Is(err, store.ErrNoAccount) {
		return SignedIn{}, errSignIn // closed a moment ago
	}
	if err != nil {
		return SignedIn{}, err
	}
	s.refresh(ctx)
	return in, nil
}

// SignOut ends a session. A token without a session is no error: its owner is signed out. client is the client's
// address, for the limit of lookups.
func (s *Service) SignOut(ctx context.Context, token string, client netip.Addr) error {
	hash, ok := hashToken(token)
	if !ok {
		return nil
	}
	found, ok := s.sessions.Load().byHash[hash]
	if !ok {
		var err error
		found, err = s.lookUp(ctx, hash, client)
		if errors.Is(err, store.ErrNoSession) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	ctx = store.WithActor(ctx, visitor)
	if session, ok := s.session(found); ok {
		ctx = as(ctx, s.people.Load().byID[session.AccountID].Account)
	}
	if err := s.Store.EndSession(ctx, hash); err != nil && !errors.Is(err, store.ErrNoSession) {
		return err
	}
	s.refresh(ctx)
	return nil
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
	found, ok := s.sessions.Load().byHash[hash]
	if !ok {
		var err error
		if found, err = s.lookUp(ctx, hash, client); err != nil {
			_, limited := errors.AsType[*assay.Error](err)
			if !limited && !errors.Is(err, store.ErrNoSession) && ctx.Err() == nil {
				s.Log.Error("find a session", "error", err)
			}
			return Session{}, false
		}
	}
	return s.session(found)
}

// IdentifyInMemory returns the session of a token without waiting for the database. A session that another process has
// just started is unknown until the next reading, which takes less than a second.
func (s *Service) IdentifyInMemory(token string) (Session, bool) {
	hash, ok := hashToken(token)
	if !ok {
		return Session{}, false
	}
	found, ok := s.sessions.Load().byHash[hash]
	if !ok {
		return Session{}, false
	}
	return s.session(found)
}

// session returns a session that has not expired, of an account that is open.
func (s *Service) session(found store.Session) (Session, bool) {
	now := s.now()
	one := s.people.Load().byID[found.AccountID]
	if one == nil || one.ClosedAt != 0 || found.ExpiresAt <= now {
		return Session{}, false
	}
	caller := assay.Caller{Tier: one.tierAt(now), AccountID: found.AccountID}
	return Session{AccountID: found.AccountID, Caller: caller, ExpiresAt: found.ExpiresAt}, true
}

// ChangePassword replaces an account's password and ends its sessions except the one with the given token.
func (s *Service) ChangePassword(ctx context.Context, accountID int64, current, next, except string) error {
	one, err := s.person(accountID)
	if err != nil {
		return err
	}
	stored, err := s.Store.Password(ctx, accountID)
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
	next, err = s.hashPassword(ctx, next)
	if err != nil {
		return err
	}
	var session []byte
	if hash, ok := hashToken(except); ok {
		session = hash[:]
	}
	if err := s.Store.SetPassword(as(ctx, one.Account), accountID, next, session); err != nil {
		return err
	}
	s.refresh(ctx)
	return nil
}

// as makes the account the actor.
func as(ctx context.Context, a assay.Account) context.Context {
	return store.WithActor(ctx, "account:"+a.Email)
}
