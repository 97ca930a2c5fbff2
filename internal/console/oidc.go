package console

import (
	"net/url"
	"strings"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/oidc"
	"github.com/assaydata/assay/internal/web"
)

// ticketCookie holds a sign-in's ticket while the browser is at the provider.
const ticketCookie = "assay_oidc"

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
	r.SetCookie(ticketCookie, "", -1) // a ticket is valid once
	who, err := c.OIDC.Finish(r.Context(), ticket, r.Query())
	if err != nil {
		return signInPage(r, err)
	}
	in, err := c.Accounts.SignInAs(r.Context(), newClient(r), who.Issuer, who.Subject, who.Email, who.Name)
	if err != nil {
		return signInPage(r, err)
	}
	if in.Next != nil {
		setTicket(r, stepCookie, in.Next.Ticket)
		return web.Redirect("/signin"), nil // the page asks for the second factor
	}
	setCookies(r, in)
	return web.Redirect("/settings"), nil
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
