package files_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/assaydata/assay/internal/files"
)

func TestRead_Bounded(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte("four"), 0o600); err != nil {
		t.Fatal(err)
	}
	if content, err := files.Read(t.Context(), name, 4); err != nil || string(content) != "four" {
		t.Errorf("read %q (%v)", content, err)
	}
	for _, f := range []string{name, "/dev/zero"} {
		if _, err := files.Read(t.Context(), f, 3); err == nil || err.Error() != f+" is larger than 3 bytes" {
			t.Errorf("reading too much of %s returns %v", f, err)
		}
	}
	if _, err := files.Read(t.Context(), name+".none", 4); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("reading a missing file returns %v", err)
	}
}

// A pipe that no one writes to, or that falls silent, does not outlive the context.
func TestRead_SilentPipe(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := files.Open(ctx, name); !errors.Is(err, context.Canceled) {
		t.Errorf("opening returns %v", err)
	}
	r, w := io.Pipe()
	defer r.Close()
	ctx, cancel = context.WithCancel(t.Context())
	in := files.Reader(ctx, r)
	go func() {
		_, _ = w.Write([]byte("some")) // returns when it is read
		cancel()
	}()
	got, err := io.ReadAll(in)
	if !errors.Is(err, context.Canceled) || string(got) != "some" && len(got) > 0 {
		t.Errorf("read %q (%v)", got, err)
	}
	if _, err := in.Read(make([]byte, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("reading on returns %v", err)
	}
}

func TestReader_WholeInput(t *testing.T) {
	t.Parallel()
	content := strings.Repeat("0123456789", 50_000)
	var got bytes.Buffer
	_, err := io.Copy(&got, files.Reader(t.Context(), strings.NewReader(content)))
	if err != nil || got.String() != content {
		t.Errorf("read %d bytes (%v), want %d", got.Len(), err, len(content))
	}
}

// Only regular files inside a folder are opened.
func TestOpenRegular(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "outside")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	must(os.WriteFile(in("file"), []byte("four"), 0o600))
	must(os.WriteFile(outside, []byte("four"), 0o600))
	must(os.Mkdir(in("folder"), 0o700))
	must(os.Symlink("file", in("link")))
	must(os.Symlink(outside, in("link out")))
	must(os.Symlink("/dev/zero", in("link to a device")))
	must(os.Symlink(filepath.Dir(outside), in("folder out")))
	must(syscall.Mkfifo(in("pipe"), 0o600))
	root, err := os.OpenRoot(dir)
	must(err)
	defer root.Close()
	f := func(name string, most int64, want string) {
		t.Helper()
		file, err := files.OpenRegular(root, name, most)
		if err == nil {
			defer file.Close()
		}
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("opening %s returns %v, want %q", name, err, want)
		}
	}
	f("file", 4, "")
	f("file", 3, "file: it has 4 bytes: allowed are 3")
	for _, name := range []string{"folder", "link", "link out", "link to a device", "pipe"} {
		f(name, 100, name+": it is not a regular file")
	}
	f("folder out/outside", 100, "escapes")
	f("../outside", 100, "escapes")
	f(outside, 100, "escapes")
	f("none", 100, "no such file")
}
