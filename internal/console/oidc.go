package console

import (
	"net/url"
	"strings"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/account"
	"github.com/assaydata/assay/internal/oidc"
	"github.com/assaydata/assay/internal/web"
)

// Cookies of a sign-in through the provider. Neither is a session.
const (
	ticketCookie = "assay_oidc" // the ticket while the browser is at the provider
	linkCookie   = "assay_link" // the identity that an account is to be linked with
)

// oidcPath is where a sign-in with the provider begins.
const oidcPath = "/api/session/oidc"

// OIDCCallback is the path that the provider sends browsers back to.
const OIDCCallback = oidcPath + "/callback"

var errNoOIDC = &assay.Error{Kind: assay.NotFound, Code: "no_oidc", Message: "This server has no sign-in provider."}

// beginOIDC sends the browser to the provider.
func (c *Console) beginOIDC(r *web.Request) (web.Response, error) {
	if c.OIDC == nil {
		return web.Response{}, errNoOIDC
	}
	address, ticket, err := c.OIDC.Begin(r.Context())
	if err != nil {
		return signInPage(r, err)
	}
	r.SetCookie(ticketCookie, ticket, int(oidc.TicketLength.Seconds()))
	return web.Redirect(address), nil
}

// finishOIDC starts a session for an account that the provider has identified.
func (c *Console) finishOIDC(r *web.Request) (web.Response, error) {
	if c.OIDC == nil {
		return web.Response{}, errNoOIDC
	}
	ticket := r.Cookie(ticketCookie)
	r.SetCookie(ticketCookie, "", -1)
	who, err := c.OIDC.Finish(r.Context(), ticket, r.Query())
	if err != nil {
		return signInPage(r, err)
	}
	in, err := c.Accounts.SignInAs(r.Context(), newClient(r), identity(who))
	if err != nil {
		return signInPage(r, err)
	}
	if in.MustLink {
		r.SetCookie(linkCookie, c.OIDC.SealIdentity(who), int(oidc.TicketLength.Seconds()))
		return web.Redirect("/signin"), nil // the page asks for the account's password
	}
	if in.Next != nil {
		setTicket(r, stepCookie, in.Next.Ticket)
		return web.Redirect("/signin"), nil // the page asks for the second factor
	}
	setCookies(r, in)
	return web.Redirect("/"), nil // from there the page returns to where the reader was
}

func identity(who oidc.Identity) account.Identity {
	return account.Identity{
		Issuer: who.Issuer, Subject: who.Subject, Email: who.Email, Name: who.Name,
		TicketID: who.Ticket.ID, TicketEnds: who.Ticket.Ends,
	}
}

// linkView is an account that waits for its password, to be linked with the identity that the provider has sent.
type linkView struct {
	Email string `json:"email"`
}

// pendingLink is the account that the browser's identity is to be linked with; nil without one.
func (c *Console) pendingLink(r *web.Request) *linkView {
	if c.OIDC == nil {
		return nil
	}
	who, ok := c.OIDC.OpenIdentity(r.Cookie(linkCookie))
	if !ok {
		return nil
	}
	return &linkView{account.NormalEmail(who.Email)}
}

// linkOIDC links the account of the browser's identity, given the account's password, and starts a session.
func (c *Console) linkOIDC(r *web.Request) (web.Response, error) {
	var given struct {
		Password string `json:"password"`
	}
	if err := r.ReadJSON(&given, "password"); err != nil {
		return web.Response{}, err
	}
	if given.Password == "" {
		return web.Response{}, web.InvalidBody("must be a JSON object with password")
	}
	if c.OIDC == nil {
		return web.Response{}, errNoOIDC
	}
	who, ok := c.OIDC.OpenIdentity(r.Cookie(linkCookie))
	if !ok {
		return web.Response{}, account.ErrSignInEnded
	}
	client := newClient(r)
	email := account.NormalEmail(who.Email)
	done, err := c.guesses.signIn(r, email, c.Accounts.KnowsDevice(client.Device, email))
	if err != nil {
		return web.Response{}, err
	}
	in, err := c.Accounts.Link(r.Context(), client, identity(who), given.Password)
	done(err)
	if err != nil {
		return web.Response{}, err
	}
	response, err := c.signedIn(r, in)
	r.SetCookie(linkCookie, "", -1)
	return response, err
}

// signInPage shows in a browser why the sign-in failed, on the page where it can be tried again; other clients get the
// error.
func signInPage(r *web.Request, err error) (web.Response, error) {
	if !strings.Contains(strings.Join(r.Header("Accept"), ","), "text/html") {
		return web.Response{}, err
	}
	e := assay.AsError(err)
	if e.Kind == assay.Internal {
		r.LogCause(err)
	}
	return web.Redirect("/signin?error=" + url.QueryEscape(e.Code)), nil
}
