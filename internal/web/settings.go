package web

import (
	"cmp"
	"net/netip"
	"strconv"
	"strings"

	"github.com/assaydata/assay"
)

// Settings are the part of the configuration that can change while the server runs.
type Settings struct {
	LogOneIn       int64 // log only one in so many requests, and those that fail; 0 for all, LogNone for none
	TrustedProxies []netip.Prefix
	ProxyHeader    string // in which they name the client: XForwardedFor, also if empty, or Forwarded
	KeyLimit       int    // requests per minute of one key on keyed routes, unless its plan or the key has a limit
	PlanLimits     map[assay.Tier]int
	AccountLimit   int // of all keys and sessions of one account together; 0 for KeysPerAccount times KeyLimit
	Connections    ConnectionLimits
	Streams        Streams
}

// LogNone as Settings.LogOneIn logs no requests.
const LogNone = -1

// settings are Settings at work. A request keeps those that it began with.
type settings struct {
	Settings
	proxies   *proxies
	byKey     *Limiter[string]
	byPlan    map[assay.Tier]*Limiter[string] // of the plans that have a limit; they count together with byKey
	byAccount *Limiter[int64]
}

// Apply changes the settings for the requests and connections from now on. What was counted before counts.
func (s *Server) Apply(next Settings) {
	applied := &settings{Settings: next, proxies: newProxies(next.TrustedProxies, next.ProxyHeader)}
	accountLimit := cmp.Or(next.AccountLimit, KeysPerAccount*next.KeyLimit)
	if before := s.settings.Load(); before != nil {
		applied.byKey, applied.byAccount = before.byKey.upTo(next.KeyLimit), before.byAccount.upTo(accountLimit)
	} else {
		applied.byKey = NewLimiter(s.config.Limits, LimitConfig{
			Name: "key", Limit: next.KeyLimit, Window: limitWindow, MaxKeys: maxKeys, Counted: requestsPerMinute,
		}, strings.Clone)
		applied.byAccount = NewLimiter(s.config.Limits, LimitConfig{
			Name: "account", Limit: accountLimit, Window: limitWindow, MaxKeys: maxKeys,
			Counted: "requests per minute of all keys of an account",
		}, func(id int64) string { return strconv.FormatInt(id, 10) })
	}
	applied.byPlan = make(map[assay.Tier]*Limiter[string], len(next.PlanLimits))
	for tier, limit := range next.PlanLimits {
		applied.byPlan[tier] = applied.byKey.upTo(limit)
	}
	s.settings.Store(applied)
}

// DropIdle forgets the callers that have sent nothing for a while. A server that is busy does so on the way.
func (s *Server) DropIdle() {
	now := int64(s.config.Now().Sub(s.started))
	current := s.settings.Load()
	s.byAddress.counts.DropIdle(now)
	s.bySession.counts.DropIdle(now)
	current.byKey.counts.DropIdle(now)
	current.byAccount.counts.DropIdle(now)
}

// trusts reports whether an address is that of a trusted proxy.
func (s *Server) trusts(address netip.Addr) bool { return s.settings.Load().proxies.trusts(address) }

// connectionLimits are the current ones.
func (s *Server) connectionLimits() ConnectionLimits { return s.settings.Load().Connections }
