package web

import (
	"io"
	"net/http"
	"net/netip"
	"testing"
)

// What tests from outside the package need.
const (
	PublicLimit  = publicLimit
	SessionLimit = sessionLimit
	CompressFrom = compressFrom
	StaleAfter   = staleAfter
)

// OnBothPaths is onBothPaths.
func OnBothPaths(t *testing.T, test func(t *testing.T, standardOnly bool)) { onBothPaths(t, test) }

// ClientOf is the client's address of a request.
func (s *Server) ClientOf(r *http.Request) netip.Addr { return s.settings.Load().proxies.client(r) }

// LogTo sends the request log elsewhere; nil for nowhere.
func (s *Server) LogTo(w io.Writer) { s.config.Requests = w }
