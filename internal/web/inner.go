package web

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/access"
	"github.com/assaydata/assay/internal/table"
)

// Inner is a request for a route that another route makes for its caller: the path of a share link, for example, stands
// for a request of the account that made the link.
type Inner struct {
	Route  *Route
	Values []string // of the variables in its path
	Query  url.Values
	Caller assay.Caller
	Format *table.Format // nil for JSON
}

// ServeInner returns what the inner route would respond to the inner caller. The response is then sent as one of this
// request: its route says how long caches may keep it, and no limit of the inner caller counts it.
func (r *Request) ServeInner(in Inner) (Response, error) {
	if err := access.Admit(in.Route.Rule, in.Caller); err != nil {
		return Response{}, err
	}
	inner := &Request{
		server: r.server, settings: r.settings, resource: r.resource, route: in.Route, id: r.id, now: r.now, client: r.client,
		caller: in.Caller, format: in.Format,
	}
	path := in.Route.Path
	for segment := range strings.SplitSeq(in.Route.Path, "/") {
		name, isVariable := strings.CutPrefix(segment, "{")
		if isVariable {
			value := in.Values[len(inner.pathNames)]
			inner.pathValues[len(inner.pathNames)] = value
			inner.pathNames = append(inner.pathNames, strings.TrimSuffix(name, "}"))
			path = strings.Replace(path, segment, value, 1)
		}
	}
	inner.http = (&http.Request{
		Method: http.MethodGet, URL: &url.URL{Path: path, RawQuery: in.Query.Encode()}, Header: http.Header{},
	}).WithContext(r.Context())
	response, err := in.Route.Serve(inner)
	r.inner, r.format, r.facts = inner, in.Format, inner.facts
	return response, err
}
