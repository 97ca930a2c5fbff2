// Package strict closes a description of an API, for tests.
//
// The published description is open, so that clients generated from it survive what a later release adds: objects may
// have more members than it lists, and a list of words under x-extensible-enum may grow. This server, however, sends
// exactly what it lists. Tests compare its responses with the closed form, in which an object has no other members, and
// a list of words is an enumeration.
package strict

import (
	"encoding/json"
	"slices"
)

// ExtensibleEnum is the keyword of a list of words that may grow.
const ExtensibleEnum = "x-extensible-enum"

// Close returns the closed form of a description in JSON.
func Close(text []byte) ([]byte, error) {
	var document any
	if err := json.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	visit(document)
	return json.Marshal(document)
}

// visit closes all schemas at or below a node.
func visit(node any) {
	switch node := node.(type) {
	case map[string]any:
		closeObject(node)
		closeEnum(node)
		for _, child := range node {
			visit(child)
		}
	case []any:
		for _, child := range node {
			visit(child)
		}
	}
}

// closeObject allows no other members in an object that lists some, unless it says more of them. A member may be named
// properties; a schema has a type beside it.
func closeObject(schema map[string]any) {
	_, lists := schema["properties"].(map[string]any)
	_, says := schema["additionalProperties"]
	if lists && !says && isType(schema, "object") {
		schema["additionalProperties"] = false
	}
}

// closeEnum makes an enumeration of a list of words that may grow. Null is not a word, but allowed by the type.
func closeEnum(schema map[string]any) {
	words, ok := schema[ExtensibleEnum].([]any)
	if !ok {
		return
	}
	if isType(schema, "null") {
		words = append(slices.Clone(words), nil)
	}
	schema["enum"] = words
	delete(schema, ExtensibleEnum)
}

// isType reports whether a schema allows a type.
func isType(schema map[string]any, name string) bool {
	switch t := schema["type"].(type) {
	case string:
		return t == name
	case []any:
		return slices.Contains(t, any(name))
	}
	return false
}
