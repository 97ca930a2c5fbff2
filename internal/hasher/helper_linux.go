package hasher

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"runtime"
	"syscall"
)

// niceness gives a helper a tenth of a core if everything else wants it: reads come first, and a sign-in still ends.
const niceness = 10

// startHelper starts this program, even if its file was replaced or removed meanwhile. The environment, which may have
// secrets, stays here.
func startHelper() (*helper, error) {
	cmd := exec.Command("/proc/self/exe", argument) //nolint:noctx // it outlives every request
	cmd.Env = []string{"GOMAXPROCS=1"}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	// A process inherits the priority of the thread that starts it. The thread cannot get its own back, so it ends with
	// the goroutine that is locked to it.
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		err := syscall.Setpriority(syscall.PRIO_PROCESS, 0, niceness)
		if err == nil {
			err = cmd.Start()
		}
		started <- err
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start a process that hashes passwords: %w", err)
	}
	go cmd.Wait() //nolint:errcheck // how it ends is seen in its answers
	return &helper{pid: cmd.Process.Pid, in: in, to: json.NewEncoder(in), of: json.NewDecoder(out)}, nil
}
