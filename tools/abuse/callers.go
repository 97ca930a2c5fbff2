//go:build linux

package main

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/assaydata/assay/tools/target"
)

// role is who a request claims to be.
type role uint8

const (
	anonymous role = iota
	premium
	full
	revoked  // with a key that was revoked
	signedIn // with the cookie of a session
	forged   // with a key or a cookie that no one was given
	roles
)

func (r role) String() string {
	return [...]string{"anonymous", "Premium key", "Full key", "revoked key", "signed in", "forged key or cookie"}[r]
}

// tier is what a credential opens.
type tier uint8

const (
	freeTier tier = iota
	premiumTier
	fullTier
)

// session is a signed-in account.
type session struct {
	token  string
	tier   tier
	keyIDs []string // of the account
}

// cast is everyone who takes part.
type cast struct {
	addresses int
	premium   []string // keys
	full      []string
	revoked   []string
	reader    []string // keys of the well-behaved reader
	sessions  []session
	spare     []session // that requests may end, of an account of their own
	passwords []string  // of the accounts, which no request sends
}

// address is the client address of a number: IPv4 and IPv6 in turns, each IPv6 address in its own /64.
func address(n int) string {
	if n%2 == 0 {
		n /= 2
		return "10." + strconv.Itoa(n>>16&255) + "." + strconv.Itoa(n>>8&255) + "." + strconv.Itoa(n&255)
	}
	n /= 2
	return "2001:db8:" + strconv.FormatInt(int64(n>>16), 16) + ":" + strconv.FormatInt(int64(n&0xffff), 16) + "::1"
}

// enter gives a request a caller with credentials.
func (c *cast) enter(d draw, r *request) {
	r.header("X-Forwarded-For", address(d.IntN(c.addresses)))
	switch n := d.IntN(100); {
	case n < 25:
		r.role = anonymous
	case n < 45:
		r.role, r.tier = premium, premiumTier
		r.header("Authorization", "Bearer "+pick(d, c.premium))
	case n < 70:
		r.role, r.tier = full, fullTier
		r.header("Authorization", "Bearer "+pick(d, c.full))
	case n < 75:
		r.role = revoked
		r.header("Authorization", "Bearer "+pick(d, c.revoked))
	case n < 90:
		c.signIn(d, r)
	default:
		c.forge(d, r)
	}
}

// signIn gives a request the cookie of a session. Requests that may end their session use one that others do not need.
func (c *cast) signIn(d draw, r *request) {
	s := pick(d, c.sessions)
	if r.method != http.MethodGet && strings.Contains(r.operation.template, "session") {
		s = pick(d, c.spare)
	}
	r.role, r.tier, r.session = signedIn, s.tier, &s
	r.header("Cookie", target.SessionCookie+"="+s.token)
}

// forge gives a request a credential that looks right and is not.
func (c *cast) forge(d draw, r *request) {
	r.role = forged
	key := pick(d, c.full)
	switch d.IntN(6) {
	case 0:
		r.header("Cookie", target.SessionCookie+"="+d.text(43))
	case 1: // another tier
		r.header("Authorization", "Bearer sk_live_"+pick(d, c.premium)[len("sk_prem_"):])
	case 2: // one character differs
		at := len(key) - 1 - d.IntN(40)
		r.header("Authorization", "Bearer "+key[:at]+string(key[at]^1)+key[at+1:])
	case 3:
		r.header("Authorization", "Bearer "+key[:d.IntN(len(key))])
	case 4:
		r.header("Authorization", "Bearer sk_live_"+d.text(6)+"_"+d.text(49))
	default:
		r.header("Authorization", pick(d, []string{
			"Basic YWRtaW46YWRtaW4=", "Bearer", "Bearer ", "bearer null", "Digest username=\"a\"", "Negotiate YII=",
			key, "Bearer\t", "",
			"Bearer " + d.text(4000), "Bearer \xff\xfe", "Bearer sk_live_", "Bearer eyJhbGciOiJub25lIn0.e30.",
		}))
	}
}

// text draws letters and digits.
func (d draw) text(length int) string {
	const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	b := make([]byte, length)
	for i := range b {
		b[i] = letters[d.IntN(len(letters))]
	}
	return string(b)
}
