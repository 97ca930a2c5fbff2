package httpapi

import (
	"net/url"
	"strings"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/oidc"
)

// ticketCookie keeps a sign-in's ticket while the browser is at the provider. It is sent back to our half only.
const (
	ticketCookie = "assay_oidc"
	ticketPath   = "/api/session/oidc"
)

// OIDCCallback is the path that the provider sends browsers back to.
const OIDCCallback = ticketPath + "/callback"

var errNoOIDC = &assay.Error{Kind: assay.NotFound, Code: "no_oidc", Message: "This server has no sign-in provider."}

// oidcBegin sends the browser to the provider.
func oidcBegin(c *call) (answer, error) {
	if c.s.OIDC == nil {
		return answer{}, errNoOIDC
	}
	address, ticket, err := c.s.OIDC.Begin(c.r.Context())
	if err != nil {
		return c.signInPage(err)
	}
	c.setCookie(ticketCookie, ticket, ticketPath, int(oidc.TicketLength.Seconds()))
	return answer{redirect: address}, nil
}

// oidcCallback starts a session for whom the provider has sent back.
func oidcCallback(c *call) (answer, error) {
	if c.s.OIDC == nil {
		return answer{}, errNoOIDC
	}
	ticket := ""
	for _, cookie := range c.r.CookiesNamed(ticketCookie) {
		ticket = cookie.Value
	}
	c.setCookie(ticketCookie, "", ticketPath, -1) // it counts once
	who, err := c.s.OIDC.Finish(c.r.Context(), ticket, c.r.URL.Query())
	if err != nil {
		return c.signInPage(err)
	}
	token, _, err := c.s.Accounts.SignInAs(c.r.Context(), who.Issuer, who.Subject, who.Email, who.Name)
	if err != nil {
		return c.signInPage(err)
	}
	c.setSession(token)
	return answer{redirect: "/settings"}, nil
}

// signInPage tells a person in front of a browser why the sign-in did not succeed, by the page that can be tried again on;
// everybody else gets the error.
func (c *call) signInPage(err error) (answer, error) {
	if !strings.Contains(c.r.Header.Get("Accept"), "text/html") {
		return answer{}, err
	}
	e := assay.AsError(err)
	if e.Kind == assay.Internal {
		c.cause = err
	}
	return answer{redirect: "/signin?error=" + url.QueryEscape(e.Code)}, nil
}
