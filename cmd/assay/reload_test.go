package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// reloadPath is a route whose limit is that of the key.
const reloadPath = "/api/gpu/H100%20SXM/hourly?startDate=2025-06-10"

// reloaded is a server whose configuration file a test changes.
type reloaded struct {
	*process
	t        *testing.T
	dir, key string
}

func startReloaded(t *testing.T, config string) *reloaded {
	t.Helper()
	r := &reloaded{t: t, dir: nodeFolder(t)}
	r.key = assayIn(t, r.dir, "key create --dir data --tier full --name reader")
	r.write(config)
	p, err := startServer(r.dir, "server", "serve", "--role", "read", "--dir", "data", "--config", "assay.toml",
		"--log-file", "server.log")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	r.process = p
	return r
}

func (r *reloaded) path(name string) string { return filepath.Join(r.dir, name) }

func (r *reloaded) write(config string) {
	r.t.Helper()
	if err := os.WriteFile(r.path("assay.toml"), []byte(config), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// reload sends SIGHUP and waits until the log says something.
func (r *reloaded) reload(says string) {
	r.t.Helper()
	before := strings.Count(r.log(), says)
	if err := r.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		r.t.Fatal(err)
	}
	err := until(patience, 10*time.Millisecond, func() error {
		if strings.Count(r.log(), says) == before {
			return fmt.Errorf("the log does not say %q:\n%s", says, r.log())
		}
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *reloaded) log() string {
	r.t.Helper()
	text, err := os.ReadFile(r.path("server.log"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		r.t.Fatal(err)
	}
	return string(text)
}

// get sends a request as a client behind a proxy, and returns the limit that counted it and the status.
func (r *reloaded) get(client string) (policy string, status int) {
	r.t.Helper()
	request, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, r.url+reloadPath, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+r.key)
	request.Header.Set("X-Forwarded-For", client)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		r.t.Fatal(err)
	}
	_ = response.Body.Close() // only the header counts
	return response.Header.Get("RateLimit-Policy"), response.StatusCode
}

func (r *reloaded) wantLimit(limit int) {
	r.t.Helper()
	if policy, status := r.get("192.0.2.1"); policy != fmt.Sprintf(`"key";q=%d;w=60`, limit) || status != http.StatusOK {
		r.t.Errorf("the limit is %s, and the status %d; want %d", policy, status, limit)
	}
}

// SIGHUP applies the file, or nothing of it; what needs a restart is named; requests continue.
func TestServe_Reload(t *testing.T) {
	t.Parallel()
	r := startReloaded(t, "[serve]\nkey-limit = 7\naccess-log = \"off\"\n")
	r.wantLimit(7)
	if strings.Contains(r.log(), `"msg":"request"`) {
		t.Errorf("requests are logged:\n%s", r.log())
	}
	r.write("[serve]\nkey-limit = 9\naccess-log = \"all\"\ntrusted-proxies = \"127.0.0.1\"\n")
	r.reload("reloaded the settings")
	r.wantLimit(9)
	r.get("192.0.2.77")
	r.reload(`"client":"192.0.2.77"`) // and what waits for the log is written

	r.write("[serve]\nkey-limit = 11\naccess-log = \"sometimes\"\n")
	r.reload("the settings are not reloaded")
	if !strings.Contains(r.log(), "must be all, off, or a number") {
		t.Errorf("the log does not say what is wrong:\n%s", r.log())
	}
	r.wantLimit(9)

	r.write("[serve]\nkey-limit = 12\nusage-days = 30\ncors-origins = \"https://example.com\"\n")
	r.reload(`"flags":["--cors-origins","--usage-days"]`)
	r.wantLimit(12)
	if err := r.stop(); err != nil {
		t.Error(err)
	}
}

// A log file that was moved away is opened again. If that fails, the old file is used further.
func TestServe_ReopensTheLog(t *testing.T) {
	t.Parallel()
	r := startReloaded(t, "[serve]\n")
	r.wantLimit(600)
	if err := os.Rename(r.path("server.log"), r.path("old.log")); err != nil {
		t.Fatal(err)
	}
	r.reload("reloaded the settings")
	info, err := os.Stat(r.path("server.log"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the new log: %v, %v", info.Mode(), err)
	}
	if err := os.Remove(r.path("server.log")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(r.path("server.log"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := r.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	r.wantLimit(600)
	if err := os.Remove(r.path("server.log")); err != nil {
		t.Fatal(err)
	}
	r.reload("reloaded the settings")
	if err := r.stop(); err != nil {
		t.Error(err)
	}
	old, err := os.ReadFile(r.path("old.log"))
	if err != nil || strings.Contains(string(old), "reloaded") {
		t.Errorf("the old log: %v\n%s", err, old)
	}
}
