package console

import (
	"crypto/sha256"
	"strings"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/account"
	"github.com/assaydata/assay/internal/limit/sharedlimit"
	"github.com/assaydata/assay/internal/web"
)

// How often a sign-in may be tried in any span of the window, whether the account exists or not.
const (
	guessWindow     = 5 * time.Minute
	guessesAddress  = 30
	guessesAccount  = 10
	maxGuessTargets = 65_536
	guessesCounted  = "sign-in attempts in 5 minutes"
)

// guesses limits how fast passwords can be guessed.
type guesses struct{ byAddress, byAccount *web.Limiter[[32]byte] }

func newGuesses(limits *sharedlimit.Redis) guesses {
	text := func(sum [32]byte) string { return string(sum[:]) }
	limiter := func(name string, limit int) *web.Limiter[[32]byte] {
		return web.NewLimiter(limits, web.LimitConfig{
			Name: name, Limit: limit, Window: guessWindow, MaxKeys: maxGuessTargets, Counted: guessesCounted,
		}, text)
	}
	return guesses{
		byAddress: limiter("sign-in-address", guessesAddress),
		byAccount: limiter("sign-in-account", guessesAccount),
	}
}

// count counts an attempt to guess the password of an account.
func (g *guesses) count(r *web.Request, account string) error {
	address := web.LimitAddress(r.Client()).String()
	if err := g.byAddress.Count(r, sha256.Sum256([]byte(address))); err != nil {
		return err
	}
	return g.byAccount.Count(r, sha256.Sum256([]byte(account)))
}

// signIn starts a session for a caller who knows an account's password.
func (c *Console) signIn(r *web.Request) (web.Response, error) {
	var given struct {
		Email    string `json:"email"`
		Password string `json:"password"`
	}
	if err := r.ReadJSON(&given, "email", "password"); err != nil {
		return web.Response{}, err
	}
	if given.Email == "" || given.Password == "" {
		return web.Response{}, web.InvalidBody("must be a JSON object with email and password")
	}
	if err := c.guesses.count(r, strings.ToLower(strings.TrimSpace(given.Email))); err != nil {
		return web.Response{}, err
	}
	token, who, err := c.Accounts.SignIn(r.Context(), given.Email, given.Password, r.Client().String())
	if err != nil {
		return web.Response{}, err
	}
	view, err := c.Accounts.Account(who.ID)
	if err != nil {
		return web.Response{}, err
	}
	setSession(r, token)
	return data(newAccountView(&view))
}

// signOut ends the session of the cookie, if there is one.
func (c *Console) signOut(r *web.Request) (web.Response, error) {
	if token := r.SessionToken(); token != "" {
		if err := c.Accounts.SignOut(r.Context(), token, web.LimitAddress(r.Client())); err != nil {
			return web.Response{}, err
		}
	}
	r.SetCookie(web.SessionCookie, "", -1)
	return done()
}

// showSession serves who is signed in, if any, and the name of the sign-in provider. Pages request it first, to know
// what else they may request, so a missing session is no error here.
func (c *Console) showSession(r *web.Request) (web.Response, error) {
	type provider struct {
		Name string `json:"name"`
	}
	var shown struct {
		Account *accountView `json:"account"`
		OIDC    *provider    `json:"oidc"`
	}
	if r.IdentifySession(); r.Caller().AccountID != 0 {
		view, err := c.Accounts.Account(r.Caller().AccountID)
		if err != nil {
			return web.Response{}, err
		}
		person := newAccountView(&view)
		shown.Account = &person
	}
	if c.OIDC != nil {
		shown.OIDC = &provider{c.OIDCName}
	}
	return data(shown)
}

// setSession sends the browser the token of a session for as long as that lasts.
func setSession(r *web.Request, token account.Token) {
	r.SetCookie(web.SessionCookie, token.Reveal(), int((token.Expires-r.Milli())/assay.Second))
}
