//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/assaydata/assay/tools/process"
)

// cost is what a run of a command took.
type cost struct {
	name   string
	cpu    time.Duration
	memory int64 // the largest resident, in bytes
}

// measured is what was measured at one size.
type measured struct {
	size   int
	costs  []cost
	disk   int64
	memory int64 // of the server when it is ready
	routes map[string]time.Duration
	newKey time.Duration // until a new key is accepted
}

// run runs a command of the program and notes what it took.
func (d *database) run(ctx context.Context, name string, in io.Reader, args ...string) error {
	fmt.Println("growth:", name)
	cmd := exec.CommandContext(ctx, d.assay, args...)
	cmd.Dir, cmd.Stdin = d.dir, in
	cmd.Env = append(os.Environ(), "ASSAY_DIR="+d.folder())
	var errs strings.Builder
	cmd.Stderr = &errs
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("assay %s: %w: %s", strings.Join(args, " "), err, process.Tail([]byte(errs.String())))
	}
	c := cost{name: name, cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		c.memory = usage.Maxrss << 10
	}
	d.costs = append(d.costs, c)
	return nil
}

// commands measures the commands that read.
func (d *database) commands(ctx context.Context) error {
	day := d.lastDay()
	from, to := day.Format(time.DateOnly), day.Add(24*time.Hour).Format(time.DateOnly)
	for _, c := range []struct{ name, line string }{
		{"verify", "verify"},
		{"verify --gpu", "verify|--gpu|" + model(7)},
		{"export of a day", "export|--bundle|" + filepath.Join(d.dir, "bundle") + "|--from|" + from + "|--to|" + to},
		{"verify --bundle", "verify|--bundle|" + filepath.Join(d.dir, "bundle")},
		{"backup", "backup|" + filepath.Join(d.dir, "backup.db")},
		{"restate --dry-run", "restate|--dry-run|--gpu|" + model(7) + "|--from|" + from + "|--to|" + to},
		{"late", "late"},
		{"usage", "usage|--from|" + begin.Format(time.DateOnly)},
		{"key list", "key|list"},
		{"catalog list", "catalog|list"},
		{"audit-log", "audit-log"},
		{"db status", "db|status"},
	} {
		if err := d.run(ctx, c.name, nil, strings.Split(c.line, "|")...); err != nil {
			return err
		}
	}
	var err error
	d.disk, err = d.diskBytes()
	return err
}
