package console_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// TestShareLinks_Lifecycle goes through every route. Each response is checked against the description of the API.
func TestShareLinks_Lifecycle(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const me, path = "premium session", "/api/share-links"
	got := r.Write(http.MethodPost, me, path, `{"name":"README","family":"gpu","series":"H200"}`)
	var made struct {
		Token string
		Paths map[string]string
		Data  struct{ ID string }
	}
	r.Must(json.Unmarshal([]byte(got.Text), &made))
	if got.StatusCode != http.StatusCreated || got.Header.Get("Cache-Control") != "no-store" || made.Paths["svg"] != "/s/"+made.Token+".svg" {
		t.Fatalf("%d %s", got.StatusCode, got.Text)
	}
	want := `"data":[{"id":"` + made.Data.ID + `","name":"README","family":"gpu","series":"H200","region":"global",` +
		`"granularity":"daily","range":"3m","status":"active","created_at":"2026-02-04T12:34:56.000Z"}]}`
	list := r.Get(me, path)
	if !strings.HasSuffix(list.Text, want) || strings.Contains(list.Text, made.Token) {
		t.Errorf("the list is %s", list.Text)
	}
	if other := r.Get("full session", path); !strings.Contains(other.Text, `"count":0`) {
		t.Errorf("another account lists %s", other.Text)
	}
	for form, target := range made.Paths {
		if got := r.Get("", target); got.StatusCode != http.StatusOK {
			t.Errorf("%s: %d %s", form, got.StatusCode, got.Text)
		}
	}
	key, _ := r.CreateKey(me)
	r.Keys["own"] = key
	if got := r.Get("own", path); got.StatusCode != http.StatusOK || !strings.HasSuffix(got.Text, want) {
		t.Errorf("with a key of the account: %d %s", got.StatusCode, got.Text)
	}
	if got := r.Do(http.MethodDelete, "full session", path+"/"+made.Data.ID); got.StatusCode != http.StatusNotFound {
		t.Errorf("another account revokes it: %d", got.StatusCode)
	}
	if got := r.Do(http.MethodDelete, "own", path+"/"+made.Data.ID); got.StatusCode != http.StatusOK {
		t.Errorf("%d %s", got.StatusCode, got.Text)
	}
	if got := r.Do(http.MethodDelete, me, path+"/"+made.Data.ID); got.StatusCode != http.StatusNotFound {
		t.Errorf("revoked again: %d", got.StatusCode)
	}
	if got := r.Get("", made.Paths["csv"]); got.StatusCode != http.StatusNotFound {
		t.Errorf("the revoked link: %d", got.StatusCode)
	}
}

func TestShareLinks_Refused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	f := func(caller, body string, status int, part string, headers ...string) {
		t.Helper()
		got := r.Write(http.MethodPost, caller, "/api/share-links", body, headers...)
		if got.StatusCode != status || !strings.Contains(got.Text, part) {
			t.Errorf("%s as %s: %d %s, want %d %s", body, caller, got.StatusCode, got.Text, status, part)
		}
	}
	const good = `{"name":"x","family":"gpu","series":"H200"}`
	f("", good, 401, `"session_required"`)
	f("free session", good, 201, `"status":"active"`)
	f("free session", `{"name":"x","family":"gpu","series":"RTX PRO 6000 WS"}`, 403, `"no_access"`)
	f("premium session", `{"name":"x","family":"gpu","series":"H200","granularity":"hourly"}`, 403, "Hourly values need Full access.")
	f("full session", `{"name":"x","family":"gpu","series":"H300"}`, 400, `"param":"series","allowed":["H100 SXM",`)
	f("full session", `{"name":"x","family":"gpu","series":"H200","color":"red"}`, 400, `"invalid_body"`)
	f("full session", `{"name":"","family":"gpu","series":"H200"}`, 400, `"param":"name"`)
	f("full session", `[]`, 400, `"invalid_body"`)
	f("full session", `{"name":"`+strings.Repeat("x", 5000)+`"}`, 413, `"body_too_large"`)
	f("full session", good, 403, `"cross_origin"`, "Sec-Fetch-Site", "cross-site")
	if got := r.Get("full", "/api/share-links"); got.StatusCode != 403 || !strings.Contains(got.Text, `"account_required"`) {
		t.Errorf("a key of the operator: %d %s", got.StatusCode, got.Text)
	}
}
