package mcp

import (
	"net/http"
	"sync"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/docs"
	"github.com/assaydata/assay/internal/access"
	"github.com/assaydata/assay/internal/web"
)

// DocumentRoutes are the documents for agents and people.
func DocumentRoutes() web.Group {
	const markdown = "text/markdown; charset=utf-8"
	text := func(text func() string) func(*web.Request) (web.Response, error) {
		body := sync.OnceValue(func() *web.Body { return web.NewBody([]byte(text()), 0) })
		return func(*web.Request) (web.Response, error) { return web.Ready(body()).As(markdown), nil }
	}
	pages := sync.OnceValue(func() map[string]*web.Body {
		bodies := map[string]*web.Body{}
		for _, page := range docs.Pages() {
			bodies[page.Name] = web.NewBody([]byte(page.Text), 0)
		}
		return bodies
	})
	page := func(r *web.Request) (web.Response, error) {
		body := pages()[r.PathValue("page")]
		if body == nil {
			return web.Response{}, errNoDocument
		}
		return web.Ready(body).As(markdown), nil
	}
	route := func(path string, serve func(*web.Request) (web.Response, error)) web.Route {
		return web.Route{Method: http.MethodGet, Path: path, Rule: access.Public, Serve: serve, WithoutData: true}
	}
	return web.Group{Routes: []web.Route{
		route("/llms.txt", text(docs.List)),
		route("/llms-full.txt", text(docs.Full)),
		route(docs.Path+"{page}", page),
	}}
}

var errNoDocument = &assay.Error{
	Kind: assay.NotFound, Code: "unknown_path", Message: "There is no such document. /llms.txt lists them.",
}
