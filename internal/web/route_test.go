package web_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/assaydata/assay/internal/web"
)

// pathVariable is a variable segment of a route's path.
var pathVariable = regexp.MustCompile(`\{\w+(\.\.\.)?\}`)

func TestMethods(t *testing.T) {
	r := newRig(t)
	f := func(group web.Group, allow map[string]string) {
		for _, route := range group.Routes {
			path := route.Path
			want := allow[path]
			if want == "" {
				want = "GET, HEAD, OPTIONS"
			}
			target := pathVariable.ReplaceAllString(path, "H200")
			methods := []string{
				http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch, "BREW",
			}
			for _, method := range methods {
				if strings.Contains(want, method) {
					continue
				}
				got := r.Do(method, "full", target)
				if got.StatusCode != 405 || got.Header.Get("Allow") != want || !strings.Contains(got.Text, `"error":"Method not allowed"`) {
					t.Errorf("%s %s: %d %v %s", method, target, got.StatusCode, got.Header["Allow"], got.Text)
				}
			}
			if got := r.Do(http.MethodOptions, "", target); got.StatusCode != 204 || got.Header.Get("Allow") != want {
				t.Errorf("OPTIONS %s: %d", target, got.StatusCode)
			}
		}
	}
	f(r.Groups[0], nil)
	f(r.Groups[2], nil)
	f(r.Groups[3], nil)
	f(r.Groups[6], nil)
	f(r.Groups[1], map[string]string{
		"/api/session": "GET, HEAD, POST, DELETE, OPTIONS", "/api/account/password": "PUT, OPTIONS", "/api/create-api-key": "POST, OPTIONS",
		"/api/account/sessions": "GET, HEAD, DELETE, OPTIONS", "/api/account/sessions/{id}": "DELETE, OPTIONS",
		"/api/keys/{id}": "DELETE, OPTIONS", "/api/keys/{id}/rotate": "POST, OPTIONS",
		"/api/session/second-factor": "POST, OPTIONS", "/api/session/passkey": "POST, OPTIONS",
		"/api/session/passkey/options": "POST, OPTIONS", "/api/account/proof": "POST, OPTIONS",
		"/api/session/oidc/link":                       "POST, OPTIONS",
		"/api/account/second-factors/totp":             "POST, PUT, DELETE, OPTIONS",
		"/api/account/second-factors/passkeys":         "POST, OPTIONS",
		"/api/account/second-factors/passkeys/options": "POST, OPTIONS",
		"/api/account/second-factors/passkeys/{id}":    "DELETE, OPTIONS",
		"/api/account/second-factors/recovery-codes":   "POST, OPTIONS",

		"/api/alerts": "GET, HEAD, POST, OPTIONS", "/api/alerts/{id}": "PATCH, DELETE, OPTIONS",
		"/api/webhooks": "GET, HEAD, POST, OPTIONS", "/api/webhooks/{id}": "PATCH, DELETE, OPTIONS",
		"/api/webhooks/{id}/secret/rotate": "POST, OPTIONS", "/api/webhooks/{id}/test": "POST, OPTIONS",
		"/api/webhooks/{id}/deliveries/{delivery}/replay": "POST, OPTIONS",

		"/api/share-links": "GET, HEAD, POST, OPTIONS", "/api/share-links/{id}": "DELETE, OPTIONS",

		"/api/watchlist": "GET, HEAD, PUT, OPTIONS", "/api/views": "GET, HEAD, POST, OPTIONS", "/api/views/{id}": "DELETE, OPTIONS",
	})
	for target, message := range map[string]string{
		"/api/gpu/H200": "This path takes GET and HEAD, not PATCH.", "/api/session": "This path takes GET, HEAD, POST and DELETE, not PATCH.",
		"/api/create-api-key": "This path takes POST, not PATCH.",
	} {
		if got := r.Do(http.MethodPatch, "", target); !strings.Contains(got.Text, message) {
			t.Errorf("%s: %s", target, got.Text)
		}
	}
}
