package apitest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/api"
	"github.com/assaydata/assay/tools/strict"
)

// description is the description of the API under a catalog.
type description struct {
	*openapi3.T

	mu       sync.Mutex
	compiler *jsonschema.Compiler
	schemas  map[string]*jsonschema.Schema // by where they are in the description
}

var defaultDescription = sync.OnceValues(func() (*description, error) { return load(assay.DefaultCatalog()) })

// load reads a description in its closed form: a response must have nothing that is not described. The examples in it
// are for the default catalog, and take long to check.
func load(catalog assay.Catalog, options ...openapi3.ValidationOption) (*description, error) {
	text, err := api.OpenAPI(catalog)
	if err != nil {
		return nil, err
	}
	if text, err = strict.Close(text); err != nil {
		return nil, err
	}
	document, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return nil, err
	}
	d := &description{T: document, compiler: jsonschema.NewCompiler(), schemas: map[string]*jsonschema.Schema{}}
	d.compiler.AssertFormat()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err == nil {
		err = d.compiler.AddResource("openapi.json", value)
	}
	return d, errors.Join(err, document.Validate(context.Background(), options...))
}

var descriptions sync.Map // catalog as text → *description

func describe(catalog assay.Catalog) (*description, error) {
	if reflect.DeepEqual(catalog, assay.DefaultCatalog()) {
		return defaultDescription()
	}
	key := fmt.Sprintf("%+v", catalog)
	if known, ok := descriptions.Load(key); ok {
		return known.(*description), nil
	}
	d, err := load(catalog, openapi3.DisableExamplesValidation())
	descriptions.Store(key, d)
	return d, err
}

// Description is the description of the API under a catalog, in its closed form.
func Description(catalog assay.Catalog) (*openapi3.T, error) {
	d, err := describe(catalog)
	if err != nil {
		return nil, err
	}
	return d.T, nil
}

// checkJSON compares a body with the schema at a place in the description.
func (d *description) checkJSON(body []byte, place []string) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return err
	}
	return d.check(value, place)
}

// check compares a value with the schema at a place. A schema is compiled once: that takes far longer than to compare.
func (d *description) check(value any, place []string) (err error) {
	var pointer strings.Builder
	for _, name := range place {
		name = strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
		pointer.WriteString("/" + url.PathEscape(name))
	}
	d.mu.Lock()
	schema := d.schemas[pointer.String()]
	if schema == nil {
		if schema, err = d.compiler.Compile("openapi.json#" + pointer.String()); err == nil {
			d.schemas[pointer.String()] = schema
		}
	}
	d.mu.Unlock()
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

// validate checks a response against openapi.yaml: its status must be described, its headers and its body must fit.
func (r *Rig) validate(request *http.Request, response *http.Response, body []byte) {
	r.Test.Helper()
	catalog := assay.DefaultCatalog()
	if snap := r.Snapshots.Load(); snap != nil {
		catalog = snap.Catalog
	}
	document, err := describe(catalog)
	if err != nil {
		r.Test.Fatal(err)
	}
	if request.Method == http.MethodOptions || response.Header.Get("Content-Encoding") != "" {
		return // a preflight has no description; compressed bodies are compared with plain ones where they are made
	}
	_, pattern := r.paths.Handler(request)
	pattern = DescribedPath(pattern)
	item := document.Paths.Find(pattern)
	method := request.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	undescribed := item == nil || item.GetOperation(method) == nil || response.StatusCode == http.StatusMethodNotAllowed
	if undescribed || bytes.Contains(body, []byte(`"unknown_path"`)) {
		r.validateError(document, response, body)
		return
	}
	if request.Method == http.MethodHead {
		return // it has no body, and is compared with GET where it matters
	}
	place := []string{"paths", pattern, strings.ToLower(method), "responses", strconv.Itoa(response.StatusCode)}
	if err := document.checkResponse(item.GetOperation(method), place, response, body); err != nil {
		r.Test.Errorf("%s %s: the response does not fit openapi.yaml: %v\n%.300s",
			request.Method, request.RequestURI, err, body)
	}
}

// DescribedPath is how the description names the path of a route: it knows no variables with slashes in them.
func DescribedPath(path string) string { return strings.Replace(path, "...}", "}", 1) }

// checkResponse compares a response with what the description has at its place.
func (d *description) checkResponse(
	operation *openapi3.Operation, place []string, response *http.Response, body []byte,
) error {
	described := operation.Responses.Status(response.StatusCode)
	if described == nil {
		return fmt.Errorf("status %d is not described", response.StatusCode)
	}
	place = resolve(place, described.Ref)
	if err := checkNames(described.Value.Headers, response.Header); err != nil {
		return err
	}
	for name, header := range described.Value.Headers {
		values, sent := response.Header[http.CanonicalHeaderKey(name)]
		switch {
		case sent:
			place := append(resolve(in(place, "headers", name), header.Ref), "schema")
			if err := d.check(headerValue(header.Value.Schema.Value, values[0]), place); err != nil {
				return fmt.Errorf("header %s: %w", name, err)
			}
		case header.Value.Required:
			return fmt.Errorf("header %s is missing", name)
		}
	}
	if len(described.Value.Content) == 0 {
		if len(body) > 0 {
			return errors.New("a body is not described")
		}
		return nil
	}
	kind, _, _ := strings.Cut(response.Header.Get("Content-Type"), ";")
	if described.Value.Content[kind] == nil {
		return fmt.Errorf("the content type %q is not described", kind)
	}
	if !strings.HasSuffix(kind, "json") || strings.HasSuffix(kind, "ndjson") {
		return nil // its tests read it
	}
	return d.checkJSON(body, in(place, "content", kind, "schema"))
}

// generalHeaders are those that any response may have. The text of the description tells of those that are about data;
// the others belong to HTTP, to CORS or to browsers.
var generalHeaders = []string{
	"Content-Length", "Content-Type", "Date", "Preference-Applied", "X-Assay-Stale", "X-Assay-Synthetic",
	"Access-Control-Allow-Origin", "Access-Control-Expose-Headers", "Connection", "Strict-Transport-Security",
	"X-Content-Type-Options", "Content-Security-Policy", "Cross-Origin-Resource-Policy", "Referrer-Policy",
	"X-Robots-Tag",
}

// checkNames reports a header that a response has and its description lacks.
func checkNames(described openapi3.Headers, sent http.Header) error {
	for name := range sent {
		if slices.Contains(generalHeaders, name) {
			continue
		}
		known := slices.ContainsFunc(slices.Collect(maps.Keys(described)), func(other string) bool {
			return strings.EqualFold(name, other)
		})
		if !known {
			return fmt.Errorf("header %s is not described", name)
		}
	}
	return nil
}

// in is a place below another.
func in(place []string, names ...string) []string { return append(slices.Clone(place), names...) }

// resolve is a place, or the one that a reference found there leads to.
func resolve(place []string, reference string) []string {
	if reference == "" {
		return place
	}
	return strings.Split(strings.TrimPrefix(reference, "#/"), "/")
}

// headerValue is what a header's text means.
func headerValue(schema *openapi3.Schema, text string) any {
	if schema.Type.Is(openapi3.TypeInteger) || schema.Type.Is(openapi3.TypeNumber) {
		return json.Number(text)
	}
	return text
}

// validateError checks a response that belongs to no described route against the error shape.
func (r *Rig) validateError(document *description, response *http.Response, body []byte) {
	r.Test.Helper()
	if response.StatusCode < 400 || len(body) == 0 || strings.HasPrefix(response.Header.Get("Content-Type"), "text/html") {
		return // pages of the dashboard are not in the description
	}
	if err := document.checkJSON(body, []string{"components", "schemas", "Error"}); err != nil {
		r.Test.Errorf("the body of a %d is not an error: %v\n%s", response.StatusCode, err, body)
	}
}
