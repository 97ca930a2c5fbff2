package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/assaydata/assay/internal/access"
	"github.com/assaydata/assay/internal/web"
)

// Path is where a server offers its tools.
const Path = "/mcp"

// Limits of a request. The arguments of a tool take a hundred bytes or two.
const (
	maxBody  = 64 << 10
	maxBatch = 16 // messages; clients of the newest versions of the protocol send one
)

// Server offers the tools over HTTP. It keeps nothing between requests, so any node can serve any of them.
type Server struct {
	config  Config
	handler http.Handler // the whole server, for the requests of tools
	begin   func() (http.Handler, error)
}

// New makes a server of the tools. Serve must be called before the first request.
func New(config Config) *Server {
	s := &Server{config: config}
	s.config.Source = s
	s.begin = sync.OnceValues(func() (http.Handler, error) { // when the first agent comes: most servers never see one
		server, service, err := newServer(s.config)
		if err != nil {
			return nil, err
		}
		server.AddReceivingMiddleware(service.count)
		return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{
			Stateless: true, JSONResponse: true, PropagateRequestCancellation: true, MaxRequestBodyBytes: maxBody,
			DisableLocalhostProtection: true, // a proxy on this machine names another host; web checks the origin
		}), nil
	})
	return s
}

// Serve names the handler of all requests, which has the routes that tools call.
func (s *Server) Serve(handler http.Handler) { s.handler = handler }

// Routes are those for agents, which post.
func (s *Server) Routes() web.Group {
	return web.Group{Posts: true, Routes: []web.Route{
		{Method: http.MethodPost, Path: Path, Limit: web.Unlimited, Rule: access.Public, Serve: s.serve},
	}}
}

// caller is the sender of the request that a call came with.
type caller struct {
	*web.Sender

	mu      sync.Mutex
	request *web.Request // nil once it has ended; guarded by mu
	counted bool         // some limit has counted the request; guarded by mu
	refusal error        // of the public limit; guarded by mu
}

type callerKey struct{}

func callerOf(ctx context.Context) *caller { return ctx.Value(callerKey{}).(*caller) }

// serve serves one request.
func (s *Server) serve(r *web.Request) (web.Response, error) {
	c := &caller{Sender: r.Sender(), request: r}
	defer c.end()
	response, err := s.answer(r, c)
	// A call counts as the requests that it makes. What has made none counts under the public limit.
	if _, over := c.countOnce(); over != nil {
		return web.Response{}, over
	}
	return response, err
}

// answer reads the messages of a request and lets the library respond.
func (s *Server) answer(r *web.Request, c *caller) (web.Response, error) {
	body, err := r.ReadBody("a JSON-RPC message", maxBody)
	if err == nil {
		err = checkMessages(body)
	}
	if err == nil {
		err = checkVersion(r)
	}
	if err != nil {
		return web.Response{}, err
	}
	handler, err := s.begin()
	if err != nil {
		return web.Response{}, err
	}
	ctx := context.WithValue(r.Context(), callerKey{}, c)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, Path, bytes.NewReader(body))
	if err != nil {
		return web.Response{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	for _, name := range []string{"Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name"} {
		if values := r.Header(name); values != nil {
			request.Header[name] = values
		}
	}
	out := &reply{header: http.Header{}, status: http.StatusOK}
	handler.ServeHTTP(out, request)
	return out.response(c.ID, body)
}

// checkMessages refuses what is no message, or too many.
func checkMessages(body []byte) error {
	body = bytes.TrimSpace(body)
	if !json.Valid(body) || body[0] != '{' && body[0] != '[' {
		return web.InvalidBody("it is not JSON, must be a JSON-RPC message")
	}
	var batch []json.RawMessage
	if body[0] == '[' && (json.Unmarshal(body, &batch) != nil || len(batch) == 0 || len(batch) > maxBatch) {
		return web.InvalidBody("it has %d messages, must have 1 to %d", len(batch), maxBatch)
	}
	return nil
}

// checkVersion refuses versions of the protocol that have never been. Later ones the library refuses in its own way,
// with which clients find one that both know.
func checkVersion(r *web.Request) error {
	version, known := strings.Join(r.Header("Mcp-Protocol-Version"), ", "), mcp.SupportedProtocolVersions()
	if version == "" || slices.Contains(known, version) || isDate.MatchString(version) && version > known[0] {
		return nil
	}
	return web.Invalid("MCP-Protocol-Version", version, web.JoinWords(known, "or"), known...)
}

// isDate matches the name of a version.
var isDate = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`)

// countOnce counts the request under the public limit, unless something has counted it.
func (c *caller) countOnce() (counted bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counted || c.request == nil {
		return false, c.refusal
	}
	return true, c.countLocked()
}

func (c *caller) countLocked() error {
	c.counted = true
	if err := c.request.CountPublic(1); err != nil {
		c.refusal = err
		return err
	}
	return nil
}

// end drops the request: a call may outlast its client.
func (c *caller) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.request = nil
}

// Count counts a message or a call that has led to no request.
func (s *Server) Count(ctx context.Context) error {
	c := callerOf(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.request == nil {
		return context.Canceled
	}
	return c.countLocked()
}

// Base is the address of the server.
func (s *Server) Base(ctx context.Context) string { return callerOf(ctx).Base }

// RequestID is that of the request that the call came with.
func (s *Server) RequestID(ctx context.Context) string { return callerOf(ctx).ID }

// Get lets the server serve a request of the caller.
func (s *Server) Get(ctx context.Context, target string, body *rows) (status int, header http.Header, err error) {
	c := callerOf(ctx)
	c.mu.Lock()
	c.counted = true
	c.mu.Unlock()
	request, err := c.Get(ctx, target)
	if err != nil {
		return 0, nil, err
	}
	out := &recorder{header: http.Header{}, body: body}
	defer func() {
		if p := recover(); p != nil { // as net/http does: the server has logged why
			err = fmt.Errorf("the response was aborted: %v", p)
		}
	}()
	s.handler.ServeHTTP(out, request)
	return out.status, out.header, nil
}

// recorder is the writer of a response that a tool reads.
type recorder struct {
	header http.Header
	status int
	body   *rows
}

// Header returns the headers.
func (w *recorder) Header() http.Header { return w.header }

// WriteHeader sets the status.
func (w *recorder) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

// Write reads a part of the body.
func (w *recorder) Write(part []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(part)
}

// reply collects what the library responds.
type reply struct {
	bytes.Buffer

	header http.Header
	status int
}

// Header returns the headers.
func (w *reply) Header() http.Header { return w.header }

// WriteHeader sets the status.
func (w *reply) WriteHeader(status int) { w.status = status }

// response is the response to the client. The library refuses in plain text what is wrong with a message; that becomes
// an error of the protocol or, if the message has no id to respond to, one of the API.
func (w *reply) response(id string, body []byte) (web.Response, error) {
	text := w.Bytes()
	isStream := strings.HasPrefix(w.header.Get("Content-Type"), "text/event-stream") // of a subscription, which is refused
	if !isStream && (w.status < http.StatusBadRequest || json.Valid(text)) {
		return web.NoStoreText(w.status, text), nil
	}
	var message struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	reason := strings.TrimSuffix(strings.TrimSpace(string(text)), ".")
	if json.Unmarshal(body, &message) != nil || len(message.ID) == 0 || string(message.ID) == "null" {
		return web.Response{}, web.InvalidBody("%s", web.Shown(reason))
	}
	failure := wireError{Code: jsonrpc.CodeInvalidRequest, Message: web.Shown(reason)}
	failure.Data.RequestID = id
	if isStream || strings.Contains(reason, "not handled") {
		w.status = http.StatusOK
		failure.Code = jsonrpc.CodeMethodNotFound
		failure.Message = fmt.Sprintf("There is no method %q.", web.Shown(message.Method))
	}
	return web.NoStore(w.status, map[string]any{"jsonrpc": "2.0", "id": message.ID, "error": failure})
}

// wireError is an error of the protocol.
type wireError struct {
	Code    int64  `json:"code"`
	Message string `json:"message"`
	Data    struct {
		RequestID string `json:"request_id"`
	} `json:"data"`
}
