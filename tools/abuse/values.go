//go:build linux

package main

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
)

// draw is the source of everything that is random about one exchange.
type draw struct{ *rand.Rand }

func newDraw(seed, number uint64) draw { return draw{rand.New(rand.NewPCG(seed, number))} }

// oneIn is true once in n draws.
func (d draw) oneIn(n int) bool { return d.IntN(n) == 0 }

func pick[T any](d draw, list []T) T { return list[d.IntN(len(list))] }

// valid draws a value that a schema allows.
func (d draw) valid(schema *openapi3.Schema, now time.Time) string {
	switch {
	case len(schema.AnyOf) > 0:
		return d.valid(pick(d, schema.AnyOf).Value, now)
	case len(schema.Enum) > 0:
		return fmt.Sprint(pick(d, schema.Enum))
	case strings.Contains(schema.Pattern, "[0-9]{4}-"):
		return d.date(now)
	case schema.Type.Is("integer"):
		return strconv.Itoa(d.integer(schema))
	case schema.Type.Is("number"):
		return strconv.FormatFloat(d.number(schema), 'f', d.IntN(4), 64)
	case schema.Type.Is("boolean"):
		return pick(d, []string{"true", "false"})
	case len(schema.Examples) > 0:
		return fmt.Sprint(pick(d, schema.Examples))
	}
	return pick(d, []string{"a", "all", "1.0.0", "us-east", "4fQz8K"})
}

// integer draws from the small end of a range, and rarely its bounds: a response with all rows of a series costs as
// much as a thousand others.
func (d draw) integer(schema *openapi3.Schema) int {
	low, high := 0, 1<<31-1
	if schema.Min != nil {
		low = int(*schema.Min)
	}
	if schema.Max != nil {
		high = int(*schema.Max)
	}
	switch d.IntN(400) {
	case 0:
		return high
	case 1, 2, 3, 4, 5, 6, 7, 8:
		return low
	}
	return min(low+d.IntN(25), high)
}

func (d draw) number(schema *openapi3.Schema) float64 {
	low, high := -1e6, 1e6
	if schema.Min != nil {
		low = *schema.Min
	}
	if schema.Max != nil {
		high = *schema.Max
	}
	switch d.IntN(10) {
	case 0:
		return low
	case 1:
		return high
	}
	return low + d.Float64()*(high-low)
}

// date draws a day or an instant, mostly of the last two years, in one of the forms that the contract allows. There are
// few of them, so that bodies repeat.
func (d draw) date(now time.Time) string {
	at := now.UTC().Truncate(24*time.Hour).AddDate(0, 0, -d.IntN(12)*d.IntN(62))
	switch d.IntN(40) {
	case 0:
		at = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	case 1:
		at = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)
	case 2:
		at = at.AddDate(1, 0, 0)
	case 3:
		at = time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC)
	}
	switch d.IntN(6) {
	case 0:
		return at.Add(20 * time.Hour).Format(time.DateTime)
	case 1:
		return at.Add(21 * time.Hour).Format(time.RFC3339)
	case 2:
		return at.Add(16*time.Hour).Format("2006-01-02T15:04:05") + pick(d, []string{
			"-05:00", "+14:00", "+0000", ".123Z", " 01",
		})
	}
	return at.Format(time.DateOnly)
}

// hostileValues are texts that break careless parsers, encoders, queries, logs and pages.
var hostileValues = []string{
	"", " ", "0", "-0", "-1", "+1", "00", "1e400", "1e-400", "0x10", "NaN", "Infinity", "-Infinity", "1,5", "1.",
	".5", "١٢",
	"2147483647", "2147483648", "4294967296", "9223372036854775807", "9223372036854775808", "-9223372036854775809",
	"18446744073709551616", strings.Repeat("9", 400), "null", "undefined", "true", "[]", "{}", "NULL", "None", "nil",
	"\x00", "a\x00b", "\r\nX-Injected: yes", "a\r\n\r\nHTTP/1.1 200 OK\r\nX-Injected: yes\r\n\r\n", "\n", "\t",
	"\v\f", "\x7f",
	"\x1b[2J", "\xff\xfe", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xef\xbb\xbf", "é", "e\u0301", "ß",
	"İ", "ı", "K",
	"\u202e", "\u200b", "\u2028", "\ufeff", "💩", "\U0001f1e9\U0001f1ea", "ｈ１００", "Ⅷ", "H100\u00a0SXM", "h100 sxm",
	"H100 SXM ",
	"' OR '1'='1", "'; DROP TABLE keys; --", "\" OR 1=1 --", "1) UNION SELECT hash FROM keys --", "%' AND 1=1",
	"_%", "\\",
	"<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "javascript:alert(1)", "{{7*7}}", "${7*7}",
	"#{7*7}", "%s%s%n",
	"$(id)", "`id`", "|id", ";id", "../../../../etc/passwd", "..\\..\\windows\\win.ini", "/etc/passwd",
	"file:///etc/passwd",
	"http://127.0.0.1:1/", "//evil.example", "\\\\evil\\share", "*", "?", "#", "&", "=", "a=b", "a&b=c", ";", ",",
	"global,us-east",
	"2026-02-30", "2026-13-01", "2026-00-00", "0000-00-00", "10000-01-01", "-0001-01-01", "2026-02-03T25:00:00Z",
	"2026-02-03T23:59:60Z", "2026-02-03T00:00:00+99:99", "2026-2-3", "20260203", "2026-02-03T", "2026-02-03Z",
	"now", "yesterday",
	"1700000000", "1700000000000", "-62135596800", "2026-02-03T00:00:00.0000000001Z", "2026-W05-2", "2026-034",
	"٢٠٢٦-٠٢-٠٣",
	"0,0,0,0", "180,90,-180,-90", "-180,-90,180,90", "1,2,3", "a,b,c,d", "NaN,NaN,NaN,NaN",
	"1e308,1e308,1e308,1e308", "-10,70,30,35",
	strings.Repeat("A", 255), strings.Repeat("A", 4096), strings.Repeat("é", 300), strings.Repeat("a,", 500),
	strings.Repeat("(", 500),
}

// invalid draws a value that breaks a schema's rules, or any hostile text.
func (d draw) invalid(schema *openapi3.Schema) string {
	switch {
	case schema.Max != nil && d.oneIn(6):
		return strconv.FormatFloat(*schema.Max+1, 'f', -1, 64)
	case schema.Min != nil && d.oneIn(6):
		return strconv.FormatFloat(*schema.Min-1, 'f', -1, 64)
	case len(schema.Enum) > 0 && d.oneIn(4):
		word := fmt.Sprint(pick(d, schema.Enum))
		return pick(d, []string{strings.ToUpper(word), word + " ", word + "\x00", word + word, strings.Repeat(word, 40)})
	}
	return pick(d, hostileValues)
}

// encoding is how a value is written in a URL.
type encoding uint8

const (
	usual     encoding = iota // what is not allowed is escaped
	escaped                   // every byte is escaped
	lowerCase                 // likewise, with lower-case digits
	doubled                   // the escapes are escaped again
	plusses                   // a space is a plus sign
	sloppy                    // only what would break the request line is escaped
	encodings
)

// appendEscaped appends a value as it is written in a URL.
func appendEscaped(dst []byte, value string, e encoding) []byte {
	const upper, lower = "0123456789ABCDEF", "0123456789abcdef"
	for i := range len(value) {
		c := value[i]
		plain := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0
		switch {
		case e == plusses && c == ' ':
			dst = append(dst, '+')
		case e == escaped, e == usual && !plain, e == plusses && !plain, e == sloppy && (c <= ' ' || c == 0x7f || c == '%'):
			dst = append(dst, '%', upper[c>>4], upper[c&15])
		case e == lowerCase:
			dst = append(dst, '%', lower[c>>4], lower[c&15])
		case e == doubled:
			dst = append(dst, '%', '2', '5', upper[c>>4], upper[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return dst
}
