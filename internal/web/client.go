package web

import (
	"net"
	"net/http"
	"net/netip"

	"github.com/realclientip/realclientip-go"
)

// proxies finds a request's client address. It trusts forwarding headers only from a trusted proxy.
type proxies struct {
	trusted    []netip.Prefix
	strategies []realclientip.Strategy
}

func newProxies(trusted []netip.Prefix) *proxies {
	p := &proxies{trusted: trusted}
	if len(trusted) == 0 {
		return p
	}
	ranges := make([]net.IPNet, len(trusted))
	for i, prefix := range trusted {
		ranges[i] = net.IPNet{IP: prefix.Addr().AsSlice(), Mask: net.CIDRMask(prefix.Bits(), prefix.Addr().BitLen())}
	}
	for _, header := range []string{"X-Forwarded-For", "Forwarded"} {
		// The constructor refuses only an empty header name.
		p.strategies = append(p.strategies, realclientip.Must(realclientip.NewRightmostTrustedRangeStrategy(header, ranges)))
	}
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
	if forwarded, ok := single(r.Header["X-Forwarded-For"]); ok && !p.trusts(forwarded) {
		return forwarded
	}
	for _, strategy := range p.strategies {
		if forwarded, err := netip.ParseAddr(strategy.ClientIP(r.Header, r.RemoteAddr)); err == nil {
			return forwarded.Unmap().WithZone("")
		}
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
