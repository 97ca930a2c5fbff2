package strict

import (
	"strings"
	"testing"
)

func TestClose(t *testing.T) {
	t.Parallel()
	f := func(open, want string) {
		t.Helper()
		closed, err := Close([]byte(open))
		if err != nil || string(closed) != want {
			t.Errorf("%s became %s (%v), want %s", open, closed, err, want)
		}
	}
	// Objects
	f(`{"type":"object","properties":{"a":{}}}`, `{"additionalProperties":false,"properties":{"a":{}},"type":"object"}`)
	f(`{"type":["object","null"],"properties":{}}`,
		`{"additionalProperties":false,"properties":{},"type":["object","null"]}`)
	f(`{"additionalProperties":true,"properties":{},"type":"object"}`,
		`{"additionalProperties":true,"properties":{},"type":"object"}`)
	f(`{"type":"object"}`, `{"type":"object"}`)
	f(`{"properties":{"properties":{"const":1},"type":{"const":2}},"type":"object"}`,
		`{"additionalProperties":false,"properties":{"properties":{"const":1},"type":{"const":2}},"type":"object"}`)
	f(`[{"items":{"properties":{},"type":"object"}}]`,
		`[{"items":{"additionalProperties":false,"properties":{},"type":"object"}}]`)
	// Words
	f(`{"type":"string","x-extensible-enum":["a","b"]}`, `{"enum":["a","b"],"type":"string"}`)
	f(`{"type":["string","null"],"x-extensible-enum":["a"]}`, `{"enum":["a",null],"type":["string","null"]}`)
	f(`{"type":"string","x-extensible-enum":[]}`, `{"enum":[],"type":"string"}`)
	f(`{"enum":["a"],"type":"string"}`, `{"enum":["a"],"type":"string"}`)

	if _, err := Close([]byte(`openapi: 3.1.0`)); err == nil || !strings.Contains(err.Error(), "invalid character") {
		t.Errorf("YAML: %v", err)
	}
}
