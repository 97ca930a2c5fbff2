package console_test

import (
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/assaydata/assay/internal/apitest"
	"github.com/assaydata/assay/internal/web"
)

// sessionID is the public id of a session in a response.
var sessionID = regexp.MustCompile(`"id":"([0-9a-f]{12})"`)

func TestSessions(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.add(person)
	signIn := func(name, peer, agent string) {
		t.Helper()
		c := cookie(t, r.Write(http.MethodPost, "", "/api/session", credentials(person, apitest.Password), "peer", peer, "User-Agent", agent))
		r.Sessions[name] = c.Name + "=" + c.Value
	}
	const firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"
	signIn("here", "192.0.2.7:1", firefox)
	r.Clock = r.Clock.Add(time.Hour)
	signIn("there", "[2001:db8::7]:1", "")
	r.Clock = r.Clock.Add(time.Second) // the list is ordered by time
	signIn("third", "192.0.2.8:1", "curl/8.5.0")

	r.Clock = r.Clock.Add(time.Hour)
	list := r.Get("here session", "/api/account/sessions")
	ids := sessionID.FindAllStringSubmatch(list.Text, -1)
	if len(ids) != 3 {
		t.Fatalf("%d %s", list.StatusCode, list.Text)
	}
	golden := sessionID.ReplaceAllString(list.Golden(), `"id":"ID"`)
	apitest.Golden(t, filepath.Join("responses", "sessions.txt"), "GET /api/account/sessions as a person with three sessions\n\n"+golden)
	for _, cookie := range r.Sessions {
		if _, token, _ := strings.Cut(cookie, "="); strings.Contains(list.Text, token) {
			t.Error("the list shows a token")
		}
	}

	for _, id := range []string{"000000000000", ids[0][1] + "0", "%41"} {
		if got := r.Do(http.MethodDelete, "here session", "/api/account/sessions/"+id); got.StatusCode != 404 || !strings.Contains(got.Text, `"code":"unknown_session"`) {
			t.Errorf("%s: %d %s", id, got.StatusCode, got.Text)
		}
	}
	if got := r.Do(http.MethodDelete, "free session", "/api/account/sessions/"+ids[0][1]); got.StatusCode != 404 {
		t.Errorf("someone else: %d %s", got.StatusCode, got.Text)
	}
	got := r.Do(http.MethodDelete, "here session", "/api/account/sessions/"+newest(t, list.Text, "curl"))
	if got.StatusCode != 200 || got.Text != `{"success":true}` || len(got.Cookies()) != 0 {
		t.Errorf("%d %v %s", got.StatusCode, got.Header, got.Text)
	}
	if got := r.Get("third session", "/api/account"); got.StatusCode != 401 {
		t.Errorf("an ended session: %d", got.StatusCode)
	}
	if got := r.Get("third session", "/api/gpu/H200"); !strings.HasPrefix(got.Header.Get("Cache-Control"), "public") {
		t.Errorf("an ended session reads: %v", got.Header)
	}
	if got := r.Do(http.MethodDelete, "here session", "/api/account/sessions"); got.StatusCode != 200 || got.Text != `{"success":true,"data":{"ended":1}}` {
		t.Errorf("all others: %d %s", got.StatusCode, got.Text)
	}
	if got := r.Get("there session", "/api/account"); got.StatusCode != 401 {
		t.Errorf("another session: %d", got.StatusCode)
	}
	own := r.Do(http.MethodDelete, "here session", "/api/account/sessions/"+newest(t, list.Text, "Firefox"))
	if c := cookie(t, own); own.StatusCode != 200 || c.MaxAge >= 0 || c.Value != "" {
		t.Errorf("the own session: %d %+v", own.StatusCode, c)
	}
	if got := r.Get("here session", "/api/account/sessions"); got.StatusCode != 401 {
		t.Errorf("after its end: %d", got.StatusCode)
	}
}

// newest returns the id of the session with a program.
func newest(t *testing.T, list, program string) string {
	t.Helper()
	for _, row := range strings.Split(list, "},{") {
		if strings.Contains(row, program) {
			return sessionID.FindStringSubmatch(row)[1]
		}
	}
	t.Fatalf("no session of %s in %s", program, list)
	return ""
}

// Signing in again ends the session that the browser had.
func TestSessions_SignInEndsTheOldOne(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.add(person)
	signIn := func(old string) string {
		c := cookie(t, r.Write(http.MethodPost, "", "/api/session", credentials(person, apitest.Password), "Cookie", old))
		return c.Name + "=" + c.Value
	}
	first := signIn("other=1")
	second := signIn(first)
	for cookie, status := range map[string]int{first: 401, second: 200} {
		if got := r.Get("", "/api/account", "Cookie", cookie); got.StatusCode != status {
			t.Errorf("%d, want %d", got.StatusCode, status)
		}
	}
	third := signIn(web.SessionCookie + "=" + strings.Repeat("x", 43))
	for _, cookie := range []string{second, third} {
		if got := r.Get("", "/api/account", "Cookie", cookie); got.StatusCode != 200 {
			t.Errorf("%d, want 200", got.StatusCode)
		}
	}
}
