package testenv

import (
	"runtime"
	"strings"
	"testing"
)

// recorder is a test that notes how it ended.
type recorder struct {
	testing.TB
	ended string
}

func (r *recorder) Helper() {}

func (r *recorder) Skipf(format string, _ ...any) { r.end("skip: " + format) }

func (r *recorder) Fatalf(format string, _ ...any) { r.end("fatal: " + format) }

func (r *recorder) end(how string) {
	r.ended = how
	runtime.Goexit()
}

// call runs a function as a test would, in a goroutine that it may end.
func call(t *testing.T, f func(testing.TB)) (ended string) {
	t.Helper()
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(r)
	}()
	<-done
	return r.ended
}

func TestRequire(t *testing.T) {
	f := func(name, chosen string, e Engine, want string) {
		t.Run(name, func(t *testing.T) {
			t.Setenv(enginesVariable, chosen)
			got := call(t, func(t testing.TB) { Require(t, e) })
			if !strings.HasPrefix(got, want) || want == "" && got != "" {
				t.Errorf("ended with %q, want %q", got, want)
			}
		})
	}
	f("unset means all", "", Postgres, "")
	f("one of several", "sqlite,redis", Redis, "")
	f("left out", "sqlite", Postgres, "skip: LEFT OUT")
	f("unknown name", "sqlite,oracle", SQLite, "fatal: ")
}

func TestURL(t *testing.T) {
	f := func(name, chosen, url, want string) {
		t.Run(name, func(t *testing.T) {
			t.Setenv(enginesVariable, chosen)
			t.Setenv("ASSAY_TEST_REDIS", url)
			got := ""
			ended := call(t, func(t testing.TB) { got = URL(t, Redis) })
			if !strings.HasPrefix(got+ended, want) {
				t.Errorf("got %q, ended with %q; want %q", got, ended, want)
			}
		})
	}
	f("server", "", "redis://a:1/0", "redis://a:1/0")
	f("no server", "", "", "skip: NOT COVERED")
	f("left out with a server", "sqlite", "redis://a:1/0", "skip: LEFT OUT")
	f("left out without a server", "sqlite", "", "skip: LEFT OUT")
}
