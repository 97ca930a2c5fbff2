package console_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/access"
	"github.com/assaydata/assay/internal/apitest"
)

// A session that began with a password of the operator can only change it and sign out. It reads what anyone may read.
func TestTemporaryPassword(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, err := r.Accounts.AddAccount(context.Background(), person, "A Person", apitest.Password, true)
	r.Must(err)
	r.Grant(person, assay.PlanFull)
	c := cookie(t, r.Write(http.MethodPost, "", "/api/session", credentials(person, apitest.Password)))
	r.Sessions["person"] = c.Name + "=" + c.Value

	for _, route := range r.Groups[1].Routes {
		if !route.Rule.NeedsSession() && route.Rule != access.SignedInOrKey || route.Rule == access.SignedInTemporary {
			continue
		}
		got := r.Write(route.Method, "person session", pathVariable.ReplaceAllString(route.Path, "x"), `{"name":"a"}`)
		if got.StatusCode != 403 || !strings.Contains(got.Text, `"code":"password_change_required"`) {
			t.Errorf("%s %s: %d %s", route.Method, route.Path, got.StatusCode, got.Text)
		}
	}
	if got := r.Get("person session", "/api/gpu/H200/hourly"); got.StatusCode != 401 {
		t.Errorf("Full data: %d %s", got.StatusCode, got.Text)
	}
	wantShown := func(want string) {
		t.Helper()
		if got := r.Get("person session", "/api/session"); !strings.Contains(got.Text, `"must_change_password":`+want+`,`) {
			t.Errorf("the session is %s", got.Text)
		}
	}
	change := func(next string) apitest.Reply {
		body := `{"current":"` + apitest.Password + `","next":"` + next + `"}`
		return r.Write(http.MethodPut, "person session", "/api/account/password", body)
	}
	wantShown("true")
	for _, next := range []string{apitest.Password, "password1234", "aaaaaaaaaaaa", "kq7vPz2 person mXw9R"} {
		if got := change(next); got.StatusCode != 400 || !strings.Contains(got.Text, `"code":"invalid_password"`) {
			t.Errorf("%s: %d %s", next, got.StatusCode, got.Text)
		}
	}
	wantShown("true")
	if got := change("another horse battery"); got.StatusCode != 200 {
		t.Errorf("a good one: %d %s", got.StatusCode, got.Text)
	}
	wantShown("false")
	for _, path := range []string{"/api/account", "/api/gpu/H200/hourly"} {
		if got := r.Get("person session", path); got.StatusCode != 200 {
			t.Errorf("%s: %d %s", path, got.StatusCode, got.Text)
		}
	}
}
