package api_test

import (
	"testing"

	"github.com/assaydata/assay/internal/apitest"
	"github.com/assaydata/assay/internal/web"
)

// rig adds what the tests of this package need.
type rig struct{ *apitest.Rig }

func newRig(t testing.TB, options ...func(*apitest.Config)) *rig {
	t.Helper()
	return &rig{apitest.New(t, options...)}
}

// allRoutes are those of the whole server.
func (r *rig) allRoutes() (routes []web.Route) {
	for _, group := range r.Groups {
		routes = append(routes, group.Routes...)
	}
	return routes
}
