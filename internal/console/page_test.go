package console_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// Following "next" and the header Link visits every row once, and bad parts are refused.
func TestPages(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for i := range 5 {
		r.Write(http.MethodPost, "full session", "/api/create-api-key", fmt.Sprintf(`{"name":"key %d"}`, i))
	}
	for _, path := range []string{"/api/gpu-prices", "/api/memory-index", "/api/otpi"} {
		r.Get("full", path)
	}
	f := func(caller, path, field string, want int) {
		t.Run(path, func(t *testing.T) {
			seen, target := map[string]bool{}, path+"?limit=2"
			for requests := 0; target != "" && requests < 10; requests++ {
				got := r.Get(caller, target)
				var list struct {
					HasMore bool              `json:"has_more"`
					Next    map[string]string `json:"next"`
					Data    []map[string]any  `json:"data"`
				}
				r.Must(json.Unmarshal([]byte(got.Text), &list))
				for _, row := range list.Data {
					seen[fmt.Sprint(row[field])] = true
				}
				target, _, _ = strings.Cut(strings.TrimPrefix(got.Header.Get("Link"), "<"), ">")
				if list.HasMore != (target != "") || list.HasMore != (list.Next["offset"] != "") || len(list.Data) > 2 {
					t.Fatalf("%s with %q", got.Text, got.Header.Get("Link"))
				}
			}
			if len(seen) != want {
				t.Errorf("%d rows, want %d: %v", len(seen), want, seen)
			}
			for _, query := range []string{"limit=0", "limit=10001", "limit=x", "offset=-1", "offset=1.5"} {
				got := r.Get(caller, path+"?"+query)
				if got.StatusCode != 400 || !strings.Contains(got.Text, `"code":"invalid_parameter"`) {
					t.Errorf("%s: %d %s", query, got.StatusCode, got.Text)
				}
			}
			if got := r.Get(caller, path+"?offset=1000000"); !strings.Contains(got.Text, `"count":0,"has_more":false,"data":[]`) {
				t.Errorf("past the end: %s", got.Text)
			}
		})
	}
	f("full session", "/api/keys", "id", 5)
	f("full", "/api/usage", "route", 4) // the first request is counted, too
}
