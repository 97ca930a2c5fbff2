package apitest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/api"
)

func init() {
	openapi3filter.RegisterBodyDecoder("application/geo+json", openapi3filter.JSONBodyDecoder)
}

var defaultDescription = sync.OnceValues(func() (*openapi3.T, error) { return load(assay.DefaultCatalog()) })

func load(catalog assay.Catalog) (*openapi3.T, error) {
	text, err := api.OpenAPI(catalog)
	if err != nil {
		return nil, err
	}
	document, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return nil, err
	}
	return document, document.Validate(context.Background())
}

var descriptions sync.Map // catalog as text → *openapi3.T

// Description is the description of the API under a catalog.
func Description(catalog assay.Catalog) (*openapi3.T, error) {
	if reflect.DeepEqual(catalog, assay.DefaultCatalog()) {
		return defaultDescription()
	}
	key := fmt.Sprintf("%+v", catalog)
	if known, ok := descriptions.Load(key); ok {
		return known.(*openapi3.T), nil
	}
	document, err := load(catalog)
	descriptions.Store(key, document)
	return document, err
}

// validate checks a response against openapi.yaml: its status must be described, its headers and its body must fit.
func (r *Rig) validate(request *http.Request, response *http.Response, body []byte) {
	r.Test.Helper()
	catalog := assay.DefaultCatalog()
	if snap := r.Snapshots.Load(); snap != nil {
		catalog = snap.Catalog
	}
	document, err := Description(catalog)
	if err != nil {
		r.Test.Fatal(err)
	}
	if request.Method == http.MethodOptions || response.Header.Get("Content-Encoding") != "" {
		return // a preflight has no description; compressed bodies are compared with plain ones where they are made
	}
	_, pattern := r.paths.Handler(request)
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
	route := &routers.Route{
		Spec: document, Path: pattern, PathItem: item, Method: method, Operation: item.GetOperation(method),
	}
	input := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: request, Route: route},
		Status:                 response.StatusCode, Header: response.Header,
		Options: &openapi3filter.Options{IncludeResponseStatus: true, MultiError: true},
	}
	input.SetBodyBytes(body)
	if err := openapi3filter.ValidateResponse(context.Background(), input); err != nil {
		r.Test.Errorf("%s %s: the response does not fit openapi.yaml: %v\n%.300s",
			request.Method, request.RequestURI, err, body)
	}
}

// validateError checks a response that belongs to no described route against the error shape.
func (r *Rig) validateError(document *openapi3.T, response *http.Response, body []byte) {
	r.Test.Helper()
	if response.StatusCode < 400 || len(body) == 0 || strings.HasPrefix(response.Header.Get("Content-Type"), "text/html") {
		return // pages of the dashboard are not in the description
	}
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		r.Test.Errorf("the body of a %d is not JSON: %v", response.StatusCode, err)
		return
	}
	if err := document.Components.Schemas["Error"].Value.VisitJSON(value); err != nil {
		r.Test.Errorf("the body of a %d is not an error: %v\n%s", response.StatusCode, err, body)
	}
}
