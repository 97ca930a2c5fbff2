package web

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
)

// What tests from outside the package need.
const (
	PublicLimit  = publicLimit
	CompressFrom = compressFrom
	StaleAfter   = staleAfter
)

// WithConn makes requests with the context take nc for one of our connections.
func WithConn(ctx context.Context, nc net.Conn) context.Context {
	return withConn(ctx, &conn{Conn: nc})
}

// ClientOf is the client's address of a request.
func (s *Server) ClientOf(r *http.Request) netip.Addr { return s.settings.Load().proxies.client(r) }

// LogTo sends the request log elsewhere; nil for nowhere.
func (s *Server) LogTo(w io.Writer) { s.config.Requests = w }
