//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/assaydata/assay/tools/process"
)

const (
	patience = 2 * time.Minute // how long anything may take

	// beforeTheHour is when an incident begins: long enough for the server to start.
	beforeTheHour = 4 * time.Second
	history       = 4 // hours
)

// node is a server with a database of its own.
type node struct {
	options
	dir    string
	port   int
	key    string
	offset time.Duration // of its clock
	hour   time.Time     // that ends soon after the start
	inside []string      // puts a command into the server's mount namespace
	env    []string
	server *process.Process
	alerts []string // that have fired

	prometheus                *process.Process // nil unless the incident is watched
	adminPort, prometheusPort int

	files []string // that were imported
	rows  int      // in them
}

func newNode(o options) (*node, error) {
	dir, err := os.MkdirTemp("", "assay-incident")
	if err != nil {
		return nil, err
	}
	ports, err := process.SparePorts(1)
	if err != nil {
		return nil, err
	}
	n := &node{options: o, dir: dir, port: ports[0]}
	n.env = []string{"ASSAY_DIR=" + n.path("data"), "ASSAY_CLOCK_FILE=" + n.path("clock")}
	return n, nil
}

func (n *node) path(name string) string { return filepath.Join(n.dir, name) }

// now is the time on the node's clock.
func (n *node) now() time.Time { return time.Now().Add(n.offset) }

// setClock sets the node's clock, which runs on from there.
func (n *node) setClock(offset time.Duration) error {
	n.offset = offset
	next := n.path("clock.next")
	if err := os.WriteFile(next, []byte(offset.String()), 0o600); err != nil {
		return err
	}
	return os.Rename(next, n.path("clock"))
}

// prepare makes a database with a published history, and starts the server shortly before an hour ends.
func (n *node) prepare(ctx context.Context, i *incident) error {
	if i.watched {
		if err := n.startPrometheus(ctx); err != nil {
			return err
		}
	}
	if err := n.setClock(0); err != nil {
		return err
	}
	if err := os.Mkdir(n.path("data"), 0o700); err != nil {
		return err
	}
	if i.onSmallDisk {
		if err := n.mountSmallDisk(ctx); err != nil {
			return err
		}
	}
	if i.onBadDisk {
		if err := n.mountBadDisk(ctx); err != nil {
			return err
		}
	}
	now := time.Now().UTC()
	n.hour = now.Truncate(time.Hour).Add(-time.Hour) // an hour that is over for the other clocks, too
	if _, err := n.assay(ctx, "init"); err != nil {
		return err
	}
	var at []time.Time
	for h := range history {
		at = append(at, n.hour.Add(time.Duration(h-history)*time.Hour+15*time.Minute))
	}
	if err := n.setClock(time.Until(n.hour.Add(time.Hour - time.Minute))); err != nil {
		return err
	}
	if err := n.receive(ctx, at...); err != nil {
		return err
	}
	from := n.hour.Add(-history * time.Hour).Format(time.RFC3339)
	if _, err := n.assay(ctx, "publish", "--from", from); err != nil {
		return err
	}
	key, err := n.assay(ctx, "key", "create", "--tier", "full", "--name", "reader")
	if n.key = strings.TrimSpace(key); err != nil {
		return err
	}
	return n.setClock(time.Until(n.hour.Add(time.Hour - beforeTheHour)))
}

// start starts the server and waits until it responds.
func (n *node) start(ctx context.Context) (err error) {
	args := []string{"serve", "--addr", process.Loopback(n.port)}
	if n.prometheus != nil {
		args = append(args, "--admin-addr", process.Loopback(n.adminPort))
	}
	n.server, err = n.command("server", args...).Start()
	if err != nil {
		return err
	}
	return n.server.Await(ctx, patience, func(ctx context.Context) error {
		status, body, err := n.get(ctx, "/readyz")
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("/readyz is %d: %s", status, body)
		}
		return err
	})
}

// line is a command line that runs where the server's disk is.
func (n *node) line(program string, args ...string) []string {
	return slices.Concat(n.inside, []string{program}, args)
}

func (n *node) command(name string, args ...string) process.Command {
	line := n.line(n.options.assay, args...)
	return process.Command{
		Name: name, Dir: n.dir, DeathSignal: syscall.SIGKILL, Program: line[0], Env: n.env, Args: line[1:],
	}
}

// assay runs a command of the program and returns its output.
func (n *node) assay(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	line := n.line(n.options.assay, args...)
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Env = append(os.Environ(), n.env...)
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = fmt.Errorf("assay %s: %w: %s", strings.Join(args, " "), err, process.Tail(exit.Stderr))
	}
	return string(out), err
}

const rowsHeader = "id,source,executed_at,gpu_name,region,price,gpus,hours,provider,verified\n"

// write writes rows of those instants into a file.
func (n *node) write(at ...time.Time) (name string, err error) {
	b := bytes.NewBufferString(rowsHeader)
	for i, t := range at {
		fmt.Fprintf(b, "%d-%d,feed,%s,H100 SXM,us-east,2.%02d,1,1,Alder,true\n",
			t.UnixMilli(), i, t.UTC().Format("2006-01-02T15:04:05.000Z"), i%100)
	}
	name = n.path(fmt.Sprintf("rows-%d.csv", len(n.files)))
	return name, os.WriteFile(name, b.Bytes(), 0o600)
}

// receive imports rows of those instants.
func (n *node) receive(ctx context.Context, at ...time.Time) error {
	name, err := n.write(at...)
	if err != nil {
		return err
	}
	if _, err := n.assay(ctx, "import", "transactions", name); err != nil {
		return err
	}
	n.files, n.rows = append(n.files, name), n.rows+len(at)
	return nil
}

var client = &http.Client{Timeout: 10 * time.Second}

func (n *node) get(ctx context.Context, path string) (status int, body []byte, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+process.Loopback(n.port)+path, nil)
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Authorization", "Bearer "+n.key)
	response, err := client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	body, err = io.ReadAll(response.Body)
	return response.StatusCode, body, errors.Join(err, response.Body.Close())
}

// state is what /health says of publishing.
type state struct {
	Publishing string `json:"publishing"`
	Reason     string `json:"publishing_reason"`
}

// awaitPublishing waits until /health says that publishing is in a state, and returns the reason.
func (n *node) awaitPublishing(ctx context.Context, want string) (reason string, err error) {
	err = process.Await(ctx, "publishing "+want, patience, func(ctx context.Context) error {
		_, body, err := n.get(ctx, "/health")
		if err != nil {
			return err
		}
		var s state
		if err := json.Unmarshal(body, &s); err != nil {
			return err
		}
		if reason = s.Reason; s.Publishing != want {
			err = fmt.Errorf("publishing is %s: %s", s.Publishing, s.Reason)
		}
		return err
	})
	return reason, err
}

// hours are the hours that are published with a value.
func (n *node) hours(ctx context.Context) (map[time.Time]bool, error) {
	status, body, err := n.get(ctx, "/api/gpu/H100%20SXM/hourly?startDate="+
		n.hour.Add(-history*time.Hour).Format(time.DateOnly))
	if err != nil {
		return nil, err
	}
	if status != http.StatusOK {
		return nil, fmt.Errorf("status %d: %s", status, process.Tail(body))
	}
	var response struct {
		Data []struct {
			Timestamp time.Time `json:"timestamp"`
		}
	}
	err = json.Unmarshal(body, &response)
	hours := map[time.Time]bool{}
	for _, p := range response.Data {
		hours[p.Timestamp.UTC()] = true
	}
	return hours, err
}

// awaitHour waits until the hour that was running at the start is published with a value.
func (n *node) awaitHour(ctx context.Context) error {
	return process.Await(ctx, "the hour published", patience, func(ctx context.Context) error {
		hours, err := n.hours(ctx)
		if err == nil && !hours[n.hour.Add(time.Hour)] {
			err = fmt.Errorf("%d hours are published, but not that from %s", len(hours), n.hour.Format(time.RFC3339))
		}
		return err
	})
}

// evaluate checks that nothing was lost, nothing is late, and no hour is empty.
func (n *node) evaluate(ctx context.Context) (rows, hours int, err error) {
	if err := n.awaitHour(ctx); err != nil {
		return 0, 0, err
	}
	published, err := n.hours(ctx)
	if err != nil {
		return 0, 0, err
	}
	if len(published) != history+1 {
		return 0, 0, fmt.Errorf("%d hours have a value, want %d: %v", len(published), history+1, published)
	}
	out, err := n.assay(ctx, append([]string{"import", "transactions"}, n.files...)...)
	if err != nil {
		return 0, 0, err
	}
	if want := fmt.Sprintf("imported: 0 new, %d known before, 0 rejected", n.rows); !strings.HasPrefix(out, want) {
		return 0, 0, fmt.Errorf("rows were lost: imported again, they are %s", out)
	}
	out, err = n.assay(ctx, "late", "--json")
	if err != nil {
		return 0, 0, err
	}
	if late := strings.Count(out, `"id"`); late > 0 {
		return 0, 0, fmt.Errorf("%d rows are late: %s", late, out)
	}
	_, err = n.assay(ctx, "verify")
	return n.rows, len(published), err
}

// mountSmallDisk puts a small disk in place of the data folder.
func (n *node) mountSmallDisk(ctx context.Context) error {
	return n.mount(ctx, "mount -t tmpfs -o size=48m,mode=0700 none '%s'", []string{"--user", "--map-root-user"},
		[]string{"--user", "--preserve-credentials"})
}

// mountBadDisk puts a disk in place of the data folder that turns read-only at an error, as those of most machines do.
func (n *node) mountBadDisk(ctx context.Context) error {
	image := n.path("disk")
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		return err
	}
	if err := os.Truncate(image, 64<<20); err != nil {
		return err
	}
	if err := n.shell(ctx, fmt.Sprintf("mkfs.ext4 -q '%s'", image)); err != nil {
		return err
	}
	return n.mount(ctx, "mount -o loop,errors=remount-ro '"+image+"' '%s'", nil, nil)
}

// mount starts a process that mounts something in place of the data folder. Later commands join it there.
func (n *node) mount(ctx context.Context, line string, unshare, nsenter []string) error {
	script := fmt.Sprintf(line+" && touch '%s' && exec sleep infinity", n.path("data"), n.path("mounted"))
	holder, err := process.Command{
		Name: "disk", Dir: n.dir, DeathSignal: syscall.SIGKILL,
		Program: "unshare", Args: append(unshare, "--mount", "sh", "-c", script),
	}.Start()
	if err != nil {
		return err
	}
	n.inside = slices.Concat([]string{"nsenter"}, nsenter, []string{"--mount", "--target", strconv.Itoa(holder.Pid())})
	return holder.Await(ctx, patience, func(context.Context) error {
		_, err := os.Stat(n.path("mounted"))
		return err
	})
}

// shell runs a command where the server's disk is.
func (n *node) shell(ctx context.Context, command string) error {
	line := n.line("sh", "-c", command)
	out, err := exec.CommandContext(ctx, line[0], line[1:]...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", command, err, process.Tail(out))
	}
	return nil
}
