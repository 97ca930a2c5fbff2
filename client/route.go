package client

import (
	"fmt"
	"net/url"
	"reflect"
	"strconv"
	"strings"
)

// target is what is requested of a server.
type target struct {
	path  string // encoded
	query string // encoded
}

// newTarget fills the variables of a route, such as /api/gpu/{gpuName}, and adds parameters.
func newTarget(route string, params Params, vars ...string) (t target, err error) {
	rest := route
	for {
		before, after, found := strings.Cut(rest, "{")
		t.path += before
		if !found {
			break
		}
		name, behind, _ := strings.Cut(after, "}")
		if len(vars) == 0 {
			return t, badArgument(fmt.Sprintf("%s needs a value for %s", route, name))
		}
		switch vars[0] {
		case "":
			return t, badArgument(name + " is empty")
		case ".", "..": // on the way to the server they would mean another path, however they are encoded
			return t, badArgument(name + " is only dots")
		}
		t.path += url.PathEscape(vars[0])
		vars, rest = vars[1:], behind
	}
	if len(vars) > 0 {
		return t, badArgument(route + " takes fewer values than were given")
	}
	t.query = values(params).Encode()
	return t, nil
}

// values are the parameters that are set, under their names in the API.
func values(params Params) url.Values {
	set := url.Values{}
	v := reflect.ValueOf(params)
	if !v.IsValid() || v.IsNil() {
		return set
	}
	for field, value := range v.Elem().Fields() {
		name := field.Tag.Get("query")
		for _, text := range texts(value) {
			set.Add(name, text)
		}
	}
	return set
}

// texts are the values of a parameter; none if it is not set.
func texts(v reflect.Value) []string {
	if v.IsZero() {
		return nil
	}
	switch v.Kind() { //nolint:exhaustive // the others are single values
	case reflect.Pointer:
		return []string{text(v.Elem())}
	case reflect.Slice:
		var all []string
		for _, each := range v.Seq2() {
			all = append(all, text(each))
		}
		return all
	default:
		return []string{text(v)}
	}
}

func text(v reflect.Value) string {
	if v.Kind() == reflect.Float64 { // without an exponent, which the API does not take
		return strconv.FormatFloat(v.Float(), 'f', -1, 64)
	}
	return fmt.Sprint(v.Interface())
}
