package verify

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A bundle comes from someone else. Its files are read only if they are regular files inside its folder, and not
// without end.
func TestBundle_HostileFiles(t *testing.T) {
	t.Parallel()
	whole, _ := exported(t, openMarket(t), instant(5, 0), instant(6, 0))
	f := func(name, want string, change func(dir, file string) error) {
		t.Helper()
		dir := filepath.Join(t.TempDir(), "bundle")
		if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, name)
		if err := change(dir, file); err != nil {
			t.Fatal(err)
		}
		_, err := verifyBundle(t, dir)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v, want %q", name, err, want)
		}
	}
	replace := func(with func(file string) error) func(dir, file string) error {
		return func(_, file string) error { return errors.Join(os.Remove(file), with(file)) }
	}
	const irregular = ": it is not a regular file"
	for _, name := range []string{
		bundleFile, readmeFile, transactionsFile, recordsFile, manifestsFile, coversFile, verificationsFile,
	} {
		outside := filepath.Join(whole, name) // has the right content
		f(name, name+irregular, replace(func(file string) error { return os.Symlink(outside, file) }))
		f(name, name+irregular, replace(func(file string) error { return os.Symlink("/dev/zero", file) }))
		f(name, name+irregular, replace(func(file string) error { return syscall.Mkfifo(file, 0o600) }))
		f(name, name+irregular, replace(func(file string) error { return os.Mkdir(file, 0o700) }))
	}
	f(methodologyFolder, "escapes", func(_, file string) error {
		return errors.Join(os.RemoveAll(file), os.Symlink(filepath.Join(whole, methodologyFolder), file))
	})
	f(bundleFile, "it has 1048577 bytes: allowed are 1048576", func(_, file string) error { return os.Truncate(file, maxHead+1) })
	f(coversFile, "bytes: allowed are 268435456", func(_, file string) error { return os.Truncate(file, maxList+1) })
	f(transactionsFile, "bytes: allowed are 274877906944", func(_, file string) error { return os.Truncate(file, maxStream+1) })
	f(transactionsFile, "a record is longer than 65536 bytes", func(dir, file string) error {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		header, _, _ := strings.Cut(string(text), "\n")
		if err := os.WriteFile(file, []byte(header+"\n\""+strings.Repeat("x", 1<<20)), 0o600); err != nil {
			return err
		}
		updateSums(t, dir)
		return nil
	})
}

// Reading a large file ends with the context.
func TestBundle_EndsWithTheContext(t *testing.T) {
	t.Parallel()
	dir, _ := exported(t, openMarket(t), instant(5, 0), instant(6, 0))
	if err := os.Truncate(filepath.Join(dir, transactionsFile), maxStream); err != nil { // takes no space on the disk
		t.Fatal(err)
	}
	ctx := &endingContext{Context: t.Context(), left: 100}
	if _, err := Bundle(ctx, dir, Signatures{}, nil); !errors.Is(err, context.Canceled) || ctx.left > 0 {
		t.Errorf("the error is %v with %d checks left", err, ctx.left)
	}
}

// endingContext ends after it has been checked a number of times.
type endingContext struct {
	context.Context
	left int
}

func (c *endingContext) Err() error {
	if c.left == 0 {
		return context.Canceled
	}
	c.left--
	return c.Context.Err()
}
