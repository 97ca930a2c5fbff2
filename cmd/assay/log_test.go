package main

import (
	"bufio"
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

func TestAccessLog_Set(t *testing.T) {
	t.Parallel()
	f := func(text string, want accessLog) {
		t.Helper()
		got := accessLog(-1)
		if err := got.set(text); (err == nil) != (want >= 0) || got != want {
			t.Errorf("%q: %d (%v), want %d", text, got, err, want)
		}
	}
	f("all", 1)
	f("off", 0)
	f("1", 1)
	f("1000000", 1_000_000)
	for _, text := range []string{"", "0", "-1", "1000001", "some", "1.5", "ALL"} {
		f(text, -1)
	}
}

// Both formats have the same fields, and times as the API writes them.
func TestNewLog(t *testing.T) {
	t.Parallel()
	f := func(format logFormat, want string) {
		t.Helper()
		var log bytes.Buffer
		newLog(&log, slog.LevelWarn, format).Info("below the level")
		newLog(&log, slog.LevelWarn, format).Warn("a witness did not sign", "witness", "w 1", "error", errors.New("no"))
		if !regexp.MustCompile("^" + want + "\n$").MatchString(log.String()) {
			t.Errorf("%s: %q, want %s", format, log.String(), want)
		}
	}
	const instant = `\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`
	f(logJSON, `{"time":"`+instant+`","level":"WARN","msg":"a witness did not sign","witness":"w 1","error":"no"}`)
	f(logText, `time=`+instant+` level=WARN msg="a witness did not sign" witness="w 1" error=no`)
}

// pipedServer is a server whose log is a pipe.
type pipedServer struct {
	*testing.T
	*process

	pipe string
	key  string
}

func startPiped(t *testing.T) (s *pipedServer, reader *os.File) {
	t.Helper()
	dir := nodeFolder(t)
	s = &pipedServer{T: t, pipe: filepath.Join(dir, "log.pipe")}
	s.key = assayIn(t, dir, "key create --dir data --tier full --name reader")
	if err := syscall.Mkfifo(s.pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	reader = s.openLog()
	cmd := exec.Command("sh", "-c", `exec "$0" "$@" 2>log.pipe`, program, "serve", "--dir", "data", "--key-limit", "1000000")
	p, err := startCommand(nil, dir, "server", cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	s.process = p
	return s, reader
}

// openLog opens the pipe without waiting for the other side.
func (s *pipedServer) openLog() *os.File {
	s.Helper()
	reader, err := os.OpenFile(s.pipe, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { reader.Close() })
	return reader
}

// get sends requests that must be served.
func (s *pipedServer) get(count int) {
	s.Helper()
	client := &http.Client{Timeout: patience}
	for i := range count {
		response, body, err := getWith(client, s.key, s.url+nearestPath)
		if err != nil || response.StatusCode != http.StatusOK {
			s.Fatalf("request %d of %d: %v %s", i+1, count, err, body)
		}
	}
}

// wantLine reads the log until a line contains a text. Every line of it must be whole.
func (s *pipedServer) wantLine(log *bufio.Reader, text string) {
	s.Helper()
	for {
		line, err := log.ReadString('\n')
		if err != nil {
			s.Fatalf("the log has no line with %s: %v", text, err)
		}
		if !strings.HasPrefix(line, `{"time":"`) || !strings.HasSuffix(line, "}\n") {
			s.Errorf("the log has the line %q", line)
		}
		if strings.Contains(line, text) {
			return
		}
	}
}

// A log that no one reads delays no request, and says afterwards what is missing.
func TestServe_BlockedLog(t *testing.T) {
	t.Parallel()
	s, reader := startPiped(t)
	s.get(8000) // more than the pipe and the server's memory can take
	log := bufio.NewReader(reader)
	s.wantLine(log, `"dropped":`)
	s.get(1)
	s.wantLine(log, `"msg":"request"`)
	if err := s.stop(); err != nil {
		t.Error(err)
	}
}

// A log whose reader has ended is written again as soon as there is another one.
func TestServe_LogReaderEnds(t *testing.T) {
	t.Parallel()
	s, reader := startPiped(t)
	s.get(1)
	reader.Close()
	s.get(500)
	s.wantLine(bufio.NewReader(s.openLog()), `"msg":"request"`)
	s.get(1)
	if err := s.stop(); err != nil {
		t.Error(err)
	}
}
