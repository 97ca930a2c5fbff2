package httpapi

import (
	_ "embed" // for the description
	"encoding/json"
	"sync"

	"go.yaml.in/yaml/v3"
)

//go:embed openapi.yaml
var openAPIText []byte

var yamlType = []string{"application/yaml"}

// openAPIBodies are the description in both of its forms; YAML is the one that is kept by hand.
var openAPIBodies = sync.OnceValues(func() (bodies struct{ json, yaml *body }, err error) {
	var document any
	if err = yaml.Unmarshal(openAPIText, &document); err != nil {
		return bodies, err
	}
	text, err := json.Marshal(document)
	if err != nil {
		return bodies, err
	}
	bodies.json, bodies.yaml = newBody(text, 0), newBody(openAPIText, 0)
	return bodies, nil
})

// openAPIJSON answers the description of this API as JSON.
func openAPIJSON(*call) (answer, error) {
	bodies, err := openAPIBodies()
	if err != nil {
		return answer{}, err
	}
	return ready(bodies.json), nil
}

// openAPIYAML answers the description of this API as it is kept.
func openAPIYAML(*call) (answer, error) {
	bodies, err := openAPIBodies()
	if err != nil {
		return answer{}, err
	}
	a := ready(bodies.yaml)
	a.contentType = yamlType
	return a, nil
}
