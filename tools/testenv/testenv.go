// Package testenv says which servers the tests may use, and leaves out of the race detector's run what is long and has
// nothing for it to find.
//
// scripts/with-services starts PostgreSQL and Redis and names them in the environment. A test that needs a missing
// server is skipped with a reason that begins with NOT COVERED, which fails the run of scripts/go-test.
// ASSAY_TEST_ENGINES leaves servers out on purpose: ASSAY_TEST_ENGINES=sqlite runs only what needs neither PostgreSQL
// nor Redis, and each test it leaves out is skipped with a reason that begins with LEFT OUT.
package testenv

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// Engine is something that keeps data for the product.
type Engine string

// The engines. SQLite needs no server.
const (
	SQLite   Engine = "sqlite"
	Postgres Engine = "postgres"
	Redis    Engine = "redis"
)

// enginesVariable holds the engines to test, separated by commas. Unset or empty means all of them.
const enginesVariable = "ASSAY_TEST_ENGINES"

var engines = []Engine{SQLite, Postgres, Redis}

// variable is the environment variable with the URL of the engine's test server.
func (e Engine) variable() string { return "ASSAY_TEST_" + strings.ToUpper(string(e)) }

// Require skips the test if ASSAY_TEST_ENGINES leaves the engine out.
func Require(t testing.TB, e Engine) {
	t.Helper()
	chosen := os.Getenv(enginesVariable)
	if chosen == "" {
		return
	}
	found := false
	for name := range strings.SplitSeq(chosen, ",") {
		if !slices.Contains(engines, Engine(name)) {
			t.Fatalf("%s=%s: unknown engine %q; allowed are %q", enginesVariable, chosen, name, engines)
		}
		found = found || Engine(name) == e
	}
	if !found {
		t.Skipf("LEFT OUT: %s; %s=%s", e, enginesVariable, chosen)
	}
}

// OneGoroutine skips a long test that works in one goroutine, in the short form: the race detector runs that form, and
// would find nothing.
func OneGoroutine(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("long, and in one goroutine: make unit runs it, without the race detector")
	}
}

// URL returns the URL of the engine's test server. The test is skipped if the engine is left out or there is no server.
func URL(t testing.TB, e Engine) string {
	t.Helper()
	Require(t, e)
	url := os.Getenv(e.variable())
	if url == "" {
		t.Skipf("NOT COVERED: %s; %s names no server, scripts/with-services starts one", e, e.variable())
	}
	return url
}
