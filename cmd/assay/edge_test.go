package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// edge is a shared cache in front of the server, configured as docs/operate.md shows.
type edge struct {
	name    string
	block   *regexp.Regexp // of the document
	program string
	// prepare completes the configuration and returns the arguments. The folder is its own.
	prepare func(folder, config string, port string) (complete string, args []string)
}

var edges = []edge{
	{
		"nginx", regexp.MustCompile("(?s)```nginx\n(proxy_cache_path.*?)```"), "nginx",
		func(folder, config, _ string) (string, []string) {
			config = strings.ReplaceAll(config, "/var/cache/nginx", folder)
			temporary := ""
			for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
				temporary += fmt.Sprintf("%s_temp_path %s/%s;\n", kind, folder, kind)
			}
			user := ""
			if os.Geteuid() == 0 {
				user = "user root; " // who can read the folder of the test
			}
			return user + "daemon off; pid " + folder + "/pid; error_log stderr;\nevents {}\nhttp {\naccess_log off;\n" + temporary +
				config + "}\n", []string{"-p", folder, "-c", folder + "/config"}
		},
	},
	{
		"Varnish", regexp.MustCompile("(?s)```vcl\n(.*?)```"), "varnishd",
		func(folder, config, port string) (string, []string) {
			return config, []string{"-F", "-j", "none", "-n", folder + "/work", "-f", folder + "/config", "-a", "127.0.0.1:" + port, "-s", "malloc,16m"}
		},
	},
	{
		"HAProxy", regexp.MustCompile("(?s)```haproxy\n(cache assay.*?)```"), "haproxy",
		func(folder, config, _ string) (string, []string) {
			return "defaults\n    timeout connect 5s\n    timeout client 60s\n    timeout server 60s\n" + config,
				[]string{"-db", "-f", folder + "/config"}
		},
	},
}

// Shared caches serve readers without a key from what they have stored, and tell them nothing about the one who came
// first. Readers with a key get their own responses.
func TestEdge_SharedCaches(t *testing.T) {
	t.Parallel()
	needProgram(t)
	demo, err := sharedDemo()
	if err != nil {
		t.Fatal(err)
	}
	text := readDocument(t, "../../docs/operate.md")
	for _, e := range edges {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			node, err := startServer(sharedFolder, "edge-"+e.program, "serve", "--role", "read", "--dir", "assay-demo")
			if err != nil { // a node of its own has limits of its own
				t.Fatal(err)
			}
			t.Cleanup(node.kill)
			checkEdge(t, e.start(t, text, strings.TrimPrefix(node.url, "http://")), demo)
		})
	}
}

// start starts the cache and returns its address.
func (e edge) start(t *testing.T, document, server string) string {
	t.Helper()
	program, err := lookServer(e.program)
	if err != nil {
		t.Skipf("NOT COVERED: make script installs %s", e.program)
	}
	block := e.block.FindStringSubmatch(document)
	if block == nil {
		t.Fatalf("docs/operate.md has no configuration for %s", e.name)
	}
	port := freePort(t)
	serverHost, serverPort, _ := net.SplitHostPort(server)
	config := strings.NewReplacer(
		"127.0.0.1:8080", server, "127.0.0.1:8081", "127.0.0.1:"+port,
		`.host = "127.0.0.1"`, `.host = "`+serverHost+`"`, `.port = "8080"`, `.port = "`+serverPort+`"`,
	).Replace(block[1])
	folder := t.TempDir()
	complete, args := e.prepare(folder, config, port)
	if err := os.WriteFile(filepath.Join(folder, "config"), []byte(complete), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	said, err := os.Create(filepath.Join(folder, "said"))
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdout, cmd.Stderr = said, said
	// Not SIGINT: a shell makes the programs of a background command ignore it, and HAProxy leaves that as it is.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = patience
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(); _ = cmd.Wait() })
	base := "http://127.0.0.1:" + port
	err = until(patience, 50*time.Millisecond, func() error {
		response, _, err := getWith(http.DefaultClient, "", base+"/livez")
		if err == nil && response.StatusCode != http.StatusOK {
			err = fmt.Errorf("status %d", response.StatusCode)
		}
		return err
	})
	if err != nil {
		text, _ := os.ReadFile(said.Name())
		t.Fatalf("%s does not serve: %v, it says:\n%s", e.program, err, text)
	}
	return base
}

// lookServer finds a program that is not on the path of all users.
func lookServer(name string) (string, error) {
	if found, err := exec.LookPath(name); err == nil {
		return found, nil
	}
	return exec.LookPath("/usr/sbin/" + name)
}

func freePort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	return port
}

func checkEdge(t *testing.T, base string, demo demoServer) {
	t.Helper()
	const stored, fresh, either = "stored", "fresh", ""
	f := func(target string, headers map[string]string, wantStatus int, from string) (*http.Response, string) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+target, nil)
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range headers {
			request.Header.Set(name, value)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		var body bytes.Buffer
		_, err = body.ReadFrom(response.Body)
		_ = response.Body.Close()
		got := fresh
		if response.Header.Get("X-Cache") == "HIT" {
			got = stored
		}
		if err != nil || response.StatusCode != wantStatus || from != either && from != got {
			t.Errorf("%s %v: status %d, %s, want %d, %s: %v, %.200s", target, headers, response.StatusCode, got, wantStatus, from,
				err, body.String())
		}
		return response, body.String()
	}
	const price = "/api/gpu/H200"
	first, want := f(price, nil, http.StatusOK, fresh)
	if first.Header.Get("RateLimit") == "" || first.Header.Get("X-Request-Id") == "" {
		t.Errorf("a response of the server lacks its limit or id: %v", first.Header)
	}
	second, got := f(price, nil, http.StatusOK, stored)
	if got != want {
		t.Errorf("stored: %s, fresh: %s", got, want)
	}
	for _, name := range []string{"RateLimit", "RateLimit-Policy", "X-Request-Id"} {
		if value := second.Header.Get(name); value != "" && value == first.Header.Get(name) {
			t.Errorf("a stored response has somebody else's %s: %s", name, value)
		}
	}
	if second.Header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("a page cannot read what was stored for a program: %v", second.Header)
	}
	f(price, map[string]string{"If-None-Match": second.Header.Get("ETag")}, http.StatusNotModified, stored)

	for caller, key := range map[string]string{"premium": demo.keys.Premium, "full": demo.keys.Full} {
		for range 2 {
			if _, body := f(price, map[string]string{"Authorization": "Bearer " + key}, http.StatusOK, fresh); !strings.Contains(body, `"access":"`+caller+`"`) {
				t.Errorf("%s got %s", caller, body)
			}
		}
	}
	for range 2 {
		f(price, map[string]string{"Authorization": "Bearer sk_live_nonsense"}, http.StatusUnauthorized, fresh)
		f(price, map[string]string{"Cookie": "a=b; __Host-assay_session=nonsense"}, http.StatusOK, fresh)
		f(price+"?region=nowhere", nil, http.StatusNotFound, fresh) // errors are not stored
	}
	if _, body := f(price, map[string]string{"Cookie": "theme=dark"}, http.StatusOK, stored); body != want {
		t.Errorf("a cookie of another page changes the price: %s", body)
	}
	if _, body := f(price+"?format=csv", nil, http.StatusOK, fresh); !strings.HasPrefix(body, "gpu_name,") {
		t.Errorf("format=csv got %s", body)
	}
	if _, body := f(price, map[string]string{"Accept": "text/html"}, http.StatusOK, either); body != want {
		t.Errorf("a browser got %s", body)
	}
}
