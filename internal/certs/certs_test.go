package certs

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assaydata/assay/internal/certtest"
)

// files are a certificate, its key and the authority of both, in a folder.
type testFiles struct {
	t         *testing.T
	authority *certtest.Authority
	dir       string
	logs      bytes.Buffer
	*Server
}

func (f *testFiles) name(base string) string { return filepath.Join(f.dir, base) }

func (f *testFiles) write(base string, text []byte) {
	f.t.Helper()
	if err := os.WriteFile(f.name(base), text, 0o600); err != nil {
		f.t.Fatal(err)
	}
}

func (f *testFiles) options() Options {
	return Options{
		CertFile: f.name("cert.pem"), KeyFile: f.name("key.pem"), Now: time.Now,
		Log: slog.New(slog.NewTextHandler(&f.logs, nil)),
	}
}

func newFiles(t *testing.T) *testFiles {
	t.Helper()
	f := &testFiles{t: t, authority: certtest.New(t), dir: t.TempDir()}
	f.authority.Write(f.dir, "one.example")
	return f
}

func (f *testFiles) open() *testFiles {
	f.t.Helper()
	var err error
	if f.Server, err = New(f.options()); err != nil {
		f.t.Fatal(err)
	}
	return f
}

// serves checks which name the certificate in use has.
func (f *testFiles) serves(name string) {
	f.t.Helper()
	cert, err := f.Config().GetCertificate(&tls.ClientHelloInfo{})
	if err != nil || cert.Leaf.VerifyHostname(name) != nil || !f.Serves(name) {
		f.t.Errorf("the certificate is that of %v (%v), want %s", cert.Leaf.DNSNames, err, name)
	}
}

// logged checks how often the log has a text since the last call; 0 is for a log that has nothing at all.
func (f *testFiles) logged(text string, want int) {
	f.t.Helper()
	if got := strings.Count(f.logs.String(), text); want > 0 && got != want || want == 0 && f.logs.Len() > 0 {
		f.t.Errorf("the log has %q %d times, want %d:\n%s", text, got, want, f.logs.String())
	}
	f.logs.Reset()
}

// A message names the file and what is wrong with it.
func TestNew_Refuses(t *testing.T) {
	t.Parallel()
	f := func(name string, change func(f *testFiles), want ...string) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := newFiles(t)
			change(files)
			options := files.options()
			if _, err := os.Stat(files.name("clients.pem")); err == nil {
				options.ClientCA = files.name("clients.pem")
			}
			_, err := New(options)
			for _, part := range want {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("the error is %v, want one with %q", err, part)
				}
			}
		})
	}
	remove := func(base string) func(*testFiles) {
		return func(f *testFiles) { _ = os.Remove(f.name(base)) }
	}
	f("no certificate", remove("cert.pem"), "--tls-cert", "cert.pem", "no such file")
	f("no key", remove("key.pem"), "--tls-key", "key.pem", "no such file")
	f("a certificate that is no PEM", func(f *testFiles) { f.write("cert.pem", []byte("hello")) },
		"--tls-cert", "cert.pem", "no certificate in PEM form")
	f("a key in its place", func(f *testFiles) {
		_, key := f.authority.Issue(time.Now().Add(time.Hour), "one.example")
		f.write("cert.pem", key)
	}, "--tls-cert", "cert.pem", "no certificate in PEM form")
	f("an empty key", func(f *testFiles) { f.write("key.pem", nil) }, "--tls-key", "key.pem", "no private key in PEM form")
	f("an encrypted key", func(f *testFiles) {
		f.write("key.pem", []byte("-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n"))
	}, "--tls-key", "key.pem", "encrypted")
	f("a broken key", func(f *testFiles) {
		f.write("key.pem", []byte("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"))
	}, "--tls-key", "key.pem")
	f("the key of another", func(f *testFiles) {
		_, key := f.authority.Issue(time.Now().Add(time.Hour), "two.example")
		f.write("key.pem", key)
	}, "key.pem does not belong to the certificate", "cert.pem")
	f("a broken certificate", func(f *testFiles) {
		f.write("cert.pem", []byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"))
	}, "--tls-cert", "cert.pem")
	f("a file without end", func(f *testFiles) { f.write("cert.pem", make([]byte, maxFile+1)) }, "cert.pem is longer than")
	f("no authorities of clients", func(f *testFiles) { f.write("clients.pem", []byte("none")) },
		"--client-ca", "clients.pem", "no certificate in PEM form")
}

// New files are used soon. Broken ones are not: the old ones stay, and the log says so once.
func TestServer_Poll(t *testing.T) {
	t.Parallel()
	f := newFiles(t).open()
	f.poll()
	f.logged("", 0)

	cert, key := f.authority.Issue(time.Now().Add(time.Hour), "two.example")
	f.write("cert.pem", cert) // its key comes later
	f.poll()
	f.serves("one.example")
	f.logged("", 0)
	f.write("key.pem", key)
	f.poll()
	f.serves("two.example")
	f.logged("the certificate has changed", 1)

	f.write("key.pem", []byte("broken"))
	for range 5 {
		f.poll()
	}
	f.serves("two.example")
	f.logged("level=ERROR", 1)
	_ = os.Remove(f.name("cert.pem"))
	for range 5 {
		f.poll()
	}
	f.serves("two.example")
	f.logged("no such file", 1)
	f.write("cert.pem", cert)
	f.write("key.pem", key)
	f.poll()
	f.logged("the certificate has changed", 1)
	f.poll()
	f.logged("", 0)
}

// Kubernetes and certbot replace a link, and the file of the same name is another one then.
func TestServer_LinkSwapped(t *testing.T) {
	t.Parallel()
	f := &testFiles{t: t, authority: certtest.New(t), dir: t.TempDir()}
	for _, name := range []string{"one.example", "two.example"} {
		if err := os.Mkdir(f.name(name), 0o700); err != nil {
			t.Fatal(err)
		}
		f.authority.Write(f.name(name), name)
	}
	link := func(to string) {
		t.Helper()
		next := f.name("next")
		if err := os.Symlink(to, next); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(next, f.name("current")); err != nil {
			t.Fatal(err)
		}
	}
	link("one.example")
	for _, file := range []string{"cert.pem", "key.pem"} {
		if err := os.Symlink(filepath.Join("current", file), f.name(file)); err != nil {
			t.Fatal(err)
		}
	}
	f.open().serves("one.example")
	link("two.example")
	f.poll()
	f.serves("two.example")
}

// SIGHUP reads the files at once, and says at once what is wrong with them.
func TestServer_Reload(t *testing.T) {
	t.Parallel()
	f := newFiles(t).open()
	f.authority.Write(f.dir, "two.example")
	f.Reload()
	f.serves("two.example")
	f.logged("the certificate was read again", 1)
	f.write("key.pem", []byte("broken"))
	f.Reload()
	f.serves("two.example")
	f.logged("level=ERROR", 1)
}

// An expired certificate is served, because nothing better is there, and the log says so.
func TestServer_Expired(t *testing.T) {
	t.Parallel()
	f := newFiles(t)
	until := time.Now().Add(-time.Hour).Truncate(time.Second)
	cert, key := f.authority.Issue(until, "one.example")
	f.write("cert.pem", cert)
	f.write("key.pem", key)
	f.open().WarnInvalid()
	f.logged("the certificate has expired", 1)
	if !f.Expiry().Equal(until) {
		t.Errorf("it expires at %v, want %v", f.Expiry(), until)
	}
}

// The authorities of clients are exchanged like the certificate, and no client resumes what it had before.
func TestServer_ClientCA(t *testing.T) {
	t.Parallel()
	f := newFiles(t)
	options := f.options()
	options.ClientCA = f.name("ca.pem")
	var err error
	if f.Server, err = New(options); err != nil {
		t.Fatal(err)
	}
	config := func() *tls.Config {
		t.Helper()
		config, err := f.Config().GetConfigForClient(&tls.ClientHelloInfo{SupportedProtos: []string{"acme-tls/1"}})
		if err != nil || config.ClientAuth != tls.RequireAndVerifyClientCert || !config.SessionTicketsDisabled ||
			config.MinVersion != tls.VersionTLS12 {
			t.Fatalf("%+v, %v", config, err)
		}
		return config
	}
	before := config()
	check := x509.VerifyOptions{Roots: before.ClientCAs, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	if _, err := f.Own()[0].Leaf.Verify(check); err != nil {
		t.Errorf("the server does not let itself through: %v", err)
	}
	f.write("ca.pem", certtest.New(t).PEM)
	f.poll()
	if after := config(); after.ClientCAs.Equal(before.ClientCAs) {
		t.Error("the authorities are the old ones")
	}
	f.logged("the authorities of --client-ca have changed", 1)
}

// Clients that name no domain of ours get no certificate, and none waits for one.
func TestServer_OnlyListedDomains(t *testing.T) {
	t.Parallel()
	s, err := New(Options{
		Now: time.Now, Log: slog.New(slog.DiscardHandler),
		ACME: &ACMEOptions{
			Domains: []string{"data.example.com"}, Directory: "https://127.0.0.1:1/", Folder: filepath.Join(t.TempDir(), "acme"),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	f := func(name, want string, protocols ...string) {
		t.Helper()
		_, err := s.Config().GetCertificate(&tls.ClientHelloInfo{ServerName: name, SupportedProtos: protocols})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", name, err, want)
		}
	}
	f("evil.example.com", "not in --acme-domain")
	f("x.data.example.com", "not in --acme-domain")
	f("127.0.0.1", "not in --acme-domain")
	f("data.example.com", "no certificate for data.example.com yet")
	f("DATA.example.com.", "no certificate for data.example.com yet")
	f("", "no certificate for data.example.com yet")
	f("evil.example.com", "no token cert", "acme-tls/1")
	f("evil.example.com", "not in --acme-domain", "acme-tls/1", "h2")
	if !s.Expiry().IsZero() || s.Serves("evil.example.com") || !s.Serves("Data.Example.com") {
		t.Errorf("expiry %v", s.Expiry())
	}
}
