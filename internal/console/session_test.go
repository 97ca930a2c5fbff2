package console_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/account"
	"github.com/assaydata/assay/internal/apitest"
	"github.com/assaydata/assay/internal/web"
)

// pathVariable is a variable segment of a route's path.
var pathVariable = regexp.MustCompile(`\{\w+\}`)

const person = "person@example.com"

// add makes an account with the password.
func (r *rig) add(email string) assay.Account {
	r.Test.Helper()
	a, err := r.Accounts.AddAccount(context.Background(), email, "A Person", apitest.Password, false)
	r.Must(err)
	return a
}

func credentials(email, password string) string {
	return fmt.Sprintf(`{"email":%q,"password":%q}`, email, password)
}

// cookie returns the session cookie of a response. If it is Secure, its name says that only this host can have set it.
func cookie(t *testing.T, got apitest.Reply) *http.Cookie {
	t.Helper()
	for _, c := range got.Cookies() {
		if strings.TrimPrefix(c.Name, web.HostPrefix) != web.SessionCookie {
			continue
		}
		if strings.HasPrefix(c.Name, web.HostPrefix) != c.Secure || c.Path != "/" || c.Domain != "" {
			t.Errorf("the cookie is %+v", c)
		}
		return c
	}
	t.Fatalf("no cookie: %d %v %s", got.StatusCode, got.Header, got.Text)
	return nil
}

func TestSession(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.add(person)
	r.Grant(person, assay.PlanFull)
	got := r.Write(http.MethodPost, "", "/api/session", credentials(" Person@Example.com", apitest.Password))
	if got.StatusCode != 200 || !strings.Contains(got.Text, `"success":true,"data":{"id":1,"email":"person@example.com"`) || got.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("%d %v %s", got.StatusCode, got.Header, got.Text)
	}
	c := cookie(t, got)
	if c.MaxAge != 14*24*3600 || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Secure || c.Domain != "" || len(c.Value) < 43 {
		t.Errorf("the cookie is %+v", c)
	}
	if strings.Contains(got.Text, c.Value) {
		t.Error("the body shows the token")
	}
	r.Sessions["person"] = c.Name + "=" + c.Value
	if got := r.Get("person session", "/api/gpu/H200/hourly"); got.StatusCode != 200 || !strings.Contains(got.Text, `"access":"full"`) {
		t.Errorf("reading with the session: %d %s", got.StatusCode, got.Text)
	}
	if got := r.Get("person session", "/api/session"); got.StatusCode != 200 || got.Header.Get("Cache-Control") != "no-store" ||
		!strings.Contains(got.Text, `"data":{"account":{"id":1,"email":"person@example.com"`) {
		t.Errorf("who is signed in: %d %v %s", got.StatusCode, got.Header, got.Text)
	}
	out := r.Do(http.MethodDelete, "person session", "/api/session")
	if c := cookie(t, out); out.StatusCode != 200 || out.Text != `{"success":true}` || c.MaxAge >= 0 || c.Value != "" || !c.HttpOnly {
		t.Errorf("signing out: %d %s %+v", out.StatusCode, out.Text, c)
	}
	if got := r.Get("person session", "/api/account"); got.StatusCode != 401 {
		t.Errorf("after signing out: %d", got.StatusCode)
	}
	if got := r.Get("person session", "/api/session"); got.StatusCode != 200 || got.Text != signedOut("null") {
		t.Errorf("who is signed in after that: %d %s", got.StatusCode, got.Text)
	}
	if out := r.Do(http.MethodDelete, "", "/api/session"); out.StatusCode != 200 {
		t.Errorf("signing out without a session: %d", out.StatusCode)
	}
}

// TestSession_SecureCookie: behind TLS, be it ours or a trusted proxy's, the cookie never goes without.
func TestSession_SecureCookie(t *testing.T) {
	t.Parallel()
	f := func(want bool, headers []string, options ...func(*apitest.Config)) {
		t.Helper()
		r := newRig(t, options...)
		out := r.Do(http.MethodDelete, "", "/api/session", headers...)
		if got := cookie(t, out).Secure; got != want {
			t.Errorf("%v: Secure is %v", headers, got)
		}
	}
	forwarded := []string{"peer", "10.0.0.1:1", "X-Forwarded-Proto", "https"}
	f(false, nil)
	f(false, forwarded)
	f(true, forwarded, apitest.TrustProxies("10.0.0.0/8"))
	f(false, []string{"peer", "10.0.0.1:1", "X-Forwarded-Proto", "http"}, apitest.TrustProxies("10.0.0.0/8"))
	f(false, []string{"peer", "192.0.2.1:1", "X-Forwarded-Proto", "https"}, apitest.TrustProxies("10.0.0.0/8"))
	f(true, nil, func(c *apitest.Config) { c.Web.PublicURL = "https://data.example" })
	f(false, nil, func(c *apitest.Config) { c.Web.PublicURL = "http://data.example" })

	r := newRig(t)
	request := httptest.NewRequest(http.MethodDelete, "/api/session", nil)
	request.TLS = &tls.ConnectionState{}
	if !cookie(t, r.Send(request)).Secure {
		t.Error("over TLS the cookie is not Secure")
	}
}

// Over TLS, a cookie that another host of the domain may have planted is not a session.
func TestSession_PlantedCookie(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *apitest.Config) { c.Web.PublicURL = "https://data.example" })
	set, planted := r.Session("full session"), strings.TrimPrefix(r.Session("free session"), web.HostPrefix)
	if got := r.Get("", "/api/account", "Cookie", planted); got.StatusCode != 401 {
		t.Errorf("a cookie without the prefix is accepted: %d %s", got.StatusCode, got.Text)
	}
	got := r.Get("", "/api/account", "Cookie", planted+"; "+set)
	if got.StatusCode != 200 || !strings.Contains(got.Text, "full@example.com") {
		t.Errorf("the cookie of this host: %d %s", got.StatusCode, got.Text)
	}
}

// TestSession_AsCaller: a session reads as its plan allows, on the routes that look at a caller, and only without a
// key.
func TestSession_AsCaller(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	f := func(caller, target string, status int, want string, headers ...string) {
		t.Helper()
		if got := r.Get(caller, target, headers...); got.StatusCode != status || !strings.Contains(got.Text, want) {
			t.Errorf("%s as %q: %d %.300s\nwant %d %s", target, caller, got.StatusCode, got.Text, status, want)
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
	f("full session", "/api/gpu/H200/hourly", 403, dailyOnly, "Authorization", "Bearer "+r.Keys["premium"])
	for _, stale := range []string{"x", strings.Repeat("x", 43), ""} {
		f("", "/api/gpu/H200/index-history", 200, `"access":"public-3mo"`, "Cookie", web.SessionCookie+"="+stale)
		f("", "/api/gpu/H200/hourly", 401, "API key required", "Cookie", "other=1; "+web.SessionCookie+"="+stale)
	}

	for caller, want := range map[string]string{"full session": "private", "free session": "private", "": "public"} {
		if got := r.Get(caller, "/api/gpu/H200"); !strings.HasPrefix(got.Header.Get("Cache-Control"), want) || got.Header.Get("Vary") != "Authorization, Cookie, Accept, Accept-Encoding" {
			t.Errorf("as %q: %v", caller, got.Header)
		}
	}
	if got := r.Get("full session", "/api/gpu-types"); got.Header.Get("Vary") != "Accept, Accept-Encoding" || !strings.HasPrefix(got.Header.Get("Cache-Control"), "public") {
		t.Errorf("a catalog looks at the session: %v", got.Header)
	}
	r.Clock = r.Clock.Add(14 * 24 * time.Hour)
	f("full session", "/api/gpu/H200/hourly", 401, "API key required")
	f("full session", "/api/account", 401, "Sign in first.")
}

func TestSession_TrialEnds(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	key, _ := r.CreateKey("trial session")
	r.Keys["mine"] = key
	f := func(status int) {
		t.Helper()
		for _, caller := range []string{"mine", "trial session"} {
			if got := r.Get(caller, "/api/gpu/H200/history?datetime=2026-02-01"); got.StatusCode != status {
				t.Errorf("as %s: %d %s", caller, got.StatusCode, got.Text)
			}
		}
	}
	for r.Clock.Before(apitest.Now.Add(71 * time.Hour)) {
		f(200) // a session lasts while it is used
		r.Clock = r.Clock.Add(12 * time.Hour)
	}
	r.Clock = apitest.Now.Add(72*time.Hour - time.Millisecond)
	f(200)
	r.Clock = apitest.Now.Add(72 * time.Hour)
	f(401)
	if got := r.Get("mine", "/api/gpu/H200"); !strings.Contains(got.Text, "API key is inactive") {
		t.Errorf("%s", got.Text)
	}
	if got := r.Get("trial session", "/api/account"); !strings.Contains(got.Text, `"plan":"none"`) || !strings.Contains(got.Text, `"key_tier":null`) {
		t.Errorf("%s", got.Text)
	}
}

// A session has a limit of its own, which is not that of a key, and counts under that of its account.
func TestSession_LimitByAccount(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *apitest.Config) { c.Web.KeyLimit, c.Web.AccountLimit = 1, 2 })
	for _, status := range []int{200, 200, 429} {
		if got := r.Get("premium session", "/api/gpu/H200/history-simple"); got.StatusCode != status {
			t.Errorf("%d, want %d", got.StatusCode, status)
		}
	}
	if got := r.Get("full session", "/api/gpu/H200/history-simple"); got.StatusCode != 200 {
		t.Errorf("another account: %d", got.StatusCode)
	}
}

// TestSignIn_Refused: a caller without the password learns nothing.
func TestSignIn_Refused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.add(person)
	const wrong = `{"error":"Unauthorized","message":"Email or password is wrong.","code":"sign_in_failed",`
	for _, body := range []string{credentials(person, "wrong horse battery"), credentials("nobody@example.com", apitest.Password), credentials("not an address", "x")} {
		got := r.Write(http.MethodPost, "", "/api/session", body)
		if got.StatusCode != 401 || !strings.HasPrefix(got.Text, wrong) || len(got.Cookies()) > 0 {
			t.Errorf("%s: %d %s", body, got.StatusCode, got.Text)
		}
	}
	r.Must(r.Accounts.CloseAccount(context.Background(), person))
	if got := r.Write(http.MethodPost, "", "/api/session", credentials(person, apitest.Password)); got.StatusCode != 401 || !strings.HasPrefix(got.Text, wrong) {
		t.Errorf("closed: %d %s", got.StatusCode, got.Text)
	}
}

// TestOwnRoutes_CrossOrigin: nothing is changed for a page of another origin, and nothing is shown to it.
func TestOwnRoutes_CrossOrigin(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *apitest.Config) { c.Web.PublicURL = "https://data.example" })
	const refused = `{"error":"Forbidden","message":"This path takes such calls from the pages of this server only, not from another origin.","code":"cross_origin",`
	for _, route := range r.Groups[1].Routes {
		target := pathVariable.ReplaceAllString(route.Path, "4fQz8K")
		for _, headers := range [][]string{
			{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "https://evil.example"}, {"Origin", "null"},
		} {
			got := r.Write(route.Method, "full session", target, "{}", headers...)
			if got.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s %s lets another origin read", route.Method, target)
			}
			if route.Method != http.MethodGet && (got.StatusCode != 403 || !strings.HasPrefix(got.Text, refused)) {
				t.Errorf("%s %s with %v: %d %s", route.Method, target, headers, got.StatusCode, got.Text)
			}
		}
		preflight := r.Do(http.MethodOptions, "", target, "Origin", "https://evil.example", "Access-Control-Request-Method", route.Method)
		if preflight.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("the preflight of %s lets another origin in", target)
		}
	}
	for _, headers := range [][]string{{"Sec-Fetch-Site", "same-origin"}, {"Origin", "https://data.example"}, {"Origin", "http://example.com"}, {}} {
		if got := r.Write(http.MethodDelete, "free session", "/api/keys/4fQz8K", "", headers...); got.StatusCode != 404 {
			t.Errorf("from our own page with %v: %d %s", headers, got.StatusCode, got.Text)
		}
	}
}

func TestOwnRoutes_NeverCached(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, route := range r.Groups[1].Routes {
		got := r.Do(route.Method, "full session", pathVariable.ReplaceAllString(route.Path, "4fQz8K"))
		if got.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s %s: %d %s", route.Method, route.Path, got.StatusCode, got.Header.Get("Cache-Control"))
		}
		clear(r.Sessions)
	}
}

func TestBodies(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	f := func(method, target, body string, status int, label, message string, headers ...string) {
		t.Helper()
		got := r.Write(method, "premium session", target, body, headers...)
		if want := fmt.Sprintf(`{"error":%q,"message":%q,`, label, message); got.StatusCode != status || !strings.HasPrefix(got.Text, want) {
			t.Errorf("%.60s: %d %s\nwant %s", body, got.StatusCode, got.Text, want)
		}
	}
	const create, bad = "/api/create-api-key", "Bad request"
	f(http.MethodPost, create, ``, 400, bad, "Invalid body: must be a JSON object with name.")
	f(http.MethodPost, create, `[]`, 400, bad, "Invalid body: must be a JSON object with name.")
	f(http.MethodPost, create, `{"name":"x"`, 400, bad, "Invalid body: must be a JSON object with name.")
	f(http.MethodPost, create, `{"name":"x"} {}`, 400, bad, "Invalid body: it has more than one value, must be a JSON object with name.")
	f(http.MethodPost, create, `{"title":"x"}`, 400, bad, `Invalid body: unknown field "title", must be a JSON object with name.`)
	f(http.MethodPost, create, `{"name":7}`, 400, bad, "Invalid body: name is a JSON number, must be a string.")
	f(http.MethodPost, create, `{"name":""}`, 400, bad, "name has 0 characters: allowed are 1 to 64.")
	f(http.MethodPost, create, `{"name":"x"}`, 400, bad, `Invalid body: the Content-Type is "text/plain", must be application/json.`, "Content-Type", "text/plain")
	f(http.MethodPost, create, `{"name":"x"}`, 400, bad, `Invalid body: the Content-Type is "", must be application/json.`, "Content-Type", "")
	f(http.MethodPost, create, `{"name":"`+strings.Repeat("x", 4<<10)+`"}`, 413, "Payload too large", "The body is longer than 4096 bytes.")
	f(http.MethodPost, "/api/session", `{"email":"a@example.com"}`, 400, bad, "Invalid body: must be a JSON object with email and password.")
	f(http.MethodPost, "/api/session", `{"email":"a@example.com","password":1}`, 400, bad, "Invalid body: password is a JSON number, must be a string.")
	f(http.MethodPost, "/api/keys/4fQz8K/rotate", `{"grace_hours":169}`, 400, bad, "Invalid body: grace_hours is 169, must be an integer from 0 to 168.")
	f(http.MethodPost, "/api/keys/4fQz8K/rotate", `{"grace_hours":-1}`, 400, bad, "Invalid body: grace_hours is -1, must be an integer from 0 to 168.")
	f(http.MethodPost, "/api/keys/4fQz8K/rotate", `{"grace_hours":1.5}`, 400, bad, "Invalid body: grace_hours is a JSON number 1.5, must be an integer.")
	f(http.MethodPut, "/api/account/password", `{"current":"x","following":"y"}`, 400, bad, `Invalid body: unknown field "following", must be a JSON object with current and next.`)
	if got := r.Write(http.MethodPost, "premium session", create, `{"name":"x"}`, "Content-Type", "application/json; charset=utf-8"); got.StatusCode != 201 {
		t.Errorf("with a charset: %d %s", got.StatusCode, got.Text)
	}
}

func TestChangePassword(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.add(person)
	signIn := func(password string) apitest.Reply {
		return r.Write(http.MethodPost, "", "/api/session", credentials(person, password))
	}
	for _, name := range []string{"here", "there"} {
		c := cookie(t, signIn(apitest.Password))
		r.Sessions[name] = c.Name + "=" + c.Value
	}
	change := func(current, next string) apitest.Reply {
		return r.Write(http.MethodPut, "here session", "/api/account/password", fmt.Sprintf(`{"current":%q,"next":%q}`, current, next))
	}
	if got := change("wrong horse battery", "another horse battery"); got.StatusCode != 403 || !strings.Contains(got.Text, `"message":"The current password is wrong.","code":"wrong_password"`) {
		t.Errorf("wrong: %d %s", got.StatusCode, got.Text)
	}
	if got := change(apitest.Password, "short"); got.StatusCode != 400 || !strings.Contains(got.Text, `"code":"invalid_password"`) {
		t.Errorf("short: %d %s", got.StatusCode, got.Text)
	}
	if got := change(apitest.Password, "another horse battery"); got.StatusCode != 200 || got.Text != `{"success":true}` {
		t.Errorf("right: %d %s", got.StatusCode, got.Text)
	}
	if got := r.Get("here session", "/api/account"); got.StatusCode != 200 {
		t.Errorf("this session: %d", got.StatusCode)
	}
	if got := r.Get("there session", "/api/account"); got.StatusCode != 401 {
		t.Errorf("the other session: %d", got.StatusCode)
	}
	if got := signIn(apitest.Password); got.StatusCode != 401 {
		t.Errorf("the old password: %d", got.StatusCode)
	}
	if got := signIn("another horse battery"); got.StatusCode != 200 {
		t.Errorf("the new password: %d", got.StatusCode)
	}
}

// TestNoSecrets: no apitest.Password, token or key gets into the log or the database.
func TestNoSecrets(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.add(person)
	r.Grant(person, assay.PlanFull)
	c := cookie(t, r.Write(http.MethodPost, "", "/api/session", credentials(person, apitest.Password)))
	r.Sessions["person"] = c.Name + "=" + c.Value
	key, id := r.CreateKey("person session")
	r.Keys["mine"] = key
	r.Get("mine", "/api/gpu/H200/hourly")
	r.Get("", "/api/gpu/H200?token="+c.Value, "Cookie", r.Sessions["person"])
	r.Write(http.MethodPost, "person session", "/api/create-api-key", `{"name":"`+key+`"}`)
	r.Write(http.MethodPost, "", "/api/session", credentials(key, apitest.Password))
	r.Write(http.MethodPost, "person session", "/api/keys/"+id+"/rotate", `{"grace_hours":0}`)
	r.Do(http.MethodDelete, "person session", "/api/keys/"+key)
	r.Get("person session", "/api/usage?key="+key)
	r.Must(r.Usage.Flush(t.Context()))
	texts := map[string][]byte{"log": []byte(r.Logs.String())}
	files, err := filepath.Glob(filepath.Join(r.Dir, "*"))
	r.Must(err)
	for _, file := range files {
		if info, err := os.Stat(file); err != nil || info.IsDir() {
			continue
		}
		texts[filepath.Base(file)], err = os.ReadFile(file)
		r.Must(err)
	}
	for _, secret := range []string{apitest.Password, c.Value, key, key[15:]} {
		for name, text := range texts {
			if bytes.Contains(text, []byte(secret)) {
				t.Errorf("%s holds %q", name, secret)
			}
		}
	}
	if !strings.Contains(r.Logs.String(), `"path":"/api/keys/{id}/rotate","status":201`) || !strings.Contains(r.Logs.String(), `"account":1`) {
		t.Errorf("the log does not tell who did what: %s", r.Logs.String())
	}
	if len(texts) < 2 {
		t.Error("no file of the database was looked at")
	}
}

// TestOwnRoutes_DatabaseAway: changes get a 503 with Retry-After; reading continues.
func TestOwnRoutes_DatabaseAway(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.Session("full session")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	request := httptest.NewRequestWithContext(ctx, http.MethodGet, "/api/keys", nil)
	request.Header.Set("Cookie", r.Session("full session"))
	got := r.Send(request)
	if got.StatusCode != 503 || !strings.Contains(got.Text, `"message":"This cannot be done at the moment. Try again later.","code":"unavailable"`) {
		t.Errorf("%d %s", got.StatusCode, got.Text)
	}
	request = httptest.NewRequestWithContext(ctx, http.MethodGet, "/api/gpu/H200/hourly", nil)
	request.Header.Set("Cookie", r.Session("full session"))
	if got := r.Send(request); got.StatusCode != 200 {
		t.Errorf("a read: %d %s", got.StatusCode, got.Text)
	}
	if account.SessionLength != 14*assay.Day || account.SessionIdle != assay.Day {
		t.Error("the length of a session is not that of the description")
	}
}

// Random cookies on the account routes: past the limit no one waits for the database, and a sign-out says so.
func TestSession_UnknownTokens(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	sent := 0
	unknown := func() string {
		sent++
		return fmt.Sprintf("%s=%043d", web.SessionCookie, sent)
	}
	transactions, now := 0, r.DB.Now
	r.DB.Now = func() time.Time {
		transactions++
		return now()
	}
	const peer = "[2001:db8::1]:1"
	for range 200 {
		if got := r.Get("", "/api/account", "peer", peer, "Cookie", unknown()); got.StatusCode != 401 {
			t.Fatalf("%d %s", got.StatusCode, got.Text)
		}
		if got := r.Get("", "/api/session", "peer", peer, "Cookie", unknown()); got.StatusCode != 200 {
			t.Fatalf("%d %s", got.StatusCode, got.Text)
		}
	}
	if transactions == 0 || transactions > 30 {
		t.Errorf("%d transactions for 400 unknown sessions", transactions)
	}
	got := r.Do(http.MethodDelete, "", "/api/session", "peer", "[2001:db8::2]:1", "Cookie", unknown()) // the same /64
	if got.StatusCode != 429 || got.Header.Get("Retry-After") != "60" ||
		!strings.HasPrefix(got.Text, `{"error":"Too many requests","message":"Too many unknown sessions. Retry in 60 seconds.","code":"rate_limited",`) {
		t.Errorf("%d %v %s", got.StatusCode, got.Header, got.Text)
	}
	if got := r.Do(http.MethodDelete, "", "/api/session", "peer", "[2001:db8:0:1::1]:1", "Cookie", unknown()); got.StatusCode != 200 {
		t.Errorf("another address: %d %s", got.StatusCode, got.Text)
	}
}
