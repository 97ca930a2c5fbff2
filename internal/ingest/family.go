package ingest

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
)

// family is one kind of data: what its rows look like in a file, what can be believed, and where they go.
type family[T any] struct {
	columns  []string // the header of a CSV file, the members of an NDJSON object, the columns of a Parquet file
	optional []string // the columns that a file may lack
	parse    func(c *checker, cells []string, row *T) error
	check    func(c *checker, row *T) error
	append   func(db *store.DB, ctx context.Context, rows []T) (store.Appended, error)
	describe func(row *T) (source, key string) // by what a row is known; the families of observations have no source
	revises  bool                              // --revise makes other content a new revision
}

// conflict says that other content is known under the key of a row.
func (f *family[T]) conflict(source, key string) string {
	if f.revises {
		return key + " is known with other content; the first stays, or --revise makes a new revision of it"
	}
	return fmt.Sprintf("%s of source %q is known with other content; the first stays", key, source)
}

// observed is what the families of observations have in common: rows are kept as JSON under their key.
func observed[T any](options Options, name assay.Family, key func(*T) string) func(*store.DB, context.Context, []T) (store.Appended, error) {
	return func(db *store.DB, ctx context.Context, rows []T) (store.Appended, error) {
		batch := make([]store.Observation, len(rows))
		for i := range rows {
			body, err := json.Marshal(&rows[i])
			if err != nil {
				return store.Appended{}, err
			}
			batch[i] = store.Observation{Key: key(&rows[i]), Body: body}
		}
		return db.AppendObservations(ctx, name, batch, options.Revise)
	}
}

// checker checks what the families have in common: names, instants, numbers.
type checker struct {
	catalog  assay.Catalog
	source   string
	notAfter func() int64
	latest   int64 // the last answer of notAfter

	day      string // the day that instant has seen last
	midnight int64  // its beginning
}

// sourceOr gives the source of a row that may not name one.
func (c *checker) sourceOr(cell string) string {
	if cell == "" {
		return c.source
	}
	return cell
}

// maxText is the longest name: longer ones are some other column's content.
const maxText = 128

func checkText(name, value string) error { return checkTextUpTo(name, value, maxText) }

func checkTextUpTo(name, value string, most int) error {
	switch {
	case value == "":
		return fmt.Errorf("%s is missing", name)
	case len(value) > most:
		return fmt.Errorf("%s is longer than %d bytes", name, most)
	case strings.ContainsFunc(value, unicode.IsControl): // a record's digest separates fields by tabs, and JSON can spell any
		return fmt.Errorf("%s has a control character", name)
	}
	return nil
}

// checkLine checks a GPU and a region, which may be empty.
func (c *checker) checkLine(gpu, region string) error {
	if _, ok := c.catalog.GPU(gpu); !ok {
		return fmt.Errorf("gpu_name %q is not in the catalog: allowed are %s", shown(gpu), strings.Join(c.catalog.GPUNames(), ", "))
	}
	if region != "" && !slices.Contains(c.catalog.Regions, region) {
		return fmt.Errorf("region %q is not in the catalog: allowed are %s, or nothing", shown(region), strings.Join(c.catalog.Regions, ", "))
	}
	return nil
}

// notBefore is 2000-01-01: no GPU was rented by the hour earlier.
const notBefore = 946_684_800_000

// checkInstant refuses instants that cannot be. The clock is asked only by rows that are later than its last answer.
func (c *checker) checkInstant(name string, ms int64) error {
	if ms < notBefore {
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

// instant reads a date-time.
func (c *checker) instant(name, text string) (int64, error) {
	if ms, ok := c.plainInstant(text); ok {
		return ms, nil
	}
	if text == "" {
		return 0, fmt.Errorf("%s is missing", name)
	}
	ms, dateOnly, err := assay.ParseInstant(text)
	if err != nil {
		return 0, fmt.Errorf("%s %q is not an ISO 8601 date-time, for example 2026-01-31T16:00:00Z", name, shown(text))
	}
	if dateOnly {
		return 0, fmt.Errorf("%s %q has no time of day", name, text)
	}
	return ms, nil
}

// plainInstant reads YYYY-MM-DDTHH:MM:SSZ and YYYY-MM-DDTHH:MM:SS.mmmZ, which nearly all rows have, and most of them the
// same day as the row before. What it does not know is no error: ParseInstant decides.
func (c *checker) plainInstant(text string) (ms int64, ok bool) {
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
	hour, minute, second, thousandths := digits(text[11:13]), digits(text[14:16]), digits(text[17:19]), int64(0)
	if len(text) == len(assay.InstantLayout) {
		if text[19] != '.' {
			return 0, false
		}
		thousandths = digits(text[20:23])
	}
	if hour > 23 || minute > 59 || second > 59 || hour|minute|second|thousandths < 0 {
		return 0, false
	}
	return c.midnight + hour*assay.Hour + minute*assay.Minute + second*assay.Second + thousandths, true
}

// digits reads a whole number; anything else is negative.
func digits(text string) (n int64) {
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return -1
		}
		n = n*10 + int64(text[i]-'0')
	}
	return n
}

// parseFlag reads true or false, in any letter case, or 1 and 0.
func parseFlag(name, text string) (bool, error) {
	switch {
	case text == "1" || strings.EqualFold(text, "true"):
		return true, nil
	case text == "0" || strings.EqualFold(text, "false"):
		return false, nil
	}
	return false, fmt.Errorf("%s %q: allowed are true and false", name, shown(text))
}

// parseDay reads a day. Midnight of UTC is one too: spreadsheets and data frames write days like that.
func parseDay(name, text string) (int64, error) {
	if text == "" {
		return 0, fmt.Errorf("%s is missing", name)
	}
	ms, _, err := assay.ParseInstant(text)
	if err != nil {
		return 0, fmt.Errorf("%s %q is not a day, for example 2026-01-31", name, shown(text))
	}
	if ms != assay.StartOfDay(ms) {
		return 0, fmt.Errorf("%s %q has a time of day: allowed are days, for example 2026-01-31", name, shown(text))
	}
	return ms, nil
}

// quantity is a column of numbers, and what is allowed in it.
type quantity struct {
	name        string
	decimals    int
	least, most int64 // in units of 10^-decimals
	allowed     string
}

func (q *quantity) parse(text string) (int64, error) {
	if text == "" {
		return 0, fmt.Errorf("%s is missing", q.name)
	}
	n, err := assay.ParseDecimal(text, q.decimals)
	if err != nil {
		return 0, fmt.Errorf("%s %q %w: allowed are %s", q.name, shown(text), err, q.allowed)
	}
	return n, nil
}

func (q *quantity) check(n int64) error {
	if n < q.least || n > q.most {
		return fmt.Errorf("%s %s is out of bounds: allowed are %s", q.name, appendDecimal(nil, strconv.FormatInt(n, 10), q.decimals), q.allowed)
	}
	return nil
}

// appendDecimal appends a whole number, written in digits, with its decimal point moved to the left.
func appendDecimal(dst []byte, whole string, decimals int) []byte {
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

// bigFromBytes reads a big-endian number in two's complement.
func bigFromBytes(b []byte) *big.Int {
	n := new(big.Int).SetBytes(b)
	if len(b) > 0 && b[0]&0x80 != 0 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(len(b))*8))
	}
	return n
}

// shown cuts a value that is too long for a message.
func shown(text string) string {
	const most = 64
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
