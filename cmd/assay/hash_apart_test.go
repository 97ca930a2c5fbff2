package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// childrenOf lists the processes that a process has started.
func childrenOf(t *testing.T, parent int) (pids []int) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		var pid, of int
		before, after, _ := strings.Cut(string(text), " (")
		_, after, _ = strings.Cut(after, ") ")
		if _, err := fmt.Sscan(before, &pid); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Sscanf(after, "%s %d", new(string), &of); err == nil && of == parent {
			pids = append(pids, pid)
		}
	}
	return pids
}

// A server hashes passwords in a process of its own, with the default of one hash at a time on two cores, and the
// process ends with the server, even if that is killed.
func TestServe_HashesApart(t *testing.T) {
	t.Parallel()
	p, err := startServer(nodeFolder(t), "server", "serve", "--role", "read", "--dir", "data")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	if got := childrenOf(t, p.cmd.Process.Pid); len(got) != 0 {
		t.Errorf("before a sign-in there are processes %v", got)
	}
	for range 3 {
		body := strings.NewReader(`{"email":"ada@example.com","password":"not the password"}`)
		response, err := http.Post(p.url+"/api/session", "application/json", body)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != http.StatusUnauthorized {
			t.Fatalf("a wrong password gets %s", response.Status)
		}
	}
	children := childrenOf(t, p.cmd.Process.Pid)
	if len(children) != 1 {
		t.Fatalf("the server has the processes %v, want one", children)
	}
	p.kill()
	err = until(patience, 10*time.Millisecond, func() error {
		if syscall.Kill(children[0], 0) == nil {
			return errors.New("the process that hashes runs without its server")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
