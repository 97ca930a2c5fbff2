package account

import (
	"context"
	"errors"
	"net/netip"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
)

// The errors of a sign-in. A password sign-in has one message for every failure, so that it does not reveal which
// accounts exist.
var (
	errSignIn       = signInError("Email or password is wrong.")
	errWrongCurrent = &assay.Error{
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

// SignedIn is a sign-in that has succeeded or, with MustLink or Next, one that has no session yet.
type SignedIn struct {
	Account  assay.Account
	Session  Token
	Device   Token       // for the browser to keep when the session ends
	MustLink bool        // an identity needs the password of this account, see Link
	Next     *SecondStep // the account has a second factor
}

// SignIn starts a session with an account's password, or the second step if the account has a second factor.
func (s *Service) SignIn(ctx context.Context, client Client, email, password string) (SignedIn, error) {
	account, _, err := s.check(ctx, client, NormalEmail(email), password)
	if err != nil {
		return SignedIn{}, err
	}
	return s.next(ctx, client, account, store.ByPassword)
}

// check returns the open account with an email address and a password, and the hash of the password. Otherwise it logs
// the failure and returns errSignIn.
func (s *Service) check(
	ctx context.Context, client Client, email, password string,
) (account assay.Account, hash string, err error) {
	turn, err := s.queue.enter(s.KnowsDevice(client.Device, email))
	if err != nil {
		return account, "", err
	}
	defer turn.leave()
	account, err = s.Store.AccountByEmail(ctx, email)
	if err != nil && !errors.Is(err, store.ErrNoAccount) {
		return account, "", err
	}
	hash, _, err = s.Store.Password(ctx, account.ID) // empty if there is no such account
	if err != nil {
		return account, "", err
	}
	ok, err := s.matches(ctx, turn, password, hash)
	if err != nil {
		return account, "", err
	}
	if !ok || account.ClosedAt != 0 {
		if err := s.Store.FailSession(store.WithActor(ctx, visitor), account, client.address()); err != nil {
			return account, "", err
		}
		return account, "", errSignIn
	}
	return account, hash, nil
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
		return SignedIn{}, ErrSignInEnded // its first second factor was added a moment ago
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
	ok, err := s.matchesCurrent(ctx, current, stored)
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
