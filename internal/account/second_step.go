package account

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strconv"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/factor"
	"github.com/assaydata/assay/internal/store"
)

// The errors of the second step of a sign-in.
var (
	errWrongCode = &assay.Error{
		Kind: assay.Unauthorized, Code: "wrong_code", Message: "The code is wrong, has expired or was used before.",
	}
	errWrongPasskey = &assay.Error{
		Kind: assay.Unauthorized, Code: "wrong_passkey",
		Message: "The passkey was not accepted. Use one that you have added to this account.",
	}
	errNoPasskeys = &assay.Error{
		Kind: assay.NotFound, Code: "no_passkeys",
		Message: "This server has no passkeys: they need --public-url with https, or a server on localhost.",
	}
	errCannotCheck = &assay.Error{
		Kind: assay.Unavailable, Code: "unavailable",
		Message: "This server cannot check second factors at the moment. Try again later.",
	}
)

// SecondStep is what a sign-in still needs. One of the methods is enough.
type SecondStep struct {
	Ticket       Token
	TOTP         bool
	RecoveryCode bool
	Passkey      factor.Options // what the page passes to the browser; nil without passkeys
}

// Given is what the owner gives as the second step. One field is set.
type Given struct {
	Code         string // of an authenticator app
	RecoveryCode string
	Passkey      []byte // the browser's response
}

// next starts a session, or asks for the second factor if the account has one.
func (s *Service) next(ctx context.Context, client Client, account assay.Account, how string) (SignedIn, error) {
	factors, err := s.Store.SecondFactors(ctx, account.ID)
	if err != nil {
		return SignedIn{}, err
	}
	if factors.Count() == 0 {
		return s.start(ctx, client, account, store.SignIn{How: how})
	}
	if s.Secret == nil {
		s.Log.Error("an account has a second factor, and this node has no secret key to check it with",
			"account", account.ID)
		return SignedIn{}, errCannotCheck
	}
	t := ticket{AccountID: account.ID, How: how, Challenge: factor.NewChallenge()}
	if t.Stamp, err = s.stamp(ctx, account.ID); err != nil {
		return SignedIn{}, err
	}
	token, err := s.seal(signInTicket, t)
	if err != nil {
		return SignedIn{}, err
	}
	step, err := s.secondStep(account, &factors, &t)
	step.Ticket = token
	return SignedIn{Account: account, Next: &step}, err
}

// stamp changes with the password of an account.
func (s *Service) stamp(ctx context.Context, accountID int64) ([]byte, error) {
	hash, _, err := s.Store.Password(ctx, accountID)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(hash))
	return sum[:8], nil
}

// secondStep is what an account can use, with the challenge of a ticket.
func (s *Service) secondStep(account assay.Account, f *store.SecondFactors, t *ticket) (step SecondStep, err error) {
	step.TOTP, step.RecoveryCode = f.TOTP != nil, f.RecoveryCodes > 0
	if s.Passkeys != nil && len(f.Passkeys) > 0 {
		step.Passkey, err = s.Passkeys.GetOptions(ownerOf(account, f, nil), t.Challenge)
	}
	return step, err
}

// ownerOf is an account as the owner of its passkeys. handle is that of an account without passkeys.
func ownerOf(account assay.Account, f *store.SecondFactors, handle []byte) *factor.Owner {
	owner := &factor.Owner{Handle: handle, Email: account.Email, Name: account.Name}
	for _, p := range f.Passkeys {
		owner.Handle = p.UserHandle
		owner.Passkeys = append(owner.Passkeys, factor.Passkey{
			CredentialID: p.CredentialID, PublicKey: p.PublicKey, SignCount: p.SignCount, BackupEligible: p.BackupEligible,
			Transports: p.Transports,
		})
	}
	return owner
}

// Pending is a sign-in that waits for its second step.
type Pending struct {
	Account assay.Account
	ticket  ticket
	factors store.SecondFactors
}

// OpenSignIn returns the sign-in of a ticket.
func (s *Service) OpenSignIn(ctx context.Context, ticketText string) (Pending, error) {
	t, ok := s.unseal(signInTicket, ticketText)
	if !ok {
		return Pending{}, ErrSignInEnded
	}
	account, factors, err := s.Store.AccountWithFactors(ctx, t.AccountID)
	if err != nil {
		return Pending{}, err
	}
	stamp, err := s.stamp(ctx, t.AccountID)
	if err != nil {
		return Pending{}, err
	}
	if !bytes.Equal(stamp, t.Stamp) || account.ClosedAt != 0 {
		return Pending{}, ErrSignInEnded
	}
	return Pending{account, t, factors}, nil
}

// SecondStep is what a pending sign-in still needs. Its ticket stays the same.
func (s *Service) SecondStep(p *Pending) (SecondStep, error) {
	step, err := s.secondStep(p.Account, &p.factors, &p.ticket)
	step.Ticket.Expires = p.ticket.Ends
	return step, err
}

// FinishSignIn starts the session of a pending sign-in if the second factor is right.
func (s *Service) FinishSignIn(ctx context.Context, client Client, p *Pending, given Given) (SignedIn, error) {
	by := store.SignIn{Ticket: p.ticket.spent()}
	var err error
	switch {
	case given.Passkey != nil:
		by.How = p.ticket.How + "+passkey"
		by.Factor, err = s.checkPasskey(p, given.Passkey, false)
	case given.RecoveryCode != "":
		by.How = p.ticket.How + "+recovery-code"
		var ok bool
		if by.Factor.RecoveryCode, ok = factor.HashRecoveryCode(given.RecoveryCode); !ok {
			err = errWrongCode
		}
	default:
		by.How = p.ticket.How + "+totp"
		by.Factor.TOTPStep, err = s.checkCode(p, given.Code)
	}
	return s.finish(ctx, client, p, by, err)
}

// finish starts a session, unless the second factor was wrong.
func (s *Service) finish(
	ctx context.Context, client Client, p *Pending, by store.SignIn, wrong error,
) (in SignedIn, err error) {
	reason := "wrong"
	if err = wrong; err == nil {
		in, err = s.start(ctx, client, p.Account, by)
	}
	switch {
	case errors.Is(err, store.ErrTicketUsed):
		return SignedIn{}, ErrSignInEnded
	case errors.Is(err, store.ErrFactorUsed) && by.Factor.Passkey != "":
		err, reason = errWrongPasskey, "sign count went back"
		s.warnCloned(p.Account, by.Factor.Passkey)
	case errors.Is(err, store.ErrFactorUsed):
		err, reason = errWrongCode, "used before"
	case errors.Is(err, factor.ErrCloned):
		err, reason = errWrongPasskey, "sign count went back"
		s.warnCloned(p.Account, by.Factor.Passkey)
	}
	if errors.Is(err, errWrongCode) || errors.Is(err, errWrongPasskey) {
		failed := s.Store.FailSecondFactor(store.WithActor(ctx, visitor), p.Account, client.address(), reason)
		if failed != nil {
			return SignedIn{}, failed
		}
	}
	return in, err
}

func (s *Service) warnCloned(account assay.Account, passkeyID string) {
	s.Log.Warn("refused a passkey whose sign count went back: it may have been copied",
		"account", account.ID, "passkey", passkeyID)
}

// totpPurpose is what the secrets of authenticator apps are sealed for.
const totpPurpose = "totp secret"

// sealedFor binds a secret to its account.
func sealedFor(accountID int64) []byte { return strconv.AppendInt(nil, accountID, 10) }

// checkCode returns the step of a code.
func (s *Service) checkCode(p *Pending, code string) (step int64, err error) {
	if p.factors.TOTP == nil {
		return 0, errWrongCode
	}
	secret, err := s.Secret.Open(totpPurpose, p.factors.TOTP.Secret, sealedFor(p.Account.ID))
	if err != nil {
		return 0, fmt.Errorf("open the authenticator secret of account %d: %w", p.Account.ID, err)
	}
	step, ok := factor.MatchCode(secret, code, s.now(), p.factors.TOTP.LastStep)
	if !ok {
		return 0, errWrongCode
	}
	return step, nil
}

// checkPasskey returns the passkey that has signed the challenge of a sign-in.
func (s *Service) checkPasskey(p *Pending, response []byte, discovered bool) (used store.UsedFactor, err error) {
	if s.Passkeys == nil {
		return used, errNoPasskeys
	}
	if len(p.factors.Passkeys) == 0 {
		return used, errWrongPasskey
	}
	assertion, err := factor.ParseAssertion(response)
	if err != nil {
		return used, errWrongPasskey
	}
	for _, stored := range p.factors.Passkeys {
		if bytes.Equal(stored.CredentialID, assertion.CredentialID()) {
			used.Passkey = stored.ID
		}
	}
	key, err := s.Passkeys.Check(ownerOf(p.Account, &p.factors, nil), p.ticket.Challenge, assertion, discovered)
	if errors.Is(err, factor.ErrCloned) {
		return used, err
	}
	if err != nil {
		return used, errWrongPasskey
	}
	used.SignCount = key.SignCount
	return used, nil
}

// BeginPasskey begins a sign-in with a passkey alone. It does not wait for the database.
func (s *Service) BeginPasskey() (factor.Options, Token, error) {
	if s.Passkeys == nil {
		return nil, Token{}, errNoPasskeys
	}
	t := ticket{Challenge: factor.NewChallenge()}
	token, err := s.seal(passkeyTicket, t)
	if err != nil {
		return nil, Token{}, err
	}
	options, err := s.Passkeys.GetOptions(nil, t.Challenge)
	return options, token, err
}

// FinishPasskey starts a session for the owner of a passkey, who has proved to the device to be the owner.
func (s *Service) FinishPasskey(
	ctx context.Context, client Client, ticketText string, response []byte,
) (SignedIn, error) {
	t, ok := s.unseal(passkeyTicket, ticketText)
	if !ok {
		return SignedIn{}, ErrSignInEnded
	}
	assertion, err := factor.ParseAssertion(response)
	if err != nil {
		return SignedIn{}, errWrongPasskey
	}
	found, err := s.Store.PasskeyByCredential(ctx, assertion.CredentialID())
	if errors.Is(err, store.ErrNoFactor) {
		return SignedIn{}, errWrongPasskey
	}
	if err != nil {
		return SignedIn{}, err
	}
	p := Pending{ticket: t}
	if p.Account, p.factors, err = s.Store.AccountWithFactors(ctx, found.AccountID); err != nil {
		return SignedIn{}, err
	}
	by := store.SignIn{How: "passkey", Ticket: t.spent()}
	by.Factor, err = s.checkPasskey(&p, response, true)
	return s.finish(ctx, client, &p, by, err)
}
