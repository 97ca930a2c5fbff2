package console_test

import (
	"testing"

	"github.com/assaydata/assay/internal/apitest"
)

// rig adds what the tests of this package need.
type rig struct{ *apitest.Rig }

func newRig(t testing.TB, options ...func(*apitest.Config)) *rig {
	t.Helper()
	return &rig{apitest.New(t, options...)}
}

// signedOut is the response of GET /api/session to a browser that has not signed in.
func signedOut(provider string) string {
	return `{"success":true,"data":{"account":null,"must_change_password":false,"oidc":` + provider +
		`,"link":null,"second_factor":null,"must_add_second_factor":false,"passkey_host":null}}`
}
