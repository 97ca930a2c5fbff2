package console_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/assaydata/assay/internal/apitest"
	"github.com/assaydata/assay/internal/web"
	"github.com/assaydata/assay/tools/testenv"
)

const wrongPassword = "wrong horse battery"

// guess tries to sign in from an address, which is its own /64 in IPv6, with the cookie of a device or without.
func (r *rig) guess(email, password, address, device string) apitest.Reply {
	r.Test.Helper()
	headers := []string{"peer", address}
	if device != "" {
		headers = append(headers, "Cookie", device)
	}
	return r.Write(http.MethodPost, "", "/api/session", credentials(email, password), headers...)
}

// wantStatus guesses wrongly so often and wants the same status each time.
func (r *rig) wantStatus(status, times int, email string, address func(i int) string, device string) {
	r.Test.Helper()
	for i := range times {
		if got := r.guess(email, wrongPassword, address(i), device); got.StatusCode != status {
			r.Test.Fatalf("guess %d of %d at %s: %d %s, want %d", i+1, times, email, got.StatusCode, got.Text, status)
		}
	}
}

func from(address string) func(int) string { return func(int) string { return address } }

// fromEach is another address for each guess.
func fromEach(block int) func(int) string {
	return func(i int) string { return fmt.Sprintf("[2001:db8:%x:%x::1]:1", block, i) }
}

// deviceCookie returns the cookie of the device that a sign-in sets.
func deviceCookie(t *testing.T, got apitest.Reply) *http.Cookie {
	t.Helper()
	for _, c := range got.Cookies() {
		if strings.TrimPrefix(c.Name, web.HostPrefix) == web.DeviceCookie {
			return c
		}
	}
	t.Fatalf("no device cookie: %d %v %s", got.StatusCode, got.Header, got.Text)
	return nil
}

// Who guesses on waits longer and longer, whether the account exists or not.
func TestGuessing_WaitGrows(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	r := newRig(t)
	r.add(person)
	for _, email := range []string{person, "nobody@example.com"} {
		const here = "198.51.100.7:1"
		refused := func(wait, message string) {
			t.Helper()
			got := r.guess(strings.ToUpper(email), wrongPassword, here, "")
			if got.StatusCode != 429 || got.Header.Get("Retry-After") != wait ||
				!strings.Contains(got.Text, `"message":"`+message+`","code":"rate_limited"`) {
				t.Errorf("%s: %d %v %s", email, got.StatusCode, got.Header, got.Text)
			}
		}
		r.wantStatus(401, 5, email, from(here), "")
		refused("60", "Rate limit of 5 sign-in attempts per minute exceeded. Retry in 60 seconds.")
		r.Clock = r.Clock.Add(time.Minute)
		r.wantStatus(401, 5, email, from(here), "")
		refused("840", "Rate limit of 10 sign-in attempts in 15 minutes exceeded. Retry in 840 seconds.")
		r.Clock = r.Clock.Add(15 * time.Minute)
		r.wantStatus(401, 5, email, from(here), "")
		r.Clock = r.Clock.Add(time.Minute)
		r.wantStatus(401, 5, email, from(here), "")
		r.Clock = r.Clock.Add(15 * time.Minute)
		refused("12480", "Rate limit of 20 sign-in attempts in 4 hours exceeded. Retry in 12480 seconds.")
		r.Clock = r.Clock.Add(4 * time.Hour)
	}
}

// One address cannot lock the owner of an account out: not elsewhere, and not on a device that signed in before.
func TestGuessing_OneAddressLocksNoOneOut(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.add(person)
	const attacker = "198.51.100.7:1"
	known := deviceCookie(t, r.guess(person, apitest.Password, "192.0.2.1:1", ""))
	device := known.Name + "=" + known.Value
	r.wantStatus(401, 5, person, from(attacker), "")
	r.wantStatus(429, 30, person, from(attacker), "")
	if got := r.guess(person, apitest.Password, attacker, ""); got.StatusCode != 429 {
		t.Errorf("the attacker with the right password: %d %s", got.StatusCode, got.Text)
	}
	if got := r.guess(person, apitest.Password, "192.0.2.2:1", ""); got.StatusCode != 200 {
		t.Errorf("the owner elsewhere: %d %s", got.StatusCode, got.Text)
	}
	if got := r.guess(person, apitest.Password, attacker, device); got.StatusCode != 200 {
		t.Errorf("the owner's device behind the same address: %d %s", got.StatusCode, got.Text)
	}
}

// Many addresses together get a bounded number of guesses at an account, and still do not lock out a device that signed
// in before. Nor does a flood of guesses at other accounts.
func TestGuessing_ManyAddresses(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	r := newRig(t)
	r.add(person)
	known := deviceCookie(t, r.guess(person, apitest.Password, "192.0.2.1:1", ""))
	device := known.Name + "=" + known.Value
	r.wantStatus(401, 100, person, fromEach(1), "")
	r.wantStatus(429, 10, person, fromEach(2), "")
	got := r.guess(person, wrongPassword, "192.0.2.9:1", "")
	if got.StatusCode != 429 || !strings.Contains(got.Text, "Rate limit of 100 sign-in attempts per hour exceeded. Retry in 3600 seconds.") {
		t.Errorf("%d %s", got.StatusCode, got.Text)
	}
	if got := r.guess(person, apitest.Password, "192.0.2.1:1", device); got.StatusCode != 200 {
		t.Errorf("the owner's device: %d %s", got.StatusCode, got.Text)
	}

	const office = "203.0.113.5:1"
	for i := range 30 {
		r.wantStatus(401, 1, fmt.Sprintf("p%d@example.com", i), from(office), "")
	}
	got = r.guess("other@example.com", wrongPassword, office, "")
	if got.StatusCode != 429 || !strings.Contains(got.Text, "Rate limit of 30 sign-in attempts in 5 minutes exceeded.") {
		t.Errorf("%d %s", got.StatusCode, got.Text)
	}
	if got := r.guess(person, apitest.Password, office, device); got.StatusCode != 200 {
		t.Errorf("the owner's device at the same address: %d %s", got.StatusCode, got.Text)
	}
}

// Who has stolen the cookie of a device has few guesses, at the one account that signed in there.
func TestGuessing_StolenDevice(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	r := newRig(t)
	r.add(person)
	r.add("other@example.com")
	known := deviceCookie(t, r.guess(person, apitest.Password, "192.0.2.1:1", ""))
	device := known.Name + "=" + known.Value
	for range 3 {
		r.wantStatus(401, 10, person, fromEach(1), device)
		r.wantStatus(429, 3, person, fromEach(2), device)
		r.Clock = r.Clock.Add(5 * time.Minute)
	}
	r.wantStatus(429, 3, person, fromEach(3), device)
	r.wantStatus(401, 5, "other@example.com", from("198.51.100.7:1"), device) // counted like any other browser
	r.wantStatus(429, 1, "other@example.com", from("198.51.100.7:1"), device)

	made := strings.Replace(device, known.Value, strings.Repeat("x", 43), 1) // a cookie that no sign-in set
	r.wantStatus(401, 5, person, from("198.51.100.8:1"), made)
	r.wantStatus(429, 1, person, from("198.51.100.8:1"), made)
}

// Attempts that succeed do not count, nor do those that were not admitted.
func TestGuessing_SuccessIsNotCounted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.add(person)
	for i := range 40 {
		if got := r.guess(person, apitest.Password, "203.0.113.5:1", ""); got.StatusCode != 200 {
			t.Fatalf("sign-in %d: %d %s", i, got.StatusCode, got.Text)
		}
	}
	r.wantStatus(401, 5, person, from("203.0.113.5:1"), "")
}

// The same text as an email address and as the number of an account is two targets.
func TestGuessing_NamespacesAreSeparate(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	if a := r.add(person); a.ID != 1 {
		t.Fatalf("the account is %d", a.ID)
	}
	c := cookie(t, r.guess(person, apitest.Password, "192.0.2.1:1", ""))
	r.Sessions["person"] = c.Name + "=" + c.Value
	change := func(current, next string) int {
		body := fmt.Sprintf(`{"current":%q,"next":%q}`, current, next)
		return r.Write(http.MethodPut, "person session", "/api/account/password", body).StatusCode
	}
	r.wantStatus(401, 100, "1", fromEach(1), "")
	r.wantStatus(429, 1, "1", fromEach(2), "")
	for range 15 { // a new password that is refused is no wrong guess
		if status := change(apitest.Password, "short"); status != 400 {
			t.Fatalf("a short password: %d", status)
		}
	}
	for range 10 {
		if status := change(wrongPassword, "another horse battery"); status != 403 {
			t.Fatalf("a wrong password: %d", status)
		}
	}
	if status := change(apitest.Password, "another horse battery"); status != 429 {
		t.Errorf("after ten wrong ones: %d", status)
	}
	if got := r.guess(person, apitest.Password, "192.0.2.1:1", ""); got.StatusCode != 200 {
		t.Errorf("signing in: %d %s", got.StatusCode, got.Text)
	}
	r.Clock = r.Clock.Add(5 * time.Minute)
	if status := change(apitest.Password, "another horse battery"); status != 200 {
		t.Errorf("five minutes later: %d", status)
	}
}

// The cookie of a device is as hard to get as that of a session, and outlives it.
func TestDeviceCookie(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *apitest.Config) { c.Web.PublicURL = "https://data.example" })
	r.add(person)
	got := r.guess(person, apitest.Password, "192.0.2.1:1", "")
	c := deviceCookie(t, got)
	if c.Name != web.HostPrefix+web.DeviceCookie || c.MaxAge != 180*24*3600 || !c.HttpOnly || !c.Secure ||
		c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" || len(c.Value) != 43 {
		t.Errorf("the cookie is %+v", c)
	}
	if session := cookie(t, got); session.Value == c.Value || strings.Contains(got.Text, c.Value) {
		t.Error("the device is the session, or the body shows it")
	}
	device := c.Name + "=" + c.Value
	if again := deviceCookie(t, r.guess(person, apitest.Password, "192.0.2.1:1", device)); again.Value != c.Value {
		t.Error("a known device gets another cookie")
	}
	for _, out := range r.Do(http.MethodDelete, "", "/api/session", "Cookie", device).Cookies() {
		if out.Name == c.Name {
			t.Errorf("signing out forgets the device: %+v", out)
		}
	}
	if got := r.Get("", "/api/account", "Cookie", web.HostPrefix+web.SessionCookie+"="+c.Value); got.StatusCode != 401 {
		t.Errorf("the token of a device opens a session: %d", got.StatusCode)
	}
}
