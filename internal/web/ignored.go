package web

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/assaydata/assay"
)

// Parameters that a route does not know are ignored, as the contract wants it. But a misspelled one changes nothing, so
// its caller takes the response for another one. The header X-Assay-Ignored names such parameters, and a caller who
// asks for strict handling (RFC 7240) gets a 400 instead.

// maxIgnored is how many names the header has at most.
const maxIgnored = 8

// reportIgnored reports the parameters that the route has not asked for, now that it has its response. What has changed
// something is not refused afterwards.
func (r *Request) reportIgnored() error {
	if method := r.http.Method; method != http.MethodGet && method != http.MethodHead {
		return nil
	}
	strict := prefersStrict(r.http.Header["Prefer"])
	if strict {
		r.SetHeader("Preference-Applied", "handling=strict")
	}
	if r.http.URL.RawQuery == "" {
		return nil
	}
	switch err := r.parseParams(); {
	case err != nil && strict:
		return err
	case err != nil:
		return nil //nolint:nilerr // of a route without parameters, which is no reason to refuse its caller
	}
	var names []string
	for i := range r.params {
		if p := &r.params[i]; !p.known && !slices.Contains(names, p.name) && len(names) < maxIgnored {
			names = append(names, p.name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	if strict {
		return r.unknownParameter(names[0])
	}
	for i, name := range names {
		names[i] = url.QueryEscape(shown(name))
	}
	r.SetHeader("X-Assay-Ignored", strings.Join(names, ", "))
	return nil
}

// unknownParameter refuses a parameter that the route does not know.
func (r *Request) unknownParameter(name string) error {
	slices.Sort(r.asked)
	known, takes := slices.Compact(r.asked), "none"
	if len(known) > 0 {
		takes = JoinWords(known, "and")
	}
	return &assay.Error{
		Kind: assay.Invalid, Code: "unknown_parameter", Param: shown(name),
		Message: fmt.Sprintf("Unknown parameter %q: this path takes %s.", shown(name), takes),
	}
}

// prefersStrict reports whether a Prefer header asks for strict handling.
func prefersStrict(header []string) bool {
	for _, line := range header {
		for preference := range strings.SplitSeq(line, ",") {
			preference, _, _ = strings.Cut(preference, ";")
			name, value, _ := strings.Cut(preference, "=")
			if strings.EqualFold(strings.TrimSpace(name), "handling") &&
				strings.EqualFold(strings.Trim(value, " \t\""), "strict") {
				return true
			}
		}
	}
	return false
}
