package main

import (
	"compress/gzip"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestHandler(t *testing.T) {
	t.Parallel()
	hour := func(n int) time.Time { return time.Date(2026, 2, 4, n, 0, 0, 0, time.UTC) }
	v := &values{
		GPU:    "H100 SXM",
		Daily:  []point{{hour(-24), 1.5}, {hour(0), 1.75}, {hour(24), 2}},
		Hourly: []point{{hour(0), 1.75}, {hour(1), 1.8809}},
	}
	f := func(target string, status int, want string) {
		t.Helper()
		for _, encoding := range []string{"", "gzip"} {
			request := httptest.NewRequestWithContext(t.Context(), "GET", target, nil)
			request.Header.Set("Accept-Encoding", encoding)
			recorder := httptest.NewRecorder()
			v.handler().ServeHTTP(recorder, request)
			response := recorder.Result()
			body := io.Reader(response.Body)
			if response.StatusCode == 200 && encoding == "gzip" {
				var err error
				if body, err = gzip.NewReader(body); err != nil {
					t.Fatal(err)
				}
			}
			text, err := io.ReadAll(body)
			if got := strings.TrimSpace(string(text)); err != nil || response.StatusCode != status || got != want {
				t.Errorf("%s %s: %d %s (%v), want %d %s", target, encoding, response.StatusCode, got, err, status, want)
			}
		}
	}
	f("/api/gpu/H100%20SXM", 200, `{"success":true,"access":"full","data":{"gpu_name":"H100 SXM","region":"",`+
		`"index_value":1.8809,"last_updated":"2026-02-04T01:00:00Z"}}`)
	head := `{"success":true,"gpu_type":"H100 SXM","region":"global","access":"full",`
	f("/api/gpu/H100%20SXM/index-history?startDate=2026-02-04", 200, head+
		`"granularity":"daily","count":2,"has_more":false,"data":[{"timestamp":"2026-02-04T00:00:00Z","index_value":1.75},`+
		`{"timestamp":"2026-02-05T00:00:00Z","index_value":2}]}`)
	f("/api/gpu/H100%20SXM/index-history?granularity=hourly", 200, head+
		`"granularity":"hourly","count":2,"has_more":false,"data":[{"timestamp":"2026-02-04T00:00:00Z","index_value":1.75},`+
		`{"timestamp":"2026-02-04T01:00:00Z","index_value":1.8809}]}`)
	f("/api/gpu/B200", 404, "404 page not found")
	f("/api/gpu/B200/index-history", 404, "404 page not found")
	f("/api/gpu/H100%20SXM/index-history?startDate=today", 400, "startDate: want a day such as 2026-02-04")
}
