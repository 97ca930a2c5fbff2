package api

import (
	"bytes"
	_ "embed" // for the description
	"encoding/json"
	"reflect"
	"slices"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/snapshot"
	"github.com/assaydata/assay/internal/web"
)

//go:embed openapi.yaml
var openAPIText []byte

const yamlType = "application/yaml"

// description is the description of the API in both of its forms, or why it could not be made.
type description struct {
	json, yaml *web.Body
	err        error
}

// description returns the description of the API under the catalog of a snapshot.
func (a *API) description(snap *snapshot.Snapshot) description {
	return a.descriptions.Get(snap.CatalogVersion, func() description { return describe(snap.Catalog) })
}

// describe makes the description of the API under a catalog. Under the default catalog it is the file as it is
// maintained by hand.
func describe(catalog assay.Catalog) description {
	if reflect.DeepEqual(catalog, assay.DefaultCatalog()) {
		return describeDefault()
	}
	text, err := describeText(&catalog)
	if err != nil {
		return description{err: err}
	}
	return newDescription(text)
}

// describeDefault is shared by all servers of a process.
var describeDefault = sync.OnceValue(func() description { return newDescription(openAPIText) })

func newDescription(text []byte) description {
	var document any
	if err := yaml.Unmarshal(text, &document); err != nil {
		return description{err: err}
	}
	asJSON, err := json.Marshal(document)
	if err != nil {
		return description{err: err}
	}
	return description{json: web.NewBody(asJSON, 0), yaml: web.NewBody(text, 0)}
}

// OpenAPI is the description of the API under a catalog, as JSON.
func OpenAPI(catalog assay.Catalog) ([]byte, error) {
	d := describe(catalog)
	if d.err != nil {
		return nil, d.err
	}
	return d.json.Text(), nil
}

// describeText is the file with the catalog's entries in its enumerations.
func describeText(catalog *assay.Catalog) ([]byte, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(openAPIText, &document); err != nil {
		return nil, err
	}
	defaults := assay.DefaultCatalog()
	before, now := enumerations(&defaults), enumerations(catalog)
	eachEnum(&document, func(enum *yaml.Node) {
		if i := slices.IndexFunc(before, func(list []string) bool { return enumerates(enum, list) }); i >= 0 {
			setEnum(enum, now[i])
		}
	})
	var text bytes.Buffer
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	if err := encoder.Encode(&document); err != nil {
		return nil, err
	}
	return text.Bytes(), encoder.Close()
}

// enumerations are the lists of a catalog that the description may enumerate.
func enumerations(c *assay.Catalog) (lists [][]string) {
	for _, f := range families {
		if f.enums != nil {
			lists = append(lists, f.enums(c)...)
		}
	}
	return lists
}

// enumKeywords are those of a list of words: one that is final, and one that may grow.
var enumKeywords = []string{"enum", "x-extensible-enum"}

// eachEnum calls f for every list of words in the document.
func eachEnum(node *yaml.Node, f func(enum *yaml.Node)) {
	for i, child := range node.Content {
		if node.Kind == yaml.MappingNode && i%2 == 1 && child.Kind == yaml.SequenceNode &&
			slices.Contains(enumKeywords, node.Content[i-1].Value) {
			f(child)
		} else {
			eachEnum(child, f)
		}
	}
}

// besides reports whether an enumeration holds a word for all of a list or none of it, beside the list itself.
func besides(word *yaml.Node) bool {
	return word.Tag == "!!null" || word.Value == "" || word.Value == assay.Global
}

// enumerates reports whether an enumeration holds exactly the words of a list, in any order.
func enumerates(enum *yaml.Node, list []string) bool {
	var words []string
	for _, word := range enum.Content {
		if !besides(word) {
			words = append(words, word.Value)
		}
	}
	slices.Sort(words)
	return len(words) > 0 && slices.Equal(words, slices.Sorted(slices.Values(list)))
}

// setEnum puts a list in the place of the one that is enumerated.
func setEnum(enum *yaml.Node, list []string) {
	enum.Content = slices.DeleteFunc(enum.Content, func(word *yaml.Node) bool { return !besides(word) })
	for _, word := range list {
		node := &yaml.Node{}
		node.SetString(word)
		enum.Content = append(enum.Content, node)
	}
}

// openAPIJSON serves the description of the API as JSON.
func openAPIJSON(q query) (web.Response, error) {
	d := q.api.description(q.snap)
	if d.err != nil {
		return web.Response{}, d.err
	}
	return web.Ready(d.json), nil
}

// openAPIYAML serves the description of the API as YAML, the form in which it is maintained.
func openAPIYAML(q query) (web.Response, error) {
	d := q.api.description(q.snap)
	if d.err != nil {
		return web.Response{}, d.err
	}
	return web.Ready(d.yaml).As(yamlType), nil
}
