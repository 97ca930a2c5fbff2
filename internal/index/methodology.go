package index

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/assaydata/assay"
)

// Methodology is the rules that values are computed by. Every record names its version.
type Methodology struct {
	Version         string
	Effective       int64 // slots that end at or after this instant follow it
	Decimals        int
	Zone            *time.Location
	FixingHour      int // the hour, in Zone, at which a day ends
	MinTransactions int
	MinProviders    int
	Fallbacks       []Fallback // tried in order for a day below the minimum
	WinsorizeLower  int        // percentile in hundredths of a percent; 0 is off
	WinsorizeUpper  int        // the same; 0 is off
	ProviderCap     int        // largest share of one provider, in hundredths of a percent; 0 is off
	DelaySeconds    int        // from the end of a slot to its publication

	Notice time.Duration // between the adoption of the next version and the time from which on it applies, at least

	// Below these a lab's day has too little data for a token price.
	OTPIModels   int
	OTPIRequests int
	TokenMix     TokenMix

	LikeForLike LikeForLike
	ModelLinks  []ModelLink

	SettleAfter time.Duration // after which a day of the other families is final; 0: never

	Memory MemoryRule

	UtilizationMaxAge time.Duration // how long a reading counts, unless its source reports again; 0: only at its instant
}

// TokenMix is a reference mix of tokens: shares in hundredths of a percent. The zero value is none.
type TokenMix struct {
	Input, Cached, Output int
}

// ModelLink says that a model of a lab replaces another, for the like-for-like index: a token of it is worth Quality
// tokens of the other.
type ModelLink struct {
	Lab      string
	From, To string
	Quality  int // in ten-thousandths
	Reason   string
}

// QualityUnit is the quality of a model that is as good as the one it replaces.
const QualityUnit = 10_000

// MemoryRule says what the price of memory at a fixing is. The zero value is the last reading.
type MemoryRule struct {
	Median   bool          // over the sources
	MaxAge   time.Duration // how old the last reading of a source may be
	Outliers int           // how far from the middle a source may be, in hundredths of a percent; 0: any
}

// LikeForLike says how the like-for-like index of workloads compares prices.
type LikeForLike struct {
	Method     string
	Base       int64 // the day on which it is 100; 0: the first on file
	WindowDays int   // of GEKS
}

// The methods.
const (
	LMDI       = "lmdi"        // chained price effects: methodology 1.0.0
	SatoVartia = "sato-vartia" // chained, weighted by logarithmic means of shares
	GEKS       = "geks"        // a rolling window of days, each compared with all others
)

var likeForLikeMethods = []string{LMDI, SatoVartia, GEKS}

// Fallback is a weaker minimum, for a day that has too few transactions or providers. The record says which was used.
type Fallback struct {
	Name         string `toml:"name"`
	Transactions int    `toml:"transactions"`
	Providers    int    `toml:"providers"`
}

// For is the methodology as it applies to values of a grain: fallbacks are for days.
func (m Methodology) For(grain assay.Grain) Methodology {
	if grain != assay.Daily {
		m.Fallbacks = nil
	}
	return m
}

// suffices finds the rule by which a slot has enough: the minimum, which has no name, or the first fallback.
func (m *Methodology) suffices(transactions, providers int) (fallback string, ok bool) {
	if transactions >= m.MinTransactions && providers >= m.MinProviders {
		return "", true
	}
	for _, f := range m.Fallbacks {
		if transactions >= f.Transactions && providers >= f.Providers {
			return f.Name, true
		}
	}
	return "", false
}

// Whole is 100 % in hundredths of a percent.
const Whole = 10_000

//go:embed methodology/1.0.0.toml
var plainText string

// PlainText is the text of methodology 1.0.0.
func PlainText() string { return plainText }

//go:embed methodology/2.0.0.toml
var standardText string

// StandardText is the text of methodology 2.0.0, which new databases begin with. Of GPU prices it says the same as
// 1.0.0.
func StandardText() string { return standardText }

// Plain is methodology 1.0.0: the weighted average of all verified transactions, fixed at 16:00 in New York.
func Plain() Methodology { return parsePlain() }

var parsePlain = sync.OnceValue(func() Methodology {
	m, err := ParseMethodology(plainText)
	if err != nil {
		panic("embedded methodology: " + err.Error())
	}
	return m
})

// methodologyFile is the TOML form of a methodology. Its keys are a contract with operators and keep their spelling.
type methodologyFile struct {
	Version   string `toml:"version"`
	Effective any    `toml:"effective"` // any, because a time.Time does not tell whether the text had a zone
	Decimals  int    `toml:"decimals"`
	Fixing    struct {
		Zone string `toml:"zone"`
		Time string `toml:"time"`
	} `toml:"fixing"`
	Minimum struct {
		Transactions int `toml:"transactions"`
		Providers    int `toml:"providers"`
	} `toml:"minimum"`
	Fallbacks []Fallback `toml:"fallback"`
	Winsorize *struct {
		Lower float64 `toml:"lower"`
		Upper float64 `toml:"upper"`
	} `toml:"winsorise"`
	Cap *struct {
		ProviderShare float64 `toml:"provider_share"`
	} `toml:"cap"`
	Publication struct {
		Delay string `toml:"delay"`
	} `toml:"publication"`
	Governance struct {
		Notice string `toml:"notice"`
	} `toml:"governance"`
	OTPI struct {
		MinimumModels   int `toml:"minimum_models"`
		MinimumRequests int `toml:"minimum_requests"`
		Mix             *struct {
			Input  float64 `toml:"input"`
			Cached float64 `toml:"cached"`
			Output float64 `toml:"output"`
		} `toml:"mix"`
	} `toml:"otpi"`
	Workload struct {
		LikeForLike string `toml:"like_for_like"`
		Base        any    `toml:"base"` // any, because a time.Time does not tell whether the text was a date
		WindowDays  int    `toml:"window_days"`
		Links       []struct {
			Lab     string  `toml:"lab"`
			From    string  `toml:"from"`
			To      string  `toml:"to"`
			Quality float64 `toml:"quality"`
			Reason  string  `toml:"reason"`
		} `toml:"link"`
	} `toml:"workload"`
	Memory *struct {
		Fixing   string   `toml:"fixing"`
		MaxAge   string   `toml:"max_age"`
		Outliers *float64 `toml:"outliers"`
	} `toml:"memory"`
	Utilization *struct {
		MaxAge string `toml:"max_age"`
	} `toml:"utilization"`
	Settlement *struct {
		After string `toml:"after"`
	} `toml:"settlement"`
}

// ParseMethodology parses a methodology's TOML text. An error names the key, its value and what is allowed.
func ParseMethodology(text string) (m Methodology, err error) {
	var f methodologyFile
	f.OTPI.MinimumModels, f.OTPI.MinimumRequests = 1, 1 // the default, which 1.0.0 uses
	f.Publication.Delay = "5s"                          // likewise
	f.Governance.Notice = "0h"                          // likewise
	f.Workload.LikeForLike = LMDI                       // likewise
	meta, err := toml.Decode(text, &f)
	if err != nil {
		return m, fmt.Errorf("methodology: %w", err)
	}
	if unknown := meta.Undecoded(); len(unknown) > 0 {
		return m, fmt.Errorf("methodology: there is no key %s", unknown[0])
	}
	for _, key := range [][]string{
		{"version"},
		{"effective"},
		{"decimals"},
		{"fixing", "zone"},
		{"fixing", "time"},
		{"minimum", "transactions"},
		{"minimum", "providers"},
	} {
		if !meta.IsDefined(key...) {
			return m, fmt.Errorf("methodology: the key %s is missing", toml.Key(key))
		}
	}
	m, err = f.methodology()
	if err != nil {
		return m, fmt.Errorf("methodology: %w", err)
	}
	return m, nil
}

var versionForm = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z.-]{0,31}$`)

func (f *methodologyFile) methodology() (m Methodology, err error) {
	m = Methodology{
		Version: f.Version, Decimals: f.Decimals,
		MinTransactions: f.Minimum.Transactions, MinProviders: f.Minimum.Providers,
		OTPIModels: f.OTPI.MinimumModels, OTPIRequests: f.OTPI.MinimumRequests,
	}
	if !versionForm.MatchString(f.Version) {
		return m, fmt.Errorf("version %q: must be 1 to 32 letters, digits, dots and hyphens", f.Version)
	}
	for _, number := range []struct {
		key                string
		value, least, most int
	}{
		{key: "decimals", value: m.Decimals, least: 0, most: 9},
		{key: "minimum.transactions", value: m.MinTransactions, least: 1, most: 1_000_000},
		{key: "minimum.providers", value: m.MinProviders, least: 1, most: 1_000_000},
		{key: "otpi.minimum_models", value: m.OTPIModels, least: 1, most: 1_000_000},
		{key: "otpi.minimum_requests", value: m.OTPIRequests, least: 1, most: 1_000_000_000},
	} {
		if number.value < number.least || number.value > number.most {
			return m, fmt.Errorf("%s %d: must be an integer from %d to %d",
				number.key, number.value, number.least, number.most)
		}
	}
	effective, ok := f.Effective.(time.Time)
	if !ok || strings.HasSuffix(effective.Location().String(), "-local") { // without a zone
		return m, fmt.Errorf("effective %v: must be an instant with a zone, such as 2026-07-01T00:00:00Z", f.Effective)
	}
	m.Effective = effective.UnixMilli()
	if err := f.fixing(&m); err != nil {
		return m, err
	}
	if err := f.delay(&m); err != nil {
		return m, err
	}
	if err := f.notice(&m); err != nil {
		return m, err
	}
	if err := f.outliers(&m); err != nil {
		return m, err
	}
	if err := f.tokenMix(&m); err != nil {
		return m, err
	}
	if err := f.likeForLike(&m); err != nil {
		return m, err
	}
	if err := f.modelLinks(&m); err != nil {
		return m, err
	}
	if err := f.memory(&m); err != nil {
		return m, err
	}
	if err := f.utilization(&m); err != nil {
		return m, err
	}
	if err := f.settlement(&m); err != nil {
		return m, err
	}
	return m, f.fallbacks(&m)
}

// tokenMix parses the reference mix of tokens.
func (f *methodologyFile) tokenMix(m *Methodology) (err error) {
	mix := f.OTPI.Mix
	if mix == nil {
		return nil
	}
	if m.TokenMix.Input, err = percent("otpi.mix.input", mix.Input); err != nil {
		return err
	}
	if m.TokenMix.Output, err = percent("otpi.mix.output", mix.Output); err != nil {
		return err
	}
	if mix.Cached != 0 {
		if m.TokenMix.Cached, err = percent("otpi.mix.cached", mix.Cached); err != nil {
			return err
		}
	}
	if sum := m.TokenMix.Input + m.TokenMix.Cached + m.TokenMix.Output; sum != Whole {
		return fmt.Errorf("otpi.mix: input, cached and output must add up to 100, not %g", float64(sum)/100)
	}
	return nil
}

// settlement parses when a day is final.
func (f *methodologyFile) settlement(m *Methodology) (err error) {
	if f.Settlement == nil {
		return nil
	}
	text := f.Settlement.After
	m.SettleAfter, err = time.ParseDuration(text)
	const least, most = time.Minute, 30 * 24 * time.Hour
	if after := m.SettleAfter; err != nil || after != after.Truncate(time.Minute) || after < least || after > most {
		return fmt.Errorf("settlement.after %q: must be whole minutes from 1m to 720h, such as 24h", text)
	}
	return nil
}

// memory parses the price of memory at a fixing.
func (f *methodologyFile) memory(m *Methodology) (err error) {
	if f.Memory == nil {
		return nil
	}
	if f.Memory.Fixing != "median" {
		return fmt.Errorf("memory.fixing %q: must be \"median\"; without the section, the last reading is the price",
			f.Memory.Fixing)
	}
	m.Memory.Median = true
	m.Memory.MaxAge, err = time.ParseDuration(f.Memory.MaxAge)
	const least, most = time.Hour, 7 * 24 * time.Hour
	if age := m.Memory.MaxAge; err != nil || age != age.Truncate(time.Minute) || age < least || age > most {
		return fmt.Errorf("memory.max_age %q: must be whole minutes from 1h to 168h, such as 24h", f.Memory.MaxAge)
	}
	if f.Memory.Outliers != nil {
		m.Memory.Outliers, err = percent("memory.outliers", *f.Memory.Outliers)
	}
	return err
}

// utilization parses how long a reading counts.
func (f *methodologyFile) utilization(m *Methodology) (err error) {
	if f.Utilization == nil {
		return nil
	}
	text := f.Utilization.MaxAge
	m.UtilizationMaxAge, err = time.ParseDuration(text)
	const least, most = time.Hour, 7 * 24 * time.Hour
	if age := m.UtilizationMaxAge; err != nil || age != age.Truncate(time.Minute) || age < least || age > most {
		return fmt.Errorf("utilization.max_age %q: must be whole minutes from 1h to 168h, such as 48h", text)
	}
	return nil
}

// Bounds of workload.window_days. A rolling year leaves no season out.
const leastWindow, defaultWindow, mostWindow = 28, 365, 1096

// likeForLike parses the rules of the like-for-like index.
func (f *methodologyFile) likeForLike(m *Methodology) error {
	w := &f.Workload
	if !slices.Contains(likeForLikeMethods, w.LikeForLike) {
		return fmt.Errorf("workload.like_for_like %q: must be one of %s", w.LikeForLike,
			strings.Join(likeForLikeMethods, ", "))
	}
	m.LikeForLike = LikeForLike{Method: w.LikeForLike, WindowDays: w.WindowDays}
	switch base, isTime := w.Base.(time.Time); {
	case isTime && base.Location().String() == "date-local":
		m.LikeForLike.Base = time.Date(base.Year(), base.Month(), base.Day(), 0, 0, 0, 0, time.UTC).UnixMilli()
	case w.Base != nil || w.LikeForLike != LMDI:
		return fmt.Errorf("workload.base %v: must be a day, such as 2026-01-01, on which the index is 100", w.Base)
	}
	if w.LikeForLike != GEKS {
		if w.WindowDays != 0 {
			return fmt.Errorf("workload.window_days %d: only %q has a window", w.WindowDays, GEKS)
		}
		return nil
	}
	m.LikeForLike.WindowDays = cmp.Or(w.WindowDays, defaultWindow)
	if m.LikeForLike.WindowDays < leastWindow || m.LikeForLike.WindowDays > mostWindow {
		return fmt.Errorf("workload.window_days %d: must be an integer from %d to %d", w.WindowDays, leastWindow, mostWindow)
	}
	return nil
}

// modelLinks parses which models replace others.
func (f *methodologyFile) modelLinks(m *Methodology) error {
	for i, l := range f.Workload.Links {
		name := fmt.Sprintf("workload.link %d", i+1)
		quality := math.Round(l.Quality * QualityUnit)
		replaced := func(other ModelLink) bool { return other.Lab == l.Lab && other.To == l.To }
		switch {
		case m.LikeForLike.Method == LMDI:
			return fmt.Errorf("%s: only the methods %q and %q have links", name, SatoVartia, GEKS)
		case l.Lab == "" || l.From == "" || l.To == "" || l.Reason == "":
			return fmt.Errorf("%s: lab, from, to and reason must not be empty", name)
		case quality < QualityUnit/100 || quality > 100*QualityUnit || math.Abs(l.Quality*QualityUnit-quality) > 1e-6:
			return fmt.Errorf("%s: quality %g: must be from 0.01 to 100, with up to four decimals", name, l.Quality)
		case slices.ContainsFunc(m.ModelLinks, replaced):
			return fmt.Errorf("%s: %s of %s replaces another model already", name, l.To, l.Lab)
		}
		m.ModelLinks = append(m.ModelLinks, ModelLink{l.Lab, l.From, l.To, int(quality), l.Reason})
		if first, _ := m.Linked(l.Lab, l.To); first == "" {
			return fmt.Errorf("%s: %s of %s would replace itself", name, l.To, l.Lab)
		}
	}
	return nil
}

// Linked returns the first of the models that a model of a lab replaces, one after another, and by which links. It is
// the model itself if it replaces none, and empty if it replaces itself.
func (m *Methodology) Linked(lab, model string) (first string, by []ModelLink) {
	for {
		i := slices.IndexFunc(m.ModelLinks, func(l ModelLink) bool { return l.Lab == lab && l.To == model })
		if i < 0 {
			return model, by
		}
		if by = append(by, m.ModelLinks[i]); len(by) > len(m.ModelLinks) {
			return "", nil
		}
		model = m.ModelLinks[i].From
	}
}

// maxDelay keeps a slot from waiting for the end of the next one.
const maxDelay = 30 * time.Minute

// delay parses how long a slot waits for rows that are on their way.
func (f *methodologyFile) delay(m *Methodology) error {
	delay, err := time.ParseDuration(f.Publication.Delay)
	if err != nil || delay != delay.Truncate(time.Second) || delay < 0 || delay > maxDelay {
		return fmt.Errorf("publication.delay %q: must be whole seconds from 0s to 30m, such as 5s", f.Publication.Delay)
	}
	m.DelaySeconds = int(delay / time.Second)
	return nil
}

var fallbackForm = regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`)

// maxFallbacks is more than a committee could tell apart.
const maxFallbacks = 5

// fallbacks checks that each fallback asks for less than the one before it.
func (f *methodologyFile) fallbacks(m *Methodology) error {
	if len(f.Fallbacks) > maxFallbacks {
		return fmt.Errorf("fallback: there are %d, and at most %d are allowed", len(f.Fallbacks), maxFallbacks)
	}
	before := Fallback{Name: "minimum", Transactions: m.MinTransactions, Providers: m.MinProviders}
	for i, one := range f.Fallbacks {
		sameName := func(other Fallback) bool { return other.Name == one.Name }
		switch {
		case !fallbackForm.MatchString(one.Name):
			return fmt.Errorf("fallback.name %q: must be 1 to 32 lower-case letters, digits and hyphens", one.Name)
		case slices.ContainsFunc(f.Fallbacks[:i], sameName):
			return fmt.Errorf("fallback.name %q occurs twice", one.Name)
		case one.Transactions < 1 || one.Providers < 1:
			return fmt.Errorf("fallback %q: transactions and providers must be at least 1", one.Name)
		case one.Transactions > before.Transactions || one.Providers > before.Providers,
			one.Transactions == before.Transactions && one.Providers == before.Providers:
			return fmt.Errorf("fallback %q: it must ask for fewer transactions or providers than %q, and for no more of either",
				one.Name, before.Name)
		case m.ProviderCap > 0 && one.Providers < m.capProviders():
			return fmt.Errorf("fallback %q: providers must be at least %d, because of the cap", one.Name, m.capProviders())
		}
		before = one
	}
	m.Fallbacks = f.Fallbacks
	return nil
}

// maxNotice is a year.
const maxNotice = 365 * 24 * time.Hour

// notice parses how long before it applies the next version is adopted.
func (f *methodologyFile) notice(m *Methodology) (err error) {
	m.Notice, err = time.ParseDuration(f.Governance.Notice)
	if err != nil || m.Notice != m.Notice.Truncate(time.Hour) || m.Notice < 0 || m.Notice > maxNotice {
		return fmt.Errorf("governance.notice %q: must be whole hours from 0h to 8760h, such as 168h", f.Governance.Notice)
	}
	return nil
}

// fixing parses the zone and hour of the fixing.
func (f *methodologyFile) fixing(m *Methodology) error {
	zone, err := time.LoadLocation(f.Fixing.Zone)
	if err != nil || f.Fixing.Zone == "" || f.Fixing.Zone == "Local" {
		return fmt.Errorf("fixing.zone %q: must be a name of the time zone database, such as America/New_York", f.Fixing.Zone)
	}
	clock, err := time.Parse("15:04", f.Fixing.Time)
	if err != nil || clock.Minute() != 0 {
		return fmt.Errorf("fixing.time %q: must be a full hour from 00:00 to 23:00", f.Fixing.Time)
	}
	m.Zone, m.FixingHour = zone, clock.Hour()
	if _, ok := checkedFixings.Load(f.Fixing); ok {
		return nil
	}
	if err := f.checkFixing(m); err != nil {
		return err
	}
	checkedFixings.Store(f.Fixing, true)
	return nil
}

// checkedFixings are the fixings that checkFixing accepted. The check takes a millisecond, and schedules are parsed
// often.
var checkedFixings sync.Map

// checkFixing checks that the fixing falls on a whole hour of UTC, so that a day is made of whole hours, and comes
// once a day. History starts in 2000, so it checks 40 years: a zone with whole hours today may have had half hours
// before, or may have skipped a day or the hour of the fixing.
func (f *methodologyFile) checkFixing(m *Methodology) error {
	before := m.fixing(1999, time.December, 31)
	for day := range 40 * 366 {
		at := m.fixing(2000, time.January, 1+day)
		if at%assay.Hour != 0 {
			return fmt.Errorf("fixing.zone %q: must be a zone whose clocks differ from UTC by whole hours", f.Fixing.Zone)
		}
		if at-before < 23*assay.Hour || at-before > 25*assay.Hour {
			const rule = "must be a time that comes once a day, 23 to 25 hours after the last"
			return fmt.Errorf("fixing.time %q in %s: %s", f.Fixing.Time, f.Fixing.Zone, rule)
		}
		before = at
	}
	return nil
}

// outliers parses the optional rules.
func (f *methodologyFile) outliers(m *Methodology) error {
	if f.Winsorize != nil {
		if err := f.winsorize(m); err != nil {
			return err
		}
	}
	if f.Cap != nil {
		return f.providerCap(m)
	}
	return nil
}

func (f *methodologyFile) winsorize(m *Methodology) (err error) {
	m.WinsorizeLower, err = percent("winsorise.lower", f.Winsorize.Lower)
	if err != nil {
		return err
	}
	m.WinsorizeUpper, err = percent("winsorise.upper", f.Winsorize.Upper)
	if err != nil {
		return err
	}
	if m.WinsorizeLower >= m.WinsorizeUpper {
		return fmt.Errorf("winsorise.lower %g: must be less than winsorise.upper, which is %g",
			f.Winsorize.Lower, f.Winsorize.Upper)
	}
	return nil
}

func (f *methodologyFile) providerCap(m *Methodology) (err error) {
	m.ProviderCap, err = percent("cap.provider_share", f.Cap.ProviderShare)
	if err != nil {
		return err
	}
	if least := m.capProviders(); m.MinProviders < least {
		return fmt.Errorf("minimum.providers %d: must be at least %d, because each may have no more than %g %%",
			m.MinProviders, least, f.Cap.ProviderShare)
	}
	return nil
}

// capProviders is how many providers the cap needs: with fewer, the shares cannot add up to the whole.
func (m *Methodology) capProviders() int { return (Whole + m.ProviderCap - 1) / m.ProviderCap }

// percent converts a percentage between 0 and 100 with up to two decimals to hundredths of a percent.
func percent(key string, value float64) (int, error) {
	hundredths := math.Round(value * 100)
	if !(hundredths > 0 && hundredths < Whole) || math.Abs(value*100-hundredths) > 1e-6 {
		return 0, fmt.Errorf("%s %g: must be a percentage above 0 and below 100, with up to two decimals", key, value)
	}
	return int(hundredths), nil
}

// Schedule is the versions of the methodology, in the order in which they take effect.
type Schedule []Methodology

// ParseSchedule parses the versions, which are in the order in which they take effect.
func ParseSchedule(files []assay.MethodologyFile) (s Schedule, err error) {
	for _, file := range files {
		m, err := ParseMethodology(file.Text)
		if err != nil {
			return nil, err
		}
		s = append(s, m)
	}
	return s, s.check()
}

// ReadableSchedule parses the versions as far as that is possible. They were checked when they were adopted; should one
// still not be readable, the versions before it apply, and the error says why.
func ReadableSchedule(files []assay.MethodologyFile) (s Schedule, err error) {
	for n := len(files); n > 0; n-- {
		s, failed := ParseSchedule(files[:n])
		if failed == nil {
			return s, err
		}
		err = fmt.Errorf("version %s: %w", files[n-1].Version, failed)
	}
	return Schedule{Plain()}, err
}

// errFixing keeps the days of a series free of gaps and overlaps.
var errFixing = errors.New("fixing: the zone and time of the fixing cannot change from one version to the next")

func (s Schedule) check() error {
	if len(s) == 0 {
		return errors.New("there is no methodology")
	}
	for i, m := range s[1:] {
		before := s[i]
		switch {
		case m.Effective <= before.Effective:
			return fmt.Errorf("effective %s: must be after %s, when version %s took effect",
				assay.FormatInstant(m.Effective), assay.FormatInstant(before.Effective), before.Version)
		case m.Zone.String() != before.Zone.String() || m.FixingHour != before.FixingHour:
			return errFixing
		case slices.ContainsFunc(s[:i+1], func(other Methodology) bool { return other.Version == m.Version }):
			return fmt.Errorf("version %q exists already", m.Version)
		}
	}
	return nil
}

// With is the schedule with one more version at the end.
func (s Schedule) With(m Methodology) (Schedule, error) {
	next := append(slices.Clip(s), m)
	return next, next.check()
}

// At is the version in effect at an instant. The first version also governs the time before it took effect.
func (s Schedule) At(at int64) Methodology {
	for i := len(s) - 1; i > 0; i-- {
		if at >= s[i].Effective {
			return s[i]
		}
	}
	return s[0]
}

// Version finds a version by its name.
func (s Schedule) Version(name string) (Methodology, bool) {
	for _, m := range s {
		if m.Version == name {
			return m, true
		}
	}
	return Methodology{}, false
}

// SettleAfter is how many milliseconds after its end, and after its first row since then was received, a day of the
// families other than GPU prices is final; 0 for never.
func (s Schedule) SettleAfter(end int64) int64 { return s.At(end).SettleAfter.Milliseconds() }

// Settles reports whether days are ever final.
func (s Schedule) Settles() bool {
	return slices.ContainsFunc(s, func(m Methodology) bool { return m.SettleAfter > 0 })
}
