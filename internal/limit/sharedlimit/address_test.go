package sharedlimit

import (
	"slices"
	"strings"
	"testing"
)

func TestParseAddress(t *testing.T) {
	t.Parallel()
	type parts struct {
		user, password string
		db             int
		secure         bool
	}
	f := func(address string, want parts, hosts ...string) {
		t.Helper()
		t.Run(address, func(t *testing.T) {
			t.Parallel()
			options, err := parseAddress(address)
			if err != nil {
				t.Fatal(err)
			}
			got := parts{
				user: options.Username, password: options.Password, db: options.DB, secure: options.TLSConfig != nil,
			}
			if got != want || !slices.Equal(options.Addrs, hosts) {
				t.Errorf("got %+v %q, want %+v %q", got, options.Addrs, want, hosts)
			}
		})
	}
	f("redis://localhost", parts{}, "localhost:6379")
	f("redis://10.0.0.1:7000/3", parts{db: 3}, "10.0.0.1:7000")
	f("redis://10.0.0.1:7000/", parts{}, "10.0.0.1:7000")
	f("rediss://ada:s3cret@cache.example", parts{user: "ada", password: "s3cret", secure: true}, "cache.example:6379")
	f("redis://:p%40ss%2Fw%2Cord@host", parts{password: "p@ss/w,ord"}, "host:6379")
	f("redis://:pw@a,b:7001,c/0", parts{password: "pw"}, "a:6379", "b:7001", "c:6379")
	f("redis://[::1]:7000,[2001:db8::2]", parts{}, "[::1]:7000", "[2001:db8::2]:6379")
}

func TestParseAddress_Refuses(t *testing.T) {
	t.Parallel()
	f := func(address, want string) {
		t.Helper()
		t.Run(address, func(t *testing.T) {
			t.Parallel()
			_, err := parseAddress(address)
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("error %v, want one with %q and without the password", err, want)
			}
		})
	}
	for _, address := range []string{
		"", "localhost:6379", "http://:s3cret@host", "redis://", "redis://:s3cret@", "redis://:s3cret@a,,b",
		"redis://:s3cret@a:port", "redis://:s3cret@a:0", "redis://:s3cret@a:70000", "redis://:s3cret@a/one",
		"redis://:s3cret@a/-1", "redis://:s3cret@a/0?db=1", "redis://a?x=s3cret", "redis://:s3cret%zz@a", "redis://::1",
		"redis://a/1/2", "redis://a#s3cret", "redis://:s3cret/x@a",
	} {
		f(address, "must be redis://")
	}
	f("redis://:s3cret@a,b/2", "a cluster has no database 2")
}
