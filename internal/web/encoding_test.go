package web

import "testing"

func TestNegotiate(t *testing.T) {
	f := func(want encoding, header ...string) {
		t.Helper()
		if got := negotiate(header, zstdEncoding); got != want {
			t.Errorf("%q: %d, want %d", header, got, want)
		}
	}
	f(identity)
	f(identity, "")
	f(identity, "br, deflate")
	f(gzipEncoding, "gzip")
	f(gzipEncoding, "GZIP, br")
	f(zstdEncoding, "gzip, deflate, br, zstd")
	f(gzipEncoding, "zstd;q=0.5, gzip;q=0.8")
	f(gzipEncoding, "gzip", "zstd;q=0")
	f(identity, "gzip;q=0")
	f(identity, "gzip;q=nonsense")
	f(gzipEncoding, "*")
	f(identity, "*;q=0")
	f(identity, "gzip;q=0, *")
	f(identity, "*", "gzip;q=0")
	f(zstdEncoding, "gzip;q=0, zstd, *;q=0.1")
	f(gzipEncoding, "gzip;Q=0.8, zstd;Q=0.5")
	f(identity, "gzip;Q=0")
	f(identity, "gzip; q=0.5, identity")
	f(gzipEncoding, "gzip, identity")
	f(gzipEncoding, "identity;q=0.5, *;q=0.7")
	if got := negotiate([]string{"gzip, deflate, br, zstd"}, gzipEncoding); got != gzipEncoding {
		t.Errorf("among equals: %d, want gzip", got)
	}
	if got := negotiate([]string{"zstd, gzip;q=0.9"}, gzipEncoding); got != zstdEncoding {
		t.Errorf("not among equals: %d, want zstd", got)
	}
}
