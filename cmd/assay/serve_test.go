package main

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"

	"github.com/assaydata/assay/internal/web"
)

// Without TLS everybody on the way reads keys and passwords.
func TestServe_WarnsWithoutTLS(t *testing.T) {
	t.Parallel()
	f := func(want bool, role web.NodeRole, addr string, proxies ...netip.Prefix) {
		t.Helper()
		var logs bytes.Buffer
		config := serverConfig{addr: addr, trustedProxies: proxies, node: nodeConfig{role: role}}
		v := &service{config: config, logs: newLogWriter(&logs)}
		v.log = newLog(v.logs, config.logLevel)
		if err := v.listen(t.Context()); err != nil {
			t.Fatal(err)
		}
		v.close()
		if got := strings.Contains(logs.String(), `"level":"WARN"`); got != want {
			t.Errorf("%s on %s behind %v: a warning is %v, want %v: %s", role, addr, proxies, got, want, logs.String())
		}
	}
	proxy := netip.MustParsePrefix("10.0.0.0/8")
	f(false, web.NodeAll, "127.0.0.1:0")
	f(false, web.NodeAll, "[::1]:0")
	f(true, web.NodeAll, "0.0.0.0:0")
	f(true, web.NodeRead, ":0")
	f(false, web.NodeAll, "0.0.0.0:0", proxy)
	f(false, web.NodePublish, "0.0.0.0:0") // it serves /health only
}
