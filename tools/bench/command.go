package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/assaydata/assay/tools/process"
)

// command is a program that is run to its end.
type command struct {
	program string
	args    []string
	dir     string   // to run in; empty for the current one
	env     []string // added to the current environment
	input   string
	used    *time.Duration // set to the processor time, unless nil
}

// run returns the command's standard output and its wall-clock time, including its start. Call it on the main goroutine
// only, see process.Main.
func (c command) run(ctx context.Context) (out string, took time.Duration, err error) {
	cmd := exec.CommandContext(ctx, c.program, c.args...)
	cmd.SysProcAttr = process.EndWithParent(syscall.SIGKILL, nil)
	cmd.Dir, cmd.Stdin, cmd.Env = c.dir, strings.NewReader(c.input), append(os.Environ(), c.env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	begun := time.Now()
	err = cmd.Run()
	took = time.Since(begun)
	if c.used != nil && cmd.ProcessState != nil {
		*c.used = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	if err != nil {
		return "", took, fmt.Errorf("%s: %w\n%s", c, err, process.Tail(stderr.Bytes()))
	}
	return stdout.String(), took, nil
}

func (c command) String() string { return strings.Join(append([]string{c.program}, c.args...), " ") }

// progress reports on standard error how far a long run has come.
func progress(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
