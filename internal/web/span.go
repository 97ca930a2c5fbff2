package web

import (
	"net/netip"

	"github.com/assaydata/assay/internal/tracing"
)

// beginSpan begins the span of the request, if it is one of those that are traced. What is done for the request becomes
// part of the trace through its context. Only a trusted proxy decides which of its requests are traced: anyone else
// could have all of theirs traced.
func (r *Request) beginSpan() {
	parent := ""
	if header := r.http.Header["Traceparent"]; len(header) == 1 {
		if peer, err := netip.ParseAddrPort(r.http.RemoteAddr); err == nil &&
			r.settings.proxies.trusts(peer.Addr().Unmap().WithZone("")) {
			parent = header[0]
		}
	}
	ctx, span := r.server.config.Traces.Request(r.http.Context(), parent, r.now)
	if span != nil {
		r.http, r.span = r.http.WithContext(ctx), span
	}
}

// endSpan ends the span of the request, if it has one. It names the route, as the log does.
func (r *Request) endSpan() {
	if r.span == nil {
		return
	}
	route := "unknown"
	switch {
	case r.route != nil:
		route = r.route.Path
	case r.page:
		route = "page"
	}
	r.span.End(tracing.Ended{
		Method: shown(r.http.Method), Route: route, ID: r.id, Tier: string(r.caller.Tier), Status: r.out.status,
		At: r.now.Add(r.took),
	})
}
