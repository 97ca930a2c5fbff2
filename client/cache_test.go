package client_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/assaydata/assay/client"
)

// tagged is a server whose responses have tags. It notes whether it sent a body.
type tagged struct {
	mu   sync.Mutex
	sent []string // by request: the path, with a star if it was 304
	tag  string
}

func (s *tagged) ServeHTTP(out http.ResponseWriter, in *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out.Header().Set("ETag", s.tag)
	if in.Header.Get("If-None-Match") == s.tag && s.tag != "" {
		s.sent = append(s.sent, in.URL.Path+"*")
		out.Header().Set("X-Request-Id", "again")
		out.WriteHeader(http.StatusNotModified)
		return
	}
	s.sent = append(s.sent, in.URL.Path)
	writeJSON(out, 200, strings.ReplaceAll(regions, "us-east", s.tag))
}

func TestCache(t *testing.T) {
	t.Parallel()
	s := &tagged{tag: "1"}
	url := serve(t, s)
	c := newClient(t, url, client.WithKey(""), client.WithCache(2, 1000))
	read := func(want, id string) {
		t.Helper()
		got, err := c.Regions(t.Context())
		if err != nil || got.Data[0].Region != want || got.RequestID != id {
			t.Fatalf("got %+v, %v, want %s of request %s", got, err, want, id)
		}
		got.Data[0].Region = "changed by the caller"
	}
	read("1", "id-1")
	read("1", "again")
	s.tag = "2"
	read("2", "id-1")
	read("2", "again")
	s.tag = ""
	read("", "id-1")
	if got, want := fmt.Sprint(s.sent), "[/api/regions /api/regions* /api/regions /api/regions* /api/regions]"; got != want {
		t.Errorf("the requests were %s, want %s", got, want)
	}
}

func TestCache_Bounds(t *testing.T) {
	t.Parallel()
	f := func(name string, want string, options ...client.Option) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &tagged{tag: "1"}
			c := newClient(t, serve(t, s), append([]client.Option{client.WithKey("")}, options...)...)
			for _, route := range "abcbac" {
				if _, err := c.FamilyCorrections(t.Context(), string(route), nil); err == nil {
					t.Error("this is not a response with corrections")
				}
			}
			if got := strings.ReplaceAll(strings.Join(s.sent, " "), "/api/corrections/", ""); got != want {
				t.Errorf("the requests were %s, want %s", got, want)
			}
		})
	}
	f("off", "a b c b a c")
	f("enough", "a b c b* a* c*", client.WithCache(3, 1000))
	f("two entries: what was used longest ago is gone", "a b c b* a c", client.WithCache(2, 1000))
	f("bytes for two", "a b c b* a c", client.WithCache(9, 250))
	f("bytes for none", "a b c b a c", client.WithCache(9, 20))
	f("no bytes", "a b c b a c", client.WithCache(9, 0))
}

// The real server's tags work, and a client with another key has another cache.
func TestCache_RealServer(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, caller := range []string{"", "premium", "full"} {
		statuses := &statuses{}
		c := r.client(t, caller, client.WithCache(256, 1<<20), client.WithHTTPClient(&http.Client{Transport: statuses}))
		var values []string
		for range 2 {
			got, err := c.IndexHistory(t.Context(), "H200", nil)
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, fmt.Sprint(got.Access, got.Data))
		}
		if values[0] != values[1] || fmt.Sprint(statuses.got) != "[200 304]" {
			t.Errorf("%s: the statuses are %v", caller, statuses.got)
		}
	}
}

// statuses notes the statuses of responses.
type statuses struct {
	addresses

	got []int
}

func (s *statuses) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := s.addresses.RoundTrip(request)
	if err == nil {
		s.got = append(s.got, response.StatusCode)
	}
	return response, err
}

// Many goroutines share a client.
func TestCache_Concurrent(t *testing.T) {
	t.Parallel()
	c := newClient(t, serve(t, &tagged{tag: "1"}), client.WithKey(""), client.WithCache(2, 400))
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 20 {
				_, _ = c.FamilyCorrections(t.Context(), fmt.Sprint("family", i%3), nil)
				if got, err := c.Regions(t.Context()); err != nil || got.Data[0].Region != "1" {
					t.Errorf("got %+v, %v", got, err)
				}
			}
		})
	}
	all.Wait()
}
