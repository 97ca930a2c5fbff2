package web

import (
	"net/http"
	"net/netip"
	"strings"
)

// SessionCookie holds the token of a session in the browser. Over TLS its name begins with __Host-.
const SessionCookie = "assay_session"

// DeviceCookie holds the token of a browser that has signed in before. It outlives the session.
const DeviceCookie = "assay_device"

// SessionToken is the value of the session cookie, or empty.
func (r *Request) SessionToken() string { return r.Cookie(SessionCookie) }

// HostPrefix begins the names of cookies over TLS. A browser takes a cookie of such a name only over TLS and from this
// very host, so no other host of the domain can plant a session.
const HostPrefix = "__Host-"

func (r *Request) cookieName(name string) string {
	if r.overTLS() {
		return HostPrefix + name
	}
	return name
}

// Cookie is the value of a cookie, or empty.
func (r *Request) Cookie(name string) string {
	for _, cookie := range r.http.CookiesNamed(r.cookieName(name)) {
		return cookie.Value
	}
	return ""
}

// SetCookie sets a cookie that scripts cannot read and that other sites cannot make the browser send with a write. A
// negative age deletes it.
func (r *Request) SetCookie(name, value string, seconds int) {
	cookie := http.Cookie{ //nolint:gosec // G124: without TLS no cookie can be Secure
		Name: r.cookieName(name), Value: value, Path: "/", MaxAge: seconds,
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: r.overTLS(),
	}
	r.SetHeader("Set-Cookie", cookie.String())
}

// Origin is the scheme and the host that the client uses for this server: its public address, if the operator has given
// one, else what the client says.
func (r *Request) Origin() string {
	switch {
	case r.server.config.PublicURL != "":
		return r.server.config.PublicURL
	case r.overTLS():
		return "https://" + r.http.Host
	}
	return "http://" + r.http.Host
}

// onlyTLS tells browsers to use this host with TLS only, for a year.
const onlyTLS = "max-age=31536000"

// overTLS reports whether the browser uses TLS, with this server or with a proxy in front of it.
func (r *Request) overTLS() bool {
	if r.http.TLS != nil || strings.HasPrefix(r.server.config.PublicURL, "https://") {
		return true
	}
	proto := r.http.Header["X-Forwarded-Proto"]
	if len(proto) != 1 || !strings.EqualFold(proto[0], "https") {
		return false
	}
	peer, err := netip.ParseAddrPort(r.http.RemoteAddr)
	return err == nil && r.settings.proxies.trusts(peer.Addr().Unmap().WithZone(""))
}
