package web

import (
	"cmp"
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/limit"
	"github.com/assaydata/assay/internal/limit/sharedlimit"
)

// LimitConfig describes a rate limit.
type LimitConfig struct {
	Name    string
	Limit   int
	Window  time.Duration
	MaxKeys int    // that this node remembers
	Counted string // what the limit counts, as in "requests per minute"
}

const requestsPerMinute = "requests per minute"

// Limiter limits how often each key may do something, and reports it to callers.
type Limiter[K comparable] struct {
	config LimitConfig
	policy string // the header line RateLimit-Policy
	counts *sharedlimit.Limiter[K]

	decided *decided // by all that count together
}

// NewLimiter makes a limiter. Nodes with the same Redis count together; without one each node counts alone.
func NewLimiter[K comparable](redis *sharedlimit.Redis, c LimitConfig, text func(K) string) *Limiter[K] {
	return &Limiter[K]{
		config: c,
		policy: policyOf(c),
		counts: sharedlimit.New(redis, c.Name, c.Limit, c.Window, c.MaxKeys, text),

		decided: &decided{},
	}
}

// Count counts a request under a key, sets the rate limit headers, and refuses what is over the limit.
func (l *Limiter[K]) Count(r *Request, key K) error { return l.countMany(r, key, 1) }

func (l *Limiter[K]) countMany(r *Request, key K, cost int) error {
	d := l.allow(r, key, cost)
	l.show(r, d)
	return l.refusal(d)
}

func (l *Limiter[K]) allow(r *Request, key K, cost int) limit.Decision {
	d := l.counts.AllowUpTo(key, r.sinceStart(), cost, l.config.Limit)
	l.decided.count(d.Allowed)
	return d
}

// refused reports whether this node alone would refuse a request. It counts nothing.
func (l *Limiter[K]) refused(r *Request, key K, cost int) (limit.Decision, bool) {
	return l.counts.RefusedUpTo(key, r.sinceStart(), cost, l.config.Limit)
}

// upTo is the limiter with another limit. Both count the same requests.
func (l *Limiter[K]) upTo(most int) *Limiter[K] {
	if most == l.config.Limit {
		return l
	}
	other := &Limiter[K]{config: l.config, counts: l.counts, decided: l.decided}
	other.config.Limit = most
	other.policy = policyOf(other.config)
	return other
}

// policyOf is the header line RateLimit-Policy of a limit.
func policyOf(c LimitConfig) string {
	return fmt.Sprintf("RateLimit-Policy: \"%s\";q=%d;w=%d\r\n", c.Name, c.Limit, int(c.Window/time.Second))
}

// show sets the rate limit headers.
func (l *Limiter[K]) show(r *Request, d limit.Decision) {
	line := append(append(append(r.out.headers.rateLimit[:0], `RateLimit: "`...), l.config.Name...), `";r=`...)
	line = strconv.AppendInt(line, int64(d.Remaining), 10)
	line = strconv.AppendInt(append(line, ";t="...), int64(Seconds(d.Reset)), 10)
	line = append(line, "\r\n"...)
	r.out.headers.rateLimit = append(line, l.policy...)
}

// refusal is the error of what is over the limit.
func (l *Limiter[K]) refusal(d limit.Decision) error {
	if d.Allowed {
		return nil
	}
	seconds := Seconds(d.Reset)
	return &assay.Error{
		Kind: assay.TooMany, Code: "rate_limited", RetryAfter: d.Reset,
		Message: fmt.Sprintf("Rate limit of %d %s exceeded. Retry in %d seconds.", l.config.Limit, l.config.Counted, seconds),
	}
}

// CountMore counts a request that costs the server more than others as so many more requests of its caller, and refuses
// it if the caller has not as many left. Under a very low limit it counts as all that the limit allows.
func (r *Request) CountMore(cost int) error {
	switch r.limitClass() {
	case PerAddress:
		return r.countOpen(cost)
	case PerKey:
		return r.countKeyed(min(cost, r.keyLimiter().config.Limit-1))
	case Unlimited, PerCaller:
	}
	return nil
}

// CountPublic counts a request of a route that has no limit as so many under the public one. It is for routes whose
// requests cost nothing, or are requests of other routes, or neither, which only their bodies tell.
func (r *Request) CountPublic(cost int) error {
	return r.server.byAddress.countMany(r, LimitAddress(r.client), cost)
}

// countOpen counts a request of a public route before it is known who calls: under the account of a session, else under
// the client's address. A key changes nothing, and what is no session counts like no cookie, so a guess counts too.
func (r *Request) countOpen(cost int) error {
	if account := r.sessionAccount(); account != 0 {
		return r.server.bySession.countMany(r, accountName(account), min(cost, sessionLimit-1))
	}
	return r.server.byAddress.countMany(r, LimitAddress(r.client), min(cost, publicLimit-1))
}

// sessionAccount is the account whose session the request has, on routes that find sessions in memory; 0 for none. With
// a key, the request is one of a program.
func (r *Request) sessionAccount() int64 {
	group := r.resource.group
	if group.Session == nil || group.Private || r.http.Header["Authorization"] != nil {
		return 0
	}
	return r.sessionOwner().AccountID
}

// countKeyed counts a request under its key, and under the account of the key. The headers are about the key, unless
// the account's limit refuses the request. What one of them refuses does not count for the other.
func (r *Request) countKeyed(cost int) error {
	if cost == 0 {
		return nil
	}
	key, byKey, byAccount := r.limitName(), r.keyLimiter(), r.settings.byAccount
	if _, refused := byKey.refused(r, key, cost); r.caller.AccountID != 0 && !refused {
		d := byAccount.allow(r, r.caller.AccountID, min(cost, byAccount.config.Limit))
		if !d.Allowed {
			byAccount.show(r, d)
			return byAccount.refusal(d)
		}
	}
	return byKey.countMany(r, key, cost)
}

// keyLimiter limits the caller's key: to its own limit, else to that of its plan. Sessions have a limit of their own.
func (r *Request) keyLimiter() *Limiter[string] {
	if r.caller.KeyID == "" {
		return r.server.bySession
	}
	if r.caller.Limit != 0 {
		return r.settings.byKey.upTo(r.caller.Limit)
	}
	return cmp.Or(r.settings.byPlan[r.caller.Tier], r.settings.byKey)
}

// sinceStart is when the request arrived, on the clock of the limiters.
func (r *Request) sinceStart() int64 { return int64(r.now.Sub(r.server.started)) }

// Claim is a key under a limit, to be counted together with others.
type Claim struct {
	refused func(*Request) (limit.Decision, bool)
	allow   func(*Request) limit.Decision
	show    func(*Request, limit.Decision)
	refusal func(limit.Decision) error
	refund  func()
}

// Claim makes a claim of a key.
func (l *Limiter[K]) Claim(key K) Claim {
	return Claim{
		refused: func(r *Request) (limit.Decision, bool) { return l.refused(r, key, 1) },
		allow:   func(r *Request) limit.Decision { return l.allow(r, key, 1) },
		show:    l.show,
		refusal: l.refusal,
		refund:  func() { l.counts.Refund(key) },
	}
}

// CountAll counts a request under several limits, or under none if one of them refuses it. The headers show the limit
// that refuses with the longest wait, or the one that has least left. refund takes the request back from all of them.
func CountAll(r *Request, claims []Claim) (refund func(), err error) {
	if err := refuseFirst(r, claims); err != nil {
		return nil, err
	}
	least := math.MaxInt
	for i, claim := range claims {
		d := claim.allow(r)
		if d.Remaining < least || !d.Allowed {
			least = d.Remaining
			claim.show(r, d)
		}
		if !d.Allowed {
			refundAll(claims[:i])
			return nil, claim.refusal(d)
		}
	}
	return func() { refundAll(claims) }, nil
}

// refuseFirst refuses a request that this node can refuse alone, before anything is counted. The caller learns the
// longest wait: after a shorter one the next limit would refuse the request.
func refuseFirst(r *Request, claims []Claim) (err error) {
	var longest time.Duration
	for _, claim := range claims {
		if d, refused := claim.refused(r); refused && d.Reset > longest {
			longest = d.Reset
			claim.show(r, d)
			err = claim.refusal(d)
		}
	}
	return err
}

func refundAll(claims []Claim) {
	for _, claim := range claims {
		claim.refund()
	}
}

// LimitAddress is what an address is counted as: itself, or in IPv6 its /64, which is what one customer gets.
func LimitAddress(address netip.Addr) netip.Addr {
	if !address.Is6() {
		return address
	}
	prefix, _ := address.Prefix(64) // fails only for a number of bits out of range
	return prefix.Addr()
}
