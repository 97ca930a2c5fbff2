// Package access decides who may see what. It is one pure function over values: the route's rule, the caller, and what
// the caller asks for. The rules themselves stand in the route table of httpapi; testdata/matrix.txt there shows the
// outcome for every route and caller, for people who do not read code.
package access

import "github.com/assaydata/assay"

// Rule says who may call a route.
type Rule uint8

// The rules.
const (
	Public        Rule = iota // anybody; no key is looked at
	FreeGPU                   // free GPUs inside the free window for anybody, everything with a key
	Keyed                     // Premium and Full
	FullGrain                 // Full only, because the data is finer than daily
	FreeLab                   // free labs inside the free window for anybody, everything with a key
	FullSites                 // Full only, because sites are not part of Premium
	SignedIn                  // whoever has signed in; no key is looked at
	SignedInOrKey             // whoever has signed in, and every key
)

var ruleNames = [...]string{Public: "public", FreeGPU: "free-GPU", Keyed: "key", FullGrain: "Full", FreeLab: "free-lab", FullSites: "Full", SignedIn: "session", SignedInOrKey: "session or key"}

// String is the rule's word in documents.
func (r Rule) String() string { return ruleNames[r] }

// The free windows of GPU data and of token prices, in calendar months back from today.
const (
	freeGPUMonths = 3
	freeLabMonths = 1
)

// autoHourlySpan is the longest span that `auto` answers by the hour.
const autoHourlySpan = 31 * assay.Day

// Ask is what a caller asks for. The zero value asks for nothing in particular: it decides whether the route is open to
// the caller at all.
type Ask struct {
	PaidGPU     bool
	PaidLab     bool
	HasStart    bool   // whether Start was said
	Start       int64  // the first instant asked for
	HasEnd      bool   // whether End was said
	End         int64  // the last instant asked for
	HasAsOf     bool   // whether AsOf was said
	AsOf        int64  // the instant whose knowledge is asked for, not after now
	HourlyOnly  bool   // nothing but the hourly grain will do
	Granularity string // daily, hourly, auto, or empty for the route's default, daily
}

// Grant is what a caller gets.
type Grant struct {
	Access assay.Access
	From   int64 // nothing earlier than this may be shown
	Grain  assay.Grain
}

var (
	errKeyRequired = &assay.Error{Kind: assay.Unauthorized, Code: "key_required", Message: keyRequired}
	errOutside     = &assay.Error{Kind: assay.Unauthorized, Code: "outside_free_window", Message: keyRequired}
	errDailyOnly   = &assay.Error{
		Kind: assay.Forbidden, Code: "full_required",
		Message: "Premium access is daily-grain only. Hourly and real-time data require a full subscription.",
	}
	errSignInFirst = &assay.Error{Kind: assay.Unauthorized, Code: "session_required", Message: "Sign in first."}
	errNoSites     = &assay.Error{
		Kind: assay.Forbidden, Code: "full_required",
		Message: "Neocloud site data is not included in premium access. A full subscription unlocks it.",
	}
)

const keyRequired = "API key required. Use Authorization: Bearer YOUR_API_KEY"

// Decide says what the caller gets of what it asks for, or why it gets nothing.
func Decide(rule Rule, caller assay.Caller, ask Ask, now int64) (Grant, error) {
	if rule == SignedIn || rule == SignedInOrKey {
		if caller == (assay.Caller{}) {
			return Grant{}, errSignInFirst
		}
		return Grant{}, nil
	}
	switch caller.Tier {
	case assay.Full:
		return Grant{Access: assay.AccessFull, Grain: fullGrain(rule, ask, now)}, nil
	case assay.Premium:
		if rule == FullGrain || ask.HourlyOnly {
			return Grant{}, errDailyOnly
		}
		if rule == FullSites {
			return Grant{}, errNoSites
		}
		return Grant{Access: assay.AccessPremium, Grain: assay.Daily}, nil
	case assay.Anonymous:
		return decideAnonymous(rule, ask, now)
	}
	panic("a caller of no known tier")
}

func decideAnonymous(rule Rule, ask Ask, now int64) (Grant, error) {
	switch {
	case rule == Public:
		return Grant{}, nil
	case rule != FreeGPU && rule != FreeLab || ask.PaidGPU || ask.PaidLab || ask.HourlyOnly:
		return Grant{}, errKeyRequired
	}
	from, window := assay.MonthsBack(now, freeGPUMonths), assay.Public3Months
	if rule == FreeLab {
		from, window = assay.MonthsBack(now, freeLabMonths), assay.Public1Month
	}
	if ask.HasStart && ask.Start < from || ask.HasAsOf && ask.AsOf < from {
		return Grant{}, errOutside
	}
	return Grant{Access: window, From: from, Grain: assay.Daily}, nil
}

// fullGrain is the grain that a Full caller is served.
func fullGrain(rule Rule, ask Ask, now int64) assay.Grain {
	if rule == FullGrain || ask.HourlyOnly || ask.Granularity == "hourly" {
		return assay.Hourly
	}
	end := now
	switch {
	case ask.HasEnd:
		end = ask.End
	case ask.HasAsOf:
		end = ask.AsOf
	}
	if ask.Granularity == "auto" && ask.HasStart && end-ask.Start <= autoHourlySpan {
		return assay.Hourly
	}
	return assay.Daily
}
