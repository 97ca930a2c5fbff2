//go:build linux

package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"hash/maphash"
	"image/png"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"go.yaml.in/yaml/v3"
)

// checker compares responses with the description. Every response is checked; a body or a header value that was
// already found right under the same rule is not parsed again.
type checker struct {
	description *description
	right       seen
}

// check returns what is wrong with a response.
func (c *checker) check(r *request, a *received) error {
	if err := c.checkSecrets(r, a); err != nil {
		return err
	}
	if r.broken && isRefusal(a) {
		return nil
	}
	if err := c.checkHeaders(r, a); err != nil {
		return err
	}
	p := c.description.find(r.target)
	if p == nil || r.broken && a.status == http.StatusNotFound { // a path with raw bytes may mean none
		return c.checkUndescribed(r, a)
	}
	o := p.operation(r.method)
	switch {
	case r.method == http.MethodOptions:
		return c.checkOptions(a)
	case o == nil:
		return c.checkFailure(r, a, p, http.StatusMethodNotAllowed, http.StatusRequestURITooLong, http.StatusTooManyRequests)
	}
	if err := checkAccess(r, a, o); err != nil {
		return err
	}
	described := o.responses[a.status]
	if described == nil {
		return fmt.Errorf("the description has no status %d for %s %s", a.status, o.method, o.template)
	}
	if a.status >= 500 && a.status != http.StatusNotImplemented && a.get("Retry-After") == "" && !givenUp(r, a) {
		return fmt.Errorf("status %d", a.status)
	}
	return c.checkResponse(r, a, o, described)
}

// givenUp tells that the server has stopped waiting for the database because the client has closed its side.
func givenUp(r *request, a *received) bool {
	return r.halfClosed && a.status == http.StatusServiceUnavailable
}

// isRefusal tells that the transport has refused a request before it reached a route.
func isRefusal(a *received) bool {
	return slices.Contains(transportStatuses, a.status) && a.closes && a.get("Content-Type") == "application/json" &&
		generatedID.MatchString(a.get("X-Request-Id")) && (len(a.body) == 0 || transportCode.Match(a.body))
}

// transportCode is in the body of a refusal of the transport, unless the request was HEAD.
var transportCode = regexp.MustCompile(
	`^\{"error":"[^"]+","message":.+,"code":"(malformed_request|expectation_failed|headers_too_large|` +
		`unsupported_(encoding|version))","request_id":"[^"]+","doc_url":"[^"]+"\}$`)

// knownHeaders are those of responses beside those of the description. Any other shows that a caller's text has become
// a header.
var knownHeaders = map[string]bool{
	"Date": true, "Content-Type": true, "Content-Length": true, "Transfer-Encoding": true, "Content-Encoding": true,
	"Connection": true, "Vary": true, "Allow": true, "X-Request-Id": true, "Cache-Control": true, "Etag": true,
	"Last-Modified": true, "Ratelimit": true, "Ratelimit-Policy": true, "Retry-After": true, "Www-Authenticate": true,
	"X-Content-Type-Options": true, "X-Assay-Synthetic": true, "X-Assay-Stale": true, "Strict-Transport-Security": true,
	"Access-Control-Allow-Origin": true, "Access-Control-Expose-Headers": true, "Access-Control-Allow-Methods": true,
	"Access-Control-Allow-Headers": true, "Access-Control-Max-Age": true,
	"Deprecation": true, "Sunset": true, "Link": true, "X-Assay-Ignored": true, "Preference-Applied": true,
	"Content-Disposition": true, "X-Accel-Buffering": true, "X-Robots-Tag": true, "Content-Range": true,
	"Repr-Digest": true,
}

// lists are the headers that may have several lines, which count as one list.
var lists = map[string]bool{"Vary": true, "Set-Cookie": true, "Ratelimit": true, "Ratelimit-Policy": true}

// pageHeaders are those that only the pages of the dashboard have, and described those that only some routes have.
var (
	pageHeaders = map[string]bool{
		"Content-Security-Policy": true, "Cross-Origin-Opener-Policy": true, "Permissions-Policy": true,
		"Referrer-Policy": true, "X-Frame-Options": true, "Cross-Origin-Resource-Policy": true, "Accept-Ranges": true,
	}
	describedOnly = map[string]bool{"Set-Cookie": true, "Location": true}
)

// checkHeaders checks what holds for every response: the id, no header twice, none that no rule knows.
func (c *checker) checkHeaders(r *request, a *received) error {
	id := a.get("X-Request-Id")
	switch {
	case id == "":
		return errors.New("the response has no X-Request-Id")
	case r.id != "" && id == r.id:
	case r.id != "" && !r.broken || !generatedID.MatchString(id):
		return fmt.Errorf("the response has the id %q: it belongs to another request", id)
	}
	if a.get("X-Content-Type-Options") != "nosniff" {
		return errors.New("the response has no X-Content-Type-Options: nosniff")
	}
	for i, h := range a.headers {
		if !knownHeaders[h.name] && !pageHeaders[h.name] && !describedOnly[h.name] {
			return fmt.Errorf("the response has a header %s that no rule knows", h.name)
		}
		for _, other := range a.headers[:i] {
			if other.name == h.name && !lists[h.name] {
				return fmt.Errorf("the response has the header %s twice", h.name)
			}
		}
	}
	return nil
}

// generatedID is the form of the ids that the server makes.
var generatedID = regexp.MustCompile(`^[0-9a-f]{12}-[0-9a-z]+$`)

// keyText finds API keys.
var keyText = regexp.MustCompile(`sk_(live|prem)_[0-9A-Za-z_]{12}`)

// checkSecrets finds keys and cookies in a response, except where a new key is handed out.
func (c *checker) checkSecrets(r *request, a *received) error {
	created := a.status == http.StatusCreated && r.operation.private
	if !created && bytes.Contains(a.body, []byte("sk_")) && keyText.Match(a.body) {
		return errors.New("the body has an API key")
	}
	for _, h := range a.headers {
		if strings.Contains(h.value, "sk_") && keyText.MatchString(h.value) {
			return fmt.Errorf("the header %s has an API key", h.name)
		}
		if r.session != nil && strings.Contains(h.value, r.session.token) {
			return fmt.Errorf("the header %s has the token of a session", h.name)
		}
	}
	if r.session != nil && bytes.Contains(a.body, []byte(r.session.token)) {
		return errors.New("the body has the token of a session")
	}
	return nil
}

// checkAccess checks that no one gets more than their credential opens.
func checkAccess(r *request, a *received, o *operation) error {
	if a.status >= 300 && a.status != http.StatusNotModified {
		return nil
	}
	if (r.role == revoked || r.role == forged) && !o.public && !o.private && hasHeader(r, "Authorization") {
		return fmt.Errorf("status %d for a %s", a.status, r.role)
	}
	for access, needs := range map[string]tier{`"access":"premium"`: premiumTier, `"access":"full"`: fullTier} {
		if r.tier < needs && bytes.Contains(a.body[:min(len(a.body), 400)], []byte(access)) {
			return fmt.Errorf("%s for a caller with a lesser credential", access)
		}
	}
	if _, keyed := r.sends("Authorization"); !keyed && !o.private && a.get("Access-Control-Allow-Origin") != "*" {
		return errors.New("the response lacks Access-Control-Allow-Origin: *, so shared caches cannot serve it to pages")
	}
	return nil
}

func hasHeader(r *request, name string) bool {
	_, ok := r.sends(name)
	return ok
}

// checkUndescribed checks the response to a path that the description does not have: an error, or a page.
func (c *checker) checkUndescribed(r *request, a *received) error {
	kind := a.get("Content-Type")
	isPage := kind != "" && !strings.HasPrefix(kind, "application/json")
	switch {
	case r.method == http.MethodOptions && (a.status == http.StatusNoContent || a.status == http.StatusForbidden):
		return c.checkOptions(a)
	case strings.HasPrefix(r.target, "/api/"):
	case isPage && (a.status == http.StatusOK || a.status == http.StatusNotFound), a.status == http.StatusNotModified:
		return nil
	}
	return c.checkFailure(r, a, nil, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusRequestURITooLong)
}

// checkOptions checks the response to OPTIONS, which may be a preflight.
func (c *checker) checkOptions(a *received) error {
	if (a.status == http.StatusNoContent || a.status == http.StatusForbidden) && len(a.body) == 0 {
		return nil
	}
	switch a.status {
	case http.StatusForbidden, http.StatusRequestURITooLong, http.StatusNotFound:
		return c.checkMedia(a, "application/json", c.description.failure)
	}
	return fmt.Errorf("status %d for OPTIONS", a.status)
}

// checkFailure checks an error that the text of the description promises for every path.
func (c *checker) checkFailure(r *request, a *received, p *path, statuses ...int) error {
	if !slices.Contains(statuses, a.status) {
		where := "a path that is not described"
		if p != nil {
			where = "a method that is not described"
		}
		return fmt.Errorf("status %d for %s", a.status, where)
	}
	if a.status == http.StatusMethodNotAllowed && a.get("Allow") == "" {
		return errors.New("a 405 without Allow")
	}
	if a.get("Cache-Control") != "no-store" {
		return fmt.Errorf("a %d with Cache-Control %q", a.status, a.get("Cache-Control"))
	}
	if r.isHead() {
		return nil
	}
	return c.checkMedia(a, "application/json", c.description.failure)
}

// checkResponse checks headers and body against the description of an operation's status.
func (c *checker) checkResponse(r *request, a *received, o *operation, described *response) error {
	for _, h := range a.headers {
		if describedOnly[h.name] && described.headers[h.name] == nil {
			return fmt.Errorf("the description has no header %s for status %d of %s %s", h.name, a.status, o.method, o.template)
		}
	}
	for name, rule := range described.headers {
		if err := c.checkHeader(a, name, rule); err != nil {
			return err
		}
	}
	kind, _, _ := strings.Cut(a.get("Content-Type"), ";")
	if len(described.media) == 0 {
		if len(a.body) > 0 {
			return fmt.Errorf("a body of %d bytes for status %d, which has none", len(a.body), a.status)
		}
		return nil
	}
	schema := described.media[kind]
	if schema == nil {
		return fmt.Errorf("the description has no content type %q for status %d of %s %s",
			kind, a.status, o.method, o.template)
	}
	if r.isHead() {
		return nil
	}
	return c.checkMedia(a, kind, schema)
}

// checkHeader checks a header against its description.
func (c *checker) checkHeader(a *received, name string, rule *openapi3.Header) error {
	value := a.get(name)
	if value == "" {
		if rule.Required {
			return fmt.Errorf("the header %s is missing", name)
		}
		return nil
	}
	if name == "X-Request-Id" || rule.Schema == nil { // the id is compared elsewhere
		return nil
	}
	schema := rule.Schema.Value
	mark := c.right.mark(schema, "", []byte(value), nil)
	if c.right.has(mark) {
		return nil
	}
	var typed any = value
	if schema.Type.Is("integer") {
		number, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return fmt.Errorf("the header %s is %q, no number", name, value)
		}
		typed = number
	}
	if err := schema.VisitJSON(typed); err != nil {
		return fmt.Errorf("the header %s is %q: %w", name, value, err)
	}
	c.right.add(mark)
	return nil
}

// requestIDField is where an error body has the id of its request.
var requestIDField = []byte(`"request_id":"`)

// checkMedia checks a body against a schema, and that it names its request.
func (c *checker) checkMedia(a *received, kind string, schema *openapi3.Schema) error {
	encoding := a.get("Content-Encoding")
	before, after := a.body, []byte(nil)
	if encoding == "" && a.status >= 400 {
		at := bytes.LastIndex(a.body, requestIDField)
		if at < 0 {
			return fmt.Errorf("the body of a %d has no request_id: %.300s", a.status, a.body)
		}
		at += len(requestIDField)
		id := a.get("X-Request-Id")
		if !bytes.HasPrefix(a.body[at:], []byte(id+`"`)) {
			return fmt.Errorf("the body has another request_id than the header %q: %.300s", id, a.body)
		}
		before, after = a.body[:at], a.body[at+len(id):]
	}
	mark := c.right.mark(schema, kind+encoding, before, after)
	if c.right.has(mark) {
		return nil
	}
	text, err := decompress(encoding, a.body)
	if err != nil {
		return err
	}
	if a.status == http.StatusPartialContent {
		kind = "application/octet-stream"
	}
	value, err := parseBody(kind, text)
	if err != nil {
		return fmt.Errorf("the body is not %s: %w: %.300s", kind, err, text)
	}
	if err := schema.VisitJSON(value); err != nil {
		return fmt.Errorf("the body does not fit the description: %w: %.300s", err, text)
	}
	if encoding == "" || !keyText.Match(text) {
		c.right.add(mark)
		return nil
	}
	return errors.New("the body has an API key")
}

func parseBody(kind string, text []byte) (value any, err error) {
	switch kind {
	case "application/yaml":
		return value, yaml.Unmarshal(text, &value)
	case "text/csv":
		_, err = csv.NewReader(bytes.NewReader(text)).ReadAll()
	case "application/x-ndjson":
		err = checkLines(text)
	case "application/vnd.apache.parquet":
		_, err = parquet.OpenFile(bytes.NewReader(text), int64(len(text)))
	case "image/svg+xml":
		err = xml.Unmarshal(text, new(struct{}))
	case "image/png":
		_, err = png.DecodeConfig(bytes.NewReader(text))
	case "text/plain", "text/markdown", "text/html", "text/event-stream", "application/octet-stream":
	default:
		return value, json.Unmarshal(text, &value)
	}
	return string(text), err
}

// checkLines checks that every line is a JSON object.
func checkLines(text []byte) error {
	for line := range bytes.Lines(text) {
		if !bytes.HasSuffix(line, []byte("}\n")) || !json.Valid(line) {
			return fmt.Errorf("a line is no JSON object: %.300q", line)
		}
	}
	return nil
}

func decompress(encoding string, body []byte) ([]byte, error) {
	switch encoding {
	case "":
		return body, nil
	case "gzip":
		in, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return nil, fmt.Errorf("gzip: %w", err)
		}
		return io.ReadAll(in)
	case "zstd":
		in, err := zstd.NewReader(bytes.NewReader(body), zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, fmt.Errorf("zstd: %w", err)
		}
		defer in.Close()
		return io.ReadAll(in)
	}
	return nil, fmt.Errorf("the content encoding %q was not requested", encoding)
}

// seen remembers what was found right.
type seen struct {
	seed   maphash.Seed
	shards [64]struct {
		mu    sync.Mutex
		marks map[uint64]struct{}
	}
}

// seenMost bounds the memory of a shard: together some hundred megabytes.
const seenMost = 150_000

func (s *seen) mark(schema *openapi3.Schema, kind string, before, after []byte) uint64 {
	var h maphash.Hash
	h.SetSeed(s.seed)
	maphash.WriteComparable(&h, schema)
	_, _ = h.WriteString(kind)
	_ = h.WriteByte(0)
	_, _ = h.Write(before)
	_ = h.WriteByte(0)
	_, _ = h.Write(after)
	return h.Sum64()
}

func (s *seen) has(mark uint64) bool {
	shard := &s.shards[mark%uint64(len(s.shards))]
	shard.mu.Lock()
	defer shard.mu.Unlock()
	_, ok := shard.marks[mark]
	return ok
}

func (s *seen) add(mark uint64) {
	shard := &s.shards[mark%uint64(len(s.shards))]
	shard.mu.Lock()
	defer shard.mu.Unlock()
	if shard.marks == nil || len(shard.marks) >= seenMost {
		shard.marks = map[uint64]struct{}{}
	}
	shard.marks[mark] = struct{}{}
}
