package web_test

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
