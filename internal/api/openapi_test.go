package api_test

import (
	"maps"
	"regexp"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"go.yaml.in/yaml/v3"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/api"
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

// Generators put parameters, responses and schemas into one package. Two components of the same name, in any letter
// case, would be one type there.
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

// Every field that is a time is in the glossary of the description.
func TestOpenAPI_Glossary(t *testing.T) {
	t.Parallel()
	document := documented(t)
	_, glossary, _ := strings.Cut(document.Info.Description, "## Names of times")
	glossary, _, _ = strings.Cut(glossary, "\n## ")
	names := 0
	for schema, ref := range document.Components.Schemas {
		eachSchema(ref, map[*openapi3.Schema]bool{}, func(s *openapi3.Schema) {
			for name, property := range s.Properties {
				if format := property.Value.Format; format != "date" && format != "date-time" {
					continue
				}
				names++
				if !strings.Contains(glossary, "`"+name+"`") {
					t.Errorf("the glossary lacks %s of %s", name, schema)
				}
			}
		})
	}
	if names < 30 {
		t.Errorf("%d fields are times", names)
	}
}

// eachSchema calls f for a schema and every schema in it.
func eachSchema(ref *openapi3.SchemaRef, seen map[*openapi3.Schema]bool, f func(*openapi3.Schema)) {
	if ref == nil || ref.Value == nil || seen[ref.Value] {
		return
	}
	s := ref.Value
	seen[s] = true
	f(s)
	for _, list := range []openapi3.SchemaRefs{s.AnyOf, s.OneOf, s.AllOf} {
		for _, part := range list {
			eachSchema(part, seen, f)
		}
	}
	for _, property := range s.Properties {
		eachSchema(property, seen, f)
	}
	eachSchema(s.Items, seen, f)
	eachSchema(s.AdditionalProperties.Schema, seen, f)
}

// Every parameter has an example that its schema allows.
func TestOpenAPI_ParameterExamples(t *testing.T) {
	t.Parallel()
	for name, ref := range documented(t).Components.Parameters {
		p := ref.Value
		if p.Example == nil {
			t.Errorf("the parameter %s has no example", name)
		} else if err := p.Schema.Value.VisitJSON(p.Example); err != nil {
			t.Errorf("the example of the parameter %s: %v", name, err)
		}
	}
}

// A program that was generated from the description must survive what a later release adds: see Compatibility in its
// text.
func TestOpenAPI_IsOpen(t *testing.T) {
	t.Parallel()
	document, err := openapi3.NewLoader().LoadFromData(api.OpenAPIText)
	if err != nil {
		t.Fatal(err)
	}
	sent := map[*openapi3.Schema]bool{} // in the bodies of requests
	for _, item := range document.Paths.Map() {
		for _, operation := range item.Operations() {
			if operation.RequestBody != nil {
				for _, media := range operation.RequestBody.Value.Content {
					eachSchema(media.Schema, sent, func(*openapi3.Schema) {})
				}
			}
		}
	}
	final := maps.Clone(sent)
	// The parameters as they were applied: a word outside these lists is refused.
	for _, name := range []string{"HistoryRangeQuery", "SiteScope", "SitesGrouping", "Workload"} {
		final[document.Components.Schemas[name].Value] = true
	}
	for name, ref := range document.Components.Schemas {
		eachSchema(ref, maps.Clone(final), func(s *openapi3.Schema) {
			if has := s.AdditionalProperties.Has; has != nil && !*has {
				t.Errorf("an object in %s can get no more fields", name)
			}
			if len(s.Enum) > 0 {
				t.Errorf("a list in %s can get no more words: %v", name, s.Enum)
			}
		})
	}
	for s := range sent {
		if has := s.AdditionalProperties.Has; len(s.Properties) > 0 && has == nil {
			t.Errorf("an object that is sent does not say whether it may have more fields: %v", s.Description)
		}
	}
}

// Some tools take a quotation mark, an at sign or a hash in a pattern for an operator, except in brackets; read an
// exclusive minimum of 0 as 1; compare a pattern without anchors with the whole text; and take numbers without a format
// for floats of 32 bits.
func TestOpenAPI_CommonGround(t *testing.T) {
	t.Parallel()
	var document yaml.Node
	if err := yaml.Unmarshal(api.OpenAPIText, &document); err != nil {
		t.Fatal(err)
	}
	brackets := regexp.MustCompile(`\[[^]]*\]`)
	patterns, numbers := 0, 0
	eachMapping(&document, func(schema map[string]*yaml.Node) {
		if p := schema["pattern"]; p != nil && p.Kind == yaml.ScalarNode {
			patterns++
			if strings.ContainsAny(brackets.ReplaceAllString(p.Value, ""), `"@#&~<>`) {
				t.Errorf("line %d: the pattern %s has an operator of another dialect outside of brackets", p.Line, p.Value)
			}
			if !strings.HasPrefix(p.Value, "^") || !strings.HasSuffix(p.Value, "$") {
				t.Errorf("line %d: the pattern %s is not for the whole text", p.Line, p.Value)
			}
		}
		if e := schema["exclusiveMinimum"]; e != nil {
			t.Errorf("line %d: exclusiveMinimum is %s; write a minimum", e.Line, e.Value)
		}
		if n := schema["type"]; n != nil && (n.Value == "number" || len(n.Content) > 0 && n.Content[0].Value == "number") {
			numbers++
			if f := schema["format"]; f == nil || f.Value != "double" {
				t.Errorf("line %d: a number without the format double", n.Line)
			}
		}
	})
	if patterns < 10 || numbers < 30 {
		t.Errorf("%d patterns and %d numbers were looked at", patterns, numbers)
	}
}

// eachMapping calls f for every mapping of a document.
func eachMapping(node *yaml.Node, f func(map[string]*yaml.Node)) {
	if node.Kind == yaml.MappingNode {
		members := map[string]*yaml.Node{}
		for i := 0; i < len(node.Content); i += 2 {
			members[node.Content[i].Value] = node.Content[i+1]
		}
		f(members)
	}
	for _, child := range node.Content {
		eachMapping(child, f)
	}
}
