package console_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/account"
	"github.com/assaydata/assay/internal/apitest"
	"github.com/assaydata/assay/internal/web"
)

// TestKeys_Lifecycle: a key works on every route from the moment it is shown until it is revoked.
func TestKeys_Lifecycle(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	got := r.Write(http.MethodPost, "full session", "/api/create-api-key", `{"name":"research notebook"}`)
	var made struct {
		Key  string
		Data struct{ ID string }
	}
	r.Must(json.Unmarshal([]byte(got.Text), &made))
	want := fmt.Sprintf(`{"success":true,"key":%q,"data":{"id":%q,"name":"research notebook","prefix":"sk_live_%s","tier":"full","created_at":"2026-02-04T12:34:56.000Z"}}`,
		made.Key, made.Data.ID, made.Data.ID)
	if got.StatusCode != 201 || got.Text != want {
		t.Fatalf("%d %s\nwant %s", got.StatusCode, got.Text, want)
	}
	r.Keys["mine"] = made.Key
	if got := r.Get("mine", "/api/gpu/H200/hourly"); got.StatusCode != 200 {
		t.Errorf("the new key: %d %s", got.StatusCode, got.Text)
	}
	list := r.Get("full session", "/api/keys")
	want = fmt.Sprintf(`{"success":true,"count":1,"has_more":false,"data":[{"id":%q,"name":"research notebook","prefix":"sk_live_%s","tier":"full","created_at":"2026-02-04T12:34:56.000Z",`+
		`"expires_at":null,"last_used_at":"2026-02-04T12:34:56.000Z","revoked_at":null,"status":"active"}]}`, made.Data.ID, made.Data.ID)
	if list.Text != want {
		t.Errorf("%s\nwant %s", list.Text, want)
	}
	stored, err := r.DB.ListKeys(t.Context())
	r.Must(err)
	for _, k := range stored {
		if k.ID == made.Data.ID && k.LastUsedAt != 0 {
			t.Error("listing the keys wrote when they were last used")
		}
	}
	for _, caller := range []string{"premium session", "free session"} {
		if got := r.Get(caller, "/api/keys"); got.Text != `{"success":true,"count":0,"has_more":false,"data":[]}` {
			t.Errorf("%s sees %s", caller, got.Text)
		}
		for _, target := range []string{"/api/keys/" + made.Data.ID, "/api/keys/nobody"} {
			got := r.Do(http.MethodDelete, caller, target)
			if got.StatusCode != 404 || !strings.Contains(got.Text, `"code":"unknown_key"`) {
				t.Errorf("%s revokes %s: %d %s", caller, target, got.StatusCode, got.Text)
			}
			if got := r.Write(http.MethodPost, caller, target+"/rotate", `{}`); got.StatusCode != 404 && got.StatusCode != 403 {
				t.Errorf("%s rotates %s: %d %s", caller, target, got.StatusCode, got.Text)
			}
		}
	}
	if got := r.Do(http.MethodDelete, "full session", "/api/keys/"+made.Data.ID); got.StatusCode != 200 || got.Text != `{"success":true}` {
		t.Errorf("revoking: %d %s", got.StatusCode, got.Text)
	}
	if got := r.Get("mine", "/api/gpu/H200"); got.StatusCode != 401 || !strings.Contains(got.Text, `"message":"API key is inactive"`) {
		t.Errorf("the revoked key: %d %s", got.StatusCode, got.Text)
	}
	if got := r.Get("full session", "/api/keys"); !strings.Contains(got.Text, `"revoked_at":"2026-02-04T12:34:56.000Z","status":"revoked"`) {
		t.Errorf("%s", got.Text)
	}
}

// TestKeys_WhoMayCreate: every row of the rule, over HTTP.
func TestKeys_WhoMayCreate(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.Session("free session")
	for _, o := range []struct {
		name string
		plan assay.Plan
	}{{"floor", assay.PlanPremium}, {"tried", assay.PlanTrial}, {"none", assay.PlanNone}} {
		email := o.name + "@example.com"
		who := account.Identity{Issuer: "https://issuer.example", Subject: o.name, Email: email}
		in, err := r.Accounts.SignInAs(context.Background(), account.Client{}, who)
		r.Must(err)
		r.Sessions[o.name] = web.SessionCookie + "=" + in.Session.Reveal()
		r.Organization("The "+o.name, o.plan, o.name+"@example.com")
	}
	const text = "API keys need an access grant of your own, or an organization on full access."
	for caller, prefix := range map[string]string{
		"trial session": "sk_prem_", "premium session": "sk_prem_", "full session": "sk_live_", "member session": "sk_live_",
		"free session": "", "floor session": "", "tried session": "", "none session": "",
	} {
		got := r.Write(http.MethodPost, caller, "/api/create-api-key", `{"name":"a test"}`)
		if prefix != "" && (got.StatusCode != 201 || !strings.HasPrefix(got.Text, `{"success":true,"key":"`+prefix)) {
			t.Errorf("%s: %d %s", caller, got.StatusCode, got.Text)
		}
		refused := fmt.Sprintf(`{"success":false,"error":%q,"message":%q,"code":"key_creation_refused",`, text, text)
		if prefix == "" && (got.StatusCode != 403 || !strings.HasPrefix(got.Text, refused)) {
			t.Errorf("%s: %d %s", caller, got.StatusCode, got.Text)
		}
	}
	for caller := range map[string]bool{"": true, "full": true} {
		got := r.Do(http.MethodPost, caller, "/api/create-api-key", "Content-Type", "application/json")
		if got.StatusCode != 401 || !strings.HasPrefix(got.Text, `{"error":"Unauthorized","message":"Sign in first.","code":"session_required",`) {
			t.Errorf("without a session, as %q: %d %s", caller, got.StatusCode, got.Text)
		}
	}
}

// TestKeys_EndWithTheirBasis: what a key hangs on goes, and the key with it.
func TestKeys_EndWithTheirBasis(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx := context.Background()
	f := func(caller string, end func() error) {
		t.Helper()
		r.Keys[caller+" key"], _ = r.CreateKey(caller)
		if got := r.Get(caller+" key", "/api/gpu/H200/history?datetime=2026-02-01"); got.StatusCode != 200 {
			t.Errorf("%s before: %d", caller, got.StatusCode)
		}
		r.Clock = r.Clock.Add(time.Second)
		r.Must(end())
		if got := r.Get(caller+" key", "/api/gpu/H200"); got.StatusCode != 401 || !strings.Contains(got.Text, "API key is inactive") {
			t.Errorf("%s after: %d %s", caller, got.StatusCode, got.Text)
		}
	}
	f("member session", func() error { return r.Accounts.SetPlan(ctx, "Fund", assay.PlanPremium) })
	f("full session", func() error {
		_, err := r.Accounts.AddGrant(ctx, "full@example.com", account.GrantRequest{Plan: assay.PlanPremium})
		return err
	})
	f("premium session", func() error { return r.Accounts.CloseAccount(ctx, "premium@example.com") })
}

func TestKeys_Rotate(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	f := func(body string, grace time.Duration) {
		t.Helper()
		old, id := r.CreateKey("premium session")
		got := r.Write(http.MethodPost, "premium session", "/api/keys/"+id+"/rotate", body)
		var made struct {
			Key      string
			Replaces struct {
				ID string
				At string `json:"expires_at"`
			}
			Data struct{ ID, Name string }
		}
		r.Must(json.Unmarshal([]byte(got.Text), &made))
		if got.StatusCode != 201 || made.Replaces.ID != id || made.Replaces.At != assay.FormatInstant(r.Clock.Add(grace).UnixMilli()) || made.Data.Name != "a test" {
			t.Fatalf("%q: %d %s", body, got.StatusCode, got.Text)
		}
		r.Keys["old"], r.Keys["new"] = old, made.Key
		begun := r.Clock
		for _, at := range []struct {
			after time.Duration
			old   int
		}{{grace - time.Millisecond, 200}, {grace, 401}} {
			if at.after < 0 {
				continue
			}
			r.Clock = begun.Add(at.after)
			if got := r.Get("old", "/api/gpu/H200"); got.StatusCode != at.old {
				t.Errorf("%q, the old key after %v: %d", body, at.after, got.StatusCode)
			}
			if got := r.Get("new", "/api/gpu/H200"); got.StatusCode != 200 {
				t.Errorf("%q, the new key after %v: %d", body, at.after, got.StatusCode)
			}
		}
		r.Clock = begun
	}
	f(`{"grace_hours":0}`, 0)
	f(`{"grace_hours":168}`, 7*24*time.Hour)
	f(`{}`, 24*time.Hour)
	f(``, 24*time.Hour)

	_, id := r.CreateKey("premium session")
	r.Do(http.MethodDelete, "premium session", "/api/keys/"+id)
	if got := r.Write(http.MethodPost, "premium session", "/api/keys/"+id+"/rotate", `{}`); got.StatusCode != 400 || !strings.Contains(got.Text, "Only an active key can be rotated. Create a new one.") {
		t.Errorf("a revoked key: %d %s", got.StatusCode, got.Text)
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var id string
	r.Keys["mine"], id = r.CreateKey("full session")
	r.Get("mine", "/api/gpu/H200")
	r.Get("mine", "/api/gpu/B200")
	r.Get("mine", "/api/gpu/TPU")
	r.Get("mine", "/api/gpu-types") // looks at no key
	r.Get("full session", "/api/gpu/H200")
	r.Get("premium", "/api/gpu/H200")
	want := fmt.Sprintf(`{"success":true,"startDate":"2026-01-06","endDate":"2026-02-04","count":2,"has_more":false,"data":[`+
		`{"date":"2026-02-04","key_id":%q,"route":"/api/gpu/{gpuName}","status":200,"requests":2},`+
		`{"date":"2026-02-04","key_id":%q,"route":"/api/gpu/{gpuName}","status":400,"requests":1}]}`, id, id)
	for _, target := range []string{"/api/usage", "/api/usage?key=" + id} {
		if got := r.Get("full session", target); got.Text != want {
			t.Errorf("%s: %s\nwant %s", target, got.Text, want)
		}
	}
	if got := r.Get("mine", "/api/usage?key="+id); got.Text != want {
		t.Errorf("with the key itself: %s\nwant %s", got.Text, want)
	}
	if got := r.Get("premium", "/api/usage"); !strings.Contains(got.Text, `"count":1,`) || strings.Contains(got.Text, id) {
		t.Errorf("with a key of the operator: %s", got.Text)
	}
	if got := r.Get("premium session", "/api/usage"); !strings.Contains(got.Text, `"count":0,"has_more":false,"data":[]`) {
		t.Errorf("another account sees %s", got.Text)
	}
	r.Clock = r.Clock.Add(24 * time.Hour)
	clear(r.Sessions) // they have ended, and the callers sign in again
	r.Get("mine", "/api/gpu/H200")
	if got := r.Get("full session", "/api/usage?startDate=2026-02-05&endDate=2026-02-05"); !strings.Contains(got.Text, `"startDate":"2026-02-05","endDate":"2026-02-05","count":1,`) {
		t.Errorf("one day: %s", got.Text)
	}
	f := func(caller, query string, status int, message string) {
		t.Helper()
		if got := r.Get(caller, "/api/usage?"+query); got.StatusCode != status || !strings.Contains(got.Text, message) {
			t.Errorf("%s: %d %s", query, got.StatusCode, got.Text)
		}
	}
	const span = `must be a day from 365 days before endDate to endDate.`
	f("full session", "startDate=2026-02-02&endDate=2026-02-01", 400, span)
	f("full session", "startDate=2025-02-04&endDate=2026-02-05", 400, span)
	f("full session", "startDate=2025-02-05&endDate=2026-02-05", 200, `"count":`)
	f("full session", "endDate=soon", 400, `for \"endDate\": must be`)
	f("full session", "key=nobody", 404, `There is no key with the id \"nobody\".`)
	f("premium session", "key="+id, 404, "There is no key with the id")
	f("premium", "key="+id, 404, "There is no key with the id")
	f("", "", 401, "Sign in first.")
	f("revoked", "", 401, "API key is inactive")
}

// A repeated request creates no second key, whatever else it says, and names the first one.
func TestKeys_IdempotencyKey(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const create = "/api/create-api-key"
	post := func(caller, path, body string, names ...string) apitest.Reply {
		t.Helper()
		request := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
		request.RequestURI = path
		request.Header = http.Header{
			"Content-Type": {"application/json"}, "Cookie": {r.Session(caller)}, "Idempotency-Key": names,
		}
		return r.Send(request)
	}
	id := func(got apitest.Reply) string {
		t.Helper()
		var made struct{ Data struct{ ID string } }
		if got.StatusCode != 201 {
			t.Fatalf("%d %s", got.StatusCode, got.Text)
		}
		r.Must(json.Unmarshal([]byte(got.Text), &made))
		return made.Data.ID
	}
	wantExists := func(name string, got apitest.Reply, key string) {
		t.Helper()
		if got.StatusCode != 409 || !strings.Contains(got.Text, `"code":"key_exists"`) || !strings.HasSuffix(got.Text, `"key_id":"`+key+`"}`) {
			t.Errorf("%s: %d %s, want the key %s", name, got.StatusCode, got.Text, key)
		}
	}
	first := id(post("full session", create, `{"name":"one"}`, "a"))
	wantExists("the same", post("full session", create, `{"name":"one"}`, "a"), first)
	wantExists("another body", post("full session", create, `{"name":"two"}`, "a"), first)
	wantExists("another path", post("full session", "/api/keys/"+first+"/rotate", `{}`, "a"), first)
	second := id(post("full session", "/api/keys/"+first+"/rotate", `{}`, "b"))
	wantExists("rotated again", post("full session", "/api/keys/"+first+"/rotate", `{}`, "b"), second)
	id(post("full session", create, `{"name":"one"}`, "c"))
	id(post("full session", create, `{"name":"one"}`))
	id(post("premium session", create, `{"name":"one"}`, "a")) // names belong to accounts
	if got := r.Get("full session", "/api/keys"); !strings.Contains(got.Text, `"count":4,`) {
		t.Errorf("the keys: %s", got.Text)
	}
	for _, bad := range [][]string{{""}, {"a b"}, {strings.Repeat("x", 256)}, {"é"}, {"x", "y"}} {
		got := post("full session", create, `{"name":"one"}`, bad...)
		if got.StatusCode != 400 || !strings.Contains(got.Text, "must be 1 to 255 visible ASCII characters, once") {
			t.Errorf("%q: %d %s", bad, got.StatusCode, got.Text)
		}
	}
	r.Do(http.MethodDelete, "full session", "/api/keys/"+first)
	wantExists("after the key was revoked", post("full session", create, `{"name":"one"}`, "a"), first)
}
