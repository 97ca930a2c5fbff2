package assay

import (
	"fmt"
	"time"
)

// Instants are milliseconds since the Unix epoch, in UTC, as int64: in the database, in the series and in between.
const (
	Second int64 = 1000
	Minute       = 60 * Second
	Hour         = 60 * Minute
	Day          = 24 * Hour
)

// InstantLayout is the format of instants in responses, DayLayout that of days.
const (
	InstantLayout = "2006-01-02T15:04:05.000Z"
	DayLayout     = "2006-01-02"
)

// AppendInstant appends the RFC 3339 form of an instant: UTC, milliseconds, Z.
func AppendInstant(dst []byte, ms int64) []byte {
	day := StartOfDay(ms)
	y, m, d := time.UnixMilli(day).UTC().Date()
	rest := uint(ms - day)
	dst = append(dst, InstantLayout...)
	text := dst[len(dst)-len(InstantLayout):]
	putPair(text, 0, uint(y/100%100))
	putPair(text, 2, uint(y%100))
	putPair(text, 5, uint(m))
	putPair(text, 8, uint(d))
	putPair(text, 11, rest/uint(Hour))
	putPair(text, 14, rest/uint(Minute)%60)
	putPair(text, 17, rest/uint(Second)%60)
	millis := rest % uint(Second)
	text[20] = byte('0' + millis/100)
	putPair(text, 21, millis%100)
	return dst
}

// putPair writes a number of two digits.
func putPair(text []byte, at int, n uint) {
	text[at], text[at+1] = byte('0'+n/10), byte('0'+n%10)
}

// FormatInstant returns the RFC 3339 form of an instant.
func FormatInstant(ms int64) string { return string(AppendInstant(nil, ms)) }

// AppendDay appends the UTC day of an instant.
func AppendDay(dst []byte, ms int64) []byte {
	return AppendInstant(dst, ms)[:len(dst)+len(DayLayout)]
}

// FormatDay returns the UTC day of an instant.
func FormatDay(ms int64) string { return string(AppendDay(nil, ms)) }

// Instants that can be formatted: those of the years 1 to 9999, [Earliest, Latest).
const (
	Earliest int64 = -62_135_596_800_000
	Latest   int64 = 253_402_300_800_000
)

// StartOfDay returns midnight UTC of the day of an instant.
func StartOfDay(ms int64) int64 {
	rest := ms % Day
	if rest < 0 {
		rest += Day
	}
	return ms - rest
}

// MonthsBack returns midnight UTC of the same day n calendar months before the day of ms. If that month is too short,
// it is the month's last day.
func MonthsBack(ms int64, n int) int64 {
	y, m, d := time.UnixMilli(ms).UTC().Date()
	lastDay := time.Date(y, m-time.Month(n)+1, 0, 0, 0, 0, 0, time.UTC).Day()
	return time.Date(y, m-time.Month(n), min(d, lastDay), 0, 0, 0, 0, time.UTC).UnixMilli()
}

// ParseInstant parses a date or a date-time: YYYY-MM-DD, YYYY-MM-DD HH:MM:SS, or ISO 8601 with an optional zone, UTC by
// default. dateOnly reports that there is no time of day. A plus sign that a query string turned into a space is
// accepted.
func ParseInstant(s string) (ms int64, dateOnly bool, err error) {
	p := parser{s: s}
	year, month, day := p.number(4), p.then('-').number(2), p.then('-').number(2)
	if p.done() {
		ms, err = p.instant(year, month, day, 0, 0, 0, 0, 0)
		return ms, true, err
	}
	if !p.take('T') && !p.take('t') {
		p.then(' ')
	}
	hour, minute := p.number(2), p.then(':').number(2)
	second, nanos, offset := 0, 0, 0
	if p.take(':') {
		second = p.number(2)
		if p.take('.') || p.take(',') {
			nanos = p.fraction()
		}
	}
	switch {
	case p.done():
	case p.take('Z') || p.take('z'):
	case p.take('+') || p.take(' '):
		offset = p.zone()
	default:
		offset = -p.then('-').zone()
	}
	if !p.done() {
		p.bad = true
	}
	ms, err = p.instant(year, month, day, hour, minute, second, nanos, offset)
	return ms, false, err
}

// parser reads fixed-width fields. The first unexpected character makes the whole text invalid.
type parser struct {
	s   string
	i   int
	bad bool
}

func (p *parser) done() bool { return p.i == len(p.s) }

func (p *parser) take(c byte) bool {
	if p.i < len(p.s) && p.s[p.i] == c {
		p.i++
		return true
	}
	return false
}

func (p *parser) then(c byte) *parser {
	if !p.take(c) {
		p.bad = true
	}
	return p
}

func (p *parser) number(width int) int {
	n := 0
	for range width {
		if p.i >= len(p.s) || p.s[p.i] < '0' || p.s[p.i] > '9' {
			p.bad = true
			return 0
		}
		n = n*10 + int(p.s[p.i]-'0')
		p.i++
	}
	return n
}

// fraction parses one to nine digits of a second, as nanoseconds.
func (p *parser) fraction() int {
	n, scale := 0, 1_000_000_000
	for p.i < len(p.s) && p.s[p.i] >= '0' && p.s[p.i] <= '9' && scale > 1 {
		scale /= 10
		n += int(p.s[p.i]-'0') * scale
		p.i++
	}
	if scale == 1_000_000_000 {
		p.bad = true
	}
	return n
}

// zone parses HH, HHMM or HH:MM after its sign, as minutes.
func (p *parser) zone() int {
	hours, minutes := p.number(2), 0
	if !p.done() {
		p.take(':')
		minutes = p.number(2)
	}
	if hours > 14 || minutes > 59 {
		p.bad = true
	}
	return hours*60 + minutes
}

// instant checks the fields. A zone must not move the instant out of the years 1 to 9999, which can be formatted.
func (p *parser) instant(year, month, day, hour, minute, second, nanos, offset int) (int64, error) {
	t := time.Date(year, time.Month(month), day, hour, minute, second, nanos, time.UTC)
	utc := t.Add(-time.Duration(offset) * time.Minute)
	if p.bad || year == 0 || t.Day() != day || int(t.Month()) != month || hour > 23 || minute > 59 || second > 59 ||
		utc.Year() < 1 || utc.Year() > 9999 {
		return 0, fmt.Errorf("%q is not a date (YYYY-MM-DD) or an ISO 8601 date-time", p.s)
	}
	return utc.UnixMilli(), nil
}
