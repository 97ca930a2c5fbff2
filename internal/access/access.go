// Package access decides who may see what. Admit decides whether a caller may use a route at all, and Decide what the
// caller gets of what it requests; both are pure functions over values. The rules are in the route tables of
// internal/api and internal/console, and internal/api/testdata/matrix shows the outcome for every route and caller.
package access

import "github.com/assaydata/assay"

// Rule says who may call a route.
type Rule uint8

// The rules.
const (
	Public            Rule = iota // any caller; keys are ignored
	FreeGPU                       // free GPUs inside the free window for any caller, everything with a key
	Keyed                         // Premium and Full
	FullGrain                     // Full only, because the data is finer than daily
	FreeLab                       // free labs inside the free window for any caller, everything with a key
	FullSites                     // Full only, because sites are not part of Premium
	SignedIn                      // any signed-in account; keys are ignored
	SignedInOrKey                 // any signed-in account, and every key
	SignedInFirst                 // any signed-in account, also one that must add a second factor first; keys are ignored
	SignedInTemporary             // any signed-in account, also one that must change its password first; keys are ignored
)

var ruleNames = [...]string{
	Public: "public", FreeGPU: "free-GPU", Keyed: "key", FullGrain: "Full", FreeLab: "free-lab", FullSites: "Full",
	SignedIn: "session", SignedInOrKey: "session or key", SignedInFirst: "restricted session",
	SignedInTemporary: "temporary session",
}

// NeedsSession reports whether only a session opens a route: keys are ignored there.
func (r Rule) NeedsSession() bool {
	return r == SignedIn || r == SignedInFirst || r == SignedInTemporary
}

// String is the rule's word in documents.
func (r Rule) String() string { return ruleNames[r] }

// The free windows of GPU data and of token prices: calendar months back from today or, where a month is short, days.
// So a client that requests 90 or 30 days is always inside.
const (
	freeGPUMonths, freeGPUDays = 3, 92
	freeLabMonths, freeLabDays = 1, 31
)

// autoHourlySpan is the longest span that `auto` serves by the hour.
const autoHourlySpan = 31 * assay.Day

// Ask is what a caller requests. The zero value requests nothing in particular.
type Ask struct {
	Paid        string // the GPU or lab that is requested, if it is not free
	HasStart    bool   // whether Start is set
	Start       int64  // the first instant requested
	HasEnd      bool   // whether End is set
	End         int64  // the last instant requested
	HasAsOf     bool   // whether AsOf is set
	AsOf        int64  // respond with what was known at this instant, which is not after now
	HourlyOnly  bool   // only the hourly grain is accepted
	Granularity string // daily, hourly, auto, or empty for the route's default, daily
}

// Decision is what a caller gets.
type Decision struct {
	Access assay.Access
	From   int64 // nothing earlier than this may be shown
	Grain  assay.Grain
}

var (
	// ErrKeyRequired refuses a caller without a key.
	ErrKeyRequired = &assay.Error{Kind: assay.Unauthorized, Code: "key_required", Message: keyRequired}
	errDailyOnly   = &assay.Error{
		Kind: assay.Forbidden, Code: "full_required",
		Message: "Premium access is daily-grain only. Hourly and real-time data require a full subscription.",
	}
	errSignInFirst = &assay.Error{Kind: assay.Unauthorized, Code: "session_required", Message: "Sign in first."}
	errAddFirst    = &assay.Error{
		Kind: assay.Forbidden, Code: "second_factor_required",
		Message: "The operator requires a second factor for your account. Add one first.",
	}
	errChangeFirst = &assay.Error{
		Kind: assay.Forbidden, Code: "password_change_required",
		Message: "The operator has set your password. Change it first.",
	}
	errNoSites = &assay.Error{
		Kind: assay.Forbidden, Code: "full_required",
		Message: "Neocloud site data is not included in premium access. A full subscription unlocks it.",
	}
)

const keyRequired = "API key required. Use Authorization: Bearer YOUR_API_KEY"

// needsKey refuses a caller without a key, and names what needs one.
func needsKey(code, what string) *assay.Error {
	return &assay.Error{
		Kind: assay.Unauthorized, Code: code,
		Message: "API key required for " + what + ". Use Authorization: Bearer YOUR_API_KEY",
	}
}

// Admit tells whether a caller may use a route at all, whatever it requests there, or why not.
func Admit(rule Rule, caller assay.Caller) error {
	if rule.NeedsSession() || rule == SignedInOrKey {
		switch {
		case caller == (assay.Caller{}):
			return errSignInFirst
		case caller.Restricted == assay.MustChangePassword && rule != SignedInTemporary:
			return errChangeFirst
		case caller.Restricted == assay.MustAddFactor && rule != SignedInFirst:
			return errAddFirst
		}
		return nil
	}
	open := rule == Public || rule == FreeGPU || rule == FreeLab
	switch {
	case caller.Tier == assay.Anonymous && !open:
		return ErrKeyRequired
	case caller.Tier == assay.Premium && rule == FullGrain:
		return errDailyOnly
	case caller.Tier == assay.Premium && rule == FullSites:
		return errNoSites
	}
	return nil
}

// Decide returns what the caller gets of what it requests, or why it gets nothing. It refuses what Admit refuses.
func Decide(rule Rule, caller assay.Caller, ask Ask, now int64) (Decision, error) {
	if err := Admit(rule, caller); err != nil {
		return Decision{}, err
	}
	if rule.NeedsSession() || rule == SignedInOrKey {
		return Decision{}, nil
	}
	switch caller.Tier {
	case assay.Full:
		return Decision{Access: assay.AccessFull, Grain: fullGrain(rule, ask, now)}, nil
	case assay.Premium:
		if ask.HourlyOnly {
			return Decision{}, errDailyOnly
		}
		return Decision{Access: assay.AccessPremium, Grain: assay.Daily}, nil
	case assay.Anonymous:
		return decideAnonymous(rule, ask, now)
	}
	panic("unknown tier")
}

func decideAnonymous(rule Rule, ask Ask, now int64) (Decision, error) {
	switch {
	case rule == Public:
		return Decision{}, nil
	case ask.Paid != "":
		return Decision{}, needsKey("key_required", ask.Paid)
	case ask.HourlyOnly:
		return Decision{}, ErrKeyRequired
	}
	from, window := FreeFrom(rule, now), assay.Public3Months
	if rule == FreeLab {
		window = assay.Public1Month
	}
	if ask.HasStart && ask.Start < from || ask.HasAsOf && ask.AsOf < from {
		first := assay.FormatDay(from)
		err := needsKey("outside_free_window", "dates before "+first)
		err.FreeFrom = first
		return Decision{}, err
	}
	return Decision{Access: window, From: from, Grain: assay.Daily}, nil
}

// FreeFrom is the first instant of the free window of a rule.
func FreeFrom(rule Rule, now int64) int64 {
	months, days := freeGPUMonths, int64(freeGPUDays)
	if rule == FreeLab {
		months, days = freeLabMonths, freeLabDays
	}
	return min(assay.MonthsBack(now, months), assay.StartOfDay(now)-days*assay.Day)
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
