package index

import (
	_ "embed"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/assaydata/assay"
)

// Methodology is the rule a value was made by. Its version stands in every record.
type Methodology struct {
	Version         string
	Effective       int64 // slots that end at or after this instant follow it
	Decimals        int
	Zone            *time.Location
	FixingHour      int // the hour of the day, in Zone, at which the day is fixed
	MinTransactions int
	MinProviders    int
	WinsoriseLower  int // percentile in hundredths of a percent; 0 is off
	WinsoriseUpper  int // the same; 0 is off
	ProviderCap     int // largest share of one provider, in hundredths of a percent; 0 is off

	// Below these a lab's day is covered too thinly for a token price.
	OTPIModels   int
	OTPIRequests int
}

// whole is 100 % in hundredths of a percent.
const whole = 10_000

//go:embed methodology/1.0.0.toml
var plainText string

// PlainText is the file of methodology 1.0.0.
func PlainText() string { return plainText }

// Plain is methodology 1.0.0: the weighted average of all verified transactions, fixed at 16:00 in New York.
func Plain() Methodology {
	m, err := ParseMethodology(plainText)
	if err != nil {
		panic("the methodology that is linked into the program: " + err.Error())
	}
	return m
}

// methodologyFile is how a methodology is written.
type methodologyFile struct {
	Version   string `toml:"version"`
	Effective any    `toml:"effective"` // any, because a time.Time would not tell whether a zone was written
	Decimals  int    `toml:"decimals"`
	Fixing    struct {
		Zone string `toml:"zone"`
		Time string `toml:"time"`
	} `toml:"fixing"`
	Minimum struct {
		Transactions int `toml:"transactions"`
		Providers    int `toml:"providers"`
	} `toml:"minimum"`
	Winsorise *struct {
		Lower float64 `toml:"lower"`
		Upper float64 `toml:"upper"`
	} `toml:"winsorise"`
	Cap *struct {
		ProviderShare float64 `toml:"provider_share"`
	} `toml:"cap"`
	OTPI struct {
		MinimumModels   int `toml:"minimum_models"`
		MinimumRequests int `toml:"minimum_requests"`
	} `toml:"otpi"`
}

// ParseMethodology reads a methodology's TOML text. An error names the key, its value and what is allowed.
func ParseMethodology(text string) (m Methodology, err error) {
	var f methodologyFile
	f.OTPI.MinimumModels, f.OTPI.MinimumRequests = 1, 1 // unless the text says otherwise; that of 1.0.0 says nothing
	meta, err := toml.Decode(text, &f)
	if err != nil {
		return m, fmt.Errorf("methodology: %w", err)
	}
	if unknown := meta.Undecoded(); len(unknown) > 0 {
		return m, fmt.Errorf("methodology: there is no key %s", unknown[0])
	}
	for _, key := range [][]string{
		{"version"}, {"effective"}, {"decimals"}, {"fixing", "zone"}, {"fixing", "time"}, {"minimum", "transactions"}, {"minimum", "providers"},
	} {
		if !meta.IsDefined(key...) {
			return m, fmt.Errorf("methodology: the key %s is missing", toml.Key(key))
		}
	}
	if m, err = f.methodology(); err != nil {
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
		return m, fmt.Errorf("version %q: allowed are 1 to 32 letters, digits, dots and hyphens", f.Version)
	}
	for _, number := range []struct {
		key               string
		value, least, top int
	}{
		{"decimals", m.Decimals, 0, 9},
		{"minimum.transactions", m.MinTransactions, 1, 1_000_000},
		{"minimum.providers", m.MinProviders, 1, 1_000_000},
		{"otpi.minimum_models", m.OTPIModels, 1, 1_000_000},
		{"otpi.minimum_requests", m.OTPIRequests, 1, 1_000_000_000},
	} {
		if number.value < number.least || number.value > number.top {
			return m, fmt.Errorf("%s %d: allowed is a whole number from %d to %d", number.key, number.value, number.least, number.top)
		}
	}
	effective, ok := f.Effective.(time.Time)
	if !ok || strings.HasSuffix(effective.Location().String(), "-local") { // without a zone it would mean the machine's
		return m, fmt.Errorf("effective %v: allowed is an instant with its zone, such as 2026-07-01T00:00:00Z", f.Effective)
	}
	m.Effective = effective.UnixMilli()
	if err := f.fixing(&m); err != nil {
		return m, err
	}
	return m, f.outliers(&m)
}

// fixing reads the fixing. It must fall on a whole hour of UTC, so that a day is made of whole hours.
func (f *methodologyFile) fixing(m *Methodology) (err error) {
	if f.Fixing.Zone == "" || f.Fixing.Zone == "Local" {
		return fmt.Errorf("fixing.zone %q: allowed is a name of the time zone database, such as America/New_York", f.Fixing.Zone)
	}
	if m.Zone, err = time.LoadLocation(f.Fixing.Zone); err != nil {
		return fmt.Errorf("fixing.zone %q: allowed is a name of the time zone database, such as America/New_York", f.Fixing.Zone)
	}
	clock, err := time.Parse("15:04", f.Fixing.Time)
	if err != nil || clock.Minute() != 0 {
		return fmt.Errorf("fixing.time %q: allowed is a full hour from 00:00 to 23:00", f.Fixing.Time)
	}
	m.FixingHour = clock.Hour()
	// A zone that has whole hours today may have had half ones before, or skipped a day, or the hour of the fixing: history
	// begins in 2000, and is published like today.
	before := m.fixing(1999, time.December, 31)
	for day := range 40 * 366 {
		at := m.fixing(2000, time.January, 1+day)
		if at%assay.Hour != 0 {
			return fmt.Errorf("fixing.zone %q: allowed is a zone whose clocks differ from UTC by whole hours", f.Fixing.Zone)
		}
		if at-before < 23*assay.Hour || at-before > 25*assay.Hour {
			return fmt.Errorf("fixing.time %q in %s: allowed is a time that comes once every day, 23 to 25 hours after the last", f.Fixing.Time, f.Fixing.Zone)
		}
		before = at
	}
	return nil
}

// outliers reads the optional rules.
func (f *methodologyFile) outliers(m *Methodology) (err error) {
	if f.Winsorise != nil {
		if m.WinsoriseLower, err = percent("winsorise.lower", f.Winsorise.Lower); err != nil {
			return err
		}
		if m.WinsoriseUpper, err = percent("winsorise.upper", f.Winsorise.Upper); err != nil {
			return err
		}
		if m.WinsoriseLower >= m.WinsoriseUpper {
			return fmt.Errorf("winsorise.lower %g: allowed is less than winsorise.upper, which is %g", f.Winsorise.Lower, f.Winsorise.Upper)
		}
	}
	if f.Cap == nil {
		return nil
	}
	if m.ProviderCap, err = percent("cap.provider_share", f.Cap.ProviderShare); err != nil {
		return err
	}
	// With fewer providers than this the shares cannot add up to the whole.
	if least := (whole + m.ProviderCap - 1) / m.ProviderCap; m.MinProviders < least {
		return fmt.Errorf("minimum.providers %d: allowed is at least %d, because each may have no more than %g %%", m.MinProviders, least, f.Cap.ProviderShare)
	}
	return nil
}

// percent reads a percentage between 0 and 100, up to two decimals, as hundredths.
func percent(key string, value float64) (int, error) {
	hundredths := math.Round(value * 100)
	if !(hundredths > 0 && hundredths < whole) || math.Abs(value*100-hundredths) > 1e-6 {
		return 0, fmt.Errorf("%s %g: allowed is a percentage above 0 and below 100, with up to two decimals", key, value)
	}
	return int(hundredths), nil
}

// Schedule is all versions of the methodology, in the order in which they take effect.
type Schedule []Methodology

// ParseSchedule reads the versions, which are in the order of their effect.
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

// errFixing: the days of a series follow one another without a gap or an overlap, so all of them are fixed alike.
var errFixing = errors.New("fixing: the zone and time of the fixing cannot change from one version to the next")

func (s Schedule) check() error {
	if len(s) == 0 {
		return errors.New("there is no methodology")
	}
	for i, m := range s[1:] {
		before := s[i]
		switch {
		case m.Effective <= before.Effective:
			return fmt.Errorf("effective %s: allowed is after %s, when version %s took effect", assay.FormatInstant(m.Effective), assay.FormatInstant(before.Effective), before.Version)
		case m.Zone.String() != before.Zone.String() || m.FixingHour != before.FixingHour:
			return errFixing
		case slices.ContainsFunc(s[:i+1], func(other Methodology) bool { return other.Version == m.Version }):
			return fmt.Errorf("version %q is taken", m.Version)
		}
	}
	return nil
}

// With is the schedule with one more version at its end.
func (s Schedule) With(m Methodology) (Schedule, error) {
	next := append(slices.Clip(s), m)
	return next, next.check()
}

// At is the version in effect at an instant; before the first took effect, it is the first.
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
