package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/assaydata/assay/internal/certtest"
	"github.com/assaydata/assay/internal/web"
	programs "github.com/assaydata/assay/tools/process"
)

// secured is a server that ends TLS itself.
type secured struct {
	*process
	t         *testing.T
	dir       string
	authority *certtest.Authority
	redirect  string // the address in the clear
}

// startSecured starts a server with a certificate for 127.0.0.1 and localhost.
func startSecured(t *testing.T, args ...string) *secured {
	t.Helper()
	needProgram(t)
	s := &secured{t: t, dir: t.TempDir(), authority: certtest.New(t)}
	s.authority.Write(s.dir, "127.0.0.1", "localhost")
	args = append([]string{
		"serve", "--init", "--dir", "data", "--tls-cert", "cert.pem", "--tls-key", "key.pem",
		"--redirect-addr", "127.0.0.1:0", "--streams-per-address", "2",
	}, args...)
	var err error
	s.process, err = startCommandFor(s.newClient(), nil, s.dir, "server", exec.Command(program, args...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.kill)
	s.redirect = s.logged(`"requests without TLS are redirected","address":"([^"]+)"`)
	return s
}

// logged waits until the log has a text, and returns the group in it.
func (s *secured) logged(pattern string) (found string) {
	s.t.Helper()
	err := until(patience, 10*time.Millisecond, func() error {
		text := s.log()
		match := regexp.MustCompile(pattern).FindStringSubmatch(text)
		if match == nil {
			return fmt.Errorf("the log lacks %s:\n%s", pattern, text)
		}
		found = match[len(match)-1]
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return found
}

func (s *secured) log() string {
	text, err := os.ReadFile(filepath.Join(s.dir, "server.err"))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

// newClient trusts the authority, has the given certificates, and speaks HTTP/2.
func (s *secured) newClient(own ...tls.Certificate) *http.Client {
	transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{
		RootCAs: s.authority.Pool(), Certificates: own, MinVersion: tls.VersionTLS12,
	}}
	s.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
}

// fetched is a response with its body.
type fetched struct {
	*http.Response
	text string
}

func (s *secured) do(client *http.Client, method, url string, header ...string) fetched {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), method, url, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			request.Host = header[i+1]
		}
		request.Header.Set(header[i], header[i+1])
	}
	response, err := client.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return fetched{response, string(text)}
}

const yearOfTLS = "max-age=31536000"

// The address that is printed speaks HTTP/2 and HTTP/1.1, and its cookies are for TLS only. The other port redirects
// browsers that name this server, and refuses everything else.
func TestTLS_Serve(t *testing.T) {
	t.Parallel()
	s := startSecured(t, "--admin-addr", "127.0.0.1:0")
	admin := s.logged(`"metrics are served","address":"([^"]+)"`)
	metrics := s.do(s.client, http.MethodGet, "http://"+admin+"/metrics").text
	if !regexp.MustCompile(`(?m)^assay_tls_certificate_expiry_timestamp_seconds 1\.\d+e\+09$`).MatchString(metrics) ||
		!strings.Contains(metrics, "\nassay_tls_handshakes_failed_total 0\n") {
		t.Errorf("the metrics are %s", metrics)
	}
	if !strings.HasPrefix(s.url, "https://") {
		t.Errorf("the address is %s", s.url)
	}
	if strings.Contains(s.log(), `"WARN"`) {
		t.Errorf("a warning is logged: %s", s.log())
	}
	if got := s.do(s.client, http.MethodGet, s.url+"/health"); got.ProtoMajor != 2 ||
		got.StatusCode != http.StatusOK || got.Header.Get("Strict-Transport-Security") != yearOfTLS {
		t.Errorf("%s %s %v", got.Proto, got.Status, got.Header)
	}
	for _, option := range []string{"--http2", "--http1.1"} {
		out, err := exec.Command("curl", "-sS", option, "--cacert", filepath.Join(s.dir, "ca.pem"), "-o", os.DevNull,
			"-w", "%{http_version} %{response_code} %header{strict-transport-security}", s.url+"/livez").CombinedOutput()
		want := strings.TrimSuffix(strings.TrimPrefix(option, "--http"), ".0") + " 200 " + yearOfTLS
		if err != nil || string(out) != want {
			t.Errorf("curl %s: %q, %v; want %q", option, out, err, want)
		}
	}

	plain := "http://" + s.redirect
	f := func(method, target, host string, status int, want string, header ...string) {
		t.Helper()
		got := s.do(s.client, method, plain+target, append(header, "Host", host)...)
		if got.StatusCode != status || got.Header.Get("Location")+got.text != want && !strings.Contains(got.text, want) ||
			got.Header.Get("Strict-Transport-Security") != "" {
			t.Errorf("%s %s of %s: %s %q %s", method, target, host, got.Status, got.Header.Get("Location"), got.text)
		}
	}
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(s.url, "https://"))
	f(http.MethodGet, "/a%2Fb?x=%20y&z", "localhost:80", http.StatusPermanentRedirect,
		"https://localhost:"+port+"/a%2Fb?x=%20y&z")
	f(http.MethodHead, "//evil.example/", "localhost", http.StatusPermanentRedirect,
		"https://localhost:"+port+"//evil.example/")
	f(http.MethodGet, "/", "evil.example", http.StatusBadRequest, `"unknown_host"`)
	f(http.MethodGet, "/", "localhost@evil.example", http.StatusBadRequest, `"unknown_host"`)
	f(http.MethodGet, "/", "127.0.0.1", http.StatusForbidden, `"https_required"`, "Authorization", "Bearer sk_prem_x")
	f(http.MethodPost, "/api/session", "localhost", http.StatusForbidden, `"https_required"`)
	s.logged("a key was sent in the clear")

	got := s.do(s.client, http.MethodGet, "http"+strings.TrimPrefix(s.url, "https")+"/health")
	if got.StatusCode != http.StatusBadRequest || !strings.Contains(got.text, `"https_required"`) {
		t.Errorf("in the clear on the port of TLS: %s %s", got.Status, got.text)
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
}

// OpenSSL agrees about what is spoken: TLS 1.2 with forward secrecy and no CBC, TLS 1.3, and nothing older.
func TestTLS_Protocols(t *testing.T) {
	t.Parallel()
	s := startSecured(t)
	f := func(want bool, options string) {
		t.Helper()
		args := append([]string{
			"s_client", "-connect", strings.TrimPrefix(s.url, "https://"), "-CAfile", filepath.Join(s.dir, "ca.pem"),
			"-verify_return_error", "-brief",
		}, strings.Fields(options)...)
		out, err := exec.Command("openssl", args...).CombinedOutput()
		if got := err == nil && strings.Contains(string(out), "Verification: OK"); got != want {
			t.Errorf("openssl s_client %s: %v, want %v\n%s", options, got, want, out)
		}
	}
	f(false, "-tls1_1 -cipher DEFAULT@SECLEVEL=0")
	f(false, "-tls1 -cipher DEFAULT@SECLEVEL=0")
	f(false, "-tls1_2 -cipher ECDHE-ECDSA-AES128-SHA:ECDHE-ECDSA-AES128-SHA256:AES128-GCM-SHA256")
	f(true, "-tls1_2 -cipher ECDHE-ECDSA-AES128-GCM-SHA256")
	f(true, "-tls1_2 -cipher ECDHE-ECDSA-CHACHA20-POLY1305")
	f(true, "-tls1_3")
}

// Only clients with a certificate of the authority get through, and the log says why others do not.
func TestTLS_ClientCA(t *testing.T) {
	t.Parallel()
	needProgram(t)
	authority := certtest.New(t)
	own, stranger := authority.Pair("proxy.example"), certtest.New(t).Pair("proxy.example")
	s := &secured{t: t, dir: t.TempDir(), authority: authority}
	authority.Write(s.dir, "127.0.0.1")
	m, socket := newManager(t)
	environment := []string{"NOTIFY_SOCKET=" + socket, "WATCHDOG_USEC=300000"}
	var err error
	s.process, err = startCommandFor(s.newClient(own), environment, s.dir, "server", exec.Command(program, "serve",
		"--init", "--dir", "data", "--tls-cert", "cert.pem", "--tls-key", "key.pem", "--client-ca", "ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.kill)
	m.receives("WATCHDOG=1") // the server gets through to itself
	m.receives("WATCHDOG=1")
	if strings.Contains(s.log(), "TLS handshakes have failed") {
		t.Errorf("a handshake has failed: %s", s.log())
	}
	for name, client := range map[string]*http.Client{
		"none": s.newClient(), "one of a stranger": s.newClient(stranger),
	} {
		if response, err := client.Get(s.url + "/health"); err == nil {
			response.Body.Close()
			t.Errorf("a client whose certificate is %s gets %s", name, response.Status)
		}
	}
	s.logged(`"TLS handshakes have failed","failed":\d,"last_error":"(tls: [^"]+)"`)
	if got := s.do(s.newClient(own), http.MethodGet, s.url+"/livez"); got.StatusCode != http.StatusOK {
		t.Errorf("a client with a certificate gets %s", got.Status)
	}
}

// While requests come without a pause, the certificate is replaced by way of a link, by a broken one, and by a good one
// at SIGHUP. No request fails.
func TestTLS_CertificateReplaced(t *testing.T) {
	t.Parallel()
	s := startSecured(t, "--access-log", "off", "--max-connections-per-address", "100000")
	var current atomic.Pointer[x509.Certificate]
	var reading sync.WaitGroup
	ended, stop := context.WithCancel(t.Context())
	for _, second := range []bool{false, true} {
		reading.Go(func() {
			client := s.newClient()
			client.Transport.(*http.Transport).DisableKeepAlives = true
			client.Transport.(*http.Transport).ForceAttemptHTTP2 = second
			for ended.Err() == nil {
				response, err := client.Get(s.url + "/livez")
				if err != nil || response.StatusCode != http.StatusOK {
					t.Errorf("a request fails: %v", err)
					return
				}
				response.Body.Close()
				current.Store(response.TLS.PeerCertificates[0])
			}
		})
	}
	defer reading.Wait()
	defer stop()
	name := func(base string) string { return filepath.Join(s.dir, base) }
	write := func(base string, text []byte) {
		t.Helper()
		next := name(base + ".next")
		if err := errors.Join(os.WriteFile(next, text, 0o600), os.Rename(next, name(base))); err != nil {
			t.Fatal(err)
		}
	}
	becomes := func(want string) {
		t.Helper()
		err := until(patience, 10*time.Millisecond, func() error {
			if cert := current.Load(); cert == nil || cert.VerifyHostname(want) != nil {
				return fmt.Errorf("the certificate is not that of %s", want)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	becomes("localhost")
	cert, key := s.authority.Issue(time.Now().Add(time.Hour), "127.0.0.1", "two.example")
	write("cert.pem", cert)
	write("key.pem", key)
	becomes("two.example")
	write("cert.pem", []byte("-----BEGIN CERTIFICATE-----\nhalf a"))
	s.logged(`"level":"ERROR","msg":"a file for TLS cannot be used`)
	becomes("two.example")
	cert, key = s.authority.Issue(time.Now().Add(time.Hour), "127.0.0.1", "three.example")
	write("key.pem", key)
	write("cert.pem", cert)
	if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	becomes("three.example")
	if errors := strings.Count(s.log(), `"ERROR"`); errors != 1 {
		t.Errorf("the log has %d errors, want 1:\n%s", errors, s.log())
	}
}

// A stream of HTTP/2 counts like any other, takes no connection for itself, and ends with a word when the server stops.
func TestTLS_StreamsOverHTTP2(t *testing.T) {
	t.Parallel()
	s := startSecured(t)
	open := func() (*http.Response, *bufio.Reader) {
		t.Helper()
		response, err := s.client.Get(s.url + "/api/stream")
		if err != nil {
			t.Fatal(err)
		}
		return response, bufio.NewReader(response.Body)
	}
	event := func(in *bufio.Reader) string {
		t.Helper()
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			if name, ok := strings.CutPrefix(line, "event: "); ok {
				return strings.TrimSpace(name)
			}
		}
	}
	first, in := open()
	defer first.Body.Close()
	if got := event(in); got != "hello" || first.ProtoMajor != 2 ||
		first.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("%s %v begins with %s", first.Proto, first.Header, got)
	}
	second, inSecond := open()
	event(inSecond)
	if third, _ := open(); third.StatusCode != http.StatusTooManyRequests {
		t.Errorf("a stream too many gets %s", third.Status)
	}
	second.Body.Close() // which gives its place back
	err := until(patience, 10*time.Millisecond, func() error {
		again, _ := open()
		defer again.Body.Close()
		if again.StatusCode != http.StatusOK {
			return errors.New(again.Status)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if got := s.do(s.client, http.MethodGet, s.url+"/livez"); got.StatusCode != http.StatusOK {
		t.Errorf("beside the streams: %s", got.Status)
	}
	stopped := make(chan error)
	go func() { stopped <- s.stop() }()
	if got := event(in); got != "bye" {
		t.Errorf("the last event is %s", got)
	}
	if rest, err := io.ReadAll(in); err != nil || !strings.Contains(string(rest), `"shutdown"`) {
		t.Errorf("the stream ends with %q, %v", rest, err)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// The flags are checked before anything is served, and the messages name them.
func TestTLS_Flags(t *testing.T) {
	t.Parallel()
	f := func(want string, c tlsConfig) {
		t.Helper()
		if err := c.check(); err == nil && want != "" || err != nil && (want == "" || !strings.Contains(err.Error(), want)) {
			t.Errorf("%+v: %v, want %q", c, err, want)
		}
	}
	domains := []string{"data.example.com"}
	f("", tlsConfig{})
	f("", tlsConfig{cert: "c", key: "k", clientCA: "ca", redirectAddr: ":80"})
	f("", tlsConfig{domains: domains, email: "ada@example.com", directory: "https://ca", directoryCA: "f", clientCA: "ca"})
	f("--tls-key needs --tls-cert", tlsConfig{key: "k"})
	f("--tls-cert needs --tls-key", tlsConfig{cert: "c"})
	f("exclude each other", tlsConfig{cert: "c", key: "k", domains: domains})
	f("--client-ca needs --tls-cert or --acme-domain", tlsConfig{clientCA: "ca"})
	f("--redirect-addr needs --tls-cert or --acme-domain", tlsConfig{redirectAddr: ":80"})
	f("--acme-email needs --acme-domain", tlsConfig{cert: "c", key: "k", email: "ada@example.com"})
	f("--acme-directory needs --acme-domain", tlsConfig{directory: "https://ca"})
	f("--acme-ca needs --acme-domain", tlsConfig{directoryCA: "f"})

	g := func(set func(*tlsConfig, string) error, text string, want bool) {
		t.Helper()
		if err := set(&tlsConfig{}, text); (err == nil) != want {
			t.Errorf("%q: %v", text, err)
		}
	}
	g((*tlsConfig).setDomains, "data.example.com, api.example.com", true)
	g((*tlsConfig).setDomains, "*.example.com", false)
	g((*tlsConfig).setDomains, "localhost", false)
	g((*tlsConfig).setDomains, "127.0.0.1", false)
	g((*tlsConfig).setEmail, "ada@example.com", true)
	g((*tlsConfig).setEmail, "Ada <ada@example.com>", false)
	g((*tlsConfig).setRedirectAddr, "80", false)
	for text, want := range map[string]bool{
		"https://ca.example/dir": true, "http://ca.example/dir": false, "ca.example": false, "https://a:b@ca.example/": false,
	} {
		if err := checkDirectory(text); (err == nil) != want {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// The address of passkeys follows TLS and the domain.
func TestTLS_Origin(t *testing.T) {
	t.Parallel()
	f := func(want, address string, c tlsConfig, public string) {
		t.Helper()
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		_, port, _ := net.SplitHostPort(l.Addr().String())
		v := &service{config: serverConfig{tls: c, signIn: signInConfig{publicURL: public}}, listener: l}
		if got := v.origin(); got != strings.ReplaceAll(want, "PORT", port) {
			t.Errorf("%s with %+v: %q, want %q", address, c, got, want)
		}
	}
	files, domain := tlsConfig{cert: "c", key: "k"}, tlsConfig{domains: []string{"data.example.com"}}
	f("http://localhost:PORT", "127.0.0.1:0", tlsConfig{}, "")
	f("https://localhost:PORT", "127.0.0.1:0", files, "")
	f("https://data.example.com:PORT", "0.0.0.0:0", domain, "")
	f("https://public.example", "0.0.0.0:0", domain, "https://public.example")
	f("", "0.0.0.0:0", files, "")
}

// pebble is an authority that speaks ACME, by the people of Let's Encrypt.
type pebble struct {
	directory, management string
	server                *exec.Cmd
	root                  *x509.CertPool
	tlsPort, httpPort     int // where it looks for what it certifies
}

func startPebble(t *testing.T, dir string, authority *certtest.Authority) *pebble {
	t.Helper()
	if _, err := exec.LookPath("pebble"); err != nil {
		t.Skip("NOT COVERED: pebble; scripts/need pebble installs it")
	}
	const ports = 5
	spare, err := programs.SparePorts(ports)
	if err != nil {
		t.Fatal(err)
	}
	p := &pebble{
		directory: "https://" + programs.Loopback(spare[0]) + "/dir", management: "https://" + programs.Loopback(spare[1]),
		tlsPort: spare[2], httpPort: spare[3],
	}
	config := fmt.Sprintf(`{"pebble": {"listenAddress": %q, "managementListenAddress": %q, "certificate": "cert.pem",
		"privateKey": "key.pem", "httpPort": %d, "tlsPort": %d}}`,
		programs.Loopback(spare[0]), programs.Loopback(spare[1]), p.httpPort, p.tlsPort)
	if err := os.WriteFile(filepath.Join(dir, "pebble.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	dns := programs.Loopback(spare[4])
	start := func(name string, args ...string) *exec.Cmd {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.Env = dir, []string{"PEBBLE_VA_NOSLEEP=1", "PEBBLE_WFE_NONCEREJECT=0"}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill() // it may have ended
			_ = cmd.Wait()         // likewise
		})
		return cmd
	}
	start("pebble-challtestsrv", "-dns01", dns, "-defaultIPv6", "", "-http01", "", "-https01", "", // resolves every name
		"-tlsalpn01", "", "-management", "127.0.0.1:0")
	p.server = start("pebble", "-config", "pebble.json", "-dnsserver", dns)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{
		RootCAs: authority.Pool(), MinVersion: tls.VersionTLS12,
	}}}
	t.Cleanup(client.CloseIdleConnections)
	err = until(patience, 10*time.Millisecond, func() error {
		response, err := client.Get(p.management + "/roots/0")
		if err != nil {
			return err
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		p.root = x509.NewCertPool()
		if err == nil && !p.root.AppendCertsFromPEM(text) {
			err = errors.New("there is no root")
		}
		return errors.Join(err, os.WriteFile(filepath.Join(dir, "pebble-root.pem"), text, 0o600))
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A server gets its certificate from an authority, by either challenge, and the next one has it from the folder.
func TestTLS_ACME(t *testing.T) {
	t.Parallel()
	f := func(name string, reachable func(p *pebble) (addr, redirect string)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			needProgram(t)
			dir := t.TempDir()
			authority := certtest.New(t)
			authority.Write(dir, "127.0.0.1")
			p := startPebble(t, dir, authority)
			addr, redirect := reachable(p)
			const domain = "data.example.com"
			client := &http.Client{Transport: &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{
				RootCAs: p.root, ServerName: domain, MinVersion: tls.VersionTLS12,
			}}}
			t.Cleanup(client.CloseIdleConnections)
			args := []string{
				"serve", "--init", "--dir", "data", "--acme-domain", domain, "--acme-email", "ada@example.com",
				"--acme-directory", p.directory, "--acme-ca", "ca.pem", "--addr", addr, "--redirect-addr", redirect,
			}
			server, err := startCommandFor(client, nil, dir, "server", exec.Command(program, args...))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(server.kill)
			out, err := exec.Command("curl", "-sS", "--cacert", filepath.Join(dir, "pebble-root.pem"),
				"--connect-to", domain+":443:"+addr, "https://"+domain+"/livez", "-w", "%{response_code}").CombinedOutput()
			if err != nil || !strings.HasSuffix(string(out), "200") {
				t.Errorf("curl: %s, %v", out, err)
			}
			for _, other := range []string{"evil.example.com", "www." + domain} {
				config := &tls.Config{InsecureSkipVerify: true, ServerName: other} //nolint:gosec // G402: it expects a failure
				if c, err := tls.Dial("tcp", addr, config); err == nil {
					c.Close()
					t.Errorf("there is a certificate for %s", other)
				}
			}
			wantPrivate(t, filepath.Join(dir, "data", acmeFolder))
			if err := server.stop(); err != nil {
				t.Error(err)
			}
			if err := p.server.Process.Kill(); err != nil { // the certificate is kept, so that no authority is needed
				t.Fatal(err)
			}
			again, err := startCommandFor(client, nil, dir, "again", exec.Command(program, args...))
			if err != nil {
				t.Fatal(err)
			}
			if err := again.stop(); err != nil {
				t.Error(err)
			}
		})
	}
	f("TLS-ALPN-01", func(p *pebble) (addr, redirect string) {
		return programs.Loopback(p.tlsPort), "127.0.0.1:0"
	})
	f("HTTP-01", func(p *pebble) (addr, redirect string) {
		spare, err := programs.SparePorts(1)
		if err != nil {
			t.Fatal(err)
		}
		return programs.Loopback(spare[0]), programs.Loopback(p.httpPort)
	})
}

// wantPrivate checks that only the owner can read a folder and what is in it.
func wantPrivate(t *testing.T, folder string) {
	t.Helper()
	found := 0
	err := filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has the mode %v", name, info.Mode())
		}
		if !entry.IsDir() {
			found++
		}
		return err
	})
	if err != nil || found < 2 { // an account and a certificate
		t.Errorf("%d files in %s, %v", found, folder, err)
	}
}

// The clients of the command line trust a private authority that SSL_CERT_FILE names, and no other.
func TestTLS_CommandLine(t *testing.T) {
	t.Parallel()
	s := startSecured(t)
	create := exec.Command(program, "key", "create", "--dir", "data", "--tier", "full", "--name", "reader")
	create.Dir = s.dir
	key, err := create.Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "key.txt"), key, 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(environment ...string) (string, error) {
		cmd := exec.Command(program, "download", "--server", s.url, "--key-file", "key.txt", "--dataset", "gpu-daily",
			"--out", "files")
		cmd.Dir, cmd.Env = s.dir, append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir}, environment...)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run(); err == nil || !strings.Contains(out, "certificate signed by unknown authority") {
		t.Errorf("without the authority: %v, %s", err, out)
	}
	if out, _ := run("SSL_CERT_FILE=" + filepath.Join(s.dir, "ca.pem")); strings.Contains(out, "x509") {
		t.Errorf("with the authority: %s", out)
	}
	s.logged(`"path":"(/api/bulk)`)
}

// The cookies of a session are for TLS only.
func TestTLS_Cookies(t *testing.T) {
	t.Parallel()
	s := startSecured(t)
	const password = "a password of my own"
	add := exec.Command(program, "account", "add", "ada@example.com", "--password-stdin", "--dir", "data")
	add.Dir, add.Stdin = s.dir, strings.NewReader(password+"\n")
	if out, err := add.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	body := strings.NewReader(`{"email":"ada@example.com","password":"` + password + `"}`)
	response, err := s.client.Post(s.url+"/api/session", "application/json", body)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	cookies := response.Cookies()
	if response.StatusCode != http.StatusOK || len(cookies) == 0 {
		text, _ := io.ReadAll(response.Body)
		t.Fatalf("sign in: %s %s", response.Status, text)
	}
	for _, cookie := range cookies {
		if !cookie.Secure || !strings.HasPrefix(cookie.Name, web.HostPrefix) {
			t.Errorf("the cookie %s is not for TLS only", cookie)
		}
	}
}
