package console_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/access"
	"github.com/assaydata/assay/internal/account"
	"github.com/assaydata/assay/internal/apitest"
	"github.com/assaydata/assay/internal/factor/factortest"
	"github.com/assaydata/assay/internal/web"
	"github.com/assaydata/assay/tools/testenv"
)

// browser keeps cookies and has an authenticator app.
type browser struct {
	*rig
	cookies map[string]string
	address string
	secret  string
}

func newBrowser(r *rig) *browser {
	r.Test.Helper()
	r.Sent++
	return &browser{rig: r, cookies: map[string]string{}, address: fmt.Sprintf("198.51.100.%d:1", r.Sent)}
}

// send sends a JSON body, or none, with the browser's cookies, and keeps those of the response.
func (b *browser) send(method, path string, body any) apitest.Reply {
	b.Test.Helper()
	text := ""
	if body != nil {
		raw, err := json.Marshal(body)
		b.Must(err)
		text = string(raw)
	}
	var cookies []string
	for name, value := range b.cookies {
		cookies = append(cookies, name+"="+value)
	}
	got := b.Write(method, "", path, text, "Cookie", strings.Join(cookies, "; "), "peer", b.address)
	for _, c := range got.Cookies() {
		if !c.HttpOnly || !c.Secure || c.SameSite != http.SameSiteLaxMode || !strings.HasPrefix(c.Name, web.HostPrefix) {
			b.Test.Errorf("the cookie is %+v", c)
		}
		b.cookies[c.Name] = c.Value
		if c.MaxAge < 0 {
			delete(b.cookies, c.Name)
		}
	}
	return got
}

// ok sends a request that succeeds, and reads its data.
func (b *browser) ok(method, path string, body, into any) apitest.Reply {
	b.Test.Helper()
	got := b.send(method, path, body)
	if got.StatusCode != 200 || got.Header.Get("Cache-Control") != "no-store" {
		b.Test.Fatalf("%s %s: %d %s", method, path, got.StatusCode, got.Text)
	}
	if into != nil {
		b.Must(json.Unmarshal([]byte(got.Text), &struct{ Data any }{into}))
	}
	return got
}

// refused sends a request that is refused with a code.
func (b *browser) refused(method, path string, body any, status int, code string) apitest.Reply {
	b.Test.Helper()
	got := b.send(method, path, body)
	if got.StatusCode != status || !strings.Contains(got.Text, `"code":"`+code+`"`) {
		b.Test.Errorf("%s %s: %d %s, want %d %s", method, path, got.StatusCode, got.Text, status, code)
	}
	return got
}

type object = map[string]any

func signInBody(email string) object { return object{"email": email, "password": apitest.Password} }

// code is what the authenticator app shows now.
func (b *browser) code() object {
	b.Test.Helper()
	code, err := totp.GenerateCode(b.secret, b.Clock)
	b.Must(err)
	return object{"code": code}
}

// addTOTP adds an authenticator app, and returns the recovery codes.
func (b *browser) addTOTP() []string {
	b.Test.Helper()
	var app struct {
		Secret, URI string
		QR          struct {
			Size int
			Path string
		}
	}
	b.ok(http.MethodPost, "/api/account/second-factors/totp", nil, &app)
	if !strings.Contains(app.URI, "secret="+app.Secret) || app.QR.Size < 21 || app.QR.Path == "" {
		b.Test.Errorf("the app is %+v", app)
	}
	b.secret = app.Secret
	var made struct {
		Codes []string `json:"recovery_codes"`
	}
	b.ok(http.MethodPut, "/api/account/second-factors/totp", b.code(), &made)
	b.Clock = b.Clock.Add(30 * time.Second)
	return made.Codes
}

// addPasskey adds a passkey, and returns its device.
func (b *browser) addPasskey() *factortest.Authenticator {
	b.Test.Helper()
	device := factortest.New(b.Test, apitest.Origin)
	var options json.RawMessage
	b.ok(http.MethodPost, "/api/account/second-factors/passkeys/options", nil, &options)
	body := object{"name": "Laptop", "passkey": device.Create(options)}
	b.ok(http.MethodPost, "/api/account/second-factors/passkeys", body, nil)
	return device
}

// first takes the first step of a sign-in, which ends in another ticket and no session.
func (b *browser) first(email string) apitest.Reply {
	b.Test.Helper()
	got := b.send(http.MethodPost, "/api/session", signInBody(email))
	if got.StatusCode != http.StatusAccepted || len(got.Cookies()) != 1 || got.Cookies()[0].MaxAge != 300 {
		b.Test.Fatalf("the first step: %d %v %s", got.StatusCode, got.Header, got.Text)
	}
	for _, value := range b.cookies {
		if strings.Contains(got.Text, value) {
			b.Test.Error("the body shows the ticket")
		}
	}
	return got
}

// newMember is a browser that is signed in to a new account.
func newMember(r *rig, email string) *browser {
	r.Test.Helper()
	r.add(email)
	b := newBrowser(r)
	b.ok(http.MethodPost, "/api/session", signInBody(email), nil)
	return b
}

func TestSecondFactor_TOTP(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.SecondFactors)
	here := newMember(r, person)
	codes := here.addTOTP()
	if len(codes) != 10 {
		t.Errorf("%d recovery codes", len(codes))
	}
	var shown struct {
		Available     bool
		TOTP          *struct{}
		RecoveryCodes int `json:"recovery_codes"`
	}
	if here.ok(http.MethodGet, "/api/account/second-factors", nil, &shown); !shown.Available || shown.TOTP == nil || shown.RecoveryCodes != 10 {
		t.Errorf("the second factors are %+v", shown)
	}

	there := newBrowser(r)
	there.secret = here.secret
	got := there.first(person)
	want := `{"success":true,"data":{"second_factor":{"totp":true,"recovery_code":true,"passkey":null,"expires_at":"`
	if !strings.HasPrefix(got.Text, want) {
		t.Errorf("the first step: %s", got.Text)
	}
	if got := there.ok(http.MethodGet, "/api/session", nil, nil); !strings.Contains(got.Text, `"account":null,"must_change_password":false,"oidc":null,"link":null,"second_factor":{"totp":true`) {
		t.Errorf("who is signed in after the first step: %s", got.Text)
	}
	there.refused(http.MethodGet, "/api/account", nil, 401, "session_required")
	got = there.ok(http.MethodPost, "/api/session/second-factor", there.code(), nil)
	if !strings.Contains(got.Text, `"email":"person@example.com"`) {
		t.Errorf("the second step: %s", got.Text)
	}
	there.ok(http.MethodGet, "/api/account", nil, nil)
	if len(there.cookies) != 2 {
		t.Errorf("the cookies are %v", there.cookies)
	}
	for _, secret := range append(codes, here.secret) {
		if strings.Contains(r.Logs.String(), secret) {
			t.Error("a secret is in the log")
		}
	}
}

// After the first step there is no session: nothing but the second step is possible with what the browser has.
func TestSecondFactor_NoSessionBefore(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.SecondFactors)
	newMember(r, person).addTOTP()
	r.Grant(person, assay.PlanFull)
	b := newBrowser(r)
	b.first(person)
	ticket := b.cookies[web.HostPrefix+"assay_step"]
	b.cookies[web.HostPrefix+web.SessionCookie] = ticket
	for _, group := range r.Groups {
		for _, route := range group.Routes {
			path := pathVariable.ReplaceAllString(route.Path, "H200")
			if route.Rule.String() == "public" || route.Method == http.MethodGet && strings.Contains(route.Path, "stream") {
				continue
			}
			got := b.send(route.Method, path, nil)
			if got.StatusCode == 200 && strings.Contains(got.Text, `"access":"public`) {
				continue // what any visitor may read
			}
			if got.StatusCode/100 == 2 && route.Rule.String() != "free-GPU" && route.Rule.String() != "free-lab" {
				t.Errorf("%s %s: %d", route.Method, path, got.StatusCode)
			}
		}
	}
	b.refused(http.MethodGet, "/api/keys", nil, 401, "session_required")
	b.refused(http.MethodGet, "/api/gpu/H200/hourly", nil, 401, "key_required")
}

func TestSecondFactor_Attacks(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.SecondFactors)
	owner := newMember(r, person)
	codes := owner.addTOTP()
	const second = "/api/session/second-factor"

	f := newBrowser(r)
	f.secret = owner.secret
	f.refused(http.MethodPost, second, f.code(), 401, "sign_in_ended") // no first step
	f.first(person)
	stolen := f.cookies[web.HostPrefix+"assay_step"]
	used := f.code()
	f.ok(http.MethodPost, second, used, nil)

	replay := newBrowser(r)
	replay.cookies[web.HostPrefix+"assay_step"] = stolen
	replay.refused(http.MethodPost, second, object{"recovery_code": codes[1]}, 401, "sign_in_ended") // the ticket twice
	replay.first(person)
	replay.refused(http.MethodPost, second, used, 401, "wrong_code") // the code twice
	replay.ok(http.MethodPost, second, object{"recovery_code": codes[0]}, nil)
	replay.first(person)
	replay.refused(http.MethodPost, second, object{"recovery_code": codes[0]}, 401, "wrong_code") // a recovery code twice

	other := newMember(r, "other@example.com")
	other.addTOTP()
	other.first("other@example.com")
	other.secret = owner.secret
	other.refused(http.MethodPost, second, other.code(), 401, "wrong_code") // the ticket of another account

	for _, body := range []object{
		{}, {"code": ""}, {"code": "1", "recovery_code": "2"}, {"code": 123456}, {"other": "1"}, {"passkey": ""},
	} {
		f.send(http.MethodPost, "/api/session", signInBody(person))
		if got := f.send(http.MethodPost, second, body); got.StatusCode/100 != 4 {
			t.Errorf("%v: %d %s", body, got.StatusCode, got.Text)
		}
	}
	late := newBrowser(r)
	late.secret = owner.secret
	late.first(person)
	r.Clock = r.Clock.Add(5 * time.Minute)
	late.refused(http.MethodPost, second, late.code(), 401, "sign_in_ended")
}

// Codes are throttled like passwords, by address and by account; and a password that is right does not reset that.
func TestSecondFactor_BruteForce(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	r := newRig(t, apitest.SecondFactors)
	owner := newMember(r, person)
	owner.addTOTP()
	const second = "/api/session/second-factor"
	wrong := object{"code": "000000"}
	one := newBrowser(r)
	for range 5 {
		one.first(person)
		one.refused(http.MethodPost, second, wrong, 401, "wrong_code")
	}
	got := one.refused(http.MethodPost, second, wrong, 429, "rate_limited")
	if got.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	one.refused(http.MethodPost, "/api/session", signInBody(person), 429, "rate_limited")

	many := 0
	for i := range 40 {
		b := newBrowser(r)
		b.address = fmt.Sprintf("[2001:db8:7:%x::1]:1", i)
		if got := b.send(http.MethodPost, "/api/session", signInBody(person)); got.StatusCode != http.StatusAccepted {
			t.Fatalf("the password from address %d: %d %s", i, got.StatusCode, got.Text)
		}
		if got := b.send(http.MethodPost, second, wrong); got.StatusCode == 401 {
			many++
		} else if got.StatusCode != 429 || !strings.Contains(got.Text, "30 second-factor attempts per hour") {
			t.Fatalf("%d %s", got.StatusCode, got.Text)
		}
	}
	if many != 25 {
		t.Errorf("%d guesses from many addresses after 5 from one, want 30 an hour in all", many)
	}
	// The owner's own device is not locked out.
	delete(owner.cookies, web.HostPrefix+web.SessionCookie)
	owner.first(person)
	owner.ok(http.MethodPost, second, owner.code(), nil)
}

func TestSecondFactor_Passkey(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.SecondFactors)
	owner := newMember(r, person)
	device := owner.addPasskey()
	const second, alone = "/api/session/second-factor", "/api/session/passkey"

	after := newBrowser(r)
	var step struct {
		Data struct {
			SecondFactor struct{ Passkey json.RawMessage } `json:"second_factor"`
		}
	}
	r.Must(json.Unmarshal([]byte(after.first(person).Text), &step))
	signed := object{"passkey": device.Get(step.Data.SecondFactor.Passkey)}
	after.ok(http.MethodPost, second, signed, nil)
	after.first(person)
	after.refused(http.MethodPost, second, signed, 401, "wrong_passkey") // the assertion twice

	without := newBrowser(r)
	var options json.RawMessage
	begin := func() object {
		without.ok(http.MethodPost, alone+"/options", nil, &options)
		return object{"passkey": device.Get(options)}
	}
	first := begin()
	if got := without.ok(http.MethodPost, alone, first, nil); !strings.Contains(got.Text, `"email":"person@example.com"`) {
		t.Errorf("with a passkey alone: %s", got.Text)
	}
	without.refused(http.MethodPost, alone, first, 401, "sign_in_ended") // the cookie was deleted
	begin()
	without.refused(http.MethodPost, alone, first, 401, "wrong_passkey") // the assertion twice
	device.Origin = "https://evil.example"
	without.refused(http.MethodPost, alone, begin(), 401, "wrong_passkey")
	device.Origin = apitest.Origin
	device.Verified = false
	without.refused(http.MethodPost, alone, begin(), 401, "wrong_passkey")
	device.Verified = true
	stranger := factortest.New(t, apitest.Origin)
	begin()
	without.refused(http.MethodPost, alone, object{"passkey": stranger.Get(options)}, 401, "wrong_passkey")
	without.refused(http.MethodPost, alone, object{"passkey": object{}}, 401, "wrong_passkey")

	var shown struct {
		Passkeys []struct {
			ID, Name string
			LastUsed *string `json:"last_used_at"`
		}
	}
	owner.ok(http.MethodGet, "/api/account/second-factors", nil, &shown)
	if len(shown.Passkeys) != 1 || shown.Passkeys[0].Name != "Laptop" || shown.Passkeys[0].LastUsed == nil {
		t.Errorf("the passkeys are %+v", shown)
	}
	owner.refused(http.MethodDelete, "/api/account/second-factors/passkeys/000000000000", nil, 404, "unknown_second_factor")
	owner.ok(http.MethodDelete, "/api/account/second-factors/passkeys/"+shown.Passkeys[0].ID, nil, nil)
	without.refused(http.MethodPost, alone, begin(), 401, "wrong_passkey")
}

// Changing second factors needs the password if the sign-in was long ago, and ends the other sessions.
func TestSecondFactor_NeedsProof(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.SecondFactors)
	b := newMember(r, person)
	other := newBrowser(r)
	other.ok(http.MethodPost, "/api/session", signInBody(person), nil)
	r.Clock = r.Clock.Add(5 * time.Minute)
	const totpPath, keys = "/api/account/second-factors/totp", "/api/account/second-factors/passkeys"
	refused := func() {
		t.Helper()
		b.refused(http.MethodPost, totpPath, nil, 403, "password_required")
		b.refused(http.MethodDelete, totpPath, nil, 403, "password_required")
		b.refused(http.MethodPost, keys+"/options", nil, 403, "password_required")
		b.refused(http.MethodDelete, keys+"/000000000000", nil, 403, "password_required")
		b.refused(http.MethodPost, "/api/account/second-factors/recovery-codes", nil, 403, "password_required")
	}
	refused()
	b.refused(http.MethodPost, "/api/account/proof", object{"password": wrongPassword}, 403, "wrong_password")
	b.ok(http.MethodPost, "/api/account/proof", object{"password": apitest.Password}, nil)
	other.cookies[web.HostPrefix+"assay_proof"] = b.cookies[web.HostPrefix+"assay_proof"]
	other.refused(http.MethodPost, totpPath, nil, 403, "password_required") // the proof of another session
	b.addTOTP()
	other.refused(http.MethodGet, "/api/account", nil, 401, "session_required")
	b.ok(http.MethodPost, "/api/account/second-factors/recovery-codes", nil, nil)
	b.ok(http.MethodDelete, totpPath, nil, nil)
	b.refused(http.MethodDelete, totpPath, nil, 404, "unknown_second_factor")
	b.refused(http.MethodPut, totpPath, b.code(), 403, "enrollment_ended")
	b.refused(http.MethodPost, keys, object{"name": "", "passkey": object{}}, 400, "invalid_parameter")
	b.refused(http.MethodPost, keys, object{"name": "x", "passkey": object{}}, 403, "enrollment_ended")
	b.ok(http.MethodPost, keys+"/options", nil, nil)
	b.refused(http.MethodPost, keys, object{"name": "x", "passkey": object{}}, 400, "invalid_passkey")
	r.Clock = r.Clock.Add(5 * time.Minute)
	refused()
	for range 10 {
		b.refused(http.MethodPost, "/api/account/proof", object{"password": wrongPassword}, 403, "wrong_password")
	}
	b.refused(http.MethodPost, "/api/account/proof", object{"password": apitest.Password}, 429, "rate_limited")
}

// A server without a secret key has no second factors, and one without a public URL no passkeys.
func TestSecondFactor_Off(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.SecondFactors)
	r.Accounts.Passkeys = nil
	b := newMember(r, person)
	b.refused(http.MethodPost, "/api/account/second-factors/passkeys/options", nil, 404, "no_passkeys")
	b.refused(http.MethodPost, "/api/session/passkey/options", nil, 404, "no_passkeys")
	b.addTOTP()
	r.Accounts.Secret = nil
	b.refused(http.MethodPost, "/api/account/second-factors/totp", nil, 404, "no_second_factors")
	b.refused(http.MethodPost, "/api/session", signInBody(person), 503, "unavailable") // not without the second factor
	if got := b.ok(http.MethodGet, "/api/account/second-factors", nil, nil); !strings.Contains(got.Text, `"available":false`) {
		t.Errorf("the second factors are %s", got.Text)
	}
}

// Where the operator requires a second factor, a session without one can add it and do nothing else.
func TestSecondFactor_Required(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.SecondFactors)
	b := newMember(r, person)
	r.Grant(person, assay.PlanFull)
	key, _ := b.createKey()
	read := func(status int) {
		t.Helper()
		if got := b.send(http.MethodGet, "/api/gpu/H200/hourly", nil); got.StatusCode != status {
			t.Errorf("reading: %d %s", got.StatusCode, got.Text)
		}
	}
	read(200)
	r.Accounts.Require = account.RequireOwners
	b.ok(http.MethodGet, "/api/keys", nil, nil) // it owns no organization
	_, err := r.Accounts.AddOrganization(t.Context(), "Fund", assay.PlanNone)
	r.Must(err)
	r.Must(r.Accounts.AddMember(t.Context(), "Fund", person, assay.RoleOwner))

	for _, group := range r.Groups {
		for _, route := range group.Routes {
			if route.Rule == access.SignedIn || route.Rule == access.SignedInOrKey {
				path := pathVariable.ReplaceAllString(route.Path, "x")
				b.refused(route.Method, path, nil, 403, "second_factor_required")
			}
		}
	}
	read(401)
	if got := b.ok(http.MethodGet, "/api/session", nil, nil); !strings.Contains(got.Text, `"must_add_second_factor":true`) {
		t.Errorf("the session is %s", got.Text)
	}
	if got := r.Get("", "/api/gpu/H200/hourly", "Authorization", "Bearer "+key); got.StatusCode != 200 {
		t.Errorf("the account's key: %d %s", got.StatusCode, got.Text)
	}
	b.addTOTP()
	b.ok(http.MethodGet, "/api/keys", nil, nil)
	read(200)
	b.refused(http.MethodDelete, "/api/account/second-factors/totp", nil, 403, "second_factor_required")
	b.addPasskey()
	b.ok(http.MethodDelete, "/api/account/second-factors/totp", nil, nil)
	b.ok(http.MethodGet, "/api/keys", nil, nil)

	r.Accounts.Require = account.RequireAll
	other := newMember(r, "other@example.com")
	other.refused(http.MethodGet, "/api/account", nil, 403, "second_factor_required")
	other.addTOTP()
	other.ok(http.MethodGet, "/api/account", nil, nil)
}

// createKey creates a key in the settings.
func (b *browser) createKey() (key, id string) {
	b.Test.Helper()
	got := b.send(http.MethodPost, "/api/create-api-key", object{"name": "a test"})
	var made struct {
		Key  string
		Data struct{ ID string }
	}
	b.Must(json.Unmarshal([]byte(got.Text), &made))
	return made.Key, made.Data.ID
}
