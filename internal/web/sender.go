package web

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/url"
	"strings"
)

// Sender sends further requests for the client of a request: with its address, its key and its id, but without its
// session, which only pages of this server use. Unlike the request, it can be kept.
type Sender struct {
	ID     string // of the request
	Base   string // the address of this server, without a path, as the client knows it
	remote string
	secure *tls.ConnectionState // of the connection; nil without TLS
	header http.Header
}

// passedOn are the headers that decide who the client is and what it may read.
var passedOn = []string{"Authorization", XForwardedFor, Forwarded, "X-Forwarded-Proto"}

// Sender returns the sender of the request.
func (r *Request) Sender() *Sender {
	s := &Sender{
		ID: strings.Clone(r.id), Base: r.Origin(), remote: r.http.RemoteAddr, secure: r.http.TLS,
		header: http.Header{"X-Request-Id": {r.id}},
	}
	for _, name := range passedOn {
		if values := r.http.Header[name]; values != nil {
			s.header[name] = values
		}
	}
	return s
}

// Get makes a request of the sender.
func (s *Sender) Get(ctx context.Context, target string) (*http.Request, error) {
	parsed, err := url.ParseRequestURI(target)
	if err != nil {
		return nil, err
	}
	request := &http.Request{
		Method: http.MethodGet, URL: parsed, RequestURI: target, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: s.header.Clone(), Body: http.NoBody, Host: parsed.Host, RemoteAddr: s.remote,
		TLS: s.secure,
	}
	return request.WithContext(ctx), nil
}
