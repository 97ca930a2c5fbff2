package sharedlimit

import (
	"bytes"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assaydata/assay/internal/certtest"
)

// A Redis with TLS is reached with its authority and a certificate of the node. Otherwise the node says what is wrong,
// without the password, and counts alone.
func TestOpen_TLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	authority := certtest.New(t)
	cert, key, root := authority.Write(dir, "localhost")
	stranger := filepath.Join(dir, "stranger.pem")
	if err := os.WriteFile(stranger, certtest.New(t).PEM, 0o600); err != nil {
		t.Fatal(err)
	}
	s := startServer(t, "--tls-port", sparePort(t), "--tls-cert-file", cert, "--tls-key-file", key,
		"--tls-ca-cert-file", root, "--requirepass", "hunter2")
	port := s.args[1]

	address := func(host string, files ...string) string {
		query := url.Values{}
		for i := 0; i < len(files); i += 2 {
			query.Set(files[i], files[i+1])
		}
		return "rediss://:hunter2@" + host + ":" + port + "?" + query.Encode()
	}
	if n := openSharedPatient(t, address("localhost", "ca", root, "cert", cert, "key", key)); n.Mode() != Shared {
		t.Errorf("the limits are %s", n.Mode())
	}
	f := func(name, why, address string) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			options, err := parseAddress(address)
			if err != nil {
				t.Fatal(err)
			}
			options.DialTimeout, options.PoolTimeout, options.ReadTimeout = time.Minute, time.Minute, time.Minute
			var logs bytes.Buffer
			r := connect(t.Context(), options, slog.New(slog.NewTextHandler(&logs, nil)))
			defer r.Close()
			if r.Mode() != Local || !strings.Contains(logs.String(), why) || strings.Contains(logs.String(), "hunter2") {
				t.Errorf("the limits are %s; the log is %q, want %q", r.Mode(), logs.String(), why)
			}
		})
	}
	const unknown = "certificate signed by unknown authority"
	f("another authority", unknown, address("localhost", "ca", stranger, "cert", cert, "key", key))
	f("another name", "doesn't contain any IP SANs", address("127.0.0.1", "ca", root, "cert", cert, "key", key))
	f("the public authorities", unknown, address("localhost", "cert", cert, "key", key))
	f("no certificate", "certificate required", address("localhost", "ca", root))
}

func TestParseAddress_TLSFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key, root := certtest.New(t).Write(dir, "localhost")
	f := func(query, want string) {
		t.Helper()
		_, err := parseAddress("rediss://:s3cret@host?" + query)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) ||
			err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v, want %q", query, err, want)
		}
	}
	f("", "")
	f("ca="+root, "")
	f("ca="+root+"&cert="+cert+"&key="+key, "")
	f("ca="+filepath.Join(dir, "none.pem"), "none.pem: no such file")
	f("ca="+key, "no certificate in PEM form")
	f("cert="+cert, "cert and key belong together")
	f("cert="+root+"&key="+key, "private key does not match")
	f("ca=", "must be redis://")
	f("ca="+root+"&ca="+root, "must be redis://")
	f("insecure=true", "must be redis://")
}
