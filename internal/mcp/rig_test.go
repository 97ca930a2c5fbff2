package mcp_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/assaydata/assay/internal/apitest"
	"github.com/assaydata/assay/internal/mcp"
)

// rig adds what the tests of this package need.
type rig struct{ *apitest.Rig }

func newRig(t testing.TB, options ...func(*apitest.Config)) *rig {
	t.Helper()
	return &rig{apitest.New(t, options...)}
}

// quiet is an option for a server that several requests reach at once: the rig's log is not for that.
func quiet(c *apitest.Config) {
	c.Web.Requests, c.Web.Log = nil, slog.New(slog.DiscardHandler)
}

// post sends a body to the tools as a caller. The header "peer" is the client's address.
func (r *rig) post(caller, body string, headers ...string) apitest.Reply {
	r.Test.Helper()
	request := httptest.NewRequest("POST", mcp.Path, strings.NewReader(body))
	request.RequestURI = mcp.Path
	r.Sent++
	request.RemoteAddr = fmt.Sprintf("192.0.%d.%d:1234", r.Sent/256, r.Sent%256)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	if caller != "" {
		request.Header.Set("Authorization", "Bearer "+r.Keys[caller])
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "peer" {
			request.RemoteAddr = headers[i+1]
			continue
		}
		request.Header.Set(headers[i], headers[i+1])
	}
	return r.Send(request)
}

// message is a message with a method and parameters, which are JSON.
func message(method, params string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`
}

// toolCall is the message that calls a tool.
func toolCall(tool, arguments string) string {
	return message("tools/call", `{"name":"`+tool+`","arguments":`+arguments+`}`)
}

// result is the result of a call.
type result struct {
	Result struct {
		IsError    bool            `json:"isError"`
		Structured json.RawMessage `json:"structuredContent"`
		Content    []struct {
			Type, Text string
		} `json:"content"`
	} `json:"result"`
	Error *struct {
		Code    int
		Message string
		Data    json.RawMessage
	} `json:"error"`
}

// text is what the agent reads.
func (r *result) text() string {
	if len(r.Result.Content) != 1 {
		return fmt.Sprintf("%d contents", len(r.Result.Content))
	}
	return r.Result.Content[0].Text
}

// call calls a tool.
func (r *rig) call(caller, tool, arguments string, headers ...string) *result {
	r.Test.Helper()
	return r.read(r.post(caller, toolCall(tool, arguments), headers...))
}

func (r *rig) read(reply apitest.Reply) *result {
	r.Test.Helper()
	found := &result{}
	if err := json.Unmarshal([]byte(reply.Text), found); err != nil {
		r.Test.Fatalf("%d %s: %v", reply.StatusCode, reply.Text, err)
	}
	return found
}

// shownTool is a tool as agents see it.
type shownTool struct {
	Name, Title, Description  string
	InputSchema, OutputSchema json.RawMessage
	Annotations               struct {
		ReadOnlyHint, IdempotentHint   bool
		DestructiveHint, OpenWorldHint *bool
	}
}

// list lists the tools.
func (r *rig) list() map[string]shownTool {
	r.Test.Helper()
	var listed struct {
		Result struct{ Tools []shownTool }
	}
	reply := r.post("", message("tools/list", "{}"))
	if err := json.Unmarshal([]byte(reply.Text), &listed); err != nil {
		r.Test.Fatal(err)
	}
	tools := map[string]shownTool{}
	for _, tool := range listed.Result.Tools {
		tools[tool.Name] = tool
	}
	return tools
}

// compile compiles a schema.
func compile(t testing.TB, schema json.RawMessage) *jsonschema.Schema {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	compiler := jsonschema.NewCompiler()
	if err == nil {
		err = compiler.AddResource("schema.json", value)
	}
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile("schema.json")
	if err != nil {
		t.Fatalf("%v\n%s", err, schema)
	}
	return compiled
}

// fits checks a value against a schema.
func fits(t testing.TB, schema, value json.RawMessage) {
	t.Helper()
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err == nil {
		err = compile(t, schema).Validate(parsed)
	}
	if err != nil {
		t.Errorf("%v\n%.600s", err, value)
	}
}
