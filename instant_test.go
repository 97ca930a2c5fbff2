package assay

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

func TestParseInstant(t *testing.T) {
	t.Parallel()
	f := func(s, want string) {
		t.Helper()
		ms, dateOnly, err := ParseInstant(s)
		if got := FormatInstant(ms); err != nil || got != want || dateOnly {
			t.Errorf("%q: got %s, date only %v (%v), want %s", s, got, dateOnly, err, want)
		}
	}
	f("2026-02-03 21:00:00", "2026-02-03T21:00:00.000Z")
	f("2026-02-03T21:00:00", "2026-02-03T21:00:00.000Z")
	f("2026-02-03t21:00:00z", "2026-02-03T21:00:00.000Z")
	f("2026-02-03T21:00", "2026-02-03T21:00:00.000Z")
	f("2026-02-03T21:00Z", "2026-02-03T21:00:00.000Z")
	f("2026-02-03T21:00:00.123Z", "2026-02-03T21:00:00.123Z")
	f("2024-02-29T23:59:59Z", "2024-02-29T23:59:59.000Z")
	f("2000-02-29T00:00:00Z", "2000-02-29T00:00:00.000Z")
	f("1969-12-31T23:59:59.999Z", "1969-12-31T23:59:59.999Z")
	f("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z")
	f("9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z")

	// Fractions: one to nine digits, comma or point; what is finer than a millisecond is cut.
	f("2026-02-03T21:00:00.1Z", "2026-02-03T21:00:00.100Z")
	f("2026-02-03T21:00:00,25Z", "2026-02-03T21:00:00.250Z")
	f("2026-02-03T21:00:00.999999999Z", "2026-02-03T21:00:00.999Z")
	f("1969-12-31T23:59:59.999999Z", "1969-12-31T23:59:59.999Z")
	f("2026-02-03 21:00:00.5", "2026-02-03T21:00:00.500Z")

	// Zones, and the plus sign that a query string turns into a space.
	f("2026-02-03T21:00:00+01:00", "2026-02-03T20:00:00.000Z")
	f("2026-02-03T21:00:00 01:00", "2026-02-03T20:00:00.000Z")
	f("2026-02-03 21:00:00 01:00", "2026-02-03T20:00:00.000Z")
	f("2026-02-03T16:00:00-05:00", "2026-02-03T21:00:00.000Z")
	f("2026-02-03T21:00:00+0530", "2026-02-03T15:30:00.000Z")
	f("2026-02-03T21:00:00-03", "2026-02-04T00:00:00.000Z")
	f("2026-02-03T21:00+01", "2026-02-03T20:00:00.000Z")
	f("2026-02-03T21:00:00.5+14:00", "2026-02-03T07:00:00.500Z")
	f("2026-01-01T00:30:00+01:00", "2025-12-31T23:30:00.000Z")
	f("2026-02-03T21:00:00-00:00", "2026-02-03T21:00:00.000Z")

	date := func(s, want string) {
		t.Helper()
		ms, dateOnly, err := ParseInstant(s)
		if got := FormatInstant(ms); err != nil || got != want || !dateOnly {
			t.Errorf("%q: got %s, date only %v (%v), want %s", s, got, dateOnly, err, want)
		}
	}
	date("2026-02-03", "2026-02-03T00:00:00.000Z")
	date("2028-02-29", "2028-02-29T00:00:00.000Z")
	date("1970-01-01", "1970-01-01T00:00:00.000Z")
	date("0001-01-01", "0001-01-01T00:00:00.000Z")
	date("9999-12-31", "9999-12-31T00:00:00.000Z")
}

func TestParseInstant_Refused(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"", " ", "today", "2026", "2026-02", "2026-2-3", "20260203", "2026/02/03", "03-02-2026", "+2026-02-03", "-2026-02-03",
		"12026-02-03", "2026-W06-2", "2026-034", "1770152400", "2026-02-03Z", " 2026-02-03", "2026-02-03 ", "2026-02-03\n", "２026-02-03",
		"2026-00-01", "2026-13-01", "2026-01-00", "2026-01-32", "2026-04-31", "2026-02-29", "1900-02-29", "0000-01-01", "0000-12-31T23:00:00-02:00",
		"2026-02-03T", "2026-02-03T21", "2026-02-03T21:", "2026-02-03T2:00", "2026-02-03_21:00:00", "2026-02-03  21:00:00",
		"2026-02-03T24:00:00Z", "2026-02-03T23:60:00Z", "2026-02-03T23:59:60Z", "2026-02-03T21:60:00Z", "2026-02-03T21:00:60Z", "2026-02-03T21:00:00.", "2026-02-03T21:00:00.Z",
		"2026-02-03T21:00:00.1234567891Z", "2026-02-03T21:00.5Z", "2026-02-03T21:00:00ZZ", "2026-02-03T21:00:00Z+01:00",
		"2026-02-03T21:00:00+", "2026-02-03T21:00:00 ", "2026-02-03T21:00:00+1", "2026-02-03T21:00:00+01:", "2026-02-03T21:00:00+01:0",
		"2026-02-03T21:00:00+01:60", "2026-02-03T21:00:00+15:00", "2026-02-03T21:00:00-99", "2026-02-03T21:00:00+01:00:00",
		"2026-02-03T21:00:00 EST", "2026-02-03T21:00:00*01:00",
		// The zone would carry these out of the years that can be written.
		"0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01",
	} {
		if ms, _, err := ParseInstant(s); err == nil {
			t.Errorf("%q was read as %s", s, FormatInstant(ms))
		} else if want := fmt.Sprintf("%q is not a date", s); len(err.Error()) < len(want) || err.Error()[:len(want)] != want {
			t.Errorf("%q: the error is %q, which does not begin with %q", s, err, want)
		}
	}
}

func FuzzParseInstant(f *testing.F) {
	for _, s := range []string{
		"2026-02-03", "2026-02-03 21:00:00", "2026-02-03T21:00:00.123Z", "2026-02-03T21:00:00,5+05:30", "2026-02-03T21:00 01",
		"2028-02-29t00:00z", "0001-01-01T00:00:00+14:59", "9999-12-31T23:59:59.999999999-14:59", "1969-12-31T23:59:59.9999Z",
		"2026-13-01", "2026-02-03T24:00:00Z", "0000-01-01", "2026-02-03T21:00:00+", "",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		ms, dateOnly, err := ParseInstant(s)
		if err != nil {
			return
		}
		if dateOnly && StartOfDay(ms) != ms {
			t.Errorf("%q is a date and gave the time of day %d", s, ms-StartOfDay(ms))
		}
		text := FormatInstant(ms)
		if again, _, err := ParseInstant(text); err != nil || again != ms {
			t.Errorf("%q is %d, written as %s, which is %d (%v)", s, ms, text, again, err)
		}
	})
}

func TestAppendInstant(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(2, 1))
	check := func(at time.Time) {
		t.Helper()
		want := fmt.Sprintf("kept:%04d-%02d-%02dT%02d:%02d:%02d.%03dZ",
			at.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), at.Second(), at.Nanosecond()/1e6)
		if got := string(AppendInstant([]byte("kept:"), at.UnixMilli())); got != want {
			t.Fatalf("%d: got %s, want %s", at.UnixMilli(), got, want)
		}
		if parsed, _, err := ParseInstant(FormatInstant(at.UnixMilli())); err != nil || parsed != at.UnixMilli() {
			t.Fatalf("%s parsed is %d (%v)", want, parsed, err)
		}
	}
	for year := 1; year <= 9999; year++ {
		first := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
		check(first)
		check(first.Add(time.Duration(rng.Int64N(365*Day)) * time.Millisecond))
		check(time.Date(year, 12, 31, 23, 59, 59, 999e6, time.UTC))
	}
}

// mustInstant is the instant that a test writes down.
func mustInstant(t *testing.T, s string) int64 {
	t.Helper()
	ms, _, err := ParseInstant(s)
	if err != nil {
		t.Fatal(err)
	}
	return ms
}

func TestMonthsBack(t *testing.T) {
	t.Parallel()
	f := func(from string, n int, want string) {
		t.Helper()
		if got := FormatInstant(MonthsBack(mustInstant(t, from), n)); got != want+"T00:00:00.000Z" {
			t.Errorf("%d months before %s: got %s, want %s", n, from, got, want)
		}
	}
	f("2026-05-31T12:34:56.789Z", 3, "2026-02-28")
	f("2024-05-31", 3, "2024-02-29")
	f("2028-05-30", 3, "2028-02-29")
	f("2100-05-31", 3, "2100-02-28") // a century that is no leap year
	f("2026-05-28", 3, "2026-02-28")
	f("2026-03-31", 1, "2026-02-28")
	f("2026-03-01", 1, "2026-02-01")
	f("2026-07-31", 1, "2026-06-30")
	f("2026-12-31", 1, "2026-11-30")
	f("2026-01-31", 1, "2025-12-31")
	f("2026-01-15T23:59:59.999Z", 3, "2025-10-15")
	f("2026-02-28", 3, "2025-11-28")
	f("2026-03-31", 3, "2025-12-31")
	f("2024-02-29", 12, "2023-02-28")
	f("2026-05-31T23:00:00", 0, "2026-05-31")
	f("1970-01-31", 2, "1969-11-30")
}

func TestStartOfDay(t *testing.T) {
	t.Parallel()
	f := func(at, want string) {
		t.Helper()
		if got := FormatInstant(StartOfDay(mustInstant(t, at))); got != want+"T00:00:00.000Z" {
			t.Errorf("%s: got %s, want %s", at, got, want)
		}
	}
	f("2026-02-03", "2026-02-03")
	f("2026-02-03T00:00:00.001Z", "2026-02-03")
	f("2026-02-03T23:59:59.999Z", "2026-02-03")
	f("1970-01-01", "1970-01-01")
	f("1969-12-31T23:59:59.999Z", "1969-12-31")
	f("1969-12-31", "1969-12-31")
	f("0001-01-01T12:00:00Z", "0001-01-01")
}
