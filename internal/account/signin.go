package account

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
)

// What a caller reads who does not get in. There is one text for everything that can be wrong with a password sign-in, so that
// nobody learns which accounts there are.
var (
	errSignIn        = &assay.Error{Kind: assay.Unauthorized, Code: "sign_in_failed", Message: "Email or password is wrong."}
	errClosed        = &assay.Error{Kind: assay.Unauthorized, Code: "sign_in_failed", Message: "This account is closed."}
	errOtherIdentity = &assay.Error{Kind: assay.Unauthorized, Code: "sign_in_failed", Message: "This account signs in with another identity."}
	errWrongCurrent  = &assay.Error{Kind: assay.Forbidden, Code: "wrong_password", Message: "The current password is wrong."}
)

// visitor is who acts without being signed in.
const visitor = "visitor"

// SignIn starts a session for whoever knows an account's password. address is where the call comes from, for the audit log.
func (s *Service) SignIn(ctx context.Context, email, password, address string) (Token, assay.Account, error) {
	account, err := s.Store.AccountByEmail(ctx, normalEmail(email))
	if err != nil && !errors.Is(err, store.ErrNoAccount) {
		return Token{}, assay.Account{}, err
	}
	text, err := s.Store.Password(ctx, account.ID) // there is none of an account that is not there
	if err != nil {
		return Token{}, assay.Account{}, err
	}
	ok, err := s.fits(ctx, password, text)
	if err != nil {
		return Token{}, assay.Account{}, err
	}
	if !ok || account.ClosedAt != 0 {
		if err := s.Store.FailSession(store.WithActor(ctx, visitor), account, address); err != nil {
			return Token{}, assay.Account{}, err
		}
		return Token{}, assay.Account{}, errSignIn
	}
	return s.start(ctx, account, "password", address)
}

// SignInAs starts a session for an identity that an OpenID Connect provider vouches for. It is found by issuer and subject;
// else the account with that email address, which the provider must have verified, is linked with it; else it gets an account
// without a grant.
func (s *Service) SignInAs(ctx context.Context, issuer, subject, email, name string) (Token, assay.Account, error) {
	who := store.Identity{Issuer: issuer, Subject: subject, Email: normalEmail(email), Name: strings.TrimSpace(name)}
	if err := checkEmail(who.Email); err != nil {
		return Token{}, assay.Account{}, err
	}
	if checkName("name", who.Name, 0) != nil {
		who.Name = "" // of no use to anybody, and no reason to keep its owner out
	}
	account, err := s.Store.AccountOf(store.WithActor(ctx, "account:"+who.Email), who)
	switch {
	case errors.Is(err, store.ErrOtherIdentity):
		return Token{}, assay.Account{}, errOtherIdentity
	case err != nil:
		return Token{}, assay.Account{}, err
	case account.ClosedAt != 0:
		return Token{}, assay.Account{}, errClosed
	}
	return s.start(ctx, account, "oidc", "")
}

func (s *Service) start(ctx context.Context, account assay.Account, how, address string) (Token, assay.Account, error) {
	token := newToken(s.now() + SessionLength)
	hash, _ := hashToken(token.text)
	session := store.Session{Hash: hash, AccountID: account.ID, ExpiresAt: token.Expires}
	if _, err := s.Store.StartSession(as(ctx, account), session, how, address); errors.Is(err, store.ErrNoAccount) {
		return Token{}, assay.Account{}, errSignIn // closed a moment ago
	} else if err != nil {
		return Token{}, assay.Account{}, err
	}
	s.refresh(ctx)
	return token, account, nil
}

// SignOut ends a session. A token that belongs to none is no error: its owner is signed out.
func (s *Service) SignOut(ctx context.Context, token string) error {
	hash, ok := hashToken(token)
	if !ok {
		return nil
	}
	ctx = store.WithActor(ctx, visitor)
	if session, ok := s.Identify(ctx, token); ok {
		ctx = as(ctx, s.people.Load().byID[session.AccountID].Account)
	}
	if err := s.Store.EndSession(ctx, hash); err != nil {
		return err
	}
	s.refresh(ctx)
	return nil
}

// Session is who has signed in, and what they may read now.
type Session struct {
	AccountID int64
	Caller    assay.Caller
	ExpiresAt int64
}

// Identify returns the session of a token. A token that is not in memory may have been made by another process a moment ago, so
// it is looked up in the database.
func (s *Service) Identify(ctx context.Context, token string) (Session, bool) {
	hash, ok := hashToken(token)
	if !ok {
		return Session{}, false
	}
	found, ok := s.sessions.Load().byHash[hash]
	if !ok {
		if found, ok = s.findSession(ctx, hash); !ok {
			return Session{}, false
		}
	}
	return s.session(found)
}

// IdentifyInMemory returns the session of a token without waiting for the database. A session that another process has just
// started is unknown until the next reading, which takes less than a second.
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
	return Session{found.AccountID, assay.Caller{Tier: one.tierAt(now), AccountID: found.AccountID}, found.ExpiresAt}, true
}

// findTimeout bounds the wait for a database that is away: whoever sends a token that nobody knows reads as a visitor then.
const findTimeout = time.Second

// findSession looks for a session that is not in memory yet.
func (s *Service) findSession(asked context.Context, hash [32]byte) (store.Session, bool) {
	ctx, cancel := context.WithTimeout(asked, findTimeout)
	defer cancel()
	found, err := s.Store.Session(ctx, hash)
	if err != nil {
		if !errors.Is(err, store.ErrNoSession) && asked.Err() == nil {
			s.Log.Error("look for a session", "error", err)
		}
		return found, false
	}
	s.refresh(ctx) // its account may be as new as the session
	return found, true
}

// ChangePassword replaces an account's password by one that its owner chose, and ends its other sessions; keep is the token of
// the one that goes on.
func (s *Service) ChangePassword(ctx context.Context, accountID int64, current, next, keep string) error {
	one, err := s.person(accountID)
	if err != nil {
		return err
	}
	text, err := s.Store.Password(ctx, accountID)
	if err != nil {
		return err
	}
	ok, err := s.fits(ctx, current, text)
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
	var kept []byte
	if hash, ok := hashToken(keep); ok {
		kept = hash[:]
	}
	if err := s.Store.SetPassword(as(ctx, one.Account), accountID, next, kept); err != nil {
		return err
	}
	s.refresh(ctx)
	return nil
}

// as says that an account itself does what follows.
func as(ctx context.Context, a assay.Account) context.Context {
	return store.WithActor(ctx, "account:"+a.Email)
}
