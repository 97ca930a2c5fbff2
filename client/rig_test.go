package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/client"
	"github.com/assaydata/assay/internal/apitest"
)

// rig is the real server on fixed data, behind a real connection.
type rig struct {
	*apitest.Rig

	url string
}

// newRig starts the real server. The test may move its clock only while no request runs.
func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{Rig: apitest.New(t, apitest.TrustProxies("127.0.0.1/32"))}
	r.url = serve(t, r.Server)
	return r
}

// client is a client with one of the rig's keys; "" and "anonymous" have none. Each request comes from another address,
// so that a test does not meet the public limit.
func (r *rig) client(t *testing.T, caller string, options ...client.Option) *client.Client {
	t.Helper()
	elsewhere := client.WithHTTPClient(&http.Client{Transport: &addresses{}})
	return newClient(t, r.url, append([]client.Option{elsewhere, client.WithKey(r.Keys[caller])}, options...)...)
}

// addresses sends each request as from another address.
type addresses struct{ sent atomic.Int64 }

func (a *addresses) RoundTrip(request *http.Request) (*http.Response, error) {
	n := a.sent.Add(1)
	request = request.Clone(request.Context())
	request.Header.Set("X-Forwarded-For", fmt.Sprintf("198.51.%d.%d", n/250, 1+n%250))
	return http.DefaultTransport.RoundTrip(request)
}

// serve serves a handler on this machine until the test ends.
func serve(t *testing.T, handler http.Handler) (url string) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// respond serves a handler to a client without a key that does not wait.
func respond(t *testing.T, handler http.HandlerFunc, options ...client.Option) *client.Client {
	t.Helper()
	options = append([]client.Option{client.WithKey(""), (&sleeper{}).option()}, options...)
	return newClient(t, serve(t, handler), options...)
}

func newClient(t *testing.T, url string, options ...client.Option) *client.Client {
	t.Helper()
	c, err := client.New(url, options...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// sleeper notes how long a client would have waited, and does not wait.
type sleeper struct {
	mu    sync.Mutex
	waits []time.Duration
	then  func() // called for each wait
}

func (s *sleeper) option() client.Option {
	return client.WithSleep(func(ctx context.Context, d time.Duration) error {
		s.mu.Lock()
		s.waits = append(s.waits, d)
		s.mu.Unlock()
		if s.then != nil {
			s.then()
		}
		return ctx.Err()
	})
}

// writeJSON responds as the API does.
func writeJSON(out http.ResponseWriter, status int, body string) {
	out.Header().Set("Content-Type", "application/json")
	out.Header().Set("X-Request-Id", "id-1")
	out.WriteHeader(status)
	_, _ = out.Write([]byte(body))
}

// failure is the assay.Error that a call must have returned.
func failure(t *testing.T, err error) *assay.Error {
	t.Helper()
	e, ok := errors.AsType[*assay.Error](err)
	if !ok {
		t.Fatalf("the error is %v, want an *assay.Error", err)
	}
	return e
}

// normal is JSON in one spelling, with instants as Go writes them.
func normal(t *testing.T, text string) string {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		t.Fatalf("%v in %.300s", err, text)
	}
	out, err := json.MarshalIndent(shorten(value), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// unset are members that the server leaves out or sends as null, which is the same to a reader.
var unset = []string{"mixPerMtok", "startDate", "endDate"}

// shorten writes the instants in a value without trailing zeros, and leaves out what is not set.
func shorten(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name := range v {
			if v[name] = shorten(v[name]); v[name] == nil && slices.Contains(unset, name) {
				delete(v, name)
			}
		}
	case []any:
		for i := range v {
			v[i] = shorten(v[i])
		}
	case string:
		if at, err := time.Parse(time.RFC3339, v); err == nil {
			return at.Format(time.RFC3339Nano)
		}
	}
	return value
}
