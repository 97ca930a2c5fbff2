package process

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// start runs a shell script. The goroutine keeps its thread, because the child ends with it.
func start(t *testing.T, script string) *Process {
	t.Helper()
	runtime.LockOSThread()
	p, err := Command{
		Name:        "shell",
		Dir:         t.TempDir(),
		DeathSignal: syscall.SIGKILL,
		Program:     "sh",
		Args:        []string{"-c", script},
	}.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

func TestAwait_ExplainsTheEnd(t *testing.T) {
	t.Parallel()
	p := start(t, "echo the port is taken; exit 3")
	err := p.Await(t.Context(), time.Minute, func(context.Context) error { return errors.New("no answer") })
	if err == nil || !strings.Contains(err.Error(), "exit status 3") ||
		!strings.Contains(err.Error(), "the port is taken") {
		t.Errorf("got %v, want the status and the last output", err)
	}
}

func TestStop_SendsTerm(t *testing.T) {
	t.Parallel()
	p := start(t, `trap 'echo goodbye; exit' TERM; echo ready; while :; do sleep 0.05; done`)
	says := func(text string) func(context.Context) error {
		return func(context.Context) error {
			if got, _ := os.ReadFile(p.Log); !strings.Contains(string(got), text) {
				return errors.New("it has not said " + text)
			}
			return nil
		}
	}
	if err := p.Await(t.Context(), time.Minute, says("ready")); err != nil {
		t.Fatal(err)
	}
	p.Stop()
	if err := says("goodbye")(t.Context()); err != nil || !p.Ended() {
		t.Errorf("%v; ended: %v", err, p.Ended())
	}
}

func TestKill_SendsNoTerm(t *testing.T) {
	t.Parallel()
	p := start(t, `trap 'echo goodbye; exit' TERM; while :; do sleep 0.05; done`)
	p.Kill()
	if got, err := os.ReadFile(p.Log); err != nil || len(got) > 0 || !p.Ended() {
		t.Errorf("%q, %v; ended: %v", got, err, p.Ended())
	}
}

func TestStart_NoSuchProgram(t *testing.T) {
	t.Parallel()
	_, err := Command{Name: "ghost", Dir: t.TempDir(), Program: "no-such-program"}.Start()
	if !errors.Is(err, exec.ErrNotFound) || !strings.Contains(err.Error(), "start ghost") {
		t.Errorf("got %v", err)
	}
}

func TestSparePorts_AllDifferent(t *testing.T) {
	t.Parallel()
	seen := map[int]bool{}
	for range 200 { // calls that forget each other would find one twice
		ports, err := SparePorts(5)
		if err != nil {
			t.Fatal(err)
		}
		for _, port := range ports {
			if seen[port] || port < firstSpare || port >= afterSpare {
				t.Fatalf("%d in %v", port, ports)
			}
			seen[port] = true
		}
	}
}
