package webhook

import (
	"net/netip"
	"testing"
)

func TestAddress(t *testing.T) {
	t.Parallel()
	f := func(address string, public bool) {
		t.Helper()
		t.Run(address, func(t *testing.T) {
			t.Parallel()
			if got := isPublic(netip.MustParseAddr(address)); got != public {
				t.Errorf("%s is public: %t, want %t", address, got, public)
			}
		})
	}
	for _, address := range []string{
		"8.8.8.8", "1.1.1.1", "100.63.255.255", "100.128.0.0", "172.15.255.255", "172.32.0.1", "169.253.0.1", "223.255.255.255",
		"2606:4700::1111", "2a00:1450::1", "::ffff:8.8.8.8",
	} {
		f(address, true)
	}
	for _, address := range []string{
		"0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.255.255.254", "168.63.129.16",
		"169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.192", "192.168.1.1", "198.18.0.1", "224.0.0.1",
		"239.255.255.255", "240.0.0.1", "255.255.255.255", "::", "::1", "::127.0.0.1", "::ffff:127.0.0.1",
		"::ffff:169.254.169.254", "::ffff:0:127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "100::1", "2001::1",
		"2001:db8::1", "2002:7f00:1::", "fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1",
		"2606:4700::1111%eth0", "5f00::1",
	} {
		f(address, false)
	}
}

func TestCheckURL(t *testing.T) {
	t.Parallel()
	f := func(name, url string, allowed []string, ok bool) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &Sender{Allowed: prefixes(allowed...)}
			if err := s.CheckURL(url); (err == nil) != ok {
				t.Errorf("%s: %v", url, err)
			}
		})
	}
	local := []string{"10.0.0.0/8", "fd00::/8"}
	f("plain", "https://example.com/hook?a=b", nil, true)
	f("other port", "https://example.com:8443/hook", nil, true)
	f("address", "https://8.8.8.8/hook", nil, true)
	f("allowed address without TLS", "http://10.1.2.3:9000/hook", local, true)
	f("allowed address of IPv6", "http://[fd00::1]:9000/hook", local, true)
	f("mapped form of an allowed address", "http://[::ffff:10.1.2.3]/hook", local, true)
	f("name that may be in an allowed network", "http://hooks.internal:9000/", local, true)
	f("no TLS", "http://example.com/hook", nil, false)
	f("public address without TLS", "http://8.8.8.8/hook", local, false)
	f("loopback", "https://127.0.0.1/hook", nil, false)
	f("loopback of IPv6", "https://[::1]/hook", nil, false)
	f("mapped loopback", "https://[::ffff:7f00:1]/hook", nil, false)
	f("address outside the allowed networks", "http://192.168.0.1/hook", local, false)
	f("user", "https://ann:secret@example.com/hook", nil, false)
	f("empty user", "https://@example.com/hook", nil, false)
	f("fragment", "https://example.com/hook#a", nil, false)
	f("port of another service", "https://example.com:22/hook", nil, false)
	f("other scheme", "file:///etc/passwd", nil, false)
	f("no host", "https:///hook", nil, false)
	f("opaque", "https:example.com", nil, false)
	f("empty", "", nil, false)
	f("line end", "https://example.com/\r\nX: y", nil, false)
	f("too long", "https://example.com/"+string(make([]byte, maxURL)), nil, false)
}

// What a connection is made to is checked again, whatever the name resolved to when the URL was entered.
func TestCheckAddress(t *testing.T) {
	t.Parallel()
	s := &Sender{Allowed: prefixes("10.0.0.0/8")}
	f := func(address string, encrypted, ok bool) {
		t.Helper()
		t.Run(address, func(t *testing.T) {
			t.Parallel()
			if err := s.checkAddress(address, encrypted); (err == nil) != ok {
				t.Errorf("%s: %v", address, err)
			}
		})
	}
	f("8.8.8.8:443", true, true)
	f("10.0.0.1:80", false, true)
	f("10.0.0.1:6379", true, true)
	f("8.8.8.8:80", false, false)
	f("8.8.8.8:25", true, false)
	f("127.0.0.1:443", true, false)
	f("[::ffff:127.0.0.1]:443", true, false)
	f("[fe80::1%eth0]:443", true, false)
	f("nonsense", true, false)
}
