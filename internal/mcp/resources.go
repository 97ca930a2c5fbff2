package mcp

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/web"
)

// resource is a text that a client may give an agent to read: the response of a route without parameters.
type resource struct{ name, title, about, path, kind string }

var resources = []resource{
	{
		"methodology", "Methodology", "The rules by which indices are computed, all versions, and which one is in effect.",
		"/api/methodology", "application/json",
	},
	{"gpu-types", "GPU models", "The GPU models that have a price index.", "/api/gpu-types", "application/json"},
	{"regions", "Regions", "The regions that have an index of their own.", "/api/regions", "application/json"},
	{"token-types", "Labs", "The labs that have a token price index.", "/api/token-types", "application/json"},
	{"memory-types", "Memory types", "The memory types that have a price.", "/api/memory-types", "application/json"},
	{
		"llm-coding-products", "Coding metrics", "The metrics of coding tools.", "/api/llm-coding/products",
		"application/json",
	},
	{
		"openapi", "OpenAPI description", "Every route of the API, with parameters and fields.", openAPIPath,
		"application/json",
	},
}

const openAPIPath = "/openapi.json"

func (r *resource) uri() string { return "assay://" + r.name }

// readResource reads a resource.
func (s *service) readResource(r *resource) mcp.ResourceHandler {
	return func(ctx context.Context, _ *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		found, problem, err := s.get(ctx, r.path, 0, false)
		if err != nil {
			problem = s.failure(ctx, err)
		}
		if problem != nil {
			var body web.ErrorBody
			if err := json.Unmarshal(problem, &body); err != nil {
				return nil, err
			}
			return nil, &jsonrpc.Error{Code: codeFailed, Message: body.Message, Data: problem}
		}
		return &mcp.ReadResourceResult{
			Contents: []*mcp.ResourceContents{{URI: r.uri(), MIMEType: r.kind, Text: string(found.whole())}},
		}, nil
	}
}

// question is one that a user can begin with.
type question struct {
	prompt  *mcp.Prompt
	handler mcp.PromptHandler
}

var prompts = []question{
	{
		&mcp.Prompt{
			Name: "market_today", Title: "GPU market today", Description: "What GPUs cost now, and what has changed.",
		},
		ask("What do GPUs cost now, and how has that changed over the last week and the last month? Use " +
			"get_market_index and get_gpu_index_history of Assay. Show a table in USD per GPU-hour with the change in " +
			"percent, and say at what time the prices were published."),
	},
	{
		&mcp.Prompt{
			Name: "prove_price", Title: "Prove a price", Description: "Check a published price against the public log.",
			Arguments: []*mcp.PromptArgument{
				{Name: "gpu", Description: "The GPU model, such as H100 SXM.", Required: true},
				{Name: "date", Description: "The day, as YYYY-MM-DD.", Required: true},
			},
		},
		provePrice,
	},
}

// ask is a prompt without arguments.
func ask(text string) mcp.PromptHandler {
	return func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) { return promptOf(text), nil }
}

func promptOf(text string) *mcp.GetPromptResult {
	return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: text}}}}
}

func provePrice(_ context.Context, request *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	gpu, date := request.Params.Arguments["gpu"], request.Params.Arguments["date"]
	if gpu == "" || date == "" {
		err := assay.AsError(missing(request.Params.Name, map[bool]string{true: "gpu", false: "date"}[gpu == ""]))
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Message}
	}
	return promptOf("Is the daily price of the GPU model " + gpu + " on " + date +
		" proven? Use verify_value of Assay. Say what was checked, by whom, and what only I can check."), nil
}
