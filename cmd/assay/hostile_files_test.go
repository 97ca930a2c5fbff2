package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A file without an end is refused.
func TestFiles_EndlessMethodology(t *testing.T) {
	t.Parallel()
	dir := "--dir=" + initFolder(t)
	f := func(args ...string) {
		t.Helper()
		code, out, errs := runAssay(t, "", append(args, dir)...)
		if code != exitFailed || !strings.Contains(errs, "/dev/zero is larger than 65536 bytes") {
			t.Errorf("%q ends with %d:\n%s%s", args, code, out, errs)
		}
	}
	f("methodology", "adopt", "--reason", "x", "--approver", "x", "/dev/zero")
	f("backtest", "--methodology", "/dev/zero", "--from", "2026-01-01", "--to", "2026-01-02")
}

// An import from a pipe that falls silent ends with the context, as on SIGTERM.
func TestFiles_SilentPipe(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "pipe.csv")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		w, err := os.OpenFile(pipe, os.O_WRONLY, 0) // waits for the import
		if err == nil {
			_, err = w.WriteString("id,source\n")
		}
		if err != nil {
			t.Error(err)
		}
		cancel()
		<-t.Context().Done() // keeps the pipe open
		_ = w.Close()
	}()
	dir := initFolder(t)
	var out, errs bytes.Buffer
	code := run(ctx, []string{"import", "transactions", "--dir", dir, pipe},
		streams{in: strings.NewReader(""), out: &out, err: &errs})
	if code == exitOK {
		t.Errorf("the import succeeds:\n%s%s", out.String(), errs.String())
	}
}
