//go:build linux

package target

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/assaydata/assay/tools/process"
)

// Reading is what a well-behaved reader requests again and again, at a steady rate and each time from another client
// address, so that no limit is reached.
type Reading struct {
	Server   string // host and port
	From     string // address of this machine, which the server trusts as a proxy
	Rate     int    // requests a second
	Requests []ReadRequest
}

// ReadRequest is a request of the reader, and a text that every response to it contains.
type ReadRequest struct {
	Path string
	Keys []string // used in turn; none for a request without a key
	Want string
}

// Readings is what the reader has noticed.
type Readings struct {
	Count, Failed int
	First         string // of the failures
	P50, P99      time.Duration
}

// Reader is a well-behaved client: it sends few requests, waits for the responses and stays within its limits. It runs
// in a process of its own, so that it measures the server and not the attackers' garbage and goroutines.
type Reader struct {
	process *exec.Cmd
	to      *json.Encoder
	from    *json.Decoder
}

// The process gets a Reading first. From then on it reads from each line that says true until the one that says false,
// and responds to that one with its Readings.

// readerArgument is the only argument of a reader's process.
const readerArgument = "be-the-reader"

// Main is process.Main of a tool that starts a reader: the reader's process is the same program.
func Main[Options any](
	name string, parse func(args []string) (Options, error), run func(context.Context, Options) error,
) {
	if len(os.Args) == 2 && os.Args[1] == readerArgument {
		noOptions := func([]string) (struct{}, error) { return struct{}{}, nil }
		process.Main("the reader of "+name, noOptions, func(ctx context.Context, _ struct{}) error {
			return beReader(ctx)
		})
		return
	}
	process.Main(name, parse, run)
}

// StartReader starts the process of a reader and opens its connections. It ends with this process. Call it only where
// processes may be started, see process.Command.
func StartReader(ctx context.Context, reading Reading) (*Reader, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	r := &Reader{process: exec.Command(program, readerArgument)} //nolint:gosec // G204: this program
	r.process.Stderr, r.process.SysProcAttr = os.Stderr, process.EndWithParent(syscall.SIGKILL, nil)
	to, err := r.process.StdinPipe()
	if err != nil {
		return nil, err
	}
	from, err := r.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := r.process.Start(); err != nil {
		return nil, fmt.Errorf("start the reader: %w", err)
	}
	r.to, r.from = json.NewEncoder(to), json.NewDecoder(from)
	err = r.to.Encode(reading)
	if err == nil {
		_, err = r.While(func() { Pause(ctx, time.Second) })
	}
	if err != nil {
		r.Stop()
	}
	return r, err
}

// Stop ends the process.
func (r *Reader) Stop() {
	r.process.Process.Kill()
	r.process.Wait()
}

// While reads until a function returns.
func (r *Reader) While(attack func()) (got Readings, err error) {
	err = r.to.Encode(true)
	attack()
	if err == nil {
		err = r.to.Encode(false)
	}
	if err == nil {
		err = r.from.Decode(&got)
	}
	if err != nil {
		return got, fmt.Errorf("the reader: %w", err)
	}
	return got, nil
}

// beReader is the process of a reader.
func beReader(ctx context.Context) error {
	in := json.NewDecoder(bufio.NewReader(os.Stdin))
	var reading Reading
	if err := in.Decode(&reading); err != nil {
		return err
	}
	c := &readerClient{Reading: reading, client: NewClient(reading.From)}
	stop := func() Readings { return Readings{} }
	for out := json.NewEncoder(os.Stdout); ; {
		var read bool
		if err := in.Decode(&read); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if read {
			stop = c.start(ctx)
			continue
		}
		if err := out.Encode(stop()); err != nil {
			return err
		}
	}
}

// readerClient is the client in the process of a reader.
type readerClient struct {
	Reading

	client *http.Client
	sent   atomic.Int64
}

// readerWorkers is how many requests the reader sends at a time.
const readerWorkers = 8

// start sends requests at a steady rate until the function it returns is called. The time of a response counts from
// when its request was due, so that a late one makes those behind it late too.
func (c *readerClient) start(ctx context.Context) (stop func() Readings) {
	reading, end := context.WithCancel(ctx)
	var mu sync.Mutex
	var got Readings
	var took []time.Duration
	var next atomic.Int64
	var group sync.WaitGroup
	begun := time.Now()
	for range readerWorkers {
		group.Go(func() {
			for {
				due := begun.Add(time.Duration(next.Add(1)-1) * time.Second / time.Duration(c.Rate))
				if !Pause(reading, time.Until(due)) {
					return
				}
				err := c.readOne(ctx)
				mu.Lock()
				took = append(took, time.Since(due))
				if err != nil && got.Failed == 0 {
					got.First = err.Error()
				}
				if err != nil {
					got.Failed++
				}
				mu.Unlock()
			}
		})
	}
	return func() Readings {
		end()
		group.Wait()
		if got.Count = len(took); got.Count > 0 {
			slices.Sort(took)
			got.P50, got.P99 = took[got.Count/2], took[got.Count*99/100]
		}
		return got
	}
}

func (c *readerClient) readOne(ctx context.Context) error {
	n := int(c.sent.Add(1))
	q := c.Requests[n%len(c.Requests)]
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.Server+q.Path, nil)
	if err != nil {
		return err
	}
	request.Header.Set("X-Forwarded-For", fmt.Sprintf("172.%d.%d.%d", 16+n>>16&15, n>>8&255, n&255))
	if len(q.Keys) > 0 {
		request.Header.Set("Authorization", "Bearer "+q.Keys[n%len(q.Keys)])
	}
	response, err := c.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && (response.StatusCode != http.StatusOK || !bytes.Contains(body, []byte(q.Want))) {
		err = fmt.Errorf("GET %s: %s: %.300s", q.Path, response.Status, body)
	}
	return err
}

// YieldProcessors lets the server and the reader go first wherever they compete with this process for a processor, as
// if the attackers had machines of their own. The work that they cause is the server's, and is not spared. The thread
// of the main goroutine, which starts processes, is left as it is: they would inherit the priority.
func YieldProcessors() error {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err
	}
	for _, thread := range threads { // later ones inherit it
		id, err := strconv.Atoi(thread.Name())
		if id == os.Getpid() {
			continue
		}
		if err == nil {
			err = syscall.Setpriority(syscall.PRIO_PROCESS, id, lowestPriority)
		}
		if err != nil && !errors.Is(err, syscall.ESRCH) { // the thread has ended
			return fmt.Errorf("lower the priority of the attackers: %w", err)
		}
	}
	return nil
}

const lowestPriority = 19

// Pause waits, and reports whether the context still lasts.
func Pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return ctx.Err() == nil
	}
}
