// Package tracingtest has a collector of traces for tests.
package tracingtest

import (
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Span is a span that was received.
type Span struct {
	Trace, ID, Parent, Name string
	Failed                  bool
	Attributes              map[string]string // numbers are left out
}

// Collector takes traces over OTLP/HTTP.
type Collector struct {
	URL string

	mu      sync.Mutex
	spans   []Span        // guarded by mu
	headers []http.Header // likewise
}

// Start starts a collector that ends with the test.
func Start(t *testing.T) *Collector {
	t.Helper()
	c := &Collector{}
	server := httptest.NewServer(http.HandlerFunc(c.take))
	t.Cleanup(server.Close)
	c.URL = server.URL
	return c
}

func (c *Collector) take(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	batch := &collector.ExportTraceServiceRequest{}
	if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(body, batch) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.headers = append(c.headers, r.Header)
	for _, resource := range batch.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				span := Span{
					Trace: hex.EncodeToString(s.GetTraceId()), ID: hex.EncodeToString(s.GetSpanId()),
					Parent: hex.EncodeToString(s.GetParentSpanId()), Name: s.GetName(),
					Failed: s.GetStatus().GetCode() != 0, Attributes: map[string]string{},
				}
				for _, a := range s.GetAttributes() {
					if text := a.GetValue().GetStringValue(); text != "" {
						span.Attributes[a.GetKey()] = text
					}
				}
				c.spans = append(c.spans, span)
			}
		}
	}
}

// Spans are all spans so far, in the order in which they came.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Span(nil), c.spans...)
}

// Headers are those of all requests so far.
func (c *Collector) Headers() []http.Header {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]http.Header(nil), c.headers...)
}

// Named returns the spans with a name.
func (c *Collector) Named(name string) (found []Span) {
	for _, s := range c.Spans() {
		if s.Name == name {
			found = append(found, s)
		}
	}
	return found
}
