package console

import (
	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/account"
	"github.com/assaydata/assay/internal/web"
)

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
	email := account.NormalEmail(given.Email)
	client := newClient(r)
	done, err := c.guesses.signIn(r, email, c.Accounts.KnowsDevice(client.Device, email))
	if err != nil {
		return web.Response{}, err
	}
	in, err := c.Accounts.SignIn(r.Context(), client, email, given.Password)
	done(err)
	if err != nil {
		return web.Response{}, err
	}
	return c.signedIn(r, in)
}

// newClient is what a request shows of the program that sends it.
func newClient(r *web.Request) account.Client {
	client := account.Client{Address: r.Client(), Session: r.SessionToken(), Device: r.Cookie(web.DeviceCookie)}
	if header := r.Header("User-Agent"); len(header) > 0 {
		client.UserAgent = header[0]
	}
	return client
}

// signedIn responds with the account that has signed in, or asks for the second factor.
func (c *Console) signedIn(r *web.Request, in account.SignedIn) (web.Response, error) {
	if in.Next != nil {
		return askSecondStep(r, in.Next)
	}
	view, err := c.Accounts.Account(in.Account.ID)
	if err != nil {
		return web.Response{}, err
	}
	setCookies(r, in)
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

// showSession serves who is signed in, if any, what a sign-in still needs, and the ways to sign in. Pages request it
// first, to know what else they may request, so a missing session is no error here.
func (c *Console) showSession(r *web.Request) (web.Response, error) {
	type provider struct {
		Name string `json:"name"`
	}
	var shown struct {
		Account            *accountView `json:"account"`
		MustChangePassword bool         `json:"must_change_password"`
		OIDC               *provider    `json:"oidc"`

		Link *linkView `json:"link"`

		SecondFactor  *secondStepView `json:"second_factor"`
		MustAddFactor bool            `json:"must_add_second_factor"`
		PasskeyHost   *string         `json:"passkey_host"`
	}
	if r.IdentifySession(); r.Caller().AccountID != 0 {
		view, err := c.Accounts.Account(r.Caller().AccountID)
		if err != nil {
			return web.Response{}, err
		}
		person := newAccountView(&view)
		shown.Account, shown.MustAddFactor = &person, r.Caller().Restricted == assay.MustAddFactor
		shown.MustChangePassword = r.Caller().Restricted == assay.MustChangePassword
	} else {
		step, err := c.pendingStep(r)
		if err != nil {
			return web.Response{}, err
		}
		shown.SecondFactor, shown.Link = step, c.pendingLink(r)
	}
	shown.PasskeyHost = c.passkeyHost()
	if c.OIDC != nil {
		shown.OIDC = &provider{c.OIDCName}
	}
	return data(shown)
}

// setCookies sends the browser the tokens of its session and its device, for as long as they last.
func setCookies(r *web.Request, in account.SignedIn) {
	for _, cookie := range []struct {
		name  string
		token account.Token
	}{{web.SessionCookie, in.Session}, {web.DeviceCookie, in.Device}} {
		r.SetCookie(cookie.name, cookie.token.Reveal(), int((cookie.token.Expires-r.Milli())/assay.Second))
	}
}
