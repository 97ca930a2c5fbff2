package apitest

import (
	"net/http"
	"strings"
	"testing"
)

// The comparison with the description must be able to fail, or no test that relies on it can.
func TestCheckResponse(t *testing.T) {
	t.Parallel()
	r := New(t)
	right := r.Get("", "/api/gpu/H200")
	d, err := describe(r.Snapshots.Load().Catalog)
	if err != nil {
		t.Fatal(err)
	}
	const path = "/api/gpu/{gpuName}"
	place := []string{"paths", path, "get", "responses", "200"}
	f := func(status int, header, old, replacement, want string) {
		t.Helper()
		changed := &http.Response{StatusCode: status, Header: right.Header.Clone()}
		body := right.Text
		if header == "" {
			body = strings.Replace(body, old, replacement, 1)
		} else if changed.Header.Del(header); replacement != "" {
			changed.Header.Set(header, replacement)
		}
		if header+body == right.Text && want != "" && status == 200 {
			t.Fatalf("the response %s has no %s", right.Text, old)
		}
		err := d.checkResponse(d.Paths.Find(path).Get, place, changed, []byte(body))
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("status %d, header %s, %s for %s: %v, want %s", status, header, replacement, old, err, want)
		}
	}
	f(200, "", "", "", "")
	f(200, "", `"index_value":`, `"index_value":"",`+`"a":`, "index_value")
	f(200, "", `"success":true,`, ``, "success")
	f(200, "", `"H200"`, `"H2000"`, "gpu_name")
	f(200, "", `}`, ``, "EOF")
	f(200, "Content-Type", "", "text/html", `content type "text/html"`)
	f(200, "X-Request-Id", "", "", "header X-Request-Id is missing")
	f(200, "RateLimit", "", "many", "header RateLimit")
	f(200, "X-Undescribed", "", "1", "header X-Undescribed is not described")
	f(200, "", `"success":true,`, `"success":true,"extra":1,`, "extra")
	f(200, "", `"access":"public-3mo"`, `"access":"public-4mo"`, "access")
	f(299, "", "", "", "status 299 is not described")
}
