package api_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/apitest"
)

// documented is the description under the default catalog.
func documented(t *testing.T) *openapi3.T {
	t.Helper()
	document, err := apitest.Description(assay.DefaultCatalog())
	if err != nil {
		t.Fatal(err)
	}
	return document
}

// Generators put parameters, responses and schemas into one package. Two components of the same name, in any letter case,
// would be one type there.
func TestOpenAPI_ComponentNames(t *testing.T) {
	t.Parallel()
	kinds := map[string]string{}
	add := func(kind, name string) {
		key := strings.ToLower(strings.ReplaceAll(name, "-", ""))
		if first, taken := kinds[key]; taken {
			t.Errorf("%q names one of the %s and one of the %s", name, first, kind)
		}
		kinds[key] = kind
	}
	components := documented(t).Components
	for name := range components.Schemas {
		add("schemas", name)
	}
	for name := range components.Parameters {
		add("parameters", name)
	}
	for name := range components.Responses {
		add("responses", name)
	}
	for name := range components.Examples {
		add("examples", name)
	}
	for name := range components.Headers {
		add("headers", name)
	}
}

// An operation's id is the name of a function in generated clients, so it begins with a verb that fits the method.
func TestOpenAPI_OperationIDs(t *testing.T) {
	t.Parallel()
	verbs := map[string]*regexp.Regexp{
		"GET":    regexp.MustCompile(`^(get|list)[A-Z][A-Za-z0-9]+$`),
		"POST":   regexp.MustCompile(`^(create|complete|rotate)[A-Z][A-Za-z0-9]+$`),
		"PATCH":  regexp.MustCompile(`^update[A-Z][A-Za-z0-9]+$`),
		"PUT":    regexp.MustCompile(`^update[A-Z][A-Za-z0-9]+$`),
		"DELETE": regexp.MustCompile(`^delete[A-Z][A-Za-z0-9]+$`),
	}
	seen := map[string]string{}
	for path, item := range documented(t).Paths.Map() {
		for method, operation := range item.Operations() {
			id := operation.OperationID
			if !verbs[method].MatchString(id) {
				t.Errorf("%s %s is called %q, want it to match %s", method, path, id, verbs[method])
			}
			if other, taken := seen[strings.ToLower(id)]; taken {
				t.Errorf("%s and %s are both called %q", path, other, id)
			}
			seen[strings.ToLower(id)] = path
		}
	}
}
