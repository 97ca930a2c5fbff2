package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// process is a server we started, with its output in a file.
type process struct {
	name string
	cmd  *exec.Cmd
	log  string        // path of its output
	done chan struct{} // closed when it has ended
}

// startProcess starts the program with its output in dir/name.log. It gets the signal lastWill should we die before it.
// Call it on the main goroutine only: see main.
func startProcess(name, dir string, lastWill syscall.Signal, program string, args ...string) (*process, error) {
	p := &process{name: name, cmd: exec.Command(program, args...), log: filepath.Join(dir, name+".log"), done: make(chan struct{})}
	out, err := os.OpenFile(p.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	p.cmd.Stdout, p.cmd.Stderr = out, out
	p.cmd.SysProcAttr = dieWithUs(lastWill)
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		p.cmd.Wait() // its output tells why it ended
		close(p.done)
	}()
	return p, nil
}

// stop asks the process to end and makes sure that it did.
func (p *process) stop() {
	p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(10 * time.Second):
		p.cmd.Process.Kill()
		<-p.done
	}
}

// await calls ready until it succeeds, the process ends or the time is over.
func (p *process) await(ctx context.Context, limit time.Duration, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.done:
			return p.explain(fmt.Errorf("%s ended at start: %s", p.name, p.cmd.ProcessState))
		case <-ctx.Done():
			return p.explain(fmt.Errorf("%s is not ready after %s: %w", p.name, limit, err))
		case <-tick.C:
		}
	}
}

// explain adds the last lines the process wrote to err.
func (p *process) explain(err error) error {
	text, readErr := os.ReadFile(p.log)
	if readErr != nil || len(text) == 0 {
		return err
	}
	return fmt.Errorf("%w\nlast output of %s:\n%s", err, p.name, tail(text))
}

// trimLog keeps a server that logs every request from filling the disk; it goes on writing at the new end.
func (p *process) trimLog() error {
	const most = 32 << 20
	info, err := os.Stat(p.log)
	if err != nil || info.Size() < most {
		return err
	}
	return os.Truncate(p.log, 0)
}

// sparePorts finds n loopback addresses nobody listens on. All are held until the last is found, so none comes twice.
func sparePorts(n int) ([]string, error) {
	addrs := make([]string, n)
	for i := range addrs {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("find a spare port: %w", err)
		}
		defer l.Close()
		addrs[i] = l.Addr().String()
	}
	return addrs, nil
}
