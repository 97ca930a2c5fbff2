package web_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/assaydata/assay/internal/apitest"
	"github.com/assaydata/assay/internal/web"
)

// TestClientAddress: a header's word is taken from a trusted proxy only, of one header only, and of its list the last
// untrusted entry.
func TestClientAddress(t *testing.T) {
	r := newRig(t, apitest.TrustProxies("10.0.0.0/8", "2001:db8::/32"))
	f := func(want, peer string, headers ...string) {
		t.Helper()
		r.Logs.Reset()
		r.Get("", "/api/gpu/H200", append(headers, "peer", peer)...)
		if !strings.Contains(r.Logs.String(), `"client":"`+want+`"`) {
			t.Errorf("%v from %s: want %s in %s", headers, peer, want, r.Logs.String())
		}
	}
	const xff, fwd = web.XForwardedFor, web.Forwarded
	f("192.0.2.1", "192.0.2.1:80")
	f("192.0.2.1", "192.0.2.1:80", xff, "198.51.100.7")
	f("10.1.1.1", "10.1.1.1:80")
	f("198.51.100.7", "10.1.1.1:80", xff, "198.51.100.7")
	f("198.51.100.7", "10.1.1.1:80", xff, "203.0.113.9, 198.51.100.7")
	f("198.51.100.7", "10.1.1.1:80", xff, "203.0.113.9, 198.51.100.7, 10.2.2.2")
	f("198.51.100.7", "10.1.1.1:80", xff, "203.0.113.9", xff, "198.51.100.7")
	f("198.51.100.7", "[2001:db8::1]:80", xff, "198.51.100.7")
	f("10.1.1.1", "10.1.1.1:80", xff, "nonsense")
	f("10.1.1.1", "10.1.1.1:80", xff, "")
	f("192.0.2.1", "[::ffff:192.0.2.1]:80")
	// A proxy that sets one header passes the other on as the client wrote it.
	f("10.1.1.1", "10.1.1.1:80", fwd, "for=203.0.113.9")
	f("10.1.1.1", "10.1.1.1:80", xff, "nonsense", fwd, "for=203.0.113.9")
	f("198.51.100.7", "10.1.1.1:80", xff, "198.51.100.7", fwd, "for=203.0.113.9")

	r = newRig(t, apitest.TrustProxies("10.0.0.0/8"), func(c *apitest.Config) { c.Web.ProxyHeader = fwd })
	f("198.51.100.7", "10.1.1.1:80", fwd, `for=203.0.113.9, for=198.51.100.7;proto=https`)
	f("2a00::7", "10.1.1.1:80", fwd, `for="[2a00::7]:1234"`)
	f("198.51.100.7", "10.1.1.1:80", fwd, "for=198.51.100.7", xff, "203.0.113.9")
	f("10.1.1.1", "10.1.1.1:80", xff, "203.0.113.9")
	f("10.1.1.1", "10.1.1.1:80", fwd, "203.0.113.9")
}

// FuzzForwarded sends whatever forwarding headers through a trusted proxy: there is always one address to count.
func FuzzForwarded(f *testing.F) {
	for _, seed := range []string{"1.2.3.4", "1.2.3.4, 10.0.0.1", "::1", "[2001:db8::1]:80", "for=_hidden", `for="[::1]"`, ",,,", "unknown", "1.2.3.4:99999"} {
		f.Add(seed, seed)
	}
	r := newRig(f, apitest.TrustProxies("192.0.2.0/24"))
	f.Fuzz(func(t *testing.T, xff, forwarded string) {
		r.Test = t
		request := httptest.NewRequest(http.MethodGet, "/api/gpu/H200", nil)
		request.Header["X-Forwarded-For"], request.Header["Forwarded"] = []string{xff}, []string{forwarded}
		if got := r.ClientOf(request); !got.IsValid() {
			t.Errorf("%q, %q: no address", xff, forwarded)
		}
	})
}
