package mcp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// description is what the tools need of the description of the API.
type description struct {
	Paths map[string]struct {
		Get operation `json:"get"`
	} `json:"paths"`
	Components struct {
		Schemas    map[string]any       `json:"schemas"`
		Parameters map[string]parameter `json:"parameters"`
	} `json:"components"`
}

// operation is what a route takes and responds with.
type operation struct {
	Parameters []parameter `json:"parameters"`
	Responses  map[string]struct {
		Content map[string]struct {
			Schema any `json:"schema"`
		} `json:"content"`
	} `json:"responses"`
}

// parameter is a parameter of a route.
type parameter struct {
	Reference   string         `json:"$ref"`
	Name        string         `json:"name"`
	About       string         `json:"description"`
	Required    bool           `json:"required"`
	Schema      map[string]any `json:"schema"`
	shown       string         // the name of the argument
	schemaShown map[string]any
}

// object is a JSON object.
type object = map[string]any

// describe completes a tool with what the description of the API says about its routes.
func (t *tool) describe(d *description) error {
	t.routes = slices.Clone(t.routes)
	for i := range t.routes {
		if err := t.routes[i].describe(d); err != nil {
			return err
		}
	}
	if t.input == nil {
		t.input = t.inputSchema()
	}
	if t.output == nil {
		t.output = t.outputSchema(d)
	}
	return nil
}

// ownParameters are those that a tool sets itself.
var ownParameters = []string{"format", "order", "limit"}

func (r *route) describe(d *description) error {
	found, ok := d.Paths[r.path]
	if !ok {
		return fmt.Errorf("the API has no route %s", r.path)
	}
	for _, p := range found.Get.Parameters {
		if p.Reference != "" {
			p = d.Components.Parameters[p.Reference[strings.LastIndexByte(p.Reference, '/')+1:]]
		}
		switch p.Name {
		case "order":
			r.ordered = true
		case "offset", "since":
			r.paged = true
		case "limit":
			_, r.limited = p.Schema["default"]
		}
		if slices.Contains(ownParameters, p.Name) || slices.ContainsFunc(r.parameters, p.isSpellingOf) {
			continue
		}
		p.shown = p.Name
		if normal(p.Name) == "gpu" && r.path != sitesPath {
			p.shown = "gpu"
		}
		p.schemaShown = argumentSchema(&p)
		r.parameters = append(r.parameters, p)
	}
	r.response = found.Get.Responses["200"].Content["application/json"].Schema
	return nil
}

// isSpellingOf reports whether two parameters are the same by other names.
func (p parameter) isSpellingOf(other parameter) bool { return normal(p.Name) == normal(other.Name) }

// fixedWords are the parameters whose words are fixed. The words of others are in the catalogs, which grow, and an
// error lists them.
var fixedWords = []string{"granularity", "scope", "by", "category", "windowDays", "index", "family"}

// argumentTexts explain the arguments of many tools to an agent, to whom routes and statuses say nothing. Those of
// others are the texts of the API.
var argumentTexts = map[string]string{
	"gpu":         "Exact name of a GPU model, such as H100 SXM. list_gpu_types has all.",
	"region":      "Region of the index, such as us-east; without it worldwide. An error lists the regions.",
	"as_of":       "Read what was published by this instant: a date or an ISO 8601 date-time, UTC.",
	"startDate":   "Start of the range, inclusive: YYYY-MM-DD or an ISO 8601 date-time, UTC.",
	"endDate":     "End of the range, inclusive, like startDate. Without it, now.",
	"granularity": "Time between rows. Hours need a Full key; the result says which was served.",
	"lab":         "A lab of list_token_types, such as openai. Without it, all.",
	"memoryType":  "Id or exact name of a memory type of list_memory_types.",
	"type":        "Id or exact name of a memory type of list_memory_types. Without it, all.",
	"product":     "Id of a metric of list_llm_coding_products, such as cc-prs.",
	"date":        "A day, as YYYY-MM-DD.",
}

// argumentSchema is the schema of an argument.
func argumentSchema(p *parameter) object {
	schema := object{"type": "string", "description": cmp.Or(argumentTexts[p.shown], p.About)}
	if kind, ok := p.Schema["type"].(string); ok {
		schema["type"] = kind
	}
	for _, name := range []string{"minimum", "maximum", "default"} {
		if value, ok := p.Schema[name]; ok {
			schema[name] = value
		}
	}
	if slices.Contains(fixedWords, p.Name) {
		for _, words := range []string{"enum", "x-extensible-enum"} {
			if p.Schema[words] != nil {
				schema["enum"] = p.Schema[words]
			}
		}
	}
	return schema
}

// inputSchema is the schema of the arguments. Those that not all routes need are optional.
func (t *tool) inputSchema() json.RawMessage {
	properties, needed := object{}, map[string]int{}
	for i := range t.routes {
		r := &t.routes[i]
		for _, p := range r.parameters {
			if properties[p.shown] == nil {
				properties[p.shown] = p.schemaShown
			}
			if p.Required {
				needed[p.shown]++
			}
		}
		if r.ordered || r.paged {
			properties["limit"] = limitSchema
		}
	}
	schema := object{"type": "object", "properties": properties}
	maps.DeleteFunc(needed, func(_ string, n int) bool { return n < len(t.routes) })
	if len(needed) > 0 {
		schema["required"] = slices.Sorted(maps.Keys(needed))
	}
	return encode(schema)
}

var limitSchema = object{
	"type": "integer", "minimum": 1, "maximum": mostRows, "default": defaultRows,
	"description": "The most rows in the result: of a series the newest, of a list the first.",
}

// added are the fields that a tool adds to a response.
var added = object{
	"truncated":      object{"type": "boolean", "description": "The result lacks rows: it has the newest."},
	"total":          object{"type": "integer", "description": "How many rows the response has."},
	"full_range":     object{"type": "string", "description": "The address of all rows; send the same key."},
	"full_range_csv": object{"type": "string", "description": "The address of all rows as CSV."},
	"synthetic":      object{"type": "boolean", "description": "The data is made up."},
}

// outputSchema is the schema of the result: that of the response, and the fields that are added.
func (t *tool) outputSchema(d *description) json.RawMessage {
	definitions := object{}
	var forms []any
	for i := range t.routes {
		forms = append(forms, d.open(t.routes[i].response, definitions))
	}
	return encode(object{"type": "object", "anyOf": forms, "properties": added, "$defs": definitions})
}

// open is a schema without what the API may change: its words and fields grow. References lead to definitions, to which
// what they need is added.
func (d *description) open(schema any, definitions object) any {
	switch s := schema.(type) {
	case []any:
		list := make([]any, len(s))
		for i, part := range s {
			list[i] = d.open(part, definitions)
		}
		return list
	case object:
		opened := object{}
		for name, part := range s {
			d.openField(opened, name, part, definitions)
		}
		return withoutTypeList(opened)
	}
	return schema
}

// withoutTypeList is a schema with several types as several schemas with one type each: not all clients know lists.
func withoutTypeList(schema object) object {
	types, isList := schema["type"].([]any)
	if !isList || schema["anyOf"] != nil {
		return schema
	}
	var forms []any
	for _, one := range types {
		form := object{"type": one}
		if one != "null" {
			maps.Copy(form, schema)
			form["type"] = one
		}
		forms = append(forms, form)
	}
	return object{"anyOf": forms}
}

func (d *description) openField(opened object, name string, part any, definitions object) {
	switch name {
	case "enum", "x-extensible-enum", "format", "example", "examples", "pattern", "additionalProperties",
		"description", "default":
		if fields, isField := part.(object); isField && name != "additionalProperties" { // a property of that name
			opened[name] = d.open(fields, definitions)
		}
		return
	case "oneOf": // what told its forms apart may be gone
		opened["anyOf"] = d.open(part, definitions)
		return
	case "$ref":
		text, _ := part.(string)
		local := text[strings.LastIndexByte(text, '/')+1:]
		opened["$ref"] = "#/$defs/" + local
		if definitions[local] == nil {
			definitions[local] = object{} // it may contain itself
			definitions[local] = d.open(d.Components.Schemas[local], definitions)
		}
		return
	}
	opened[name] = d.open(part, definitions)
}

// encode is the JSON of a value, with & as it is, which addresses have.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		panic(err) // it is made of texts, numbers and JSON
	}
	return bytes.TrimSpace(b.Bytes())
}

// public is the tool as agents see it.
func (t *tool) public() *mcp.Tool {
	no := false
	return &mcp.Tool{
		Name: t.name, Title: t.title, Description: t.about, InputSchema: t.input, OutputSchema: t.output,
		Annotations: &mcp.ToolAnnotations{
			Title: t.title, ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: &no, OpenWorldHint: &no,
		},
	}
}
