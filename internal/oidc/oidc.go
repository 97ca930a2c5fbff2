// Package oidc signs people in through a provider of OpenID Connect that the operator has chosen: the authorization
// code flow with PKCE.
//
// A sign-in has two halves. Begin returns the address at the provider to send the browser to, and a ticket that the
// browser keeps meanwhile. The provider sends the browser back with a code. Finish takes ticket and code, fetches the
// identity token, checks everything and returns who has signed in. The ticket holds what ties the two halves
// together: the state, the nonce and the verifier of PKCE. Its authentication code is made with a key that is derived
// from the client secret. So any node can finish what another has begun, no one can forge a ticket, and a ticket ends
// after a few minutes. Finish names the ticket, and the caller stores that it was used: it works once.
//
// An identity is not yet an account. If its owner has to prove first that an account is theirs, the browser keeps the
// identity in the same way: SealIdentity and OpenIdentity.
//
// The provider is discovered at the first sign-in, and again after a failure: the server starts and serves while the
// provider is away.
package oidc

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	goidc "github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/assaydata/assay"
)

// Config describes the provider.
type Config struct {
	Issuer       string
	ClientID     string
	ClientSecret string
	RedirectURL  string   // where the provider sends browsers back to
	EmailDomains []string // that people may sign in with, in lower case; empty allows all
	Now          func() time.Time
	Log          *slog.Logger
}

// The errors that a caller reads when a sign-in does not succeed.
var (
	errUnavailable = &assay.Error{
		Kind: assay.Unavailable, Code: "oidc_unavailable",
		Message: "The sign-in provider cannot be reached. Try again later.",
	}
	errFailed = &assay.Error{
		Kind: assay.Unauthorized, Code: "oidc_failed",
		Message: "Signing in through the provider did not succeed. Try again.",
	}
	errUnverified = &assay.Error{
		Kind: assay.Forbidden, Code: "email_unverified",
		Message: "The sign-in provider has not verified your email address.",
	}
	errDomain = &assay.Error{
		Kind: assay.Forbidden, Code: "email_domain_refused",
		Message: "The operator of this server does not allow email addresses of your domain.",
	}
)

// timeout is how long one request to the provider may take; a person waits for it.
const timeout = 5 * time.Second

// retryAfter is how long a provider that has failed is not contacted again: callers that waited for the same failure
// get it at once.
const retryAfter = time.Second

// Provider signs people in. It is safe for concurrent use.
type Provider struct {
	config      Config
	ticketKey   []byte
	identityKey []byte
	client      *http.Client

	mu     sync.Mutex
	found  *found    // nil until discovery has succeeded; guarded by mu
	failed time.Time // when discovery last failed; guarded by mu
}

// found is the result of discovery.
type found struct {
	oauth    oauth2.Config
	verifier *goidc.IDTokenVerifier
}

// New makes a provider. It sends no request.
func New(config Config) *Provider {
	derive := func(purpose string) []byte {
		key := hmac.New(sha256.New, []byte(config.ClientSecret))
		_, _ = key.Write([]byte(purpose)) // a hash returns no error
		return key.Sum(nil)
	}
	return &Provider{
		config: config, ticketKey: derive("assay sign-in ticket"), identityKey: derive("assay identity"),
		client: &http.Client{Timeout: timeout},
	}
}

// discover fetches the provider's configuration, once.
func (p *Provider) discover(ctx context.Context) (*found, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.found != nil {
		return p.found, nil
	}
	if p.config.Now().Sub(p.failed) < retryAfter {
		return nil, errUnavailable
	}
	ctx = context.WithoutCancel(ctx) // the provider's key set outlives the request
	provider, err := goidc.NewProvider(p.context(ctx), p.config.Issuer)
	if err != nil {
		p.failed = p.config.Now()
		return nil, p.because(errUnavailable, err)
	}
	p.found = &found{
		oauth: oauth2.Config{
			ClientID:     p.config.ClientID,
			ClientSecret: p.config.ClientSecret,
			Endpoint:     provider.Endpoint(),
			RedirectURL:  p.config.RedirectURL,
			Scopes:       []string{goidc.ScopeOpenID, "email", "profile"},
		},
		verifier: provider.Verifier(&goidc.Config{ClientID: p.config.ClientID, Now: p.config.Now}),
	}
	return p.found, nil
}

func (p *Provider) context(ctx context.Context) context.Context {
	return goidc.ClientContext(ctx, p.client)
}

// because logs for the operator why a sign-in did not succeed, and returns the error that the caller reads. Of the
// provider's response, it logs only the status and the error code.
func (p *Provider) because(shown *assay.Error, err error) error {
	text := err.Error()
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		text = "the provider responds with " + refused.Response.Status + " " + refused.ErrorCode
	}
	p.config.Log.Warn("sign in through the provider", "issuer", p.config.Issuer, "code", shown.Code, "error", text)
	return shown
}

// Begin returns the address to send a browser to, and the ticket that the browser has to bring back.
func (p *Provider) Begin(ctx context.Context) (address, ticket string, err error) {
	f, err := p.discover(ctx)
	if err != nil {
		return "", "", err
	}
	t := newTicket(p.config.Now())
	address = f.oauth.AuthCodeURL(t.State, goidc.Nonce(t.Nonce), oauth2.S256ChallengeOption(t.Verifier))
	return address, seal(t, p.ticketKey), nil
}

// Identity is who has signed in, as the provider knows them. The provider has verified the email address.
type Identity struct {
	Issuer, Subject, Email, Name string
	Ticket                       TicketID // of the sign-in
}

// Finish ends a sign-in with the ticket and the query of the address that the provider sent the browser back to.
func (p *Provider) Finish(ctx context.Context, ticketText string, query url.Values) (Identity, error) {
	var t ticket
	if err := open(ticketText, p.ticketKey, p.config.Now(), &t); err != nil {
		return Identity{}, p.because(errFailed, err)
	}
	if subtle.ConstantTimeCompare([]byte(t.State), []byte(query.Get("state"))) != 1 {
		return Identity{}, p.because(errFailed, errors.New("the state is not that of the ticket"))
	}
	if query.Get("code") == "" {
		return Identity{}, p.because(errFailed, errors.New("the provider gave no code"))
	}
	f, err := p.discover(ctx)
	if err != nil {
		return Identity{}, err
	}
	token, err := f.oauth.Exchange(p.context(ctx), query.Get("code"), oauth2.VerifierOption(t.Verifier))
	if err != nil {
		return Identity{}, p.because(exchangeFailed(err), err)
	}
	text, _ := token.Extra("id_token").(string) // without a token, Verify fails
	identity, err := f.verifier.Verify(p.context(ctx), text)
	if err != nil {
		return Identity{}, p.because(errFailed, err)
	}
	return p.identify(identity, &t)
}

// exchangeFailed distinguishes a provider that refuses a code from one that does not work.
func exchangeFailed(err error) *assay.Error {
	refused, ok := errors.AsType[*oauth2.RetrieveError](err)
	if ok && refused.Response.StatusCode < http.StatusInternalServerError {
		return errFailed
	}
	return errUnavailable
}

// identify reads a token whose signature, issuer, audience and time have been checked.
func (p *Provider) identify(token *goidc.IDToken, t *ticket) (Identity, error) {
	if subtle.ConstantTimeCompare([]byte(token.Nonce), []byte(t.Nonce)) != 1 {
		return Identity{}, p.because(errFailed, errors.New("the nonce is not that of the ticket"))
	}
	var claims struct {
		Email    string `json:"email"`
		Verified bool   `json:"email_verified"`
		Name     string `json:"name"`
	}
	if err := token.Claims(&claims); err != nil {
		return Identity{}, p.because(errFailed, err)
	}
	if !claims.Verified || claims.Email == "" {
		return Identity{}, p.because(errUnverified, errors.New("the token has no verified email address"))
	}
	if !p.allows(claims.Email) {
		return Identity{}, p.because(errDomain, errors.New("the domain of the email address is not in --oidc-email-domains"))
	}
	return Identity{
		Issuer: token.Issuer, Subject: token.Subject, Email: claims.Email, Name: claims.Name, Ticket: t.id(),
	}, nil
}

// allows reports whether people with an email address may sign in. A subdomain is another domain.
func (p *Provider) allows(email string) bool {
	domain := email[strings.LastIndexByte(email, '@')+1:]
	return len(p.config.EmailDomains) == 0 || slices.ContainsFunc(p.config.EmailDomains, func(allowed string) bool {
		// EqualFold alone would take the Kelvin sign for a k.
		return len(allowed) == len(domain) && strings.EqualFold(allowed, domain)
	})
}
