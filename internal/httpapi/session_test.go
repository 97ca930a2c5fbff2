package httpapi

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/account"
)

const person = "person@example.com"

// add makes an account with the password.
func (r *rig) add(email string) assay.Account {
	r.t.Helper()
	a, err := r.Accounts.AddAccount(context.Background(), email, "A Person", password)
	r.must(err)
	return a
}

func credentials(email, password string) string {
	return fmt.Sprintf(`{"email":%q,"password":%q}`, email, password)
}

// cookie is the session's cookie of an answer.
func cookie(t *testing.T, got reply) *http.Cookie {
	t.Helper()
	for _, c := range got.Cookies() {
		if c.Name == sessionCookie {
			return c
		}
	}
	t.Fatalf("no cookie: %d %v %s", got.StatusCode, got.Header, got.body)
	return nil
}

func TestSession(t *testing.T) {
	r := newRig(t)
	r.add(person)
	r.grant(person, assay.PlanFull)
	got := r.write(http.MethodPost, "", "/api/session", credentials(" Person@Example.com", password))
	if got.StatusCode != 200 || !strings.Contains(got.body, `"success":true,"data":{"id":1,"email":"person@example.com"`) || got.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("%d %v %s", got.StatusCode, got.Header, got.body)
	}
	c := cookie(t, got)
	if c.MaxAge != 14*24*3600 || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Secure || c.Domain != "" || len(c.Value) < 43 {
		t.Errorf("the cookie is %+v", c)
	}
	if strings.Contains(got.body, c.Value) {
		t.Error("the body shows the token")
	}
	r.sessions["person"] = c.Name + "=" + c.Value
	if got := r.get("person session", "/api/gpu/H200/hourly"); got.StatusCode != 200 || !strings.Contains(got.body, `"access":"full"`) {
		t.Errorf("reading with the session: %d %s", got.StatusCode, got.body)
	}
	if got := r.get("person session", "/api/session"); got.StatusCode != 200 || got.Header.Get("Cache-Control") != "no-store" ||
		!strings.Contains(got.body, `"data":{"account":{"id":1,"email":"person@example.com"`) {
		t.Errorf("who is signed in: %d %v %s", got.StatusCode, got.Header, got.body)
	}
	out := r.do(http.MethodDelete, "person session", "/api/session")
	if c := cookie(t, out); out.StatusCode != 200 || out.body != `{"success":true}` || c.MaxAge >= 0 || c.Value != "" || !c.HttpOnly {
		t.Errorf("signing out: %d %s %+v", out.StatusCode, out.body, c)
	}
	if got := r.get("person session", "/api/account"); got.StatusCode != 401 {
		t.Errorf("after signing out: %d", got.StatusCode)
	}
	if got := r.get("person session", "/api/session"); got.StatusCode != 200 || got.body != `{"success":true,"data":{"account":null,"oidc":null}}` {
		t.Errorf("who is signed in after that: %d %s", got.StatusCode, got.body)
	}
	if out := r.do(http.MethodDelete, "", "/api/session"); out.StatusCode != 200 {
		t.Errorf("signing out without a session: %d", out.StatusCode)
	}
}

// TestSession_SecureCookie: behind TLS, be it ours or a trusted proxy's, the cookie never goes without.
func TestSession_SecureCookie(t *testing.T) {
	f := func(want bool, headers []string, options ...func(*Config)) {
		t.Helper()
		r := newRig(t, options...)
		out := r.do(http.MethodDelete, "", "/api/session", headers...)
		if got := cookie(t, out).Secure; got != want {
			t.Errorf("%v: Secure is %v", headers, got)
		}
	}
	forwarded := []string{"peer", "10.0.0.1:1", "X-Forwarded-Proto", "https"}
	f(false, nil)
	f(false, forwarded)
	f(true, forwarded, trust("10.0.0.0/8"))
	f(false, []string{"peer", "10.0.0.1:1", "X-Forwarded-Proto", "http"}, trust("10.0.0.0/8"))
	f(false, []string{"peer", "192.0.2.1:1", "X-Forwarded-Proto", "https"}, trust("10.0.0.0/8"))
	f(true, nil, func(c *Config) { c.PublicURL = "https://data.example" })
	f(false, nil, func(c *Config) { c.PublicURL = "http://data.example" })

	r := newRig(t)
	request := httptest.NewRequest(http.MethodDelete, "/api/session", nil)
	request.TLS = &tls.ConnectionState{}
	if !cookie(t, r.send(request)).Secure {
		t.Error("over TLS the cookie is not Secure")
	}
}

// TestSession_AsCaller: a session reads as its plan allows, on the routes that look at a caller, and only without a key.
func TestSession_AsCaller(t *testing.T) {
	r := newRig(t)
	f := func(caller, target string, status int, want string, headers ...string) {
		t.Helper()
		if got := r.get(caller, target, headers...); got.StatusCode != status || !strings.Contains(got.body, want) {
			t.Errorf("%s as %q: %d %.300s\nwant %d %s", target, caller, got.StatusCode, got.body, status, want)
		}
	}
	const dailyOnly = "Premium access is daily-grain only. Hourly and real-time data require a full subscription."
	f("premium session", "/api/gpu/H200/hourly", 403, dailyOnly)
	f("trial session", "/api/gpu/H200/realtime", 403, dailyOnly)
	f("premium session", "/api/otpi?lab=minimax", 200, `"access":"premium"`)
	f("full session", "/api/otpi?lab=minimax", 200, `"access":"full"`)
	f("full session", "/api/gpu/H200/history?datetime=2026-02-01", 200, `"access":"full"`)
	f("free session", "/api/gpu/H200/history?datetime=2026-02-01", 401, "API key required. Use Authorization: Bearer YOUR_API_KEY")
	f("free session", "/api/gpu/H200/index-history", 200, `"access":"public-3mo"`)
	f("full session", "/api/gpu/H200", 401, "Invalid API key", "Authorization", "Bearer nonsense")
	f("full session", "/api/gpu/H200/hourly", 403, dailyOnly, "Authorization", "Bearer "+r.keys["premium"])
	for _, stale := range []string{"x", strings.Repeat("x", 43), ""} {
		f("", "/api/gpu/H200/index-history", 200, `"access":"public-3mo"`, "Cookie", sessionCookie+"="+stale)
		f("", "/api/gpu/H200/hourly", 401, "API key required", "Cookie", "other=1; "+sessionCookie+"="+stale)
	}

	for caller, want := range map[string]string{"full session": "private", "free session": "private", "": "public"} {
		if got := r.get(caller, "/api/gpu/H200"); !strings.HasPrefix(got.Header.Get("Cache-Control"), want) || got.Header.Get("Vary") != "Authorization, Cookie, Accept-Encoding" {
			t.Errorf("as %q: %v", caller, got.Header)
		}
	}
	if got := r.get("full session", "/api/gpu-types"); got.Header.Get("Vary") != "Accept-Encoding" || !strings.HasPrefix(got.Header.Get("Cache-Control"), "public") {
		t.Errorf("a catalog looks at the session: %v", got.Header)
	}
	r.now = r.now.Add(14 * 24 * time.Hour)
	f("full session", "/api/gpu/H200/hourly", 401, "API key required")
	f("full session", "/api/account", 401, "Sign in first.")
}

func TestSession_TrialEnds(t *testing.T) {
	r := newRig(t)
	key, _ := r.createKey("trial session")
	r.keys["mine"] = key
	f := func(status int) {
		t.Helper()
		for _, caller := range []string{"mine", "trial session"} {
			if got := r.get(caller, "/api/gpu/H200/history?datetime=2026-02-01"); got.StatusCode != status {
				t.Errorf("as %s: %d %s", caller, got.StatusCode, got.body)
			}
		}
	}
	f(200)
	r.now = fixtureNow.Add(72*time.Hour - time.Millisecond)
	f(200)
	r.now = fixtureNow.Add(72 * time.Hour)
	f(401)
	if got := r.get("mine", "/api/gpu/H200"); !strings.Contains(got.body, "API key is inactive") {
		t.Errorf("%s", got.body)
	}
	if got := r.get("trial session", "/api/account"); !strings.Contains(got.body, `"plan":"none"`) || !strings.Contains(got.body, `"key_tier":null`) {
		t.Errorf("%s", got.body)
	}
}

func TestSession_LimitByAccount(t *testing.T) {
	r := newRig(t, func(c *Config) { c.KeyLimit = 2 })
	for _, status := range []int{200, 200, 429} {
		if got := r.get("premium session", "/api/gpu/H200/history-simple"); got.StatusCode != status {
			t.Errorf("%d, want %d", got.StatusCode, status)
		}
	}
	if got := r.get("full session", "/api/gpu/H200/history-simple"); got.StatusCode != 200 {
		t.Errorf("another account: %d", got.StatusCode)
	}
}

// TestSignIn_Refused: whoever does not know the password learns nothing.
func TestSignIn_Refused(t *testing.T) {
	r := newRig(t)
	r.add(person)
	const wrong = `{"error":"Unauthorized","message":"Email or password is wrong.","code":"sign_in_failed",`
	for _, body := range []string{credentials(person, "wrong horse battery"), credentials("nobody@example.com", password), credentials("not an address", "x")} {
		got := r.write(http.MethodPost, "", "/api/session", body)
		if got.StatusCode != 401 || !strings.HasPrefix(got.body, wrong) || len(got.Cookies()) > 0 {
			t.Errorf("%s: %d %s", body, got.StatusCode, got.body)
		}
	}
	r.must(r.Accounts.CloseAccount(context.Background(), person))
	if got := r.write(http.MethodPost, "", "/api/session", credentials(person, password)); got.StatusCode != 401 || !strings.HasPrefix(got.body, wrong) {
		t.Errorf("closed: %d %s", got.StatusCode, got.body)
	}
}

// TestSignIn_Guessing: ten attempts an account and thirty an address in any five minutes, whether the account exists or not.
func TestSignIn_Guessing(t *testing.T) {
	r := newRig(t)
	attempt := func(email, peer string) reply {
		return r.write(http.MethodPost, "", "/api/session", credentials(email, "wrong horse battery"), "peer", peer)
	}
	r.add(person)
	for _, email := range []string{person, "nobody@example.com"} {
		for i := range guessesAccount {
			if got := attempt(email, fmt.Sprintf("198.51.100.%d:1", i)); got.StatusCode != 401 {
				t.Fatalf("attempt %d: %d %s", i, got.StatusCode, got.body)
			}
		}
		r.now = r.now.Add(4 * time.Minute)
		got := attempt(strings.ToUpper(email), "198.51.100.99:1")
		if got.StatusCode != 429 || got.Header.Get("Retry-After") != "60" ||
			!strings.Contains(got.body, `"message":"Rate limit of 10 sign-in attempts in 5 minutes exceeded. Retry in 60 seconds.","code":"rate_limited"`) {
			t.Errorf("%s: %d %v %s", email, got.StatusCode, got.Header, got.body)
		}
		r.now = r.now.Add(time.Minute)
		if got := attempt(email, "198.51.100.99:1"); got.StatusCode != 401 {
			t.Errorf("%s, five minutes later: %d", email, got.StatusCode)
		}
	}
	r.now = r.now.Add(guessWindow)
	for i := range guessesAddress {
		if got := attempt(fmt.Sprintf("p%d@example.com", i), "[2001:db8::1]:1"); got.StatusCode != 401 {
			t.Fatalf("attempt %d: %d", i, got.StatusCode)
		}
	}
	if got := attempt("other@example.com", "[2001:db8::2]:1"); got.StatusCode != 429 || !strings.Contains(got.body, "Rate limit of 30 sign-in attempts in 5 minutes exceeded.") {
		t.Errorf("%d %s", got.StatusCode, got.body)
	}
}

// TestOwnRoutes_CrossOrigin: nothing is changed for a page of another origin, and nothing is shown to it.
func TestOwnRoutes_CrossOrigin(t *testing.T) {
	r := newRig(t, func(c *Config) { c.PublicURL = "https://data.example" })
	const refused = `{"error":"Forbidden","message":"This path takes such calls from the pages of this server only, not from another origin.","code":"cross_origin",`
	for _, route := range ownRoutes {
		target := pathVariable.ReplaceAllString(route.path, "4fQz8K")
		for _, headers := range [][]string{
			{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "https://evil.example"}, {"Origin", "null"},
		} {
			got := r.write(route.method, "full session", target, "{}", headers...)
			if got.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s %s lets another origin read", route.method, target)
			}
			if route.method != get && (got.StatusCode != 403 || !strings.HasPrefix(got.body, refused)) {
				t.Errorf("%s %s with %v: %d %s", route.method, target, headers, got.StatusCode, got.body)
			}
		}
		preflight := r.do(http.MethodOptions, "", target, "Origin", "https://evil.example", "Access-Control-Request-Method", route.method)
		if preflight.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("the preflight of %s lets another origin in", target)
		}
	}
	for _, headers := range [][]string{{"Sec-Fetch-Site", "same-origin"}, {"Origin", "https://data.example"}, {"Origin", "http://example.com"}, {}} {
		if got := r.write(http.MethodDelete, "free session", "/api/keys/4fQz8K", "", headers...); got.StatusCode != 404 {
			t.Errorf("from our own page with %v: %d %s", headers, got.StatusCode, got.body)
		}
	}
}

func TestOwnRoutes_NeverCached(t *testing.T) {
	r := newRig(t)
	for _, route := range ownRoutes {
		got := r.do(route.method, "full session", pathVariable.ReplaceAllString(route.path, "4fQz8K"))
		if got.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s %s: %d %s", route.method, route.path, got.StatusCode, got.Header.Get("Cache-Control"))
		}
		clear(r.sessions)
	}
}

func TestBodies(t *testing.T) {
	r := newRig(t)
	f := func(method, target, body string, status int, label, message string, headers ...string) {
		t.Helper()
		got := r.write(method, "premium session", target, body, headers...)
		if want := fmt.Sprintf(`{"error":%q,"message":%q,`, label, message); got.StatusCode != status || !strings.HasPrefix(got.body, want) {
			t.Errorf("%.60s: %d %s\nwant %s", body, got.StatusCode, got.body, want)
		}
	}
	const create, bad = "/api/create-api-key", "Bad request"
	f(post, create, ``, 400, bad, "The body is not a JSON object; allowed is a JSON object with name.")
	f(post, create, `[]`, 400, bad, "The body is not a JSON object; allowed is a JSON object with name.")
	f(post, create, `{"name":"x"`, 400, bad, "The body is not a JSON object; allowed is a JSON object with name.")
	f(post, create, `{"name":"x"} {}`, 400, bad, "The body goes on after its end; allowed is a JSON object with name.")
	f(post, create, `{"title":"x"}`, 400, bad, `The body has the unknown field "title"; allowed is a JSON object with name.`)
	f(post, create, `{"name":7}`, 400, bad, "The body has a JSON number in the field name; allowed is a string.")
	f(post, create, `{"name":""}`, 400, bad, "name has 0 characters: allowed are 1 to 64.")
	f(post, create, `{"name":"x"}`, 400, bad, `The body has the Content-Type "text/plain"; allowed is application/json.`, "Content-Type", "text/plain")
	f(post, create, `{"name":"x"}`, 400, bad, `The body has the Content-Type ""; allowed is application/json.`, "Content-Type", "")
	f(post, create, `{"name":"`+strings.Repeat("x", maxBody)+`"}`, 413, "Payload too large", "The body is longer than 4096 bytes.")
	f(post, "/api/session", `{"email":"a@example.com"}`, 400, bad, "The body lacks the email or the password; allowed is a JSON object with email and password.")
	f(post, "/api/session", `{"email":"a@example.com","password":1}`, 400, bad, "The body has a JSON number in the field password; allowed is a string.")
	f(post, "/api/keys/4fQz8K/rotate", `{"grace_hours":169}`, 400, bad, "The body has 169 in the field grace_hours; allowed is a whole number from 0 to 168.")
	f(post, "/api/keys/4fQz8K/rotate", `{"grace_hours":-1}`, 400, bad, "The body has -1 in the field grace_hours; allowed is a whole number from 0 to 168.")
	f(post, "/api/keys/4fQz8K/rotate", `{"grace_hours":1.5}`, 400, bad, "The body has a JSON number 1.5 in the field grace_hours; allowed is a whole number.")
	f(put, "/api/account/password", `{"current":"x","following":"y"}`, 400, bad, `The body has the unknown field "following"; allowed is a JSON object with current and next.`)
	if got := r.write(post, "premium session", create, `{"name":"x"}`, "Content-Type", "application/json; charset=utf-8"); got.StatusCode != 201 {
		t.Errorf("with a charset: %d %s", got.StatusCode, got.body)
	}
}

func TestChangePassword(t *testing.T) {
	r := newRig(t)
	r.add(person)
	signIn := func(password string) reply {
		return r.write(post, "", "/api/session", credentials(person, password))
	}
	for _, name := range []string{"here", "there"} {
		c := cookie(t, signIn(password))
		r.sessions[name] = c.Name + "=" + c.Value
	}
	change := func(current, next string) reply {
		return r.write(put, "here session", "/api/account/password", fmt.Sprintf(`{"current":%q,"next":%q}`, current, next))
	}
	if got := change("wrong horse battery", "another horse battery"); got.StatusCode != 403 || !strings.Contains(got.body, `"message":"The current password is wrong.","code":"wrong_password"`) {
		t.Errorf("wrong: %d %s", got.StatusCode, got.body)
	}
	if got := change(password, "short"); got.StatusCode != 400 || !strings.Contains(got.body, `"code":"invalid_password"`) {
		t.Errorf("short: %d %s", got.StatusCode, got.body)
	}
	if got := change(password, "another horse battery"); got.StatusCode != 200 || got.body != `{"success":true}` {
		t.Errorf("right: %d %s", got.StatusCode, got.body)
	}
	if got := r.get("here session", "/api/account"); got.StatusCode != 200 {
		t.Errorf("this session: %d", got.StatusCode)
	}
	if got := r.get("there session", "/api/account"); got.StatusCode != 401 {
		t.Errorf("the other session: %d", got.StatusCode)
	}
	if got := signIn(password); got.StatusCode != 401 {
		t.Errorf("the old password: %d", got.StatusCode)
	}
	if got := signIn("another horse battery"); got.StatusCode != 200 {
		t.Errorf("the new password: %d", got.StatusCode)
	}
	for range guessesAccount {
		change("wrong horse battery", "another horse battery")
	}
	if got := change("wrong horse battery", "another horse battery"); got.StatusCode != 429 {
		t.Errorf("guessing: %d", got.StatusCode)
	}
}

// TestNoSecrets: no password, token or key gets into the log or the database.
func TestNoSecrets(t *testing.T) {
	r := newRig(t)
	r.add(person)
	r.grant(person, assay.PlanFull)
	c := cookie(t, r.write(post, "", "/api/session", credentials(person, password)))
	r.sessions["person"] = c.Name + "=" + c.Value
	key, id := r.createKey("person session")
	r.keys["mine"] = key
	r.get("mine", "/api/gpu/H200/hourly")
	r.get("", "/api/gpu/H200?token="+c.Value, "Cookie", r.sessions["person"])
	r.write(post, "person session", "/api/create-api-key", `{"name":"`+key+`"}`)
	r.write(post, "", "/api/session", credentials(key, password))
	r.write(post, "person session", "/api/keys/"+id+"/rotate", `{"grace_hours":0}`)
	r.do(del, "person session", "/api/keys/"+key)
	r.get("person session", "/api/usage?key="+key)
	r.must(r.Usage.Flush(t.Context()))
	texts := map[string][]byte{"log": r.logs.Bytes()}
	files, err := filepath.Glob(filepath.Join(r.dir, "*"))
	r.must(err)
	for _, file := range files {
		if info, err := os.Stat(file); err != nil || info.IsDir() {
			continue
		}
		texts[filepath.Base(file)], err = os.ReadFile(file)
		r.must(err)
	}
	for _, secret := range []string{password, c.Value, key, key[15:]} {
		for name, text := range texts {
			if bytes.Contains(text, []byte(secret)) {
				t.Errorf("%s holds %q", name, secret)
			}
		}
	}
	if !strings.Contains(r.logs.String(), `"path":"/api/keys/{id}/rotate","status":201`) || !strings.Contains(r.logs.String(), `"account":1`) {
		t.Errorf("the log does not tell who did what: %s", r.logs.String())
	}
	if len(texts) < 2 {
		t.Error("no file of the database was looked at")
	}
}

// TestOwnRoutes_DatabaseAway: who wants to change something is told to come back; reading goes on.
func TestOwnRoutes_DatabaseAway(t *testing.T) {
	r := newRig(t)
	r.session("full session")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	request := httptest.NewRequestWithContext(ctx, get, "/api/keys", nil)
	request.Header.Set("Cookie", r.session("full session"))
	got := r.send(request)
	if got.StatusCode != 503 || !strings.Contains(got.body, `"message":"This cannot be done at the moment. Try again later.","code":"unavailable"`) {
		t.Errorf("%d %s", got.StatusCode, got.body)
	}
	request = httptest.NewRequestWithContext(ctx, get, "/api/gpu/H200/hourly", nil)
	request.Header.Set("Cookie", r.session("full session"))
	if got := r.send(request); got.StatusCode != 200 {
		t.Errorf("a read: %d %s", got.StatusCode, got.body)
	}
	if account.SessionLength != 14*assay.Day {
		t.Error("the length of a session is not that of the description")
	}
}
