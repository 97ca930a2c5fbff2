package webhook

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// maxURL is longer than the URL of any receiver.
const maxURL = 2048

// publicPorts are the ports of public addresses that may be reached. Others belong to services that are no receivers of
// webhooks.
var publicPorts = []string{"", "443", "8443"}

// CheckURL checks a URL as far as that is possible without resolving its name. The error says what is allowed.
func (s *Sender) CheckURL(text string) error {
	if len(text) > maxURL {
		return fmt.Errorf("the URL has more than %d characters", maxURL)
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.Opaque != "" {
		return errors.New("the URL must be https:// and a host, such as https://example.com/hook")
	}
	allows := len(s.Allowed) > 0
	switch {
	case u.User != nil:
		return errors.New("the URL must not contain a user name or a password")
	case u.Fragment != "":
		return errors.New("the URL must not contain a fragment")
	case u.Scheme != "https" && (!allows || u.Scheme != "http"):
		return errors.New("the URL must begin with https://")
	}
	address, err := netip.ParseAddr(strings.Trim(u.Hostname(), "[]"))
	literal := err == nil
	if literal && s.permit(address, u.Scheme == "https") != nil {
		return errors.New("the URL must not name an address that is not public")
	}
	local := literal && s.isAllowed(address)
	if !local && (!allows || literal) && !slices.Contains(publicPorts, u.Port()) {
		return errors.New("the port of the URL must be 443 or 8443")
	}
	return nil
}

// checkAddress checks the address that a connection is about to be made to.
func (s *Sender) checkAddress(text string, encrypted bool) error {
	to, err := netip.ParseAddrPort(text)
	if err != nil {
		return errAddress
	}
	if err := s.permit(to.Addr(), encrypted); err != nil {
		return err
	}
	if port := fmt.Sprint(to.Port()); !s.isAllowed(to.Addr()) && !slices.Contains(publicPorts, port) {
		return errAddress
	}
	return nil
}

// permit returns errAddress for an address that must not be reached.
func (s *Sender) permit(address netip.Addr, encrypted bool) error {
	if s.isAllowed(address) || encrypted && isPublic(address) {
		return nil
	}
	return errAddress
}

func (s *Sender) isAllowed(address netip.Addr) bool {
	address = address.Unmap().WithZone("")
	return slices.ContainsFunc(s.Allowed, func(p netip.Prefix) bool { return p.Contains(address) })
}

// isPublic reports whether an address is one of the public internet. Of IPv6 that is 2000::/3 without the ranges that
// lead elsewhere: those for translation to IPv4 could name any private address.
func isPublic(address netip.Addr) bool {
	if address.Zone() != "" {
		return false
	}
	address = address.Unmap()
	if address.Is6() && !global6.Contains(address) {
		return false
	}
	return !slices.ContainsFunc(special, func(p netip.Prefix) bool { return p.Contains(address) })
}

var global6 = netip.MustParsePrefix("2000::/3")

// special are the ranges that are not public: those of the registries for special purposes of IANA, and the address of
// a cloud's metadata service that is none of them.
var special = prefixes(
	"0.0.0.0/8",         // this network
	"10.0.0.0/8",        // private
	"100.64.0.0/10",     // between a provider and its customers
	"127.0.0.0/8",       // this machine
	"168.63.129.16/32",  // metadata of Azure
	"169.254.0.0/16",    // link-local, with the metadata of most clouds
	"172.16.0.0/12",     // private
	"192.0.0.0/24",      // protocol assignments
	"192.0.2.0/24",      // documentation
	"192.31.196.0/24",   // AS112
	"192.52.193.0/24",   // AMT
	"192.88.99.0/24",    // 6to4 relays
	"192.168.0.0/16",    // private
	"192.175.48.0/24",   // AS112
	"198.18.0.0/15",     // benchmarks
	"198.51.100.0/24",   // documentation
	"203.0.113.0/24",    // documentation
	"224.0.0.0/4",       // multicast
	"240.0.0.0/4",       // reserved, with broadcast
	"2001::/23",         // protocol assignments, with Teredo
	"2001:db8::/32",     // documentation
	"2002::/16",         // 6to4
	"2620:4f:8000::/48", // AS112
	"3fff::/20",         // documentation
)

func prefixes(texts ...string) (list []netip.Prefix) {
	for _, text := range texts {
		list = append(list, netip.MustParsePrefix(text))
	}
	return list
}
