package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/assaydata/assay/internal/backtest"
)

// The files that commands write are their owner's alone, also those that were there before.
func TestCommands_FilesArePrivate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, content string) {
		t.Helper()
		if err := os.WriteFile(in(name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(in(name), 0o644); err != nil { //nolint:gosec // as an editor leaves it
			t.Fatal(err)
		}
	}
	run := func(want int, args ...string) string {
		t.Helper()
		code, out, errs := runAssay(t, "", args...)
		if code != want {
			t.Fatalf("assay %v ends with %d: %s", args, code, errs)
		}
		return out
	}
	write("rows.csv", `id,source,executed_at,gpu_name,region,price,gpus,hours,provider,verified
t1,exchange,2025-06-10T10:15:00Z,H100 SXM,us-east,2.35,1,1,Alder,true
t2,exchange,2025-06-10T10:15:00Z,H100 SXM,us-east,free,1,1,Alder,true
`)
	write("rejects-before.ndjson", "{}\n")
	write("chart-before.svg", backtest.ChartMark+"\n")
	run(exitOK, "init", "--dir", in("data"))
	run(exitRejected, "import", "transactions", "--dir", in("data"), "--rejects", in("rejects.ndjson"), in("rows.csv"))
	run(exitRejected, "import", "transactions", "--dir", in("data"), "--rejects", in("rejects-before.ndjson"), in("rows.csv"))
	run(exitOK, "signing-key", "rotate", "--dir", in("data"))
	run(exitOK, "publish", "--dir", in("data"), "--from", "2025-06-10", "--to", "2025-06-12")
	run(exitOK, "backup", "--dir", in("data"), in("copy.db"))
	run(exitOK, "export", "--dir", in("data"), "--from", "2025-06-10", "--to", "2025-06-12", "--bundle", in("bundle"))
	write("plain.toml", run(exitOK, "methodology", "show", "--dir", in("data")))
	for _, chart := range []string{"chart.svg", "chart-before.svg"} {
		run(exitOK, "backtest", "--dir", in("data"), "--methodology", in("plain.toml"), "--svg", in(chart))
	}
	found := 0
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == dir || path == in("rows.csv") || path == in("plain.toml") {
			return err
		}
		info, err := entry.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has the mode %v", path, info.Mode())
		}
		found++
		return err
	})
	if err != nil || found < 18 {
		t.Errorf("%d files and folders were found (%v)", found, err)
	}
}
