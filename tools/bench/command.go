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
	dir     string   // to run in; empty for ours
	env     []string // beside our own environment
	input   string
}

// run gives what the command wrote to standard output and how long it took by the clock, its start included. Call it on
// the main goroutine only: see main.
func (c command) run(ctx context.Context) (out string, took time.Duration, err error) {
	cmd := exec.CommandContext(ctx, c.program, c.args...)
	cmd.SysProcAttr = process.DieWithUs(syscall.SIGKILL, nil)
	cmd.Dir, cmd.Stdin, cmd.Env = c.dir, strings.NewReader(c.input), append(os.Environ(), c.env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	begun := time.Now()
	err = cmd.Run()
	took = time.Since(begun)
	if err != nil {
		return "", took, fmt.Errorf("%s: %w\n%s", c, err, process.Tail(stderr.Bytes()))
	}
	return stdout.String(), took, nil
}

func (c command) String() string { return strings.Join(append([]string{c.program}, c.args...), " ") }

// say tells on standard error how far a long run has come.
func say(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
