//go:build linux

// Package target runs the program that a tool attacks: the market of the demo in a folder of its own, the server on
// loopback, and sessions of its accounts.
package target

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/assaydata/assay/tools/process"
)

// Market is the folder of a demo market, and who may read it.
type Market struct {
	Folder   string
	Premium  string // keys
	Full     string
	Accounts []Account
}

// Account is an account of the demo.
type Account struct {
	Email        string
	Password     string
	Plan         string
	Organization string
}

// Prepare lets the demo make a market in a folder below dir, and stops it.
func Prepare(ctx context.Context, program, dir string) (m Market, err error) {
	m.Folder = filepath.Join(dir, "data")
	keysFile := filepath.Join(dir, "keys.json")
	command := Command(program, dir, "demo", "--dir", m.Folder, "--no-feed", "--keys-file", keysFile)
	s, err := Start(ctx, command)
	if err != nil {
		return m, err
	}
	s.Stop()
	text, err := os.ReadFile(keysFile)
	if err != nil {
		return m, err
	}
	return m, json.Unmarshal(text, &m)
}

// Server is a server of the program.
type Server struct {
	*process.Process
	Address string
	Client  *http.Client
}

// Command is how to run a serving command of the program in a folder, where its log is written.
func Command(program, dir string, args ...string) process.Command {
	return process.Command{Name: args[0], Dir: dir, DeathSignal: syscall.SIGKILL, Program: program, Args: args}
}

// Start starts a serving command at a spare port and waits until it serves.
func Start(ctx context.Context, command process.Command) (*Server, error) {
	ports, err := process.SparePorts(1)
	if err != nil {
		return nil, err
	}
	s := &Server{Address: process.Loopback(ports[0]), Client: NewClient("127.0.0.1")}
	command.Args = append(command.Args[:len(command.Args):len(command.Args)], "--addr", s.Address)
	if s.Process, err = command.Start(); err != nil {
		return nil, err
	}
	if err := s.Await(ctx, 5*time.Minute, s.healthy); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

func (s *Server) healthy(ctx context.Context) error {
	_, err := s.Get(ctx, "/health")
	return err
}

// Dialer dials from an address of this machine. The system chooses the port when it knows where the connection leads:
// among thousands of connections that have just ended, the search for a port that is free for every destination would
// take most of the time of an attack.
func Dialer(from net.IP) *net.Dialer {
	return &net.Dialer{
		LocalAddr: &net.TCPAddr{IP: from},
		Control: func(_, _ string, raw syscall.RawConn) error {
			return raw.Control(func(fd uintptr) {
				syscall.SetsockoptInt(int(fd), syscall.IPPROTO_IP, bindAddressNoPort, 1) // it is only slower without
			})
		},
	}
}

// bindAddressNoPort is IP_BIND_ADDRESS_NO_PORT of Linux.
const bindAddressNoPort = 24

// NewClient is a client whose connections come from an address of this machine. It follows no redirection.
func NewClient(from string) *http.Client {
	dialer := Dialer(net.ParseIP(from))
	return &http.Client{
		Transport: &http.Transport{
			DialContext: dialer.DialContext, DisableCompression: true, MaxIdleConnsPerHost: 8,
			ExpectContinueTimeout: time.Second,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Timeout:       time.Minute,
	}
}

// URL is the address of a path of the server.
func (s *Server) URL(path string) string { return "http://" + s.Address + path }

// Get returns the body of a response with status 200.
func (s *Server) Get(ctx context.Context, path string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL(path), nil)
	if err != nil {
		return nil, err
	}
	body, _, err := s.Do(request, http.StatusOK)
	return body, err
}

// Do sends a request and returns the body and the header of the response, which must have the status.
func (s *Server) Do(request *http.Request, status int) ([]byte, http.Header, error) {
	response, err := s.Client.Do(request)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != status {
		err = fmt.Errorf("%s %s: %s: %s", request.Method, request.URL.Path, response.Status, process.Tail(body))
	}
	return body, response.Header, err
}

// SignIn is a request that signs in from a client address, as a browser behind a proxy sends it.
func (s *Server) SignIn(ctx context.Context, a Account, from string) (*http.Request, error) {
	body, err := json.Marshal(map[string]string{"email": a.Email, "password": a.Password})
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL("/api/session"), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-Forwarded-For", from)
	return request, nil
}

// SessionCookie is the name of a session's cookie without TLS.
const SessionCookie = "assay_session"

// Session signs in and returns the session's token.
func (s *Server) Session(ctx context.Context, a Account, from string) (string, error) {
	request, err := s.SignIn(ctx, a, from)
	if err != nil {
		return "", err
	}
	_, header, err := s.Do(request, http.StatusOK)
	if err != nil {
		return "", err
	}
	for _, cookie := range (&http.Response{Header: header}).Cookies() {
		if cookie.Name == SessionCookie {
			return cookie.Value, nil
		}
	}
	return "", errors.New("signing in set no session cookie")
}

// Resident is the RAM of the server in bytes.
func (s *Server) Resident() (int64, error) { return Memory(s.Pid(), "VmRSS") }

// Peak is the most RAM the server had since it started or since ForgetPeak, in bytes.
func (s *Server) Peak() (int64, error) { return Memory(s.Pid(), "VmHWM") }

// ForgetPeak makes Peak start again.
func (s *Server) ForgetPeak() error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", s.Pid()), []byte("5"), 0)
}

// Memory is a figure in the status of a process, in bytes.
func Memory(pid int, name string) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if rest, found := strings.CutPrefix(line, name+":"); found {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kib * 1024, err
		}
	}
	return 0, fmt.Errorf("the status of process %d has no %s", pid, name)
}
