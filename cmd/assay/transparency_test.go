package main

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assaydata/assay/internal/store/storetest"
	"github.com/assaydata/assay/verifier"
)

// Programs that others wrote for logs of this kind judge ours: fsck reads a whole log and compares it with its
// checkpoint, and mirror copies one.

// otherProgram is a program of the module tools/tessera.
func otherProgram(t *testing.T, name string) string {
	t.Helper()
	needProgram(t)
	file, err := filepath.Abs(filepath.Join("../../tools/tessera/bin", name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Skipf("NOT COVERED: make script builds %s", name)
	}
	return file
}

// logKey reads the key of a server's log into a file.
func logKey(t *testing.T, server string) (file string) {
	t.Helper()
	response, key, err := getWith(http.DefaultClient, "", server+"/log/vkey")
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%v: %s", err, key)
	}
	file = filepath.Join(t.TempDir(), "vkey")
	if err := os.WriteFile(file, []byte(strings.TrimSuffix(key, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// fsck reports whether the log at an address is what its checkpoint says.
func fsck(t *testing.T, address, key string) (ok bool, out string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), otherProgram(t, "fsck"), "-storage_url", address, "-public_key", key,
		"-ui=false", "-v=1", "-logtostderr")
	text, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(text), "Completed ranges") {
		t.Fatalf("fsck does not run: %v: %s", err, text)
	}
	return !strings.Contains(string(text), "fsck failed"), string(text) // its exit code is 0 either way
}

// mirror copies the log of a server and returns the address of the copy.
func mirror(t *testing.T, server string) (address string) {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), otherProgram(t, "mirror"), "-source_url", server+"/log/", "-storage_dir", dir,
		"-num_workers", "2") // a log that is smaller than their number never ends
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("mirror: %v: %s", err, out)
	}
	return "file://" + dir
}

func TestLog_Demo(t *testing.T) {
	t.Parallel()
	otherProgram(t, "fsck")
	demo, err := sharedDemo()
	if err != nil {
		t.Fatal(err)
	}
	key := logKey(t, demo.url)
	if ok, out := fsck(t, demo.url+"/log/", key); !ok {
		t.Errorf("the log of the demo: %s", out)
	}
	if ok, out := fsck(t, mirror(t, demo.url), key); !ok {
		t.Errorf("a copy of the log of the demo: %s", out)
	}
}

// One byte of one entry is changed in the database.
func TestLog_ChangedByte(t *testing.T) {
	t.Parallel()
	dir := nodeFolder(t)
	assayIn(t, dir, "signing-key init --dir data")
	assayIn(t, dir, "publish --dir data --from 2025-06-11 --to 2025-06-12")
	honest := startReader(t, dir, "honest")
	key := logKey(t, honest.url)
	if ok, out := fsck(t, honest.url+"/log/", key); !ok {
		t.Fatalf("before the change: %s", out)
	}
	storetest.ExecAt(t, "sqlite://"+filepath.Join(dir, "data"),
		`UPDATE log_tail SET entry = CAST('[' || substr(CAST(entry AS TEXT), 2) AS BLOB) WHERE leaf = 3`)
	changed := startReader(t, dir, "changed")
	if ok, _ := fsck(t, changed.url+"/log/", key); ok {
		t.Error("fsck accepts the changed log")
	}
	if ok, _ := fsck(t, mirror(t, changed.url), key); ok {
		t.Error("fsck accepts a copy of the changed log")
	}
}

// A record comes with the proof that the log lists it, also without a key.
func TestLog_InclusionOfRecord(t *testing.T) {
	t.Parallel()
	needProgram(t)
	demo, err := sharedDemo()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(logKey(t, demo.url))
	if err != nil {
		t.Fatal(err)
	}
	log, err := verifier.NewLog(string(text))
	if err != nil {
		t.Fatal(err)
	}
	f := func(key, query, want string) {
		t.Helper()
		response, body, err := getWith(http.DefaultClient, key, demo.url+"/api/gpu/H100%20SXM/determination?"+query)
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("%s: %v: %s", query, err, body)
		}
		record, checkpoint, err := log.CheckRecord([]byte(body))
		if err != nil || record.Timestamp != want || checkpoint.Size < 400_000 {
			t.Errorf("%s: %+v in %+v, %v", query, record, checkpoint, err)
		}
	}
	f("", "date=2026-10-30", "2026-10-30T20:00:00.000Z")
	f("", "date=2026-10-30&region=us-east", "2026-10-30T20:00:00.000Z")
	f(demo.keys.Full, "timestamp=2025-03-04T05:00:00Z", "2025-03-04T05:00:00.000Z")
}
