package fetch_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/assaydata/assay/internal/fetch"
)

func TestLimits(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		switch in.URL.Path {
		case "/large":
			_, _ = io.WriteString(out, strings.Repeat("x", 11))
		case "/typed":
			body, _ := io.ReadAll(in.Body)
			_, _ = io.WriteString(out, in.Method+" "+in.Header.Get("Content-Type")+" "+string(body))
		case "/silent":
			<-in.Context().Done()
		default:
			out.WriteHeader(http.StatusTeapot)
			_, _ = io.WriteString(out, in.Header.Get("Authorization"))
		}
	}))
	defer server.Close()
	limits := fetch.Limits{Patience: time.Minute, Most: 10}
	f := func(key, want string) {
		t.Helper()
		text, status, err := limits.Get(t.Context(), server.URL, key)
		if err != nil || status != http.StatusTeapot || string(text) != want {
			t.Errorf("%d %q, %v, want %q", status, text, err, want)
		}
	}
	f("", "")
	f("key", "Bearer key")
	if text, _, err := limits.Get(t.Context(), server.URL+"/large", ""); err == nil || text != nil {
		t.Errorf("a response that is too large: %q, %v", text, err)
	}
	limits.Most = 30
	text, status, err := limits.Post(t.Context(), server.URL+"/typed", "text/x-query", strings.NewReader("a body"))
	if err != nil || status != http.StatusOK || string(text) != "POST text/x-query a body" {
		t.Errorf("a body of a content type: %d %q, %v", status, text, err)
	}
	limits.Patience = time.Millisecond
	_, _, err = limits.Get(t.Context(), server.URL+"/silent", "")
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a server that does not respond: %v", err)
	}
}
