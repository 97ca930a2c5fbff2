package httpapi

import (
	"crypto/sha256"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/account"
	"github.com/assaydata/assay/internal/limit/sharedlimit"
)

// sessionCookie keeps the token of a session in the browser.
const sessionCookie = "assay_session"

// How often a sign-in may be tried in any span of the window, whether the account exists or not.
const (
	guessWindow     = 5 * time.Minute
	guessesAddress  = 30
	guessesAccount  = 10
	maxGuessTargets = 65_536
)

// guesses limits how fast passwords can be guessed.
type guesses struct {
	byAddress, byAccount         *sharedlimit.Limiter[[32]byte]
	addressPolicy, accountPolicy policy
}

func newGuesses(limits *sharedlimit.Redis) guesses {
	text := func(sum [32]byte) string { return string(sum[:]) }
	return guesses{
		sharedlimit.New(limits, "sign-in-address", guessesAddress, guessWindow, maxGuessTargets, text),
		sharedlimit.New(limits, "sign-in-account", guessesAccount, guessWindow, maxGuessTargets, text),
		newPolicy("sign-in-address", guessesAddress, guessWindow, "sign-in attempts in 5 minutes"),
		newPolicy("sign-in-account", guessesAccount, guessWindow, "sign-in attempts in 5 minutes"),
	}
}

// countGuess counts an attempt to know the password of whom the words name.
func (c *call) countGuess(address netip.Addr, whom string) error {
	g := &c.s.guesses
	from := sha256.Sum256([]byte(limitAddress(address).String()))
	if err := c.count(g.addressPolicy, g.byAddress.Allow(from, c.sinceStart())); err != nil {
		return err
	}
	return c.count(g.accountPolicy, g.byAccount.Allow(sha256.Sum256([]byte(whom)), c.sinceStart()))
}

// signIn starts a session for whoever knows an account's password.
func signIn(c *call) (answer, error) {
	var given struct {
		Email    string `json:"email"`
		Password string `json:"password"`
	}
	if err := c.readBody(&given, "email", "password"); err != nil {
		return answer{}, err
	}
	if given.Email == "" || given.Password == "" {
		return answer{}, badBody("lacks the email or the password; allowed is a JSON object with email and password")
	}
	if err := c.countGuess(c.client, strings.ToLower(strings.TrimSpace(given.Email))); err != nil {
		return answer{}, err
	}
	token, who, err := c.s.Accounts.SignIn(c.r.Context(), given.Email, given.Password, c.client.String())
	if err != nil {
		return answer{}, err
	}
	view, err := c.s.Accounts.Account(who.ID)
	if err != nil {
		return answer{}, err
	}
	c.setSession(token)
	return data(newAccountView(&view))
}

// signOut ends the session of the cookie, if there is one.
func signOut(c *call) (answer, error) {
	if token := c.sessionToken(); token != "" {
		if err := c.s.Accounts.SignOut(c.r.Context(), token); err != nil {
			return answer{}, err
		}
	}
	c.setCookie(sessionCookie, "", "/", -1)
	return done()
}

// showSession answers who is signed in, if anybody, and through whom else one can sign in. Our pages ask it first, so that
// they ask for nothing in vain: no session is no error here.
func showSession(c *call) (answer, error) {
	type provider struct {
		Name string `json:"name"`
	}
	var shown struct {
		Account *accountView `json:"account"`
		OIDC    *provider    `json:"oidc"`
	}
	if c.identifySession(); c.caller.AccountID != 0 {
		view, err := c.s.Accounts.Account(c.caller.AccountID)
		if err != nil {
			return answer{}, err
		}
		person := newAccountView(&view)
		shown.Account = &person
	}
	if c.s.OIDC != nil {
		shown.OIDC = &provider{c.s.OIDCName}
	}
	return data(shown)
}

// identifySession takes the cookie's session as the caller. A cookie that is unknown or has ended counts as none: its owner
// cannot be told by the answer to a read, and signs in again when asked to.
func (c *call) identifySession() {
	if c.r.Header["Cookie"] == nil {
		return
	}
	if token := c.sessionToken(); token != "" {
		if session, ok := c.s.Accounts.Identify(c.r.Context(), token); ok {
			c.caller = session.Caller
		}
	}
}

// sessionToken is the text of the session's cookie, or empty.
func (c *call) sessionToken() string {
	for _, cookie := range c.r.CookiesNamed(sessionCookie) {
		return cookie.Value
	}
	return ""
}

// setSession gives the browser the token of a session for as long as that lasts.
func (c *call) setSession(token account.Token) {
	c.setCookie(sessionCookie, token.Reveal(), "/", int((token.Expires-c.now.UnixMilli())/assay.Second))
}

// setCookie sets a cookie that no script can read and that other sites cannot make the browser send with a write; a negative
// age takes it back.
func (c *call) setCookie(name, value, path string, seconds int) {
	cookie := http.Cookie{ //nolint:gosec // G124: without TLS there is no cookie that could be Secure
		Name: name, Value: value, Path: path, MaxAge: seconds, HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: c.overTLS(),
	}
	c.set("Set-Cookie", cookie.String())
}

// overTLS tells whether the browser speaks TLS, be it with us or with a proxy in front: then a cookie must not go without.
func (c *call) overTLS() bool {
	if c.r.TLS != nil || strings.HasPrefix(c.s.PublicURL, "https://") {
		return true
	}
	peer, err := netip.ParseAddrPort(c.r.RemoteAddr)
	return err == nil && c.s.proxies.trusts(peer.Addr().Unmap().WithZone("")) && strings.EqualFold(c.r.Header.Get("X-Forwarded-Proto"), "https")
}
