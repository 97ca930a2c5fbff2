//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/assaydata/assay/tools/process"
)

const (
	patience = 10 * time.Minute // a large database takes a while to load
	samples  = 300              // requests of each route
)

// requests are what is sent with a key, one after another.
func (d *database) requests() []string {
	name, day := url.PathEscape(model(7)), d.lastDay().Format(time.DateOnly)
	return []string{
		"/api/gpu/" + name,
		"/api/gpu/" + name + "/hourly?startDate=" + day,
		"/api/gpu/" + name + "/index-history?startDate=" + day,
		"/api/gpu/" + name + "/determination?date=" + day,
		"/api/daily-index/all",
		"/api/gpu-types",
		"/api/corrections",
		"/api/publications/latest",
		"/api/usage",
		"/health",
	}
}

// server measures the server: until it is ready, its routes, and a new key.
func (d *database) server(ctx context.Context) error {
	fmt.Println("growth: serve")
	ports, err := process.SparePorts(1)
	if err != nil {
		return err
	}
	base := "http://" + process.Loopback(ports[0])
	p, err := process.Command{
		Name: "server", Dir: d.dir, DeathSignal: syscall.SIGKILL, Program: d.assay,
		Env: []string{"ASSAY_DIR=" + d.folder()},
		Args: []string{
			"serve", "--role", "read", "--addr", process.Loopback(ports[0]), "--key-limit", "1000000", "--access-log", "off",
			"--trusted-proxies", "127.0.0.1",
		},
	}.Start()
	if err != nil {
		return err
	}
	defer p.Stop()
	err = p.Await(ctx, patience, func(ctx context.Context) error {
		status, _, err := d.get(ctx, base+"/readyz", d.key)
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("status %d", status)
		}
		return err
	})
	if err != nil {
		return err
	}
	start := cost{name: "serve, until ready"}
	if start.cpu, start.memory, err = usageOf(p.Pid()); err != nil {
		return err
	}
	d.costs, d.memory = append(d.costs, start), start.memory
	for _, path := range d.requests() {
		if err := d.route(ctx, base, path); err != nil {
			return err
		}
	}
	return d.acceptKey(ctx, base)
}

// route measures the p99 of a route.
func (d *database) route(ctx context.Context, base, path string) error {
	times := make([]time.Duration, samples)
	for i := range times {
		begun := time.Now()
		status, body, err := d.get(ctx, base+path, d.key)
		if err != nil {
			return err
		}
		if times[i] = time.Since(begun); status != http.StatusOK {
			return fmt.Errorf("%s: status %d: %s", path, status, process.Tail(body))
		}
	}
	slices.Sort(times)
	name, _, _ := strings.Cut(path, "?")
	d.routes[name] = times[samples*99/100]
	return nil
}

// keyPause is how often a new key is tried: many times within the time that it may take.
const keyPause = 5 * time.Millisecond

// acceptKey measures how long a new key takes to be accepted.
func (d *database) acceptKey(ctx context.Context, base string) error {
	cmd := exec.CommandContext(ctx, d.assay, "key", "create", "--tier", "full", "--name", "new")
	cmd.Env = append(os.Environ(), "ASSAY_DIR="+d.folder())
	key, err := cmd.Output()
	if err != nil {
		return err
	}
	begun := time.Now() // it is committed
	tick := time.NewTicker(keyPause)
	defer tick.Stop()
	for time.Since(begun) < patience {
		status, _, err := d.get(ctx, base+"/api/usage", strings.TrimSpace(string(key)))
		if err != nil {
			return err
		}
		if status == http.StatusOK {
			d.newKey = time.Since(begun)
			return nil
		}
		<-tick.C
	}
	return fmt.Errorf("a new key was not accepted within %s", patience)
}

var client = &http.Client{Timeout: time.Minute}

func (d *database) get(ctx context.Context, target, key string) (status int, body []byte, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Authorization", "Bearer "+key)
	d.sent++ // each from another address, so that no limit is reached
	request.Header.Set("X-Forwarded-For", fmt.Sprintf("10.%d.%d.%d", byte(d.sent>>16), byte(d.sent>>8), byte(d.sent)))
	response, err := client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	body, err = io.ReadAll(response.Body)
	return response.StatusCode, body, errors.Join(err, response.Body.Close())
}

// usageOf returns the processor time and the largest resident memory of a process.
func usageOf(pid int) (cpu time.Duration, memory int64, err error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, err
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(after)
	const ticks = 100 // a second, on every Linux
	for _, field := range fields[11:13] {
		n, err := strconv.Atoi(field)
		if err != nil {
			return 0, 0, err
		}
		cpu += time.Duration(n) * time.Second / ticks
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, err
	}
	_, after, _ = strings.Cut(string(status), "VmHWM:")
	_, err = fmt.Sscan(after, &memory)
	return cpu, memory << 10, err
}
