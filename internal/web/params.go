package web

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/redact"
)

// param is a parameter of the query.
type param struct {
	name, value string
	known       bool // the route has asked for it
}

// Param returns a query parameter. An empty one counts as absent; one that is given twice is refused.
func (r *Request) Param(name string) (value string, err error) {
	if r.http.URL.RawQuery == "" {
		return "", nil
	}
	if err := r.parseParams(); err != nil {
		return "", err
	}
	r.asked = append(r.asked, name)
	found := false
	for i := range r.params {
		p := &r.params[i]
		if p.name != name {
			continue
		}
		if found {
			return "", invalidParameter(
				name, "Invalid value %q for %q: must be given once.", shown(p.value), name)
		}
		p.known = true
		value, found = p.value, true
	}
	return value, nil
}

// parseParams parses the query, once.
func (r *Request) parseParams() error {
	if len(r.params) == 0 && r.paramsErr == nil {
		r.params, r.paramsErr = appendParams(r.params, r.http.URL.RawQuery)
	}
	return r.paramsErr
}

func appendParams(params []param, query string) ([]param, error) {
	for pair := range strings.SplitSeq(query, "&") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		name, nameErr := url.QueryUnescape(name)
		value, valueErr := url.QueryUnescape(value)
		if nameErr != nil || valueErr != nil {
			return nil, invalidParameter(
				"", "Invalid query part %q: must be percent-encoded, with %% and two hexadecimal digits.", shown(pair))
		}
		params = append(params, param{name: name, value: value})
	}
	return params, nil
}

// Invalid says which parameter is wrong, its value, and what it must be: also as a list, where there is one.
func Invalid(name, value, mustBe string, allowed ...string) error {
	e := invalidParameter(name, "Invalid value %q for %q: must be %s.", shown(value), name, mustBe)
	e.Allowed = allowed
	return e
}

// InvalidWord is Invalid for a parameter that takes one of a few words.
func InvalidWord(name, value string, allowed []string) error {
	return Invalid(name, value, JoinWords(allowed, "or"), allowed...)
}

// Missing says which parameter is required, and what it must be: also as a list, where there is one.
func Missing(name, mustBe string, allowed ...string) error {
	e := invalidParameter(name, "Missing value for %q: must be %s.", name, mustBe)
	e.Allowed = allowed
	return e
}

func invalidParameter(name, format string, args ...any) *assay.Error {
	return &assay.Error{
		Kind: assay.Invalid, Code: "invalid_parameter", Message: fmt.Sprintf(format, args...), Param: name,
	}
}

// shown is a caller's text as a message may repeat it.
func shown(text string) string { return redact.Keys(Shorten(text)) }

// Shown is a caller's text as a message may repeat it: not too long, and without keys.
func Shown(text string) string { return shown(text) }

// Shorten cuts a text that is going to be repeated.
func Shorten(text string) string {
	const longest = 64
	if len(text) <= longest {
		return text
	}
	return text[:longest] + "…"
}

// OneOf returns a parameter that takes one of a few words, or otherwise when it is absent.
func (r *Request) OneOf(name, otherwise string, allowed ...string) (string, error) {
	value, err := r.Param(name)
	if err != nil || value == "" {
		return otherwise, err
	}
	if slices.Contains(allowed, value) {
		return value, nil
	}
	return "", InvalidWord(name, value, slices.Clone(allowed)) // so that the words cost no allocation otherwise
}

// JoinWords lists words, with a conjunction before the last.
func JoinWords(words []string, conjunction string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " " + conjunction + " " + words[last]
}

// Int returns a parameter that is an integer from lowest to highest, or otherwise when it is absent.
func (r *Request) Int(name string, otherwise, lowest, highest int) (int, error) {
	value, err := r.Param(name)
	if err != nil || value == "" {
		return otherwise, err
	}
	n, err := strconv.ParseUint(value, 10, 53)
	if err != nil || int(n) < lowest || int(n) > highest {
		return 0, Invalid(name, value, fmt.Sprintf("an integer from %d to %d", lowest, highest))
	}
	return int(n), nil
}

// dateForms are the forms that a date or an instant may have.
const dateForms = "YYYY-MM-DD, YYYY-MM-DD HH:MM:SS or an ISO 8601 date-time"

// Instant is a parameter that is a date or a date-time.
type Instant struct {
	At       int64
	DateOnly bool
	Given    bool // false when the parameter is absent
}

// Instant returns a parameter that is a date or a date-time.
func (r *Request) Instant(name string) (in Instant, err error) {
	value, err := r.Param(name)
	if err != nil || value == "" {
		return in, err
	}
	in.Given = true
	if in.At, in.DateOnly, err = assay.ParseInstant(value); err != nil {
		return Instant{}, Invalid(name, value, dateForms)
	}
	return in, nil
}

// RequireInstant refuses a request without a parameter that is a date or a date-time.
func (r *Request) RequireInstant(name string) error {
	value, err := r.Param(name)
	if err != nil || value != "" {
		return err
	}
	return Missing(name, dateForms)
}

// Number returns a parameter that is a plain decimal number within bounds; ok is false when it is absent.
func (r *Request) Number(name, allowed string, within func(float64) bool) (v float64, ok bool, err error) {
	value, err := r.Param(name)
	if err != nil || value == "" {
		return 0, false, err
	}
	if v, ok = ParseNumber(value); !ok || !within(v) {
		return 0, false, Invalid(name, value, allowed)
	}
	return v, true, nil
}

// ParseNumber reads digits with an optional minus before and an optional point among them.
func ParseNumber(text string) (v float64, ok bool) {
	digits := strings.TrimPrefix(text, "-")
	before, after, pointed := strings.Cut(digits, ".")
	if before == "" || pointed && after == "" || strings.Trim(before+after, "0123456789") != "" {
		return 0, false
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || v != 0 {
		return v, err == nil
	}
	return 0, true // not -0
}

// Change is another value of a parameter.
type Change struct{ Param, Value string }

// LinkNext adds the header Link with the next page: this request with some parameters changed.
func (r *Request) LinkNext(changes []Change) {
	query := url.Values{}
	for _, p := range r.params {
		if p.known && p.value != "" {
			query.Set(p.name, p.value)
		}
	}
	for _, c := range changes {
		query.Set(c.Param, c.Value)
	}
	r.SetHeader("Link", "<"+r.http.URL.EscapedPath()+"?"+query.Encode()+`>; rel="next"`)
}
