package web

import "testing"

func TestNegotiate(t *testing.T) {
	f := func(want encoding, header ...string) {
		t.Helper()
		if got := negotiate(header); got != want {
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
}
