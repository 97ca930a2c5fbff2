//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/assaydata/assay/tools/process"
	"github.com/assaydata/assay/tools/target"
)

// site is where the attacks on one program take place.
type site struct {
	program string
	dir     string
	market  target.Market
	short   bool
}

func newSite(ctx context.Context, program, dir string, short bool) (*site, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	market, err := target.Prepare(ctx, program, dir)
	return &site{program: program, dir: dir, market: market, short: short}, err
}

// scaled is how much there is of something in the full form, or in the short form.
func (s *site) scaled(full, short int) int {
	if s.short {
		return short
	}
	return full
}

// serve starts a server of the market, which believes forwarding headers of this machine.
func (s *site) serve(ctx context.Context, flags ...string) (*target.Server, error) {
	return target.Start(ctx, s.serveCommand(flags...))
}

// serveQuietly is serve without a publisher, whose work each minute would be measured with the attack.
func (s *site) serveQuietly(ctx context.Context) (*target.Server, error) {
	return s.serve(ctx, "--role", "read")
}

func (s *site) serveCommand(flags ...string) process.Command {
	args := append([]string{"serve", "--dir", s.market.Folder, "--trusted-proxies", "127.0.0.1/32"}, flags...)
	return target.Command(s.program, s.dir, args...)
}

// has reports whether a command of the program has a flag.
func (s *site) has(ctx context.Context, command, flag string) bool {
	text, err := exec.CommandContext(ctx, s.program, command, "--help").Output()
	return err == nil && bytes.Contains(text, []byte(flag))
}

// ended is how a command ended.
type ended struct {
	output  string
	success bool
	peak    int64 // RAM in bytes
	limit   bool  // it ran until the limit, and was killed
}

// commandLimit is how long a command may take.
const commandLimit = 20 * time.Second

// command runs a command of the program. After half of the limit it is asked to end, and at the limit it is killed.
func (s *site) command(ctx context.Context, env []string, input string, args ...string) (ended, error) {
	ctx, cancel := context.WithTimeout(ctx, commandLimit/2)
	defer cancel()
	command := exec.CommandContext(ctx, s.program, args...)
	command.Dir = s.dir
	command.Env = append(os.Environ(), env...)
	command.Stdin = bytes.NewBufferString(input)
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = commandLimit / 2
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	if err := command.Start(); err != nil {
		return ended{}, err
	}
	var got ended
	waited := make(chan error, 1)
	go func() { waited <- command.Wait() }()
	for {
		select {
		case err := <-waited:
			status := command.ProcessState.Sys().(syscall.WaitStatus)
			got.output, got.success = output.String(), err == nil
			got.limit = status.Signaled() && status.Signal() == syscall.SIGKILL
			return got, nil
		case <-time.After(5 * time.Millisecond): // the rusage of a process also counts its parent's memory
			if peak, err := target.Memory(command.Process.Pid, "VmHWM"); err == nil {
				got.peak = peak
			}
		}
	}
}

// folder makes a new folder for an attack on files.
func (s *site) folder(name string) (string, error) {
	path := filepath.Join(s.dir, name)
	return path, os.Mkdir(path, 0o755)
}

// initialize creates a database in a folder, or in the one that the environment names, if the program has a command for
// that; programs before 0.6.0 do so with any command.
func (s *site) initialize(ctx context.Context, env []string, folder string) error {
	if !s.has(ctx, "init", "--no-signing-key") {
		return nil
	}
	got, err := s.command(ctx, env, "", "init", "--dir", folder)
	if err == nil && !got.success {
		err = errors.New(got.output)
	}
	return err
}

// account is the demo account of a plan.
func (s *site) account(plan string) target.Account {
	for _, a := range s.market.Accounts {
		if a.Plan == plan {
			return a
		}
	}
	panic("the demo has no account with the plan " + plan)
}

// send sends a request and returns the status of the response.
func send(client *http.Client, request *http.Request) (int, http.Header, error) {
	response, err := client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	_, err = new(bytes.Buffer).ReadFrom(response.Body)
	return response.StatusCode, response.Header, err
}
