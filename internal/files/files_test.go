package files_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/assaydata/assay/internal/files"
)

func TestCreate_FilesArePrivate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := func(name string, before, want fs.FileMode) {
		t.Helper()
		name = filepath.Join(dir, name)
		if before != 0 {
			if err := os.WriteFile(name, []byte("an earlier and longer content"), before); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(name, before); err != nil { // the umask may have taken bits away
				t.Fatal(err)
			}
		}
		if err := files.Write(name, []byte("data")); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(name)
		if err != nil || info.Mode() != want {
			t.Errorf("%s has the mode %v (%v), want %v", name, info.Mode(), err, want)
		}
		if content, err := os.ReadFile(name); err != nil || string(content) != "data" {
			t.Errorf("%s contains %q (%v)", name, content, err)
		}
	}
	f("new", 0, 0o600)
	f("open", 0o666, 0o600)
	f("shared", 0o644, 0o600)
	f("closed", 0o600, 0o600)
}

// A report may go to a device or a terminal, whose permissions are not the program's.
func TestCreate_LeavesDevicesAlone(t *testing.T) {
	t.Parallel()
	before, err := os.Stat(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	if err := files.Write(os.DevNull, []byte("data")); err != nil {
		t.Fatal(err)
	}
	if after, err := os.Stat(os.DevNull); err != nil || after.Mode() != before.Mode() {
		t.Errorf("the mode was %v and is %v (%v)", before.Mode(), after.Mode(), err)
	}
}

// Replacing leaves the old content or the new one, and no other file.
func TestReplace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "state")
	for _, content := range []string{"the first and longer content", "second"} {
		if err := files.Replace(name, []byte(content)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(name); err != nil || string(got) != content {
			t.Errorf("the file has %q (%v), want %q", got, err, content)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("the folder has %v (%v), want one file", left, err)
	}
	missing := filepath.Join(dir, "missing", "state")
	if err := files.Replace(missing, []byte("x")); err == nil {
		t.Errorf("%s was written", missing)
	}
}
