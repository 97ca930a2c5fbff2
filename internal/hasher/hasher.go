// Package hasher hashes passwords with argon2id. A hash takes a core and 19 MiB for about 50 ms, on purpose. In the
// process of a server that delays reads: they wait for a core, and for the garbage collector. So the server leaves
// hashes to a process of its own with a lower priority, which is this program again. It gets passwords through a pipe,
// never in its arguments or environment, knows nothing else, and ends with the server.
//
// Where there is no such process, because the system has none or it cannot be started, the hash is computed in place.
package hasher

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/alexedwards/argon2id"
)

// Params say how a password is hashed.
type Params = argon2id.Params

// Hasher hashes passwords in processes of its own, one for each hash at a time. A nil Hasher hashes in this process.
type Hasher struct {
	log *slog.Logger

	mu     sync.Mutex
	idle   []*helper
	closed bool
}

// New returns a hasher. It starts a process when there is something to hash.
func New(log *slog.Logger) *Hasher { return &Hasher{log: log} }

// Create returns the hash of a new password, with a salt of its own.
func (h *Hasher) Create(password string, params Params) (hash string, err error) {
	response, err := h.do(request{Password: []byte(password), Params: &params})
	return response.Hash, err
}

// Matches reports whether a password has a hash.
func (h *Hasher) Matches(password, hash string) (bool, error) {
	response, err := h.do(request{Password: []byte(password), Hash: hash})
	return response.Matches, err
}

// Close ends the processes that do not hash; the others end after their hash.
func (h *Hasher) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for _, p := range h.idle {
		p.end()
	}
	h.idle = nil
}

// request asks for the hash of a password with Params, or whether it matches Hash.
type request struct {
	Password []byte
	Params   *Params
	Hash     string
}

type response struct {
	Hash    string
	Matches bool
	Error   string
}

func (h *Hasher) do(r request) (response, error) {
	answer, ok := h.askHelper(r)
	if !ok {
		answer = compute(r)
	}
	if answer.Error != "" {
		return response{}, errors.New(answer.Error)
	}
	return answer, nil
}

// askHelper reports false if no process can answer.
func (h *Hasher) askHelper(r request) (response, bool) {
	if h == nil || !allowed {
		return response{}, false
	}
	p, err := h.take()
	if err == nil {
		var answer response
		if answer, err = p.ask(r); err == nil {
			h.give(p)
			return answer, true
		}
		p.end()
	}
	h.log.Warn("a password is hashed in the server's process, which delays reads", "error", err)
	return response{}, false
}

func (h *Hasher) take() (*helper, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if n := len(h.idle); n > 0 {
		p := h.idle[n-1]
		h.idle = h.idle[:n-1]
		return p, nil
	}
	return startHelper()
}

func (h *Hasher) give(p *helper) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		p.end()
		return
	}
	h.idle = append(h.idle, p)
}

func compute(r request) (answer response) {
	var err error
	if r.Params != nil {
		answer.Hash, err = argon2id.CreateHash(string(r.Password), r.Params)
	} else {
		answer.Matches, err = argon2id.ComparePasswordAndHash(string(r.Password), r.Hash)
	}
	if err != nil {
		answer.Error = err.Error()
	}
	return answer
}

// argument is the only argument of a helper's process.
const argument = "hash-passwords"

// allowed says that this program, started with the argument, is a helper. Any other program would be started again as
// itself, such as a test.
var allowed bool

// Main makes the program its own helper. It is called first in main, and does not return in a process that is one.
func Main() {
	if len(os.Args) == 2 && os.Args[1] == argument {
		signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP) // they are for the server, whose end closes the input
		if err := serve(os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	allowed = true
}

// serve answers requests until the input ends.
func serve(in io.Reader, out io.Writer) error {
	requests, answers := json.NewDecoder(bufio.NewReader(in)), json.NewEncoder(out)
	for {
		var r request
		if err := requests.Decode(&r); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := answers.Encode(compute(r)); err != nil {
			return err
		}
	}
}

// helper is a process that hashes.
type helper struct {
	pid int
	in  io.WriteCloser
	to  *json.Encoder
	of  *json.Decoder
}

func (p *helper) ask(r request) (answer response, err error) {
	if err := p.to.Encode(r); err != nil { //nolint:gosec // G117: into a pipe that only the process reads
		return answer, err
	}
	err = p.of.Decode(&answer)
	return answer, err
}

// end closes the input of the process, which ends it.
func (p *helper) end() { _ = p.in.Close() }
