// Package process starts and stops other programs: the servers that a benchmark measures, that a drill breaks, or
// that a test needs. The output of a server goes to a file, whose last lines explain why it did not start. No server
// outlives the process that started it.
package process

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Command is how to start a server.
type Command struct {
	Name        string              // names its output: Dir/Name.log
	Dir         string              // working folder, also of its output
	As          *syscall.Credential // account to run as; nil for the current user
	Env         []string            // added to the current environment
	DeathSignal syscall.Signal      // sent to it if this process dies first
	Program     string
	Args        []string
}

// Process is a server that was started.
type Process struct {
	Name string
	Log  string // path of its output
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

// Start starts the server. Call it only on the main goroutine, locked to its thread: a child ends with the thread that
// started it (see EndWithParent).
func (c Command) Start() (*Process, error) {
	program, err := exec.LookPath(c.Program)
	if err == nil {
		program, err = filepath.Abs(program) // it runs in another folder
	}
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Name, err)
	}
	p := &Process{
		Name: c.Name,
		Log:  filepath.Join(c.Dir, c.Name+".log"),
		cmd:  exec.Command(program, c.Args...),
		done: make(chan struct{}),
	}
	out, err := os.OpenFile(p.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = c.Dir, out, out
	p.cmd.Env = append(os.Environ(), c.Env...)
	p.cmd.SysProcAttr = EndWithParent(c.DeathSignal, c.As)
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Name, err)
	}
	go func() {
		p.cmd.Wait() // its output says why it ended
		close(p.done)
	}()
	return p, nil
}

// Pid is the number of the process.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Ended reports whether the process has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// stopPatience is how long a server may take to end after SIGTERM: longer than Assay takes to finish open requests.
const stopPatience = 20 * time.Second

// Stop sends SIGTERM and, if that does not end the process in time, kills it.
func (p *Process) Stop() {
	p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(stopPatience):
		p.Kill()
	}
}

// Kill kills the process and waits for its end.
func (p *Process) Kill() {
	p.cmd.Process.Kill()
	<-p.done
}

// Await calls ready until it succeeds, the process ends or the time is up.
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

// Explain adds the last lines of the process's output to err.
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

// TrimLog empties a large log, so that a server that logs every request does not fill the disk.
func (p *Process) TrimLog() error {
	const most = 32 << 20
	info, err := os.Stat(p.Log)
	if err != nil || info.Size() < most {
		return err
	}
	return os.Truncate(p.Log, 0)
}

// final is an error that a retry cannot fix.
type final struct{ error }

// Await calls ready until it succeeds or the time is up.
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

// Spare ports lie below those that the system gives to connections and to listeners that choose none, so that a server
// that is restarted finds its port still unused.
const (
	firstSpare = 20_000
	afterSpare = 32_768
)

var (
	spareMu    sync.Mutex
	sparePorts = map[int]bool{} // those that were found before, whether they are in use by now or not
)

// SparePorts finds n unused ports of 127.0.0.1 that it has not found before.
func SparePorts(n int) (ports []int, err error) {
	spareMu.Lock()
	defer spareMu.Unlock()
	for tries := 0; len(ports) < n; tries++ {
		port := firstSpare + rand.IntN(afterSpare-firstSpare)
		if sparePorts[port] {
			continue
		}
		l, err := net.Listen("tcp", Loopback(port))
		if err != nil && tries >= 100*n {
			return nil, fmt.Errorf("find a spare port: %w", err)
		}
		if err != nil {
			continue
		}
		l.Close()
		sparePorts[port] = true
		ports = append(ports, port)
	}
	return ports, nil
}

// Loopback is the address of a port of this machine.
func Loopback(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
