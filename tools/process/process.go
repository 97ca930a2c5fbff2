// Package process runs other programs beside ours and ends them: the servers that a benchmark measures, and those that a drill
// breaks. What a server writes goes to a file, whose end explains why it did not start, and no server outlives us, however we
// end.
package process

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Command says how a server is started.
type Command struct {
	Name     string              // of its output: Dir/Name.log
	Dir      string              // where its output goes, and where it runs
	As       *syscall.Credential // whom it runs as; nil is ourselves
	Env      []string            // beside our own environment
	LastWill syscall.Signal      // what it gets should we die before it
	Program  string
	Args     []string
}

// Process is a server that was started.
type Process struct {
	Name string
	Log  string // path of its output
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

// Start starts the server. Call it on the main goroutine only, locked to its thread: a child dies with the thread that started
// it (see DieWithUs).
func (c Command) Start() (*Process, error) {
	program, err := exec.LookPath(c.Program)
	if err == nil {
		program, err = filepath.Abs(program) // it runs in another folder than we do
	}
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Name, err)
	}
	p := &Process{Name: c.Name, Log: filepath.Join(c.Dir, c.Name+".log"), cmd: exec.Command(program, c.Args...), done: make(chan struct{})}
	out, err := os.OpenFile(p.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = c.Dir, out, out
	p.cmd.Env = append(os.Environ(), c.Env...)
	p.cmd.SysProcAttr = DieWithUs(c.LastWill, c.As)
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Name, err)
	}
	go func() {
		p.cmd.Wait() // its output tells why it ended
		close(p.done)
	}()
	return p, nil
}

// Pid is the number of the process.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Ended tells whether the process has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// stopPatience is how long a server may take to end by itself: longer than ours takes at most for what is under way.
const stopPatience = 20 * time.Second

// Stop asks the process to end and makes sure that it did.
func (p *Process) Stop() {
	p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(stopPatience):
		p.Kill()
	}
}

// Kill ends the process as a power cut does.
func (p *Process) Kill() {
	p.cmd.Process.Kill()
	<-p.done
}

// Await calls ready until it succeeds, the process ends or the time is over.
func (p *Process) Await(ctx context.Context, limit time.Duration, ready func(context.Context) error) error {
	err := Await(ctx, p.Name+" ready", limit, func(ctx context.Context) error {
		err := ready(ctx)
		if err != nil && p.Ended() {
			return final{fmt.Errorf("%s ended at start: %s", p.Name, p.cmd.ProcessState)}
		}
		return err
	})
	if err != nil {
		return p.Explain(err)
	}
	return nil
}

// Explain adds the last lines the process wrote to err.
func (p *Process) Explain(err error) error {
	text, readErr := os.ReadFile(p.Log)
	if readErr != nil || len(text) == 0 {
		return err
	}
	return fmt.Errorf("%w\nlast output of %s:\n%s", err, p.Name, Tail(text))
}

// Tail is the end of a text, for a message.
func Tail(text []byte) string {
	const most = 2000
	return strings.TrimSpace(string(text[max(0, len(text)-most):]))
}

// TrimLog keeps a server that logs every request from filling the disk; it goes on writing at the new end.
func (p *Process) TrimLog() error {
	const most = 32 << 20
	info, err := os.Stat(p.Log)
	if err != nil || info.Size() < most {
		return err
	}
	return os.Truncate(p.Log, 0)
}

// final is an error after which there is no use in trying again.
type final struct{ error }

// Await calls ready until it succeeds or the time is over.
func Await(ctx context.Context, what string, limit time.Duration, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		if last := (final{}); errors.As(err, &last) {
			return last.error
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: not after %s: %w", what, limit, err)
		case <-tick.C:
		}
	}
}

// SparePorts finds n ports of 127.0.0.1 that nobody listens on. All are held until the last is found, so none comes twice.
func SparePorts(n int) ([]int, error) {
	ports := make([]int, n)
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("find a spare port: %w", err)
		}
		defer l.Close()
		ports[i] = l.Addr().(*net.TCPAddr).Port
	}
	return ports, nil
}

// Loopback is the address of a port of this machine.
func Loopback(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
