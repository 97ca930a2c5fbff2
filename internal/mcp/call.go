package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/assaydata/assay/internal/web"
)

// How many rows a result has at most, and without the argument limit. Agents read all of them.
const (
	mostRows    = 1000
	defaultRows = 200
)

// longest is how many rows a route with a default limit is asked for, which is the most that it takes.
const longest = "10000"

// callRoute calls the route of a tool, and makes the result of its response.
func (s *service) callRoute(
	ctx context.Context, t *tool, given arguments,
) (result, problem json.RawMessage, err error) {
	r := t.choose(given)
	values, err := r.read(t.name, given)
	if err != nil {
		return nil, nil, err
	}
	most, whole, err := r.limit(values)
	if err != nil {
		return nil, nil, err
	}
	found, problem, err := s.get(ctx, target(r.path, values), most, r.ordered)
	if err != nil || problem != nil {
		return nil, problem, err
	}
	result, err = s.complete(ctx, found, target(r.path, whole))
	return result, nil, err
}

// choose returns the route that the arguments ask for.
func (t *tool) choose(given arguments) *route {
	for i := range t.routes[:len(t.routes)-1] {
		for _, name := range t.routes[i].when {
			if given.has(name) {
				return &t.routes[i]
			}
		}
	}
	return &t.routes[len(t.routes)-1]
}

// read returns the values of the route's parameters.
func (r *route) read(tool string, given arguments) (values map[string]string, err error) {
	var known []string
	for _, p := range r.parameters {
		known = append(known, p.shown)
	}
	if r.ordered || r.paged {
		known = append(known, "limit")
	}
	taken, err := given.take(tool, known)
	if err != nil {
		return nil, err
	}
	values = map[string]string{}
	for _, p := range r.parameters {
		value, ok := taken[p.shown]
		if !ok && p.Required {
			return nil, missing(tool, p.shown)
		}
		if ok {
			values[p.Name] = value
		}
	}
	if limit, ok := taken["limit"]; ok {
		values["limit"] = limit
	}
	return values, nil
}

// limit completes the query of a route so that the newest rows come first, and returns how many of them to keep, and
// the query for all rows.
func (r *route) limit(values map[string]string) (most int, whole map[string]string, err error) {
	most = defaultRows
	if text, ok := values["limit"]; ok {
		if most, err = strconv.Atoi(text); err != nil || most < 1 || most > mostRows {
			return 0, nil, web.Invalid("limit", text, "an integer from 1 to "+strconv.Itoa(mostRows))
		}
		delete(values, "limit")
	}
	whole = map[string]string{}
	for name, value := range values {
		whole[name] = value
	}
	switch {
	case r.ordered:
		values["order"] = "desc"
		if r.limited {
			values["limit"], whole["limit"] = longest, longest
		}
	case r.paged: // the route counts the rows itself, and says how to continue
		values["limit"] = strconv.Itoa(most)
		most = 0
	default:
		most = 0
	}
	return most, whole, nil
}

// complete makes the result of a response: its fields, how many rows it has, and where the others are.
func (s *service) complete(ctx context.Context, found *rows, whole string) (json.RawMessage, error) {
	text, fields := found.whole(), ""
	if found.synthetic {
		fields = `,"synthetic":true`
	}
	if found.hasList && found.most > 0 {
		fields += `,"truncated":` + strconv.FormatBool(found.truncated()) + `,"total":` + strconv.Itoa(found.total)
	}
	if found.truncated() {
		text = bytes.Replace(text, []byte(countField(found.total)), []byte(countField(len(found.kept))), 1)
		address := s.Source.Base(ctx) + whole
		fields += `,"full_range":` + string(encode(address)) +
			`,"full_range_csv":` + string(encode(withFormat(address, "csv")))
	}
	result, err := add(text, fields)
	if err != nil {
		return nil, err
	}
	if !json.Valid(result) {
		return nil, unreachable(errTooLong)
	}
	return result, nil
}

func withFormat(address, format string) string {
	separator := "?"
	if strings.Contains(address, "?") {
		separator = "&"
	}
	return address + separator + "format=" + format
}
