package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// downloadFrom runs assay download and returns what it says.
func downloadFrom(t *testing.T, url, key, folder, datasets string) string {
	t.Helper()
	keyFile := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(keyFile, []byte(key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), program, "download", "--server", url, "--key-file", keyFile,
		"--dataset", datasets, "--out", folder).CombinedOutput()
	if err != nil || strings.Contains(string(out), key) {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// A folder is filled, and stays as it is when nothing is new.
func TestDownload(t *testing.T) {
	t.Parallel()
	needProgram(t)
	demo, err := sharedDemo()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	first := downloadFrom(t, demo.url, demo.keys.Full, folder, "gpu-daily,gpu-hourly")
	if !strings.Contains(first, "gpu-hourly-2026-09-") || strings.Contains(first, "-2026-11-") {
		t.Error(first)
	}
	second := downloadFrom(t, demo.url, demo.keys.Full, folder, "gpu-daily,gpu-hourly")
	if !strings.HasPrefix(second, "downloaded: 0 files, 0 bytes; ") {
		t.Error(second)
	}
	premium := downloadFrom(t, demo.url, demo.keys.Premium, t.TempDir(), "all")
	if strings.Contains(premium, "hourly") || !strings.Contains(premium, "gpu-daily-2026-09-") {
		t.Error(premium)
	}
}

// The command line says what is wrong, and keeps the key.
func TestDownload_CommandLine(t *testing.T) {
	t.Parallel()
	const secret = "sk_live_secret"
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "out")
	f := func(code int, want string, args ...string) {
		t.Helper()
		got, out, errs := runAssay(t, "", append([]string{"download"}, args...)...)
		if got != code || !strings.Contains(errs, want) || strings.Contains(out+errs, secret) {
			t.Errorf("%q: %d %s%s, want %s", args, got, out, errs, want)
		}
	}
	const server = "http://127.0.0.1:1"
	f(exitUsage, "--server is required")
	f(exitUsage, "--key-file is required", "--server", server)
	f(exitUsage, "--key-file needs a --server", "--server", "http://example.com", "--key-file", key)
	f(exitUsage, "--dataset is required", "--server", server, "--key-file", key)
	f(exitUsage, "--out is required", "--server", server, "--key-file", key, "--dataset", "all")
	f(exitUsage, "unexpected argument", "--server", server, "x")
	if _, err := os.Stat(out); err == nil {
		t.Error("a folder was made")
	}
}

// bulkNames are the files that a node lists.
func bulkNames(t *testing.T, url, key string) (names, urls []string) {
	t.Helper()
	response, body, err := getWith(http.DefaultClient, key, url+"/api/bulk")
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%v: %.300s", err, body)
	}
	var list struct {
		Data []struct{ Name, URL, SHA256 string }
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil {
		t.Fatal(err)
	}
	for _, f := range list.Data {
		names, urls = append(names, f.Name+" "+f.SHA256), append(urls, f.URL)
	}
	return names, urls
}

// Two nodes have the same files, also after a restart and a restatement, and a download begun at one continues at the
// other.
func TestDownload_TwoNodes(t *testing.T) {
	t.Parallel()
	dir := nodeFolder(t)
	assayIn(t, dir, "publish --dir data --from 2025-06-10 --to 2025-07-03") // beyond the end of the month
	key := assayIn(t, dir, "key create --dir data --tier full --name nodes")
	one, other := startReader(t, dir, "one"), startReader(t, dir, "other")
	names, urls := bulkNames(t, one.url, key)
	if len(names) < 2 {
		t.Fatalf("the nodes list %q", names)
	}
	again, _ := bulkNames(t, other.url, key)
	if diff := cmp.Diff(names, again); diff != "" {
		t.Fatal(diff)
	}
	folder := t.TempDir()
	for i, target := range urls {
		_, text, err := getWith(http.DefaultClient, key, one.url+target)
		if err != nil {
			t.Fatal(err)
		}
		name, _, _ := strings.Cut(names[i], " ")
		dataset := strings.Split(target, "/")[3]
		if err := os.MkdirAll(filepath.Join(folder, dataset), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, dataset, name+".part"), []byte(text[:len(text)/2]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	out := downloadFrom(t, other.url, key, folder, "all")
	if !strings.Contains(out, fmt.Sprintf("downloaded: %d files", len(urls))) {
		t.Error(out)
	}
	other.kill()
	other = startReader(t, dir, "third")
	restarted, _ := bulkNames(t, other.url, key)
	if diff := cmp.Diff(names, restarted); diff != "" {
		t.Error(diff)
	}
}
