package account

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/factor"
	"github.com/assaydata/assay/internal/store"
)

// Requirement says which accounts must have a second factor.
type Requirement string

// The requirements.
const (
	RequireNone   Requirement = "none"
	RequireOwners Requirement = "owners" // the owners of organizations
	RequireAll    Requirement = "all"
)

// ProofLength is how long after a sign-in, or after the password was given again, an account may change its second
// factors, in milliseconds.
const ProofLength = ticketLength

// Errors of changes to second factors.
var (
	errProve = &assay.Error{
		Kind: assay.Forbidden, Code: "password_required",
		Message: "Give your password again first. If your account has none, sign in again.",
	}
	errNoPassword = &assay.Error{
		Kind: assay.Forbidden, Code: "no_password", Message: "Your account has no password. Sign in again instead.",
	}
	errLastFactor = &assay.Error{
		Kind: assay.Forbidden, Code: "second_factor_required",
		Message: "This server requires a second factor for your account. Add another one before you remove the last.",
	}
	errNoFactor = &assay.Error{
		Kind: assay.NotFound, Code: "unknown_second_factor", Message: "Your account has no such second factor.",
	}
	errPasskeyRefused = &assay.Error{
		Kind: assay.Invalid, Code: "invalid_passkey", Message: "The browser's response is not a passkey for this server.",
	}
)

// Acting is the session of an account that changes its second factors.
type Acting struct {
	AccountID int64
	Session   string // its token
	Proof     string // the ticket of Prove, or empty
}

// requires reports whether a person must have a second factor.
func (s *Service) requires(one *person) bool {
	switch s.Require {
	case RequireAll:
		return true
	case RequireOwners:
		now := s.now()
		for _, m := range one.memberships {
			if m.Role == assay.RoleOwner && isIn(now, m.From, m.Until) {
				return true
			}
		}
	case RequireNone:
	}
	return false
}

// SecondFactorsOf returns the second factors of an account, without secrets, and whether it must have one.
func (s *Service) SecondFactorsOf(
	ctx context.Context, accountID int64,
) (f store.SecondFactors, required bool, err error) {
	one, err := s.person(accountID)
	if err != nil {
		return f, false, err
	}
	f, err = s.Store.SecondFactors(ctx, accountID)
	return f, s.requires(one), err
}

// Prove checks the password of an account again, and returns the ticket that says so.
func (s *Service) Prove(ctx context.Context, who Acting, password string) (Token, error) {
	hash, _, err := s.Store.Password(ctx, who.AccountID)
	if err != nil {
		return Token{}, err
	}
	if hash == "" {
		return Token{}, errNoPassword
	}
	ok, err := s.matchesCurrent(ctx, password, hash)
	if err != nil {
		return Token{}, err
	}
	if !ok {
		return Token{}, errWrongCurrent
	}
	session, _ := hashToken(who.Session)
	return s.seal(proofTicket, ticket{AccountID: who.AccountID, Session: session[:]})
}

// Proven is until when an account may change its second factors; 0 if it has to give its password first.
func (s *Service) Proven(who Acting) int64 {
	hash, ok := hashToken(who.Session)
	if !ok {
		return 0
	}
	until := int64(0)
	if session, ok := s.sessions.Load().byHash[hash]; ok && session.AccountID == who.AccountID {
		until = session.CreatedAt + ProofLength
	}
	if t, ok := s.unseal(proofTicket, who.Proof); ok && t.belongsTo(who) {
		until = max(until, t.Ends)
	}
	if until <= s.now() {
		return 0
	}
	return until
}

// changing checks that an account may change its second factors.
func (s *Service) changing(who Acting) (*person, store.FactorChange, error) {
	one, err := s.person(who.AccountID)
	if err != nil {
		return nil, store.FactorChange{}, err
	}
	if s.Secret == nil {
		return nil, store.FactorChange{}, errNoSecondFactors
	}
	if s.Proven(who) == 0 {
		return nil, store.FactorChange{}, errProve
	}
	return one, store.FactorChange{AccountID: who.AccountID, Except: exceptHash(who.Session)}, nil
}

// NewApp is an authenticator app that is being added.
type NewApp struct {
	Secret string // as people type it
	URI    string
	QR     factor.QR // of the URI
	Ticket Token
}

// BeginTOTP draws the secret of an authenticator app. FinishTOTP adds it.
func (s *Service) BeginTOTP(who Acting) (NewApp, error) {
	one, change, err := s.changing(who)
	if err != nil {
		return NewApp{}, err
	}
	secret := factor.NewTOTPSecret()
	app := NewApp{Secret: factor.SecretText(secret), URI: factor.SecretURI(secret, s.Passkeys.Host(), one.Email)}
	if app.QR, err = factor.DrawQR(app.URI); err != nil {
		return NewApp{}, err
	}
	app.Ticket, err = s.seal(totpTicket, ticket{AccountID: who.AccountID, Session: change.Except, Secret: secret})
	return app, err
}

// FinishTOTP adds an authenticator app that shows the right code. With the first factor it returns recovery codes.
func (s *Service) FinishTOTP(ctx context.Context, who Acting, ticketText, code string) (codes []string, err error) {
	t, ok := s.unseal(totpTicket, ticketText)
	if !ok || !t.belongsTo(who) {
		return nil, errEnrollmentEnded
	}
	step, ok := factor.MatchCode(t.Secret, code, s.now(), 0)
	if !ok {
		return nil, invalid("wrong_code", "The code is wrong. Check the time on the device that shows it.")
	}
	return s.add(ctx, who, t, func(ctx context.Context, change store.FactorChange) (bool, error) {
		sealed := s.Secret.Seal(totpPurpose, t.Secret, sealedFor(who.AccountID))
		return s.Store.AddTOTP(ctx, change, store.TOTP{Secret: sealed, LastStep: step})
	})
}

// BeginAddPasskey returns what the page passes to the browser to create a passkey. FinishAddPasskey adds it.
func (s *Service) BeginAddPasskey(ctx context.Context, who Acting) (factor.Options, Token, error) {
	one, change, err := s.changing(who)
	if err != nil {
		return nil, Token{}, err
	}
	if s.Passkeys == nil {
		return nil, Token{}, errNoPasskeys
	}
	factors, err := s.Store.SecondFactors(ctx, who.AccountID)
	if err != nil {
		return nil, Token{}, err
	}
	owner := ownerOf(one.Account, &factors, factor.NewHandle())
	t := ticket{
		AccountID: who.AccountID, Session: change.Except, Challenge: factor.NewChallenge(), Handle: owner.Handle,
	}
	token, err := s.seal(addKeyTicket, t)
	if err != nil {
		return nil, Token{}, err
	}
	options, err := s.Passkeys.CreateOptions(owner, t.Challenge)
	return options, token, err
}

// FinishAddPasskey adds the passkey that the browser has created. With the first factor it returns recovery codes.
func (s *Service) FinishAddPasskey(
	ctx context.Context, who Acting, ticketText, name string, response []byte,
) (codes []string, err error) {
	name = strings.TrimSpace(name)
	if err := checkName("name", name, 1); err != nil {
		return nil, err
	}
	t, ok := s.unseal(addKeyTicket, ticketText)
	if !ok || !t.belongsTo(who) || s.Passkeys == nil {
		return nil, errEnrollmentEnded
	}
	account, factors, err := s.Store.AccountWithFactors(ctx, who.AccountID)
	if err != nil {
		return nil, err
	}
	owner := ownerOf(account, &factors, t.Handle)
	key, err := s.Passkeys.Create(owner, t.Challenge, response)
	if err != nil {
		return nil, errPasskeyRefused
	}
	return s.add(ctx, who, t, func(ctx context.Context, change store.FactorChange) (bool, error) {
		return s.Store.AddPasskey(ctx, change, store.Passkey{
			ID: newPasskeyID(), Name: name, UserHandle: owner.Handle, CredentialID: key.CredentialID, PublicKey: key.PublicKey,
			SignCount: key.SignCount, BackupEligible: key.BackupEligible, Transports: key.Transports,
		})
	})
}

func newPasskeyID() string {
	random := make([]byte, 6)
	_, _ = rand.Read(random) // never fails
	return hex.EncodeToString(random)
}

// add stores a factor and, if it is the first one, recovery codes.
func (s *Service) add(
	ctx context.Context, who Acting, t ticket, save func(context.Context, store.FactorChange) (bool, error),
) (codes []string, err error) {
	one, err := s.person(who.AccountID)
	if err != nil {
		return nil, err
	}
	codes, hashes := newRecoveryCodes()
	change := store.FactorChange{
		AccountID: who.AccountID, Except: exceptHash(who.Session), Ticket: t.spent(), Codes: hashes,
	}
	withCodes, err := save(as(ctx, one.Account), change)
	if err != nil {
		return nil, factorError(err)
	}
	s.refresh(ctx)
	if !withCodes {
		return nil, nil
	}
	return codes, nil
}

func newRecoveryCodes() (codes []string, hashes [][32]byte) {
	codes = factor.NewRecoveryCodes()
	for _, code := range codes {
		hash, _ := factor.HashRecoveryCode(code)
		hashes = append(hashes, hash)
	}
	return codes, hashes
}

// factorError is a store's error as the caller reads it.
func factorError(err error) error {
	switch {
	case errors.Is(err, store.ErrTicketUsed):
		return errEnrollmentEnded
	case errors.Is(err, store.ErrNoFactor):
		return errNoFactor
	case errors.Is(err, store.ErrLastFactor):
		return errLastFactor
	case errors.Is(err, store.ErrPasskeyTaken):
		return errPasskeyRefused
	case errors.Is(err, store.ErrManyPasskeys):
		return invalid("too_many_passkeys", "An account may have %d passkeys. Remove one first.", store.MaxPasskeys)
	}
	return err
}

// RemoveTOTP removes the authenticator app of an account and ends its other sessions.
func (s *Service) RemoveTOTP(ctx context.Context, who Acting) error {
	return s.remove(ctx, who, s.Store.RemoveTOTP)
}

// RemovePasskey removes a passkey of an account and ends its other sessions.
func (s *Service) RemovePasskey(ctx context.Context, who Acting, id string) error {
	return s.remove(ctx, who, func(ctx context.Context, change store.FactorChange, keepOne bool) error {
		return s.Store.RemovePasskey(ctx, change, keepOne, id)
	})
}

func (s *Service) remove(
	ctx context.Context, who Acting, remove func(context.Context, store.FactorChange, bool) error,
) error {
	one, change, err := s.changing(who)
	if err != nil {
		return err
	}
	if err := remove(as(ctx, one.Account), change, s.requires(one)); err != nil {
		return factorError(err)
	}
	s.refresh(ctx)
	return nil
}

// ReplaceRecoveryCodes returns new recovery codes of an account. The old ones no longer work.
func (s *Service) ReplaceRecoveryCodes(ctx context.Context, who Acting) ([]string, error) {
	one, _, err := s.changing(who)
	if err != nil {
		return nil, err
	}
	codes, hashes := newRecoveryCodes()
	if err := s.Store.ReplaceRecoveryCodes(as(ctx, one.Account), who.AccountID, hashes); err != nil {
		return nil, factorError(err)
	}
	return codes, nil
}

// ResetSecondFactors removes all second factors of an account on behalf of the operator, ends its sessions, and returns
// how many factors there were.
func (s *Service) ResetSecondFactors(ctx context.Context, email string) (removed int, err error) {
	err = s.change(ctx, email, func(a assay.Account) error {
		removed, err = s.Store.ResetFactors(ctx, a.ID)
		return err
	})
	return removed, err
}

// FactorsByEmail returns the second factors of an account, for the operator.
func (s *Service) FactorsByEmail(ctx context.Context, email string) (store.SecondFactors, error) {
	view, err := s.AccountByEmail(email)
	if err != nil {
		return store.SecondFactors{}, err
	}
	f, err := s.Store.SecondFactors(ctx, view.ID)
	if err != nil {
		return f, fmt.Errorf("%s: %w", view.Email, err)
	}
	return f, nil
}
