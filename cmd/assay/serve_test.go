package main

import (
	"bytes"
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assaydata/assay/internal/certtest"
	"github.com/assaydata/assay/internal/linelog"
	"github.com/assaydata/assay/internal/web"
)

// Without TLS everybody on the way reads keys and passwords.
func TestServe_WarnsWithoutTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key, _ := certtest.New(t).Write(dir, "localhost")
	var ends tlsConfig // of TLS
	f := func(want bool, role web.NodeRole, addr string, proxies ...netip.Prefix) {
		t.Helper()
		var logs bytes.Buffer
		config := serverConfig{addr: addr, trustedProxies: proxies, node: nodeConfig{role: role}, tls: ends}
		v := &service{config: config, logs: linelog.New(&logs, time.Now), now: time.Now}
		v.log = newLog(v.logs, config.logLevel, logJSON)
		if err := errors.Join(v.openCertificates(), v.listen(t.Context())); err != nil {
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
	f(true, web.NodePublish, "0.0.0.0:0") // it takes ingest keys
	ends = tlsConfig{cert: cert, key: key}
	f(false, web.NodeAll, "0.0.0.0:0")
}

// One line says what every user of the machine can read, and how to end that.
func TestServe_WarnsAboutReadableData(t *testing.T) {
	t.Parallel()
	f := func(folder, database, key fs.FileMode, want string) {
		t.Helper()
		dir := filepath.Join(t.TempDir(), "it's data")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for name, mode := range map[string]fs.FileMode{
			"assay.db": database, "assay.db-wal": database, "signing-key.pem": key, "rows.csv": 0o644, ".": folder,
		} {
			name = filepath.Join(dir, name)
			if name != dir {
				if err := os.WriteFile(name, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Chmod(name, mode); err != nil {
				t.Fatal(err)
			}
		}
		var logs bytes.Buffer
		v := &service{config: serverConfig{location: databaseLocation{dir: dir}}, logs: linelog.New(&logs, time.Now)}
		v.log = newLog(v.logs, v.config.logLevel, logJSON)
		v.warnReadable()
		v.close()
		quoted := strings.ReplaceAll(dir, "'", `'\\''`)
		want = strings.ReplaceAll(want, "DIR", quoted)
		if want == "" && logs.Len() > 0 || want != "" && !strings.Contains(logs.String(), `"WARN"`) ||
			strings.Count(logs.String(), "\n") > 1 || !strings.HasSuffix(strings.TrimSpace(logs.String()), want) {
			t.Errorf("folder %v, database %v, key %v: the log is %s, want %s", folder, database, key, logs.String(), want)
		}
	}
	f(0o700, 0o600, 0o600, "")
	f(0o750, 0o640, 0o600, "") // access of a group is a decision
	f(0o755, 0o600, 0o600, `"command":"chmod go-rwx 'DIR'"}`)
	f(0o700, 0o644, 0o600, `"command":"chmod go-rwx 'DIR/assay.db' 'DIR/assay.db-wal'"}`)
	f(0o755, 0o600, 0o644, `"command":"chmod go-rwx 'DIR' 'DIR/signing-key.pem'"}`)
}
