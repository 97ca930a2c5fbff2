package index

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assaydata/assay"
)

// fullText is a methodology that uses every rule.
const fullText = `
version   = "2.0.0-rc.1"
effective = 2026-07-01T00:00:00+02:00
decimals  = 6
[fixing]
zone = "Europe/Berlin"
time = "09:00"
[minimum]
transactions = 3
providers    = 4
[winsorise]
lower = 2.5
upper = 97.25
[cap]
provider_share = 33.34
[publication]
delay = "1m30s"
[otpi]
minimum_models   = 2
minimum_requests = 5000
mix = { input = 70, cached = 9.5, output = 20.5 }
[workload]
like_for_like = "geks"
base          = 2026-01-01
window_days   = 400
[[workload.link]]
lab     = "openai"
from    = "gpt-5"
to      = "gpt-6"
quality = 1.25
reason  = "it solves more"
[[workload.link]]
lab     = "openai"
from    = "gpt-6"
to      = "gpt-7"
quality = 2
reason  = "likewise"
[memory]
fixing   = "median"
max_age  = "30h"
outliers = 12.5
[utilization]
max_age = "36h"
[settlement]
after = "18h30m"
`

func mustParse(t *testing.T, text string) Methodology {
	t.Helper()
	m, err := ParseMethodology(text)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestParseMethodology(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	want := Methodology{
		Version: "2.0.0-rc.1", Effective: time.Date(2026, 6, 30, 22, 0, 0, 0, time.UTC).UnixMilli(), Decimals: 6,
		Zone: berlin, FixingHour: 9, MinTransactions: 3, MinProviders: 4, WinsorizeLower: 250, WinsorizeUpper: 9725,
		ProviderCap: 3334, DelaySeconds: 90, OTPIModels: 2, OTPIRequests: 5000, TokenMix: TokenMix{7000, 950, 2050},
		LikeForLike: LikeForLike{
			Method: GEKS, Base: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli(), WindowDays: 400,
		},
		ModelLinks: []ModelLink{
			{"openai", "gpt-5", "gpt-6", 12_500, "it solves more"}, {"openai", "gpt-6", "gpt-7", 20_000, "likewise"},
		},
		Memory:            MemoryRule{Median: true, MaxAge: 30 * time.Hour, Outliers: 1250},
		UtilizationMaxAge: 36 * time.Hour, SettleAfter: 18*time.Hour + 30*time.Minute,
	}
	sameZone := cmp.Comparer(func(a, b *time.Location) bool { return a.String() == b.String() })
	if diff := cmp.Diff(want, mustParse(t, fullText), sameZone); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Published records name the embedded version, so it must not change.
func TestPlain(t *testing.T) {
	t.Parallel()
	m := Plain()
	if m.Zone.String() != "America/New_York" {
		t.Errorf("the zone is %s", m.Zone)
	}
	m.Zone = nil
	want := Methodology{
		Version: "1.0.0", Effective: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli(), Decimals: 4, FixingHour: 16,
		MinTransactions: 1, MinProviders: 1, DelaySeconds: 5, OTPIModels: 1, OTPIRequests: 1,
		LikeForLike: LikeForLike{Method: LMDI},
	}
	if !reflect.DeepEqual(m, want) {
		t.Errorf("got %+v, want %+v", m, want)
	}
}

// wantError parses the full methodology with one line replaced.
func wantError(t *testing.T, old, replacement string, want ...string) {
	t.Helper()
	if !strings.Contains(fullText, old) {
		t.Fatalf("the methodology has no %q", old)
	}
	m, err := ParseMethodology(strings.Replace(fullText, old, replacement, 1))
	if err == nil {
		t.Errorf("%q was accepted: %+v", replacement, m)
		return
	}
	for _, part := range append(want, "methodology: ") {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q: the error %q does not say %q", replacement, err, part)
		}
	}
}

func TestParseMethodology_Rejected(t *testing.T) {
	t.Parallel()
	f := func(old, replacement string, want ...string) {
		t.Helper()
		wantError(t, old, replacement, want...)
	}
	f("minimum_models   = 2", "minimum_models = 0", "otpi.minimum_models 0", "1 to 1000000")
	f("minimum_requests = 5000", "minimum_requests = 1000000001", "otpi.minimum_requests 1000000001", "1 to 1000000000")
	f("minimum_models   = 2", "minimum_labs = 2", "there is no key otpi.minimum_labs")

	f(`"geks"`, `"paasche"`, `workload.like_for_like "paasche": must be one of lmdi, sato-vartia, geks`)
	const based = "must be a day, such as 2026-01-01, on which the index is 100"
	f("base          = 2026-01-01\n", "", "workload.base <nil>: "+based)
	f("base          = 2026-01-01", `base = "2026-01-01"`, "workload.base 2026-01-01: "+based)
	f("base          = 2026-01-01", `base = 2026-01-01T00:00:00Z`, "workload.base 2026-01-01 00:00:00 +0000 UTC: "+based)
	f("base          = 2026-01-01", `base = 7`, "workload.base 7: "+based)
	f("window_days   = 400", "window_days = 27", "workload.window_days 27: must be an integer from 28 to 1096")
	f("window_days   = 400", "window_days = 1097", "workload.window_days 1097: must be an integer from 28 to 1096")
	f(`"geks"`, `"sato-vartia"`, `workload.window_days 400: only "geks" has a window`)

	f("input = 70", "input = 0", "otpi.mix.input 0: must be a percentage above 0 and below 100, with up to two decimals")
	f("output = 20.5", "output = 100", "otpi.mix.output 100: must be a percentage")
	f("cached = 9.5", "cached = 0.001", "otpi.mix.cached 0.001: must be a percentage")
	f("cached = 9.5, ", "", "otpi.mix: input, cached and output must add up to 100, not 90.5")
	f("cached = 9.5", "cache = 9.5", "there is no key otpi.mix.cache")

	const aged = "must be whole minutes from 1h to 168h, such as 48h"
	f(`"it solves more"`, `""`, `workload.link 1: lab, from, to and reason must not be empty`)
	f(`1.25`, `0.001`, `workload.link 1: quality 0.001: must be from 0.01 to 100, with up to four decimals`)
	f(`1.25`, `1.00001`, `workload.link 1: quality 1.00001: must be from 0.01 to 100, with up to four decimals`)
	f(`"gpt-7"`, `"gpt-6"`, `workload.link 2: gpt-6 of openai replaces another model already`)
	f(`"gpt-7"`, `"gpt-5"`, `workload.link 2: gpt-5 of openai would replace itself`)
	f(`"median"`, `"mean"`, `memory.fixing "mean": must be "median"; without the section, the last reading is the price`)
	f(`"30h"`, `"59m"`, `memory.max_age "59m": must be whole minutes from 1h to 168h, such as 24h`)
	f(`max_age  = "30h"`, ``, `memory.max_age ""`)
	f(`outliers = 12.5`, `outliers = 100`, `memory.outliers 100: must be a percentage above 0 and below 100`)
	f(`"36h"`, `"59m"`, `utilization.max_age "59m": `+aged)
	f(`"36h"`, `"169h"`, `utilization.max_age "169h": `+aged)
	f(`"36h"`, `"1h1s"`, `utilization.max_age "1h1s": `+aged)
	f(`"36h"`, `"two days"`, `utilization.max_age "two days": `+aged)
	f(`max_age = "36h"`, ``, `utilization.max_age "": `+aged)

	const final = "must be whole minutes from 1m to 720h, such as 24h"
	f(`"18h30m"`, `"0m"`, `settlement.after "0m": `+final)
	f(`"18h30m"`, `"721h"`, `settlement.after "721h": `+final)
	f(`"18h30m"`, `"1m1s"`, `settlement.after "1m1s": `+final)
	f(`after = "18h30m"`, ``, `settlement.after "": `+final)

	const versions = "must be 1 to 32 letters, digits, dots and hyphens"
	f(`"2.0.0-rc.1"`, `""`, `version "": `+versions)
	f(`"2.0.0-rc.1"`, `"2 0"`, `version "2 0": `+versions)
	f(`"2.0.0-rc.1"`, `"-2"`, `version "-2": `+versions)
	f(`"2.0.0-rc.1"`, `"2.0\n"`, `version "2.0\n": `+versions)
	long := strings.Repeat("9", 33)
	f(`"2.0.0-rc.1"`, `"`+long+`"`, long, versions)

	const zoned = "must be an instant with a zone, such as 2026-07-01T00:00:00Z"
	f(`2026-07-01T00:00:00+02:00`, `2026-07-01T00:00:00`, "effective 2026-07-01 00:00:00 ", zoned)
	f(`2026-07-01T00:00:00+02:00`, `2026-07-01`, "effective 2026-07-01 00:00:00 ", zoned)
	f(`2026-07-01T00:00:00+02:00`, `07:30:00`, "effective", zoned)
	f(`2026-07-01T00:00:00+02:00`, `"tomorrow"`, "effective tomorrow: "+zoned)

	f(`decimals  = 6`, `decimals = 10`, "decimals 10: must be an integer from 0 to 9")
	f(`decimals  = 6`, `decimals = -1`, "decimals -1: must be an integer from 0 to 9")
	f(`transactions = 3`, `transactions = 0`, "minimum.transactions 0: must be an integer from 1 to 1000000")
	f(`transactions = 3`, `transactions = 1000001`, "minimum.transactions 1000001: must be an integer from 1 to 1000000")
	f(`providers    = 4`, `providers = 0`, "minimum.providers 0: must be an integer from 1 to 1000000")
	f(`providers    = 4`, `providers = 1000001`, "minimum.providers 1000001: must be")

	const delays = "must be whole seconds from 0s to 30m, such as 5s"
	f(`"1m30s"`, `"1.5s"`, `publication.delay "1.5s": `+delays)
	f(`"1m30s"`, `"-1s"`, `publication.delay "-1s": `+delays)
	f(`"1m30s"`, `"30m1s"`, `publication.delay "30m1s": `+delays)
	f(`"1m30s"`, `"5"`, `publication.delay "5": `+delays)
	f(`"1m30s"`, `""`, `publication.delay "": `+delays)
	f(`delay = "1m30s"`, `horizon = "1s"`, "there is no key publication.horizon")
	const notices = "must be whole hours from 0h to 8760h, such as 168h"
	f(`"1m30s"`, "\"5s\"\n[governance]\nnotice = \"90m\"", `governance.notice "90m": `+notices)
	f(`"1m30s"`, "\"5s\"\n[governance]\nnotice = \"-1h\"", `governance.notice "-1h": `+notices)
	f(`"1m30s"`, "\"5s\"\n[governance]\nnotice = \"8761h\"", `governance.notice "8761h": `+notices)
	f(`"1m30s"`, "\"5s\"\n[governance]\nnotice = \"a week\"", `governance.notice "a week": `+notices)

	const hours = "must be a full hour from 00:00 to 23:00"
	f(`"09:00"`, `"09:30"`, `fixing.time "09:30": `+hours)
	f(`"09:00"`, `"24:00"`, `fixing.time "24:00": `+hours)
	f(`"09:00"`, `"noon"`, `fixing.time "noon": `+hours)
	f(`"09:00"`, `""`, `fixing.time "": `+hours)
}

func TestParseMethodology_Zones(t *testing.T) {
	t.Parallel()
	rejected := func(zone, want string) {
		t.Helper()
		wantError(t, `"Europe/Berlin"`, `"`+zone+`"`, `fixing.zone "`+zone+`": must be a `+want)
	}
	const name = "name of the time zone database, such as America/New_York"
	const wholeHours = "zone whose clocks differ from UTC by whole hours"
	rejected("Mars/Olympus", name)
	rejected("", name)
	rejected("Local", name) // it depends on the machine
	rejected("Asia/Kolkata", wholeHours)
	rejected("Asia/Kathmandu", wholeHours)
	rejected("America/St_Johns", wholeHours)
	rejected("Australia/Lord_Howe", wholeHours) // in summer only
	rejected("America/Caracas", wholeHours)     // until 2016
	rejected("Asia/Pyongyang", wholeHours)      // until 2018
	// It skipped a day, and with it a fixing.
	wantError(t, `"Europe/Berlin"`, `"Pacific/Apia"`,
		`fixing.time "09:00" in Pacific/Apia: must be a time that comes once a day, 23 to 25 hours after the last`)
	for _, zone := range []string{"UTC", "America/New_York", "Asia/Tokyo", "Australia/Sydney", "Pacific/Kiritimati"} {
		mustParse(t, strings.Replace(fullText, "Europe/Berlin", zone, 1))
	}
}

func TestParseMethodology_MissingAndUnknownKeys(t *testing.T) {
	t.Parallel()
	for key, line := range map[string]string{
		"version": `version   = "2.0.0-rc.1"`, "effective": `effective = 2026-07-01T00:00:00+02:00`,
		"decimals":    `decimals  = 6`,
		"fixing.zone": `zone = "Europe/Berlin"`, "fixing.time": `time = "09:00"`,
		"minimum.transactions": `transactions = 3`, "minimum.providers": `providers    = 4`,
	} {
		wantError(t, line, "", "the key "+key+" is missing")
	}
	wantError(t, "decimals  = 6", "decimals = 6\ndigits = 6", "there is no key digits")
	wantError(t, "[minimum]", "hour = 9\n[minimum]", "there is no key fixing.hour")
	wantError(t, "[cap]", "[caps]\n[cap]", "there is no key caps")
	wantError(t, "decimals  = 6", `decimals = "six"`, "decimals") // another type
	wantError(t, "decimals  = 6", `decimals = 6.5`, "decimals")
	wantError(t, "decimals  = 6", `decimals = `, "line 4") // not TOML
	// An optional rule must be complete.
	wantError(t, "lower = 2.5", "", "winsorise.lower 0: must be a percentage")
	wantError(t, "upper = 97.25", "", "winsorise.upper 0: must be a percentage")
	wantError(t, "provider_share = 33.34", "", "cap.provider_share 0: must be a percentage")
}

func TestParseMethodology_Percentages(t *testing.T) {
	t.Parallel()
	const allowed = "must be a percentage above 0 and below 100, with up to two decimals"
	for _, bad := range []string{
		"0", "-5", "100", "100.5", "2.505", "nan", "inf", "0.001", "99.999", "0.000000001", "99.9999999999",
	} {
		wantError(t, "lower = 2.5", "lower = "+bad, "winsorise.lower ", allowed)
		wantError(t, "upper = 97.25", "upper = "+bad, "winsorise.upper ", allowed)
		wantError(t, "provider_share = 33.34", "provider_share = "+bad, "cap.provider_share ", allowed)
	}
	wantError(t, "lower = 2.5", "lower = 2.505", "winsorise.lower 2.505: ")
	wantError(t, "lower = 2.5", "lower = 97.25",
		"winsorise.lower 97.25: must be less than winsorise.upper, which is 97.25")
	wantError(t, "lower = 2.5", "lower = 98", "winsorise.lower 98: must be less than winsorise.upper, which is 97.25")
	f := func(text string, want int) {
		t.Helper()
		m := mustParse(t, strings.Replace(fullText, "lower = 2.5", "lower = "+text, 1))
		if m.WinsorizeLower != want {
			t.Errorf("%s %%: got %d hundredths, want %d", text, m.WinsorizeLower, want)
		}
	}
	f("0.01", 1)
	f("0.29", 29) // 0.29 * 100 is not an integer in floating point
	f("1.10", 110)
	f("5", 500)
	f("33.33", 3333)
	f("57.03", 5703)
}

// With a cap of c percent, at least 100/c providers must share the whole.
func TestParseMethodology_CapAgainstProviders(t *testing.T) {
	t.Parallel()
	text := func(share, providers string) string {
		return strings.NewReplacer(
			"provider_share = 33.34", "provider_share = "+share, "providers    = 4", "providers = "+providers,
		).Replace(fullText)
	}
	rejected := func(share, providers, want string) {
		t.Helper()
		_, err := ParseMethodology(text(share, providers))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a cap of %s %% with %s providers: %v, want %q", share, providers, err, want)
		}
	}
	rejected("40", "2", "minimum.providers 2: must be at least 3, because each may have no more than 40 %")
	rejected("50", "1", "minimum.providers 1: must be at least 2")
	rejected("33.33", "3", "minimum.providers 3: must be at least 4, because each may have no more than 33.33 %")
	rejected("0.01", "9999", "minimum.providers 9999: must be at least 10000")
	rejected("99.99", "1", "minimum.providers 1: must be at least 2")
	mustParse(t, text("40", "3"))
	mustParse(t, text("50", "2"))
	mustParse(t, text("33.34", "3"))
	mustParse(t, text("0.01", "10000"))
}

// version makes a version that takes effect on a day of July 2026.
func version(name string, day int) Methodology {
	m := Plain()
	m.Version, m.Effective = name, time.Date(2026, 7, day, 0, 0, 0, 0, time.UTC).UnixMilli()
	return m
}

func TestSchedule_With(t *testing.T) {
	t.Parallel()
	s := Schedule{Plain(), version("1.1.0", 10)}
	rejected := func(m Methodology, want string) {
		t.Helper()
		if _, err := s.With(m); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("version %s: %v, want %q", m.Version, err, want)
		}
	}
	const before = "must be after 2026-07-10T00:00:00.000Z, when version 1.1.0 took effect"
	rejected(version("1.2.0", 10), "effective 2026-07-10T00:00:00.000Z: "+before)
	rejected(version("1.2.0", 9), "effective 2026-07-09T00:00:00.000Z: "+before)
	rejected(version("1.0.0", 11), `version "1.0.0" exists already`)
	rejected(version("1.1.0", 11), `version "1.1.0" exists already`)
	const fixing = "the zone and time of the fixing cannot change"
	other := version("1.2.0", 11)
	other.FixingHour = 15
	rejected(other, fixing)
	other = version("1.2.0", 11)
	other.Zone = time.UTC
	rejected(other, fixing)

	next, err := s.With(version("1.2.0", 11))
	if err != nil || len(next) != 3 || next[2].Version != "1.2.0" {
		t.Errorf("got %v, %v", next, err)
	}
}

// Two schedules that extend the same one do not share memory, whatever its capacity.
func TestSchedule_WithDoesNotAlias(t *testing.T) {
	t.Parallel()
	s := append(make(Schedule, 0, 8), Plain())
	a, errA := s.With(version("a", 1))
	b, errB := s.With(version("b", 2))
	if errA != nil || errB != nil {
		t.Fatal(errA, errB)
	}
	if len(s) != 1 || a[1].Version != "a" || b[1].Version != "b" {
		t.Errorf("got %v and %v", a[1].Version, b[1].Version)
	}
}

func TestSchedule_At(t *testing.T) {
	t.Parallel()
	s := Schedule{Plain(), version("1.1.0", 10), version("1.2.0", 20)}
	f := func(at int64, want string) {
		t.Helper()
		if got := s.At(at).Version; got != want {
			t.Errorf("at %s version %s, want %s", assay.FormatInstant(at), got, want)
		}
	}
	f(0, "1.0.0") // before the first, the first
	f(s[0].Effective, "1.0.0")
	f(s[1].Effective-1, "1.0.0")
	f(s[1].Effective, "1.1.0")
	f(s[2].Effective-1, "1.1.0")
	f(s[2].Effective, "1.2.0")
	f(s[2].Effective+100*365*assay.Day, "1.2.0")
}

func TestSchedule_Version(t *testing.T) {
	t.Parallel()
	s := Schedule{Plain(), version("1.1.0", 10)}
	if m, ok := s.Version("1.1.0"); !ok || m.Effective != s[1].Effective {
		t.Errorf("1.1.0: got %+v, %v", m, ok)
	}
	if m, ok := s.Version("1.1"); ok {
		t.Errorf("1.1: got %+v", m)
	}
}

func TestParseSchedule(t *testing.T) {
	t.Parallel()
	later := strings.NewReplacer(`"1.0.0"`, `"1.1.0"`, "2000-01-01", "2026-07-01").Replace(PlainText())
	file := func(text string) assay.MethodologyFile { return assay.MethodologyFile{Text: text} }
	s, err := ParseSchedule([]assay.MethodologyFile{file(PlainText()), file(later)})
	if err != nil || len(s) != 2 || s[0].Version != "1.0.0" || s[1].Version != "1.1.0" {
		t.Errorf("got %v, %v", s, err)
	}
	rejected := func(want string, files ...assay.MethodologyFile) {
		t.Helper()
		if _, err := ParseSchedule(files); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	rejected("there is no methodology")
	rejected("effective 2000-01-01", file(later), file(PlainText()))
	rejected("effective 2000-01-01", file(PlainText()), file(PlainText()))
	rejected("methodology: ", file("decimals = x"))
}

func TestFallbacks(t *testing.T) {
	t.Parallel()
	const minimum = "transactions = 1\nproviders    = 1\n"
	text := strings.Replace(plainText, minimum, "transactions = 9\nproviders    = 3\n", 1)
	fallback := func(name string, transactions, providers int) string {
		return fmt.Sprintf("[[fallback]]\nname = %q\ntransactions = %d\nproviders = %d\n", name, transactions, providers)
	}
	m, err := ParseMethodology(text + fallback("thin", 5, 3) + fallback("one", 5, 1))
	if err != nil {
		t.Fatal(err)
	}
	suffices := func(transactions, providers int, want string, wantOK bool) {
		t.Helper()
		if got, ok := m.suffices(transactions, providers); got != want || ok != wantOK {
			t.Errorf("%d transactions of %d providers: %q %v, want %q %v", transactions, providers, got, ok, want, wantOK)
		}
	}
	suffices(9, 3, "", true)
	suffices(8, 3, "thin", true)
	suffices(99, 2, "one", true)
	suffices(4, 4, "", false)
	suffices(5, 0, "", false)

	wrong := func(more, want string) {
		t.Helper()
		if _, err := ParseMethodology(text + more); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", more, err, want)
		}
	}
	wrong(fallback("Thin day", 5, 3), `fallback.name "Thin day": must be 1 to 32 lower-case letters, digits and hyphens`)
	wrong(fallback("thin", 5, 3)+fallback("thin", 4, 3), `fallback.name "thin" occurs twice`)
	wrong(fallback("thin", 0, 3), `fallback "thin": transactions and providers must be at least 1`)
	wrong(fallback("thin", 9, 3), `fallback "thin": it must ask for fewer transactions or providers than "minimum"`)
	wrong(fallback("thin", 8, 4), `and for no more of either`)
	wrong(fallback("thin", 5, 3)+fallback("one", 6, 1), `than "thin"`)
	wrong("[cap]\nprovider_share = 40\n"+fallback("thin", 9, 2), `fallback "thin": providers must be at least 3, because of the cap`)
	wrong(fallback("a", 8, 3)+fallback("b", 7, 3)+fallback("c", 6, 3)+fallback("d", 5, 3)+fallback("e", 4, 3)+
		fallback("f", 3, 3), "there are 6, and at most 5 are allowed")
	wrong("[[fallback]]\nname = \"x\"\ntransactions = 2\nproviders = 1\nmedian = 1\n", "there is no key fallback.median")
}
