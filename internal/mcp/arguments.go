package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/web"
)

// arguments are the arguments of a call, by the names that the agent has given them. Values are the texts that a query
// has.
type arguments map[string]string

// readArguments reads the arguments of a call.
func readArguments(raw json.RawMessage) (arguments, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(raw, &given); err != nil {
		return nil, &assay.Error{
			Kind: assay.Invalid, Code: "invalid_parameter", Message: "The arguments must be a JSON object.",
		}
	}
	values := arguments{}
	for name, value := range given {
		text, err := plainText(value)
		if err != nil {
			return nil, web.Invalid(web.Shown(name), string(value), "a text, a number, true or false")
		}
		if text != "" { // an empty value counts as absent, as in a query
			values[name] = text
		}
	}
	return values, nil
}

var errNotPlain = errors.New("neither a text nor a number nor a truth value")

// plainText is a JSON value as a query has it. null is empty.
func plainText(value json.RawMessage) (text string, err error) {
	switch c := value[0]; {
	case c == '"':
		err = json.Unmarshal(value, &text)
		return text, err
	case c == '{' || c == '[':
		return "", errNotPlain
	case string(value) == "null":
		return "", nil
	case c == '-' || c >= '0' && c <= '9':
		return plainNumber(string(value)), nil
	}
	return string(value), nil
}

// plainNumber is a number without an exponent, as far as that is possible: 1e2 is 100. The route judges it.
func plainNumber(text string) string {
	number, err := strconv.ParseFloat(text, 64)
	if err != nil || !strings.ContainsAny(text, "eE.") {
		return text
	}
	return strconv.FormatFloat(number, 'f', -1, 64)
}

// normal is what all spellings of a name have in common: gpu_name, gpuName and GPU-name are one. All names of the
// argument for a GPU model are one too.
func normal(name string) string {
	name = strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
	switch name {
	case "gpuname", "gputype", "gpumodel":
		return "gpu"
	}
	return name
}

// take returns the values of the arguments that are known, by their known names, and refuses others.
func (a arguments) take(tool string, known []string) (taken map[string]string, err error) {
	taken = map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(a)) {
		i := slices.IndexFunc(known, func(k string) bool { return normal(k) == normal(name) })
		if i < 0 {
			return nil, unknownArgument(tool, name, known)
		}
		if before, twice := taken[known[i]]; twice && before != a[name] {
			return nil, web.Invalid(known[i], a[name], "given once")
		}
		taken[known[i]] = a[name]
	}
	return taken, nil
}

// has reports whether an argument is given, under any of its names.
func (a arguments) has(name string) bool {
	for given := range a {
		if normal(given) == normal(name) {
			return true
		}
	}
	return false
}

func unknownArgument(tool, name string, known []string) error {
	takes := "none"
	if len(known) > 0 {
		takes = web.JoinWords(known, "and")
	}
	return &assay.Error{
		Kind: assay.Invalid, Code: "unknown_parameter", Param: web.Shown(name), Allowed: known,
		Message: fmt.Sprintf("Unknown argument %q: %s takes %s.", web.Shown(name), tool, takes),
	}
}

// missing refuses a call without an argument that it needs.
func missing(tool, name string) error {
	return &assay.Error{
		Kind: assay.Invalid, Code: "invalid_parameter", Param: name,
		Message: fmt.Sprintf("%s needs the argument %q.", tool, name),
	}
}

// target fills a path, and puts the other values into the query.
func target(path string, values map[string]string) string {
	query := url.Values{}
	for name, value := range values {
		if variable := "{" + name + "}"; strings.Contains(path, variable) {
			path = strings.Replace(path, variable, url.PathEscape(value), 1)
		} else {
			query.Set(name, value)
		}
	}
	if len(query) == 0 {
		return path
	}
	return path + "?" + query.Encode()
}
