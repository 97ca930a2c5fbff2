package web

import (
	"cmp"
	"net"
	"net/http"
	"net/netip"

	"github.com/realclientip/realclientip-go"
)

// The headers in which a proxy can name the client it forwards for.
const (
	XForwardedFor = "X-Forwarded-For"
	Forwarded     = "Forwarded" // RFC 7239
)

// proxies finds a request's client address. It believes a trusted proxy, and of its headers the one that the proxy
// sets: a proxy passes other headers on as the client wrote them.
type proxies struct {
	trusted  []netip.Prefix
	header   string
	strategy realclientip.Strategy
}

func newProxies(trusted []netip.Prefix, header string) *proxies {
	p := &proxies{trusted: trusted, header: cmp.Or(header, XForwardedFor)}
	if len(trusted) == 0 {
		return p
	}
	ranges := make([]net.IPNet, len(trusted))
	for i, prefix := range trusted {
		ranges[i] = net.IPNet{IP: prefix.Addr().AsSlice(), Mask: net.CIDRMask(prefix.Bits(), prefix.Addr().BitLen())}
	}
	// The constructor refuses only an empty header name.
	p.strategy = realclientip.Must(realclientip.NewRightmostTrustedRangeStrategy(p.header, ranges))
	return p
}

func (p *proxies) client(r *http.Request) netip.Addr {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	address := peer.Addr().Unmap().WithZone("")
	if !p.trusts(address) {
		return address
	}
	if p.header == XForwardedFor {
		if forwarded, ok := single(r.Header[XForwardedFor]); ok && !p.trusts(forwarded) {
			return forwarded
		}
	}
	if forwarded, err := netip.ParseAddr(p.strategy.ClientIP(r.Header, r.RemoteAddr)); err == nil {
		return forwarded.Unmap().WithZone("")
	}
	return address
}

// single is a fast path for what nearly every proxy sends: one header with one plain address.
func single(header []string) (netip.Addr, bool) {
	if len(header) != 1 {
		return netip.Addr{}, false
	}
	address, err := netip.ParseAddr(header[0])
	return address.Unmap().WithZone(""), err == nil
}

func (p *proxies) trusts(address netip.Addr) bool {
	for _, prefix := range p.trusted {
		if prefix.Contains(address) {
			return true
		}
	}
	return false
}
