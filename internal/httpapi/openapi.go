package httpapi

import (
	"bytes"
	_ "embed" // for the description
	"encoding/json"
	"reflect"
	"slices"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/assaydata/assay"
)

//go:embed openapi.yaml
var openAPIText []byte

var yamlType = []string{"application/yaml"}

// openAPIBodies are the description in both of its forms.
type openAPIBodies struct{ json, yaml *body }

// describe makes the description of this API under a catalog. Under the one that a new database starts with it is the
// file as it is kept by hand.
func describe(catalog assay.Catalog) (*openAPIBodies, error) {
	if reflect.DeepEqual(catalog, assay.DefaultCatalog()) {
		return describeDefault()
	}
	text, err := describeText(&catalog)
	if err != nil {
		return nil, err
	}
	return newOpenAPIBodies(text)
}

var describeDefault = sync.OnceValues(func() (*openAPIBodies, error) { return newOpenAPIBodies(openAPIText) })

func newOpenAPIBodies(text []byte) (*openAPIBodies, error) {
	var document any
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	asJSON, err := json.Marshal(document)
	if err != nil {
		return nil, err
	}
	return &openAPIBodies{newBody(asJSON, 0), newBody(text, 0)}, nil
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

// enumerations are the lists of a catalog that the description may enumerate, in an order of their own.
func enumerations(c *assay.Catalog) [][]string {
	var freeGPUs, freeLabs, memoryIDs, memoryNames, products, single, compared []string
	for _, g := range c.GPUs {
		if g.Free {
			freeGPUs = append(freeGPUs, g.Name)
		}
	}
	for _, l := range c.Labs {
		if l.Free {
			freeLabs = append(freeLabs, l.Lab)
		}
	}
	for _, m := range sortedMemory(c.MemoryTypes) {
		memoryIDs, memoryNames = append(memoryIDs, m.ID), append(memoryNames, m.MemoryType)
	}
	for _, p := range c.CodingProducts {
		products = append(products, p.ID)
		if p.Compare {
			compared = append(compared, p.ID)
		} else {
			single = append(single, p.ID)
		}
	}
	return [][]string{
		c.GPUNames(), freeGPUs, c.Regions, c.LabNames(), freeLabs,
		memoryIDs, memoryNames, slices.Concat(memoryIDs, memoryNames), products, single, compared,
	}
}

// eachEnum calls f for every enumeration of the document.
func eachEnum(node *yaml.Node, f func(enum *yaml.Node)) {
	for i, child := range node.Content {
		if node.Kind == yaml.MappingNode && i%2 == 1 && node.Content[i-1].Value == "enum" && child.Kind == yaml.SequenceNode {
			f(child)
		} else {
			eachEnum(child, f)
		}
	}
}

// besides tells whether an enumeration holds a word for all of a list or none of it, beside the list itself.
func besides(word *yaml.Node) bool {
	return word.Tag == "!!null" || word.Value == "" || word.Value == assay.Global
}

// enumerates tells whether an enumeration holds exactly the words of a list, in any order.
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

// openAPIJSON answers the description of this API as JSON.
func openAPIJSON(c *call) (answer, error) {
	bodies, err := c.s.catalogs.Load().description()
	if err != nil {
		return answer{}, err
	}
	return ready(bodies.json), nil
}

// openAPIYAML answers the description of this API as YAML, the form it is kept in.
func openAPIYAML(c *call) (answer, error) {
	bodies, err := c.s.catalogs.Load().description()
	if err != nil {
		return answer{}, err
	}
	a := ready(bodies.yaml)
	a.contentType = yamlType
	return a, nil
}
