package family

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/assaydata/assay"
)

// Checker parses and checks what the families have in common: names, instants, numbers.
type Checker struct {
	Catalog assay.Catalog

	source   string
	notAfter func() int64
	latest   int64 // the last result of notAfter

	day      string // the day that Instant parsed last
	midnight int64  // when it begins
}

// NewChecker returns a checker. Source is the source of rows that do not name one; rows later than notAfter are in the
// future.
func NewChecker(catalog assay.Catalog, source string, notAfter func() int64) *Checker {
	return &Checker{Catalog: catalog, source: source, notAfter: notAfter}
}

// SourceOr returns the source that a cell names, or the default source.
func (c *Checker) SourceOr(cell string) string {
	if cell == "" {
		return c.source
	}
	return cell
}

// MaxText is the length limit of a name in bytes. Anything longer is the content of some other column.
const MaxText = 128

// CheckText checks a required name.
func CheckText(name, value string) error { return CheckTextUpTo(name, value, MaxText) }

// CheckTextUpTo checks a required text with another length limit.
func CheckTextUpTo(name, value string, most int) error {
	switch {
	case value == "":
		return fmt.Errorf("%s is missing", name)
	case len(value) > most:
		return fmt.Errorf("%s is longer than %d bytes", name, most)
	}
	return assay.CheckVisible(name, value) // a record's digest separates fields by tabs
}

// CheckLine checks a GPU model and a region, which may be empty.
func (c *Checker) CheckLine(gpu, region string) error {
	if _, ok := c.Catalog.GPU(gpu); !ok {
		return NotInCatalog("gpu_name", gpu, Listed(c.Catalog.GPUNames()))
	}
	if region != "" && !slices.Contains(c.Catalog.Regions, region) {
		return NotInCatalog("region", region, Listed(c.Catalog.Regions)+", or empty")
	}
	return nil
}

// Listed lists allowed names, at most 20 of them: an error stays readable whatever the size of the catalog.
func Listed(names []string) string {
	const most = 20
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s, and %d more that assay catalog list shows", strings.Join(names[:most], ", "), len(names)-most)
}

// NotInCatalog reports a value that the catalog does not have.
func NotInCatalog(name, value, allowed string) error {
	if err := assay.CheckVisible(name, value); err != nil {
		return err // it may look like a value that the catalog has
	}
	return fmt.Errorf("%s %q is not in the catalog: must be one of %s", name, Shorten(value), allowed)
}

// NotBefore is 2000-01-01. Nothing that Assay publishes was traded by the hour earlier.
const NotBefore = 946_684_800_000

// CheckInstant rejects instants that cannot be true. It reads the clock only for rows that are later than its last
// reading.
func (c *Checker) CheckInstant(name string, ms int64) error {
	if ms < NotBefore {
		return fmt.Errorf("%s %s is before the year 2000", name, assay.FormatInstant(ms))
	}
	if ms > c.latest {
		c.latest = c.notAfter()
	}
	if ms > c.latest {
		return fmt.Errorf("%s %s is in the future", name, assay.FormatInstant(ms))
	}
	return nil
}

// Instant parses a date-time.
func (c *Checker) Instant(name, text string) (int64, error) {
	if ms, ok := c.commonInstant(text); ok {
		return ms, nil
	}
	if text == "" {
		return 0, fmt.Errorf("%s is missing", name)
	}
	ms, dateOnly, err := assay.ParseInstant(text)
	if err != nil {
		return 0, fmt.Errorf("%s %q is not an ISO 8601 date-time such as 2026-01-31T16:00:00Z", name, Shorten(text))
	}
	if dateOnly {
		return 0, fmt.Errorf("%s %q has no time of day", name, text)
	}
	return ms, nil
}

// commonInstant parses YYYY-MM-DDTHH:MM:SSZ and YYYY-MM-DDTHH:MM:SS.mmmZ quickly. Nearly all rows have one of these
// forms, and most the same day as the row before. Any other form is left to ParseInstant.
func (c *Checker) commonInstant(text string) (ms int64, ok bool) {
	if len(text) != len("2006-01-02T15:04:05Z") && len(text) != len(assay.InstantLayout) {
		return 0, false
	}
	if text[10] != 'T' || text[13] != ':' || text[16] != ':' || text[len(text)-1] != 'Z' {
		return 0, false
	}
	if text[:10] != c.day {
		midnight, dateOnly, err := assay.ParseInstant(text[:10])
		if err != nil || !dateOnly {
			return 0, false
		}
		c.day, c.midnight = strings.Clone(text[:10]), midnight
	}
	hour, minute, second, millis := digits(text[11:13]), digits(text[14:16]), digits(text[17:19]), int64(0)
	if len(text) == len(assay.InstantLayout) {
		if text[19] != '.' {
			return 0, false
		}
		millis = digits(text[20:23])
	}
	if hour > 23 || minute > 59 || second > 59 || hour|minute|second|millis < 0 {
		return 0, false
	}
	return c.midnight + hour*assay.Hour + minute*assay.Minute + second*assay.Second + millis, true
}

// digits parses an unsigned integer; anything else is negative.
func digits(text string) (n int64) {
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return -1
		}
		n = n*10 + int64(text[i]-'0')
	}
	return n
}

// ParseFlag parses true or false, in any letter case, or 1 and 0.
func ParseFlag(name, text string) (bool, error) {
	switch {
	case text == "1" || strings.EqualFold(text, "true"):
		return true, nil
	case text == "0" || strings.EqualFold(text, "false"):
		return false, nil
	}
	return false, fmt.Errorf("%s %q: must be true or false", name, Shorten(text))
}

// ParseDay parses a day. Midnight UTC is accepted too, because spreadsheets and data frames write days like that.
func ParseDay(name, text string) (int64, error) {
	if text == "" {
		return 0, fmt.Errorf("%s is missing", name)
	}
	ms, _, err := assay.ParseInstant(text)
	if err != nil {
		return 0, fmt.Errorf("%s %q is not a day such as 2026-01-31", name, Shorten(text))
	}
	if ms != assay.StartOfDay(ms) {
		return 0, fmt.Errorf("%s %q has a time of day: must be a day such as 2026-01-31", name, Shorten(text))
	}
	return ms, nil
}

// Quantity is a column of numbers and its bounds.
type Quantity struct {
	Name        string
	Decimals    int
	Least, Most int64  // in units of 10^-Decimals
	Allowed     string // the bounds in words
}

// Parse parses a number exactly.
func (q *Quantity) Parse(text string) (int64, error) {
	if text == "" {
		return 0, fmt.Errorf("%s is missing", q.Name)
	}
	n, err := assay.ParseDecimal(text, q.Decimals)
	if err != nil {
		return 0, fmt.Errorf("%s %q %w: must be %s", q.Name, Shorten(text), err, q.Allowed)
	}
	return n, nil
}

// Check rejects a number outside the bounds.
func (q *Quantity) Check(n int64) error {
	if n < q.Least || n > q.Most {
		return fmt.Errorf("%s %s is out of bounds: must be %s", q.Name, q.Format(n), q.Allowed)
	}
	return nil
}

// Format writes a number of the column as a decimal.
func (q *Quantity) Format(n int64) string {
	return string(AppendDecimal(nil, strconv.FormatInt(n, 10), q.Decimals))
}

// AppendDecimal appends an integer, given in digits, with its decimal point moved to the left.
func AppendDecimal(dst []byte, whole string, decimals int) []byte {
	whole, negative := strings.CutPrefix(whole, "-")
	if negative {
		dst = append(dst, '-')
	}
	if missing := decimals + 1 - len(whole); missing > 0 {
		whole = strings.Repeat("0", missing) + whole
	}
	point := len(whole) - decimals
	dst = append(dst, whole[:point]...)
	if fraction := strings.TrimRight(whole[point:], "0"); fraction != "" {
		dst = append(append(dst, '.'), fraction...)
	}
	return dst
}

// Shorten cuts a value that is too long for a message.
func Shorten(text string) string {
	const most = 64
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
