package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/web"
)

// codeFailed is the code of errors of the protocol that say why the API has refused something.
const codeFailed = -32000

// count counts the messages that lead to no request of a route, and refuses those that ask for what does not exist.
// Calls of tools count as the requests that they make, or count themselves.
func (s *service) count(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, request mcp.Request) (mcp.Result, error) {
		counts, err := s.judge(method, request)
		if counts {
			return next(ctx, method, request)
		}
		switch over := s.Source.Count(ctx); {
		case errors.Is(over, context.Canceled):
			return nil, over
		case over != nil:
			return nil, &jsonrpc.Error{Code: codeFailed, Message: assay.AsError(over).Message}
		case err != nil:
			return nil, err
		}
		return next(ctx, method, request)
	}
}

// judge reports whether a message counts as the requests that it leads to, or why it leads nowhere.
func (s *service) judge(method string, request mcp.Request) (counts bool, err error) {
	switch r := request.(type) {
	case *mcp.CallToolRequest:
		if s.tools[r.Params.Name] != nil {
			return true, nil
		}
		return false, unknown("tool", r.Params.Name, "tools/list")
	case *mcp.ReadResourceRequest:
		i := slices.IndexFunc(resources, func(known resource) bool { return known.uri() == r.Params.URI })
		if i < 0 {
			return false, unknown("resource", r.Params.URI, "resources/list")
		}
		return resources[i].path != openAPIPath, nil // which has no limit
	case *mcp.GetPromptRequest:
		if !slices.ContainsFunc(prompts, func(known question) bool { return known.prompt.Name == r.Params.Name }) {
			return false, unknown("prompt", r.Params.Name, "prompts/list")
		}
	}
	if method == "subscriptions/listen" || method == "resources/subscribe" {
		return false, &jsonrpc.Error{
			Code: jsonrpc.CodeMethodNotFound, Message: "There is nothing to subscribe to: lists do not change.",
		}
	}
	return false, nil
}

func unknown(what, name, list string) error {
	return &jsonrpc.Error{
		Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("There is no %s %q. %s has all.", what, web.Shown(name), list),
	}
}
