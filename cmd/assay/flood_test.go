package main

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/assaydata/assay/internal/web"
)

func TestWithinDescriptors(t *testing.T) {
	t.Parallel()
	f := func(descriptors, total, perAddress int, warning bool, limits web.ConnectionLimits) {
		t.Helper()
		var log bytes.Buffer
		got := withinDescriptors(limits, descriptors, slog.New(slog.NewJSONHandler(&log, nil)))
		if want := (web.ConnectionLimits{Total: total, PerAddress: perAddress}); got != want || (log.Len() > 0) != warning {
			t.Errorf("with %d descriptors: %+v, want %+v; the log is %s", descriptors, got, want, log.String())
		}
	}
	reserved := reservedDescriptors(10_000)
	limits := web.ConnectionLimits{Total: 10_000, PerAddress: 256}
	f(20_000, 10_000, 256, false, limits)
	f(10_000+reserved, 10_000, 256, false, limits)
	f(9_999+reserved, 9_999, 256, true, limits)
	f(200, 200-reservedDescriptors(200), (200-reservedDescriptors(200))/4, true, limits)
	f(10, leastConnections, leastConnections/4, true, limits)
	f(100+reserved, 100, 90, false, web.ConnectionLimits{Total: 100, PerAddress: 90})
}

// dialFrom connects to a server from an address of loopback, and sends nothing. The server may reset what one address
// opens too fast.
func dialFrom(t *testing.T, address, url string) {
	t.Helper()
	from := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	conn, err := from.DialContext(t.Context(), "tcp", strings.TrimPrefix(url, "http://"))
	if errors.Is(err, syscall.ECONNRESET) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
}

// Connections that send nothing, from one address and then from many, keep neither readers nor the database from a
// server with few descriptors.
func TestServe_ConnectionFlood(t *testing.T) {
	t.Parallel()
	needProgram(t)
	dir := nodeFolder(t)
	cmd := exec.Command("sh", "-c", `ulimit -n 256 && exec "$0" "$@"`, program, "serve", "--role", "read", "--dir", "data")
	p, err := startCommand(nil, dir, "server", cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	wantServed := func(when string) {
		t.Helper()
		// A key that is new can be used only if the server reads it from the database.
		key := assayIn(t, dir, "key create --dir data --tier full --name reader")
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		err := until(patience, 20*time.Millisecond, func() error {
			response, body, err := getWith(client, key, p.url+nearestPath)
			if err != nil {
				return errGivenUp{err}
			}
			if response.StatusCode != http.StatusOK {
				return fmt.Errorf("%s %s", response.Status, body)
			}
			return nil
		})
		if err != nil {
			t.Errorf("%s: %v", when, err)
		}
	}
	for range 300 {
		dialFrom(t, "127.0.0.2", p.url)
	}
	wantServed("with 300 connections of one address")
	for i := range 400 {
		dialFrom(t, fmt.Sprintf("127.0.1.%d", 1+i%20), p.url)
	}
	wantServed("with 400 connections of 20 addresses")
	if err := p.stop(); err != nil {
		t.Error(err)
	}
	log, err := os.ReadFile(filepath.Join(dir, "server.err"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(log), "too many open files") || strings.Contains(string(log), `"level":"ERROR"`) {
		t.Errorf("the log of the server is %s", log)
	}
}
