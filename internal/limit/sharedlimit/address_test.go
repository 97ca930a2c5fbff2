package sharedlimit

import (
	"slices"
	"strings"
	"testing"
)

func TestParseAddress(t *testing.T) {
	f := func(address, user, password string, db int, secure bool, hosts ...string) {
		t.Helper()
		got, err := parseAddress(address)
		if err != nil {
			t.Errorf("%s: %v", address, err)
			return
		}
		if got.Username != user || got.Password != password || got.DB != db || (got.TLSConfig != nil) != secure || !slices.Equal(got.Addrs, hosts) {
			t.Errorf("%s: %q %q %d %v %q", address, got.Username, got.Password, got.DB, got.TLSConfig != nil, got.Addrs)
		}
	}
	f("redis://localhost", "", "", 0, false, "localhost:6379")
	f("redis://10.0.0.1:7000/3", "", "", 3, false, "10.0.0.1:7000")
	f("redis://10.0.0.1:7000/", "", "", 0, false, "10.0.0.1:7000")
	f("rediss://ada:s3cret@cache.example", "ada", "s3cret", 0, true, "cache.example:6379")
	f("redis://:p%40ss%2Fw%2Cord@host", "", "p@ss/w,ord", 0, false, "host:6379")
	f("redis://:pw@a,b:7001,c/0", "", "pw", 0, false, "a:6379", "b:7001", "c:6379")
	f("redis://[::1]:7000,[2001:db8::2]", "", "", 0, false, "[::1]:7000", "[2001:db8::2]:6379")
}

func TestParseAddress_Refuses(t *testing.T) {
	f := func(address, want string) {
		t.Helper()
		_, err := parseAddress(address)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: error %v, want one with %q and without the password", address, err, want)
		}
	}
	for _, address := range []string{
		"", "localhost:6379", "http://:s3cret@host", "redis://", "redis://:s3cret@", "redis://:s3cret@a,,b", "redis://:s3cret@a:port",
		"redis://:s3cret@a:0", "redis://:s3cret@a:70000", "redis://:s3cret@a/one", "redis://:s3cret@a/-1", "redis://:s3cret@a/0?db=1", "redis://a?x=s3cret",
		"redis://:s3cret%zz@a", "redis://::1", "redis://a/1/2", "redis://a#s3cret", "redis://:s3cret/x@a",
	} {
		f(address, "allowed is redis://")
	}
	f("redis://:s3cret@a,b/2", "a cluster has no database 2")
}
