package download_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assaydata/assay/client"
	"github.com/assaydata/assay/internal/download"
)

const secret = "sk_live_abcdef_secret"

// server is a server of files, which can be dishonest or weak.
type server struct {
	t     *testing.T
	url   string
	files []client.BulkFile
	texts map[string][]byte // by name

	mu       sync.Mutex
	requests []string // of files: the range and the name
	// serve, if not nil, serves a file in place of the server; false for as usual.
	serve func(w http.ResponseWriter, r *http.Request, attempt int) bool
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{t: t, texts: map[string][]byte{}}
	served := httptest.NewServer(s)
	t.Cleanup(served.Close)
	s.url = served.URL
	return s
}

// add adds a file with some content.
func (s *server) add(dataset, month, text string, revision int) *client.BulkFile {
	sum := sha256.Sum256([]byte(text))
	hash := hex.EncodeToString(sum[:])
	for i := range s.files {
		if s.files[i].Dataset == dataset && s.files[i].Month == month {
			s.files[i].Current = false
		}
	}
	name := dataset + "-" + month + "-" + hash[:16] + ".parquet"
	s.files = append(s.files, client.BulkFile{
		Name: name, Dataset: dataset, Month: month, Current: true, Revision: revision, Size: int64(len(text)),
		SHA256: hash, Rows: 1, Granularity: "daily", URL: "/api/bulk/" + dataset + "/" + name,
	})
	s.texts[name] = []byte(text)
	return &s.files[len(s.files)-1]
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Header.Get("Authorization") != "Bearer "+secret {
		s.t.Error("a request without the key")
	}
	if r.URL.Path == "/api/bulk" {
		w.Header().Set("Content-Type", "application/json")
		files := s.listed(r.URL.Query().Get("dataset"))
		_ = json.NewEncoder(w).Encode(map[string]any{
			"success": true, "access": "full", "checkpoint": nil, "count": len(files), "data": files,
		})
		return
	}
	name := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	s.requests = append(s.requests, strings.TrimSpace(r.Header.Get("Range")+" "+name))
	if s.serve != nil && s.serve(w, r, len(s.requests)) {
		return
	}
	text, ok := s.texts[name]
	if !ok {
		refuse(w, http.StatusNotFound, "unknown_file", "")
		return
	}
	sum := sha256.Sum256(text)
	w.Header().Set("Etag", `"`+hex.EncodeToString(sum[:])+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(text))
}

func (s *server) listed(dataset string) []client.BulkFile {
	list := []client.BulkFile{}
	for _, f := range s.files {
		if dataset == "" || f.Dataset == dataset || strings.HasPrefix(dataset, "liar") {
			list = append(list, f)
		}
	}
	return list
}

func refuse(w http.ResponseWriter, status int, code, after string) {
	w.Header().Set("Content-Type", "application/json")
	if after != "" {
		w.Header().Set("Retry-After", after)
	}
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error":"x","message":"no","code":%q,"request_id":"1"}`, code)
}

// run downloads to a folder.
func (s *server) run(folder string, datasets ...string) (download.Result, error) {
	s.t.Helper()
	now := func(context.Context, time.Duration) error { return nil }
	c, err := client.New(s.url, client.WithKey(secret), client.WithSleep(now), client.WithTimeout(5*time.Second))
	if err != nil {
		s.t.Fatal(err)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	d := &download.Downloader{Client: c, Folder: root, Wait: now, Report: func(*client.BulkFile) {}}
	return d.Run(s.t.Context(), datasets)
}

// contents are the files in a folder.
func contents(t *testing.T, folder string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		found[filepath.ToSlash(strings.TrimPrefix(path, folder+string(filepath.Separator)))] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A folder gets what is new, and the next run finds nothing to do.
func TestRun(t *testing.T) {
	t.Parallel()
	s, folder := newServer(t), t.TempDir()
	a, b := s.add("gpu-daily", "2026-01", "january", 0).Name, s.add("gpu-daily", "2026-02", "february", 0).Name
	other := s.add("otpi", "2026-01", "tokens", 0).Name
	if got, err := s.run(folder, "gpu-daily"); err != nil || got != (download.Result{Downloaded: 2, Bytes: 15}) {
		t.Fatalf("%+v, %v", got, err)
	}
	want := map[string]string{"gpu-daily/" + a: "january", "gpu-daily/" + b: "february"}
	if diff := cmp.Diff(want, contents(t, folder)); diff != "" {
		t.Error(diff)
	}
	if got, err := s.run(folder, download.All); err != nil || got != (download.Result{Downloaded: 1, Bytes: 6, Present: 2}) {
		t.Fatalf("%+v, %v", got, err)
	}
	want["otpi/"+other] = "tokens"
	if diff := cmp.Diff(want, contents(t, folder)); diff != "" {
		t.Error(diff)
	}
	if got, err := s.run(folder, "gpu-daily", "otpi"); err != nil || got.Downloaded != 0 || len(s.requests) != 3 {
		t.Errorf("%+v, %v, %q", got, err, s.requests)
	}
}

// An earlier revision leaves when the new one is there, and not before.
func TestRun_Restated(t *testing.T) {
	t.Parallel()
	s, folder := newServer(t), t.TempDir()
	before := s.add("gpu-daily", "2026-01", "before", 0).Name
	february := s.add("gpu-daily", "2026-02", "february", 0).Name
	if _, err := s.run(folder, "gpu-daily"); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(folder, "gpu-daily", "mine.parquet"), "mine")
	write(t, filepath.Join(folder, "gpu-daily", "gpu-daily-2026-01-0123456789abcdef.parquet.part"), "half")
	restated := s.add("gpu-daily", "2026-01", "restated", 1).Name
	s.serve = func(w http.ResponseWriter, _ *http.Request, _ int) bool {
		refuse(w, http.StatusForbidden, "full_required", "")
		return true
	}
	if _, err := s.run(folder, "gpu-daily"); err == nil || contents(t, folder)["gpu-daily/"+before] != "before" {
		t.Errorf("%v: %v", err, contents(t, folder))
	}
	s.serve = nil
	got, err := s.run(folder, "gpu-daily")
	if err != nil || got != (download.Result{Downloaded: 1, Bytes: 8, Present: 1, Removed: 1}) {
		t.Errorf("%+v, %v", got, err)
	}
	want := map[string]string{
		"gpu-daily/" + restated: "restated", "gpu-daily/" + february: "february", "gpu-daily/mine.parquet": "mine",
	}
	if diff := cmp.Diff(want, contents(t, folder)); diff != "" {
		t.Error(diff)
	}
}

// What was downloaded is not downloaded again, whatever has interrupted it.
func TestRun_Continues(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("0123456789", 10_000)
	cut := func(after int) func(http.ResponseWriter, *http.Request, int) bool {
		return func(w http.ResponseWriter, r *http.Request, attempt int) bool {
			if attempt > 3 {
				return false
			}
			from := 0
			_, _ = fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from)
			if from > 0 {
				w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(text)-1, len(text)))
			}
			w.Header().Set("Content-Length", fmt.Sprint(len(text)-from))
			if from > 0 {
				w.WriteHeader(http.StatusPartialContent)
			}
			_, _ = w.Write([]byte(text[from : from+after]))
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
	}
	for _, c := range []struct {
		name     string
		part     string
		serve    func(http.ResponseWriter, *http.Request, int) bool
		requests []string
		bytes    int64
	}{
		{"from a part", text[:60_000], nil, []string{"bytes=60000-"}, 40_000},
		{"a whole part", text, nil, nil, 0},
		{"a part that is too long", text + "x", nil, []string{""}, 100_000},
		{"a damaged part", "x" + text[1:500], nil, []string{"bytes=500-", ""}, 199_500},
		{"connections that break", "", cut(1000), []string{"", "bytes=1000-", "bytes=2000-", "bytes=3000-"}, 100_000},
		{"a proxy without ranges", text[:500], func(w http.ResponseWriter, _ *http.Request, _ int) bool {
			_, _ = w.Write([]byte(text))
			return true
		}, []string{"bytes=500-"}, 99_500},
		{"a busy server", "", func(w http.ResponseWriter, _ *http.Request, attempt int) bool {
			if attempt > 2 {
				return false
			}
			refuse(w, []int{429, 503}[attempt-1], "busy", "1")
			return true
		}, []string{"", "", ""}, 100_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, folder := newServer(t), t.TempDir()
			f := s.add("gpu-daily", "2026-01", text, 0)
			s.serve = c.serve
			path := filepath.Join(folder, "gpu-daily", f.Name)
			if c.part != "" {
				write(t, path+".part", c.part)
			}
			got, err := s.run(folder, "gpu-daily")
			if err != nil || got.Downloaded != 1 || got.Bytes != c.bytes {
				t.Errorf("%+v, %v", got, err)
			}
			var requests []string
			for _, r := range s.requests {
				requests = append(requests, strings.TrimSpace(strings.TrimSuffix(r, f.Name)))
			}
			if diff := cmp.Diff(c.requests, requests); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(map[string]string{"gpu-daily/" + f.Name: text}, contents(t, folder)); diff != "" {
				t.Errorf("%.300s", diff)
			}
		})
	}
}

// A dishonest server gets an error, and changes nothing in the folder or outside of it.
func TestRun_DishonestServer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		lie  func(s *server, f *client.BulkFile)
		want string
	}{
		{"a name with a way out", func(_ *server, f *client.BulkFile) { f.Name = "../../evil" }, "with the name"},
		{"an absolute name", func(_ *server, f *client.BulkFile) { f.Name = "/etc/passwd" }, "with the name"},
		{"a dataset with a way out", func(_ *server, f *client.BulkFile) {
			f.Dataset = ".."
			f.Name = "..-" + f.Month + "-" + f.SHA256[:16] + ".parquet"
		}, "with the name"},
		{"a month with a way out", func(_ *server, f *client.BulkFile) {
			f.Month = "../../2026"
			f.Name = f.Dataset + "-" + f.Month + "-" + f.SHA256[:16] + ".parquet"
		}, "with the name"},
		{"another dataset", func(_ *server, f *client.BulkFile) {
			f.Dataset = "liar2"
			f.Name = "liar2-" + f.Month + "-" + f.SHA256[:16] + ".parquet"
		}, "is no file of"},
		{"no bytes", func(_ *server, f *client.BulkFile) { f.Size = 0 }, "with 0 bytes"},
		{"a negative size", func(_ *server, f *client.BulkFile) { f.Size = -1 }, "with -1 bytes"},
		{"a gigantic size", func(_ *server, f *client.BulkFile) { f.Size = 1 << 60 }, "bytes"},
		{"a short hash", func(_ *server, f *client.BulkFile) { f.SHA256 = f.SHA256[:20] }, "with the name"},
		{"two files of a month", func(s *server, f *client.BulkFile) {
			s.add(f.Dataset, f.Month, "second", 1)
			s.files[0].Current = true
		}, "two current files"},
		{"other bytes", func(s *server, f *client.BulkFile) { s.texts[f.Name] = []byte("false") }, "SHA-256"},
		{"more bytes", func(s *server, f *client.BulkFile) {
			s.serve = func(w http.ResponseWriter, _ *http.Request, _ int) bool {
				_, _ = w.Write(append(s.texts[f.Name], bytes.Repeat([]byte("x"), 1<<20)...))
				return true
			}
		}, "more than the 5 bytes"},
		{"fewer bytes", func(s *server, _ *client.BulkFile) {
			s.serve = func(http.ResponseWriter, *http.Request, int) bool { return true }
		}, "before the end"},
		{"a redirect", func(s *server, _ *client.BulkFile) {
			s.serve = func(w http.ResponseWriter, r *http.Request, _ int) bool {
				http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
				return true
			}
		}, "redirects"},
		{"a file that it does not have", func(s *server, f *client.BulkFile) { delete(s.texts, f.Name) }, "no"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, outside := newServer(t), t.TempDir()
			folder := filepath.Join(outside, "deep", "data")
			write(t, filepath.Join(folder, "liar", "present"), "x")
			c.lie(s, s.add("liar", "2026-01", "truth", 0))
			_, err := s.run(folder, "liar")
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), secret) {
				t.Errorf("%v, want %q", err, c.want)
			}
			for name := range contents(t, outside) {
				if !strings.HasPrefix(name, "deep/data/liar/") || strings.HasSuffix(name, ".parquet") {
					t.Errorf("%s was written", name)
				}
			}
			for name, text := range contents(t, outside) {
				if len(text) > len("truth") {
					t.Errorf("%s has %d bytes", name, len(text))
				}
			}
		})
	}
}

// A folder of a dataset that leads elsewhere is not followed.
func TestRun_Link(t *testing.T) {
	t.Parallel()
	s, folder, outside := newServer(t), t.TempDir(), t.TempDir()
	s.add("gpu-daily", "2026-01", "january", 0)
	if err := os.Symlink(outside, filepath.Join(folder, "gpu-daily")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.run(folder, "gpu-daily"); err == nil || len(contents(t, outside)) > 0 {
		t.Errorf("%v: %v", err, contents(t, outside))
	}
}

// A file that was replaced between the list and the download is found in the next list.
func TestRun_RestatedMeanwhile(t *testing.T) {
	t.Parallel()
	s, folder := newServer(t), t.TempDir()
	old := s.add("gpu-daily", "2026-01", "before", 0).Name
	delete(s.texts, old)
	s.serve = func(http.ResponseWriter, *http.Request, int) bool {
		if len(s.files) == 1 {
			s.add("gpu-daily", "2026-01", "restated", 1)
		}
		return false
	}
	if got, err := s.run(folder, "gpu-daily"); err != nil || got.Downloaded != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if got := contents(t, folder)["gpu-daily/"+s.files[1].Name]; got != "restated" {
		t.Errorf("%v", contents(t, folder))
	}
}

// A download ends with its context.
func TestRun_Canceled(t *testing.T) {
	t.Parallel()
	s, folder := newServer(t), t.TempDir()
	s.add("gpu-daily", "2026-01", "january", 0)
	root, err := os.OpenRoot(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	c, err := client.New(s.url, client.WithKey(secret))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	d := &download.Downloader{Client: c, Folder: root, Report: func(*client.BulkFile) {}}
	if _, err := d.Run(ctx, []string{"gpu-daily"}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
