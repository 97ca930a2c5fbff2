package console_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/assaydata/assay/internal/apitest"
)

// made is what a response says of something that was created.
type made struct {
	Secret string
	Data   struct{ ID, Status string }
}

func (r *rig) made(got apitest.Reply, status int) (m made) {
	r.Test.Helper()
	if got.StatusCode != status {
		r.Test.Fatalf("%d %s, want %d", got.StatusCode, got.Text, status)
	}
	r.Must(json.Unmarshal([]byte(got.Text), &m))
	return m
}

const someURL = `"https://hooks.example.com/secret-path"`

// TestAlerts_Lifecycle goes through every route. Each response is checked against the description of the API.
func TestAlerts_Lifecycle(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.SecondFactors)
	const me = "full session"
	hook := r.made(r.Write(http.MethodPost, me, "/api/webhooks", `{"name":"mine","url":`+someURL+`}`), 201)
	if !strings.HasPrefix(hook.Secret, "whsec_") {
		t.Errorf("the secret is %q", hook.Secret)
	}
	path := "/api/webhooks/" + hook.Data.ID
	alert := r.made(r.Write(http.MethodPost, me, "/api/alerts",
		`{"name":"dear","type":"price_above","gpu_type":"H200","granularity":"hourly","threshold":3.000000001,"webhook_id":"`+hook.Data.ID+`"}`), 201)
	if alert.Data.Status != "active" {
		t.Errorf("%+v", alert)
	}
	list := r.Get(me, "/api/alerts")
	if !strings.Contains(list.Text, `"threshold":3.000000001,"percent":null,"window":null,"direction":null,"hysteresis_percent":1,`) {
		t.Errorf("%s", list.Text)
	}
	if got := r.Write(http.MethodPatch, me, "/api/alerts/"+alert.Data.ID, `{"paused":true,"threshold":4}`); !strings.Contains(got.Text, `"status":"paused"`) {
		t.Errorf("%d %s", got.StatusCode, got.Text)
	}
	if got := r.Write(http.MethodPatch, me, "/api/alerts/"+alert.Data.ID, `{"webhook_id":null}`); got.StatusCode != 400 || !strings.Contains(got.Text, `"no_target"`) {
		t.Errorf("%d %s", got.StatusCode, got.Text)
	}
	rotated := r.made(r.Do(http.MethodPost, me, path+"/secret/rotate"), 201)
	if rotated.Secret == hook.Secret {
		t.Error("the secret is the same")
	}
	if got := r.Do(http.MethodPost, me, path+"/test"); got.StatusCode != 202 {
		t.Errorf("a test: %d %s", got.StatusCode, got.Text)
	}
	if got := r.Do(http.MethodPost, me, path+"/test"); got.StatusCode != 409 {
		t.Errorf("a second test: %d %s", got.StatusCode, got.Text)
	}
	var deliveries struct{ Data []struct{ ID json.Number } }
	got := r.Get(me, path+"/deliveries?limit=1")
	r.Must(json.Unmarshal([]byte(got.Text), &deliveries))
	if len(deliveries.Data) != 1 || !strings.Contains(got.Text, `"has_more":false`) {
		t.Fatalf("%d %s", got.StatusCode, got.Text)
	}
	replay := path + "/deliveries/" + deliveries.Data[0].ID.String() + "/replay"
	if got := r.Do(http.MethodPost, me, replay); got.StatusCode != 409 {
		t.Errorf("replay of what waits: %d %s", got.StatusCode, got.Text)
	}
	for _, id := range []string{"0", "x", "99999999999999999999"} {
		if got := r.Do(http.MethodPost, me, path+"/deliveries/"+id+"/replay"); got.StatusCode != 404 {
			t.Errorf("replay of %s: %d %s", id, got.StatusCode, got.Text)
		}
	}
	if got := r.Write(http.MethodPatch, me, path, `{"enabled":false}`); !strings.Contains(got.Text, `"disabled_reason":"owner"`) {
		t.Errorf("%d %s", got.StatusCode, got.Text)
	}
	if got := r.Get(me, "/api/webhooks"); strings.Contains(got.Text, "whsec_") {
		t.Errorf("the list has a secret: %s", got.Text)
	}
	for _, target := range []string{"/api/alerts/" + alert.Data.ID, path} {
		if got := r.Do(http.MethodDelete, me, target); got.StatusCode != 200 {
			t.Errorf("%s: %d %s", target, got.StatusCode, got.Text)
		}
		if got := r.Do(http.MethodDelete, me, target); got.StatusCode != 404 {
			t.Errorf("%s again: %d %s", target, got.StatusCode, got.Text)
		}
	}
	for _, secret := range []string{hook.Secret, rotated.Secret, "secret-path"} {
		if strings.Contains(r.Logs.String(), secret) {
			t.Errorf("the log has %s", secret)
		}
	}
}

func TestAlerts_BadRequests(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.SecondFactors)
	f := func(name, path, body string, status int, want string) {
		t.Helper()
		got := r.Write(http.MethodPost, "premium session", path, body)
		if got.StatusCode != status || !strings.Contains(got.Text, want) {
			t.Errorf("%s: %d %s\nwant %d %s", name, got.StatusCode, got.Text, status, want)
		}
	}
	f("no https", "/api/webhooks", `{"name":"x","url":"http://example.com/"}`, 400, `must begin with https://`)
	f("loopback", "/api/webhooks", `{"name":"x","url":"https://127.0.0.1/"}`, 400, `address that is not public`)
	f("metadata", "/api/webhooks", `{"name":"x","url":"https://169.254.169.254/latest"}`, 400, `address that is not public`)
	f("password", "/api/webhooks", `{"name":"x","url":"https://a:b@example.com/"}`, 400, `user name or a password`)
	f("no name", "/api/webhooks", `{"url":`+someURL+`}`, 400, `"param":"name"`)
	f("threshold as text", "/api/alerts", `{"name":"x","type":"price_above","gpu_type":"H200","threshold":"a"}`, 400, `invalid_body`)
	f("threshold as true", "/api/alerts", `{"name":"x","type":"price_above","gpu_type":"H200","threshold":true}`, 400, `threshold is a JSON bool, must be a number`)
	f("paused as text", "/api/alerts", `{"name":"x","type":"new_model","paused":"yes"}`, 400, `paused is a JSON string, must be true or false`)
	f("exponent", "/api/alerts", `{"name":"x","type":"price_above","gpu_type":"H200","threshold":1e3}`, 400, `must be a plain decimal number`)
	f("too exact", "/api/alerts", `{"name":"x","type":"price_above","gpu_type":"H200","threshold":1.0000000001}`, 400, `"param":"threshold"`)
	f("no access", "/api/alerts", `{"name":"x","type":"correction","gpu_type":"H200","granularity":"hourly","email":true}`, 403, `Alerts on hourly values need Full access.`)
	f("no mail", "/api/alerts", `{"name":"x","type":"correction","gpu_type":"H200","email":true}`, 400, `"no_mail"`)
	f("unknown type", "/api/alerts", `{"name":"x","type":"moon"}`, 400, `"allowed":["price_above","price_below","price_change","correction","missed_fixing","new_model"]`)
	f("unknown field", "/api/alerts", `{"name":"x","type":"new_model","state":1}`, 400, `unknown field`)
}

// A key of the account does what its session does, except where it has less access.
func TestAlerts_WithKeys(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.SecondFactors)
	key, _ := r.CreateKey("full session")
	post := func(key, path, body string) apitest.Reply {
		t.Helper()
		return r.Write(http.MethodPost, "", path, body, "Authorization", "Bearer "+key)
	}
	hook := r.made(post(key, "/api/webhooks", `{"name":"mine","url":`+someURL+`}`), 201)
	r.made(post(key, "/api/alerts", `{"name":"x","type":"correction","gpu_type":"H200","granularity":"hourly","webhook_id":"`+hook.Data.ID+`"}`), 201)
	if got := r.Get("full session", "/api/alerts"); !strings.Contains(got.Text, `"count":1`) {
		t.Errorf("%s", got.Text)
	}
	if got := r.Get("premium session", "/api/webhooks/"+hook.Data.ID+"/deliveries"); got.StatusCode != 404 {
		t.Errorf("another account: %d %s", got.StatusCode, got.Text)
	}
	if got := post(r.Keys["full"], "/api/webhooks", `{"name":"mine","url":`+someURL+`}`); got.StatusCode != 403 || !strings.Contains(got.Text, `"account_required"`) {
		t.Errorf("a key of the operator: %d %s", got.StatusCode, got.Text)
	}
	if got := r.Write(http.MethodPost, "full session", "/api/webhooks", `{}`, "Sec-Fetch-Site", "cross-site"); got.StatusCode != 403 || !strings.Contains(got.Text, `"cross_origin"`) {
		t.Errorf("another origin: %d %s", got.StatusCode, got.Text)
	}
}

// Without a secret key there is nothing to seal secrets with.
func TestAlerts_WithoutSecretKey(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	if got := r.Write(http.MethodPost, "full session", "/api/webhooks", `{"name":"x","url":`+someURL+`}`); got.StatusCode != 404 || !strings.Contains(got.Text, `"no_webhooks"`) {
		t.Errorf("%d %s", got.StatusCode, got.Text)
	}
}
