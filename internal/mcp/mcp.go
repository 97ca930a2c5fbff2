// Package mcp lets agents ask for market data: it is a server of the Model Context Protocol, whose tools are the routes
// of the API.
//
// A tool is a row of a table (tools.go): a name, a text that tells an agent when to use it, and the route that it
// calls. The rest follows from the description of the API: arguments are the route's parameters, the structured result
// is the route's response, and its schema is the schema of that response (schema.go). So a tool cannot show
// anything else than // the API does, and the caller's key decides what that is.
//
// There are two ways to the API, and one implementation of the tools above them (source.go). In a server, a call is a
// request that passes the same checks as one from the network: limits, access, usage, log. On the computer of a user,
// assay mcp sends the request to a server over HTTP.
//
// Results are short, because agents read all of them: of long series the newest rows (rows.go), with the address of the
// whole range.
package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/api"
)

// instructions tell an agent what this server is for.
const instructions = `Assay publishes compute price indices. GPU prices are in USD per GPU-hour: the average of all
verified rental transactions, weighted by GPU-hours, daily at 16:00 New York, hourly with a Full key.

- Names are exact: call a list_ tool when you do not know one. Times are UTC.
- A period without a value is left out. Do not fill it.
- Published values are never overwritten; as_of reads what was published by an instant.
- Results have the newest rows only. If "truncated" is true, say so, or give the user the address in "full_range".
- Without a key only free GPU models and labs can be read, and a short window of them. An error says what is missing.
- "synthetic" in a result means that the data is not real: say so.`

// Config is what the tools need.
type Config struct {
	Source  Source
	Release string // of this program
	Log     *slog.Logger
	// CheckedBy says who takes the steps of a proof.
	CheckedBy string
	// LogKeys are keys that the user trusts for the log of the server; without them verify_value asks the server.
	LogKeys []string
}

// service is what the tools have in common.
type service struct {
	Config
	tools map[string]*tool
}

// newServer makes a server of the protocol. It reads the description of the API, which takes some milliseconds.
func newServer(c Config) (*mcp.Server, *service, error) {
	text, err := api.OpenAPI(assay.DefaultCatalog())
	if err != nil {
		return nil, nil, err
	}
	var description description
	if err := json.Unmarshal(text, &description); err != nil {
		return nil, nil, fmt.Errorf("read the description of the API: %w", err)
	}
	s := &service{Config: c, tools: map[string]*tool{}}
	server := mcp.NewServer(&mcp.Implementation{Name: "assay", Title: "Assay", Version: c.Release}, &mcp.ServerOptions{
		Instructions: instructions, Logger: slog.New(slog.DiscardHandler),
		// Nothing changes while a client is connected, so there is nothing to subscribe to.
		Capabilities: &mcp.ServerCapabilities{
			Tools: &mcp.ToolCapabilities{}, Resources: &mcp.ResourceCapabilities{}, Prompts: &mcp.PromptCapabilities{},
		},
	})
	for i := range tools {
		t := tools[i]
		if err := t.describe(&description); err != nil {
			return nil, nil, fmt.Errorf("tool %s: %w", t.name, err)
		}
		s.tools[t.name] = &t
		server.AddTool(t.public(), s.handler(&t))
	}
	for i := range resources {
		r := &resources[i]
		server.AddResource(&mcp.Resource{
			URI: r.uri(), Name: r.name, Title: r.title, Description: r.about, MIMEType: r.kind,
		}, s.readResource(r))
	}
	for i := range prompts {
		server.AddPrompt(prompts[i].prompt, prompts[i].handler)
	}
	return server, s, nil
}

// handler serves calls of a tool. A failure is a result that the agent reads, and not an error of the protocol.
func (s *service) handler(t *tool) mcp.ToolHandler {
	return func(ctx context.Context, request *mcp.CallToolRequest) (result *mcp.CallToolResult, err error) {
		defer func() {
			if p := recover(); p != nil { // the library has no handler that ends the request alone
				s.Log.Error("call of a tool failed", "tool", t.name, "error", fmt.Sprint(p), "stack", string(debug.Stack()))
				result, err = failed(s.failure(ctx, assay.AsError(fmt.Errorf("%v", p)))), nil
			}
		}()
		text, problem := s.call(ctx, t, request.Params.Arguments)
		if problem != nil {
			return failed(problem), nil
		}
		return &mcp.CallToolResult{
			StructuredContent: text, Content: []mcp.Content{&mcp.TextContent{Text: string(text)}},
		}, nil
	}
}

// call calls a tool. It returns the result, or the body of an error; both are JSON objects.
func (s *service) call(ctx context.Context, t *tool, raw json.RawMessage) (result, problem json.RawMessage) {
	given, err := readArguments(raw)
	if err == nil {
		run := t.run
		if run == nil {
			run = (*service).callRoute
		}
		result, problem, err = run(s, ctx, t, given)
	}
	if err == nil {
		return result, problem
	}
	// The call has led to no request that counts, so it counts itself.
	if over := s.Source.Count(ctx); over != nil {
		err = over
	}
	return nil, s.failure(ctx, err)
}

// failed is the result of a call that failed.
func failed(problem json.RawMessage) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: string(problem)}}}
}
