//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/assaydata/assay/tools/strict"
)

// description is what /openapi.json promises, prepared for millions of comparisons.
type description struct {
	paths      *segment
	operations []*operation // in the order of their paths and methods, so that a seed means the same in every run
	failure    *openapi3.Schema
}

// segment is a node of the tree of paths.
type segment struct {
	literal  map[string]*segment
	variable *segment
	path     *path // that ends here; nil for none
}

// path is a path of the description with its methods.
type path struct {
	template   string
	operations map[string]*operation
	private    bool // not for pages of any origin
}

// operation is one method of one path.
type operation struct {
	*path
	method     string
	public     bool // credentials are ignored
	tags       []string
	parameters []*openapi3.Parameter
	body       *openapi3.MediaType // nil: it takes none
	responses  map[int]*response
}

// response is what the description promises about one status of an operation.
type response struct {
	headers map[string]*openapi3.Header
	media   map[string]*openapi3.Schema // by content type; empty: no body
}

// transportStatuses are those of requests that are not valid HTTP, as the text of the description says.
var transportStatuses = []int{
	http.StatusBadRequest, http.StatusExpectationFailed, http.StatusRequestHeaderFieldsTooLarge,
	http.StatusNotImplemented, http.StatusHTTPVersionNotSupported,
}

func parseDescription(text []byte) (*description, error) {
	text, err := strict.Close(text)
	if err == nil {
		text, err = enumerateConstants(text)
	}
	if err != nil {
		return nil, fmt.Errorf("read the description: %w", err)
	}
	document, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return nil, fmt.Errorf("read the description: %w", err)
	}
	failure := document.Components.Schemas["Error"]
	if failure == nil {
		return nil, fmt.Errorf("the description has no schema Error")
	}
	for _, status := range transportStatuses {
		if !strings.Contains(document.Info.Description, strconv.Itoa(status)) {
			return nil, fmt.Errorf("the text of the description does not mention status %d", status)
		}
	}
	d := &description{paths: &segment{}, failure: failure.Value}
	templates := document.Paths.Keys()
	sort.Strings(templates)
	for _, template := range templates {
		if err := d.add(template, document.Paths.Value(template)); err != nil {
			return nil, fmt.Errorf("%s: %w", template, err)
		}
	}
	return d, nil
}

// enumerateConstants writes each constant of a schema as an enumeration of one value: the library that compares bodies
// with schemas does not know constants.
func enumerateConstants(text []byte) ([]byte, error) {
	var document any
	if err := json.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	var visit func(node any)
	visit = func(node any) {
		switch node := node.(type) {
		case map[string]any:
			if constant, ok := node["const"]; ok {
				node["enum"] = []any{constant}
			}
			for _, child := range node {
				visit(child)
			}
		case []any:
			for _, child := range node {
				visit(child)
			}
		}
	}
	visit(document)
	return json.Marshal(document)
}

// add adds a path with its methods.
func (d *description) add(template string, item *openapi3.PathItem) error {
	p := &path{template: template, operations: map[string]*operation{}}
	methods := item.Operations()
	for _, method := range sortedKeys(methods) {
		described := methods[method]
		o := &operation{
			path: p, method: method, tags: described.Tags, responses: map[int]*response{},
			public: described.Security != nil && len(*described.Security) == 0,
		}
		for _, parameter := range append(slices.Clone(item.Parameters), described.Parameters...) {
			o.parameters = append(o.parameters, parameter.Value)
		}
		if described.RequestBody != nil {
			o.body = described.RequestBody.Value.Content["application/json"]
		}
		for code, r := range described.Responses.Map() {
			status, err := strconv.Atoi(code)
			if err != nil {
				return fmt.Errorf("%s: the status %q is not a number", method, code)
			}
			o.responses[status] = newResponse(r.Value)
		}
		p.private = p.private || template == "/mcp" || template == "/api/ingest/{family}" ||
			strings.HasPrefix(template, "/api/share-links") ||
			slices.Contains(described.Tags, "Accounts") || slices.Contains(described.Tags, "Alerts")
		p.operations[method] = o
		if template != "/api/stream" || method != http.MethodGet { // it does not end
			d.operations = append(d.operations, o)
		}
	}
	d.paths.insert(template, p)
	return nil
}

func newResponse(described *openapi3.Response) *response {
	r := &response{headers: map[string]*openapi3.Header{}, media: map[string]*openapi3.Schema{}}
	for name, header := range described.Headers {
		r.headers[http.CanonicalHeaderKey(name)] = header.Value
	}
	for kind, media := range described.Content {
		r.media[kind] = media.Schema.Value
	}
	return r
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}

// withSlashes is the variable that may contain slashes, which no description can say otherwise than by words.
const withSlashes = "{path}"

func (s *segment) insert(template string, p *path) {
	for name := range strings.SplitSeq(template[1:], "/") {
		if strings.HasPrefix(name, "{") {
			if s.variable == nil {
				s.variable = &segment{}
			}
			s = s.variable
			if name == withSlashes {
				s.variable = s // any further segment belongs to it
			}
			continue
		}
		if s.literal == nil {
			s.literal = map[string]*segment{}
		}
		if s.literal[name] == nil {
			s.literal[name] = &segment{}
		}
		s = s.literal[name]
	}
	s.path = p
}

// find returns the path of the description that a request target means, or nil.
func (d *description) find(target string) *path {
	if _, rest, absolute := strings.Cut(target, "://"); absolute && !strings.HasPrefix(target, "/") {
		at := strings.IndexAny(rest, "/?")
		if at < 0 || rest[at] == '?' {
			return nil
		}
		target = rest[at:]
	}
	target, _, _ = strings.Cut(target, "?")
	if !strings.HasPrefix(target, "/") {
		return nil
	}
	return d.paths.find(target[1:])
}

func (s *segment) find(rest string) *path {
	name, rest, more := strings.Cut(rest, "/")
	name, err := url.PathUnescape(name)
	if err != nil || name == "" || name == "." || name == ".." {
		return nil
	}
	for _, next := range []*segment{s.literal[name], s.variable} {
		switch {
		case next == nil:
		case !more && next.path != nil:
			return next.path
		case more:
			if found := next.find(rest); found != nil {
				return found
			}
		}
	}
	return nil
}

// operation returns the operation of a method; HEAD is described by GET.
func (p *path) operation(method string) *operation {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	return p.operations[method]
}
