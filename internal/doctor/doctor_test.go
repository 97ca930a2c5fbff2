package doctor_test

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assaydata/assay/internal/doctor"
)

// want wants one finding of a level with a text, and something to do unless it is in order.
func want(t *testing.T, found []doctor.Finding, level doctor.Level, text string) {
	t.Helper()
	if len(found) != 1 {
		t.Fatalf("%d findings, want 1: %+v", len(found), found)
	}
	f := found[0]
	if f.Level != level || !strings.Contains(f.Text, text) || (f.Fix == "") != (level == doctor.OK) {
		t.Errorf("found %+v, want the level %s and %q", f, level, text)
	}
}

func one(f doctor.Finding) []doctor.Finding { return []doctor.Finding{f} }

func TestFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f := func(name string, level doctor.Level, text string) {
		t.Helper()
		want(t, doctor.Folder("folder", name, false, "make one"), level, text)
	}
	f(filepath.Join(dir, "missing"), doctor.Problem, "does not exist")
	f(file, doctor.Problem, "is not a folder")
	f("/proc", doctor.Problem, "cannot be written to") // not even by root
	if f := doctor.Folder("folder", dir, false, "")[0]; !strings.Contains(f.Text, dir) {
		t.Errorf("a folder that can be written to: %+v", f)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("the examination left %v (%v)", entries, err)
	}
}

// A database in memory is lost with the machine. Debian has /dev/shm.
func TestFolder_InMemory(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("/dev/shm", "assay-doctor-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	for _, f := range doctor.Folder("folder", dir, true, "") {
		if f.Level == doctor.Warning && strings.Contains(f.Text, "is in memory") {
			return
		}
	}
	t.Error("a database in memory is in order")
}

func TestPrivate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	closed, open := filepath.Join(dir, "closed"), filepath.Join(dir, "it's open")
	for name, mode := range map[string]os.FileMode{closed: 0o600, open: 0o644} {
		if err := os.WriteFile(name, nil, mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(name, mode); err != nil { // the umask may have taken bits away
			t.Fatal(err)
		}
	}
	if found := doctor.Private("files", closed); found != nil {
		t.Errorf("a private file: %+v", found)
	}
	found := doctor.Private("files", closed, open)
	want(t, found, doctor.Warning, open)
	if fix := `chmod go-rwx '` + dir + `/it'\''s open'`; found[0].Fix != fix {
		t.Errorf("the command is %s, want %s", found[0].Fix, fix)
	}
}

func TestClock(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 19, 12, 0, 0, 0, time.UTC)
	want(t, one(doctor.Clock(now, now.Add(time.Hour), "the last publication")), doctor.Problem,
		"it is 2026-11-19T12:00:00Z by the clock, which is before the last publication, 2026-11-19T13:00:00Z")
	for _, passed := range []time.Time{now, {}} {
		if f := doctor.Clock(now, passed, ""); f.Level == doctor.Problem {
			t.Errorf("a clock that may be right: %+v", f)
		}
	}
}

func TestListen(t *testing.T) {
	t.Parallel()
	other, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	go func() {
		for {
			conn, err := other.Accept()
			if err != nil {
				return
			}
			_ = conn.Close() // it speaks no HTTP
		}
	}()
	ours := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/livez" {
			w.Header().Set("X-Request-Id", "1")
		}
	}))
	defer ours.Close()
	f := func(address string, level doctor.Level, text string) {
		t.Helper()
		want(t, one(doctor.Listen(t.Context(), "--addr", address)), level, text)
	}
	f("127.0.0.1:0", doctor.OK, "is free")
	f(other.Addr().String(), doctor.Problem, "another program listens")
	f(ours.Listener.Addr().String(), doctor.OK, "a server of Assay listens")
	f("192.0.2.1:8080", doctor.Problem, "assign requested address")
}

func TestReach(t *testing.T) {
	t.Parallel()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	unknown := httptest.NewUnstartedServer(http.NotFoundHandler())
	unknown.Config.ErrorLog = log.New(io.Discard, "", 0)
	unknown.StartTLS()
	defer unknown.Close()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	f := func(address string, level doctor.Level, text string) {
		t.Helper()
		want(t, one(doctor.Reach(t.Context(), "--oidc-issuer", address)), level, text)
	}
	f(plain.URL, doctor.OK, "can be reached")
	f(plain.Listener.Addr().String(), doctor.OK, "can be reached")
	f(gone.URL, doctor.Problem, "cannot be reached: dial tcp")
	f(unknown.URL, doctor.Problem, "certificate")
	f("https://nobody.invalid/path", doctor.Problem, "the name nobody.invalid cannot be resolved")
	late, cancel := context.WithCancel(t.Context())
	cancel()
	want(t, one(doctor.Reach(late, "--smtp", plain.Listener.Addr().String())), doctor.Problem, "cannot be reached")
}

func TestDescriptors(t *testing.T) {
	t.Parallel()
	want(t, one(doctor.Descriptors(1024, 10_328)), doctor.Warning, "may open 1024, and needs 10328")
	want(t, one(doctor.Descriptors(65_536, 10_328)), doctor.OK, "may open 65536, and needs 10328")
}
