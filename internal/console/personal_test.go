package console_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// TestWatchlist_Lifecycle goes through both routes. Each response is checked against the description of the API.
func TestWatchlist_Lifecycle(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const path = "/api/watchlist"
	f := func(caller, body string, status int, part string, headers ...string) {
		t.Helper()
		got := r.Write(http.MethodPut, caller, path, body, headers...)
		if got.StatusCode != status || !strings.Contains(got.Text, part) || got.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s as %s: %d %s, want %d %s", body, caller, got.StatusCode, got.Text, status, part)
		}
	}
	type watchlist struct {
		Data struct {
			GPUs    []string `json:"gpu_types"`
			Version string
		}
	}
	read := func(caller string) (list watchlist) {
		t.Helper()
		r.Must(json.Unmarshal([]byte(r.Get(caller, path).Text), &list))
		return list
	}
	const me, other = "premium session", "free session"
	empty := read(me).Data.Version
	f(me, `{"gpu_types":["H200","H100 SXM"],"version":"`+empty+`"}`, 200, `"gpu_types":["H200","H100 SXM"],"version":"`)
	f(me, `{"gpu_types":["B200"],"version":"`+empty+`"}`, 409, `"watchlist_changed"`)
	f(other, `{"gpu_types":["RTX PRO 6000 WS"]}`, 200, `["RTX PRO 6000 WS"]`) // without access, it can be watched
	if got := strings.Join(read(me).Data.GPUs, ", "); got != "H200, H100 SXM" {
		t.Errorf("it watches %s", got)
	}
	f("", `{"gpu_types":[]}`, 401, `"session_required"`)
	if got := r.Get("full", path); got.StatusCode != http.StatusUnauthorized {
		t.Errorf("with a key: %d %s", got.StatusCode, got.Text)
	}
	f(me, `{"gpu_types":["H200","H300"]}`, 400, `Invalid GPU type \"H300\". Allowed: H100 SXM`)
	f(me, `{"gpu_types":["H200","H200"]}`, 400, `"param":"gpu_types"`)
	f(me, `{"gpu_types":null}`, 400, `"param":"gpu_types"`)
	f(me, `{}`, 400, `"param":"gpu_types"`)
	f(me, `{"gpu_types":"H200"}`, 400, `"invalid_body"`)
	f(me, `{"gpu_types":["`+strings.Repeat("x", 10<<20)+`"]}`, 413, `"body_too_large"`)
	f(me, `{"gpu_types":[]}`, 403, `"cross_origin"`, "Sec-Fetch-Site", "cross-site")
	f(me, `{"gpu_types":[]}`, 200, `"gpu_types":[]`)
}

func TestViews_Lifecycle(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const me, other, path = "premium session", "full session", "/api/views"
	got := r.Write(http.MethodPost, me, path, `{"name":"A, B","path":"/gpu/H200?compare=B200"}`)
	var made struct{ Data struct{ ID string } }
	r.Must(json.Unmarshal([]byte(got.Text), &made))
	want := `{"id":"` + made.Data.ID + `","name":"A, B","path":"/gpu/H200?compare=B200",` +
		`"created_at":"2026-02-04T12:34:56.000Z"}`
	if got.StatusCode != http.StatusCreated || !strings.HasSuffix(got.Text, `"data":`+want+`}`) {
		t.Fatalf("%d %s", got.StatusCode, got.Text)
	}
	if list := r.Get(me, path); !strings.HasSuffix(list.Text, `"count":1,"data":[`+want+`]}`) {
		t.Errorf("the list is %s", list.Text)
	}
	if list := r.Get(other, path); !strings.HasSuffix(list.Text, `"count":0,"data":[]}`) {
		t.Errorf("another account lists %s", list.Text)
	}
	f := func(caller, body string, status int, part string, headers ...string) {
		t.Helper()
		got := r.Write(http.MethodPost, caller, path, body, headers...)
		if got.StatusCode != status || !strings.Contains(got.Text, part) {
			t.Errorf("%s as %s: %d %s, want %d %s", body, caller, got.StatusCode, got.Text, status, part)
		}
	}
	const good = `{"name":"A, B","path":"/memory"}`
	f(me, good, 409, `"view_exists"`)
	f(other, good, 201, `"path":"/memory"`)
	f("", good, 401, `"session_required"`)
	if got := r.Get("full", path); got.StatusCode != http.StatusUnauthorized {
		t.Errorf("with a key: %d %s", got.StatusCode, got.Text)
	}
	f(me, `{"name":"x","path":"//evil.example"}`, 400, `"param":"path"`)
	f(me, `{"name":"\u202ex","path":"/memory"}`, 400, `"param":"name"`)
	f(me, `{"name":"x"}`, 400, `"param":"path"`)
	f(me, `{"name":"x","path":"/memory","id":"sv_1"}`, 400, `"invalid_body"`)
	f(me, `{"name":"`+strings.Repeat("x", 5000)+`"}`, 413, `"body_too_large"`)
	f(me, good, 403, `"cross_origin"`, "Sec-Fetch-Site", "cross-site")
	remove := func(caller string, status int) {
		t.Helper()
		if got := r.Do(http.MethodDelete, caller, path+"/"+made.Data.ID); got.StatusCode != status {
			t.Errorf("%s deletes it: %d %s, want %d", caller, got.StatusCode, got.Text, status)
		}
	}
	remove(other, 404)
	remove("", 401)
	remove(me, 200)
	remove(me, 404)
}
