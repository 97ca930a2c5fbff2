package access

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/assaydata/assay"
)

// The test's today is 31 May, so that the free window begins on the last day of February.
var (
	now    = mustInstant("2026-05-31T15:04:05.678Z")
	window = mustInstant("2026-02-28")
)

func mustInstant(s string) int64 {
	ms, _, err := assay.ParseInstant(s)
	if err != nil {
		panic(err)
	}
	return ms
}

// asks has every request that can make a difference, by name.
var asks = map[string]Ask{
	"nothing":                  {},
	"paid":                     {Paid: "B300"},
	"paid in the window":       {Paid: "B300", HasStart: true, Start: window},
	"1 ms before the window":   {HasStart: true, Start: window - 1},
	"long before the window":   {HasStart: true, Start: mustInstant("2001-01-01")},
	"the epoch":                {HasStart: true, Start: 0},
	"start of the window":      {HasStart: true, Start: window},
	"1 ms into the window":     {HasStart: true, Start: window + 1},
	"end before the window":    {HasEnd: true, End: window - 1},
	"daily":                    {Granularity: "daily"},
	"daily of a day":           {Granularity: "daily", HasStart: true, Start: now - assay.Day},
	"hourly":                   {Granularity: "hourly"},
	"hourly of months":         {Granularity: "hourly", HasStart: true, Start: window, HasEnd: true, End: now},
	"paid hourly":              {Paid: "B300", Granularity: "hourly"},
	"auto":                     {Granularity: "auto"},
	"auto to an end":           {Granularity: "auto", HasEnd: true, End: now},
	"auto of 31 days":          {Granularity: "auto", HasStart: true, Start: now - 31*assay.Day},
	"auto of 31 days and 1 ms": {Granularity: "auto", HasStart: true, Start: now - 31*assay.Day - 1},
	"auto of 31 days to an end": {
		Granularity: "auto", HasStart: true, Start: window, HasEnd: true, End: window + 31*assay.Day,
	},
	"auto of 31 days and 1 ms to an end": {
		Granularity: "auto", HasStart: true, Start: window, HasEnd: true, End: window + 31*assay.Day + 1,
	},
	"auto of the future":           {Granularity: "auto", HasStart: true, Start: now + assay.Day},
	"hourly only":                  {HourlyOnly: true},
	"as of 1 ms before the window": {HasAsOf: true, AsOf: window - 1},
	"as of the epoch":              {HasAsOf: true, AsOf: 0},
	"as of the window":             {HasAsOf: true, AsOf: window},
	"as of now":                    {HasAsOf: true, AsOf: now},
	"paid as of now":               {Paid: "B300", HasAsOf: true, AsOf: now},
	"auto of 31 days as of": {
		Granularity: "auto", HasStart: true, Start: window, HasAsOf: true, AsOf: window + 31*assay.Day,
	},
	"auto of 31 days and 1 ms as of": {
		Granularity: "auto", HasStart: true, Start: window, HasAsOf: true, AsOf: window + 31*assay.Day + 1,
	},
	"auto to an end as of another": {
		Granularity: "auto", HasStart: true, Start: window, HasEnd: true, End: window + assay.Day, HasAsOf: true, AsOf: now,
	},
}

// statuses are those of the errors of this package.
var statuses = map[assay.Kind]int{assay.Unauthorized: 401, assay.Forbidden: 403}

// outcome describes what was decided.
func outcome(rule Rule, tier assay.Tier, ask Ask) string {
	grant, err := Decide(rule, assay.Caller{Tier: tier}, ask, now)
	if err != nil {
		e := assay.AsError(err)
		return fmt.Sprint(statuses[e.Kind], " ", e.Code)
	}
	words := fmt.Sprint(grant.Access, " ", grant.Grain)
	if grant.From != 0 {
		words += " from " + assay.FormatInstant(grant.From)[:len(assay.DayLayout)]
	}
	return words
}

func TestDecide(t *testing.T) {
	t.Parallel()
	type cell struct {
		rule Rule
		tier assay.Tier
		ask  string
	}
	left := map[cell]bool{}
	for _, rule := range []Rule{Public, FreeGPU, Keyed, FullGrain} {
		for _, tier := range []assay.Tier{assay.Anonymous, assay.Premium, assay.Full} {
			for ask := range asks {
				left[cell{rule: rule, tier: tier, ask: ask}] = true
			}
		}
	}
	f := func(rule Rule, tier assay.Tier, want string, names ...string) {
		t.Helper()
		for _, name := range names {
			c := cell{rule: rule, tier: tier, ask: name}
			if !left[c] {
				t.Errorf("%s, %s, %q: no such case, or it is listed twice", rule, tier, name)
			}
			delete(left, c)
			t.Run(fmt.Sprintf("%s, %s, %s", rule, tier, name), func(t *testing.T) {
				t.Parallel()
				if got := outcome(rule, tier, asks[name]); got != want {
					t.Errorf("got %q, want %q", got, want)
				}
			})
		}
	}
	all := slices.Collect(maps.Keys(asks))
	paid := []string{"paid", "paid in the window", "paid hourly", "paid as of now"}
	needsKey := append([]string{"hourly only"}, paid...)
	early := []string{
		"1 ms before the window", "long before the window", "the epoch", "as of 1 ms before the window", "as of the epoch",
	}
	short := []string{
		"auto of 31 days", "auto of 31 days to an end", "auto of the future", "auto of 31 days as of",
		"auto to an end as of another",
	}
	hourly := append([]string{"hourly only", "hourly", "hourly of months", "paid hourly"}, short...)
	without := func(not ...string) (rest []string) {
		for _, name := range all {
			if !slices.Contains(not, name) {
				rest = append(rest, name)
			}
		}
		return rest
	}

	f(Public, assay.Anonymous, " daily", all...)
	f(FreeGPU, assay.Anonymous, "401 key_required", needsKey...)
	f(FreeGPU, assay.Anonymous, "401 outside_free_window", early...)
	f(FreeGPU, assay.Anonymous, "public-3mo daily from 2026-02-28", without(slices.Concat(needsKey, early)...)...)
	f(Keyed, assay.Anonymous, "401 key_required", all...)
	f(FullGrain, assay.Anonymous, "401 key_required", all...)

	f(Public, assay.Premium, "403 full_required", "hourly only")
	f(Public, assay.Premium, "premium daily", without("hourly only")...)
	f(FreeGPU, assay.Premium, "403 full_required", "hourly only")
	f(FreeGPU, assay.Premium, "premium daily", without("hourly only")...)
	f(Keyed, assay.Premium, "403 full_required", "hourly only")
	f(Keyed, assay.Premium, "premium daily", without("hourly only")...)
	f(FullGrain, assay.Premium, "403 full_required", all...)

	f(Public, assay.Full, "full hourly", hourly...)
	f(Public, assay.Full, "full daily", without(hourly...)...)
	f(FreeGPU, assay.Full, "full hourly", hourly...)
	f(FreeGPU, assay.Full, "full daily", without(hourly...)...)
	f(Keyed, assay.Full, "full hourly", hourly...)
	f(Keyed, assay.Full, "full daily", without(hourly...)...)
	f(FullGrain, assay.Full, "full hourly", all...)

	for c := range left {
		t.Errorf("%s, %s, %q: no expected outcome", c.rule, c.tier, c.ask)
	}
}

// The contract's client programs print these.
func TestDecide_Messages(t *testing.T) {
	t.Parallel()
	f := func(rule Rule, tier assay.Tier, ask string, want string) {
		t.Helper()
		t.Run(fmt.Sprintf("%s, %s, %s", rule, tier, ask), func(t *testing.T) {
			t.Parallel()
			_, err := Decide(rule, assay.Caller{Tier: tier}, asks[ask], now)
			if got := assay.AsError(err).Message; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
	const keyRequired = "API key required. Use Authorization: Bearer YOUR_API_KEY"
	f(Keyed, assay.Anonymous, "nothing", keyRequired)
	f(FreeGPU, assay.Anonymous, "hourly only", keyRequired)
	f(FreeGPU, assay.Anonymous, "paid", "API key required for B300. Use Authorization: Bearer YOUR_API_KEY")
	const outside = "API key required for dates before 2026-02-28. Use Authorization: Bearer YOUR_API_KEY"
	f(FreeGPU, assay.Anonymous, "1 ms before the window", outside)
	f(FreeGPU, assay.Anonymous, "as of the epoch", outside)
	f(FullGrain, assay.Premium, "nothing",
		"Premium access is daily-grain only. Hourly and real-time data require a full subscription.")
}

// The window is never shorter than the days, nor than the months.
func TestFreeFrom(t *testing.T) {
	t.Parallel()
	f := func(today, gpu, lab string) {
		t.Helper()
		t.Run(today, func(t *testing.T) {
			t.Parallel()
			at := mustInstant(today + "T23:59:59Z")
			if got := assay.FormatDay(FreeFrom(FreeGPU, at)); got != gpu {
				t.Errorf("GPUs are free from %s, want %s", got, gpu)
			}
			if got := assay.FormatDay(FreeFrom(FreeLab, at)); got != lab {
				t.Errorf("labs are free from %s, want %s", got, lab)
			}
		})
	}
	f("2026-02-04", "2025-11-04", "2026-01-04")
	f("2026-03-01", "2025-11-29", "2026-01-29") // three months have 90 days, one has 28
	f("2026-03-31", "2025-12-29", "2026-02-28")
	f("2026-05-31", "2026-02-28", "2026-04-30")
	f("2026-10-01", "2026-07-01", "2026-08-31")
	f("2024-05-01", "2024-01-30", "2024-03-31")
}

func TestRule_Words(t *testing.T) {
	t.Parallel()
	f := func(rule Rule, want string) {
		t.Helper()
		if got := rule.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	f(Public, "public")
	f(FreeGPU, "free-GPU")
	f(Keyed, "key")
	f(FullGrain, "Full")
}

// Every signed-in account is admitted, whatever its plan, and every key where keys are accepted.
func TestDecide_SignedIn(t *testing.T) {
	t.Parallel()
	f := func(rule Rule, caller assay.Caller, want string) {
		t.Helper()
		grant, err := Decide(rule, caller, Ask{}, now)
		code := ""
		if err != nil {
			code = assay.AsError(err).Code
		}
		if code != want || grant != (Decision{}) {
			t.Errorf("%s, %+v: %+v and %q, want %q", rule, caller, grant, code, want)
		}
	}
	for _, rule := range []Rule{SignedIn, SignedInOrKey} {
		f(rule, assay.Caller{}, "session_required")
		f(rule, assay.Caller{AccountID: 1}, "")
		f(rule, assay.Caller{AccountID: 1, Tier: assay.Full}, "")
	}
	f(SignedInOrKey, assay.Caller{KeyID: "4fQz8K", Tier: assay.Premium}, "")
}
