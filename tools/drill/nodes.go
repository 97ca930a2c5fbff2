//go:build linux

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/assaydata/assay/tools/process"
	"github.com/assaydata/assay/tools/relay"
)

// patience is how long anything may take to recover. It is generous: the drill checks that things recover at all.
const patience = 3 * time.Minute

// drill is everything that runs: the database cluster, Redis, and the nodes of the program.
type drill struct {
	*cluster
	options   options
	program   atomic.Value // string; the file of the program that commands and new nodes run
	key       string       // a Full key
	redisPort int
	redis     *process.Process
	publisher *process.Process
	between   *relay.Relay // the publisher and the database
	health    int          // port of the publisher
	standby   int          // port of a second publisher, while there is one
	due       time.Time    // the first minute that the publisher has to print since its last start
	readNodes []*readNode
	begun     time.Time // start of the history
	journal   journal
	balanced  atomic.Bool // the load goes through a balancer
	starts    []time.Time // of read nodes
}

// readNode is a node that reads. It reaches the database through a relay.
type readNode struct {
	name    string
	port    int
	relay   *relay.Relay
	process *process.Process
	// lifecycle is odd while the node has to serve every request. Each kill and each return increments it, so that
	// requests during a change can be told apart.
	lifecycle atomic.Int64
	up        atomic.Bool // by the balancer's last check
	cut       bool        // off from the database; belongs to the main goroutine
}

func newDrill(c *cluster, o options) *drill {
	d := &drill{cluster: c, options: o, begun: time.Now().UTC().Truncate(24 * time.Hour).Add(-unpublished - published)}
	d.program.Store(cmp.Or(o.before, o.assay))
	for i := range readNodeCount {
		d.readNodes = append(d.readNodes, &readNode{name: fmt.Sprintf("read%d", i+1)})
	}
	return d
}

// readNodeCount is the number of nodes that read.
const readNodeCount = 3

// start starts everything, with a history to read and to publish.
func (d *drill) start(ctx context.Context) error {
	ports, err := process.SparePorts(3 + readNodeCount)
	if err != nil {
		return err
	}
	d.redisPort, d.health, d.standby = ports[0], ports[1], ports[2]
	if err := d.cluster.start(ctx); err != nil {
		return err
	}
	if err := d.startRedis(ctx); err != nil {
		return err
	}
	if err := errors.Join(d.setName(true), d.prepare(ctx)); err != nil {
		return err
	}
	if d.between, err = relay.Open(process.Loopback(d.Proxy)); err != nil {
		return err
	}
	if err := d.startPublisher(); err != nil {
		return err
	}
	for i, r := range d.readNodes {
		r.port = ports[3+i]
		if r.relay, err = relay.Open(process.Loopback(d.Proxy)); err != nil {
			return err
		}
		if err := d.startReadNode(r); err != nil {
			return err
		}
	}
	for _, r := range d.readNodes {
		if err := d.awaitReadNode(ctx, r); err != nil {
			return err
		}
	}
	_, err = d.awaitPrint(ctx, time.Time{})
	return err
}

// prepare makes the tables, the signing key, a history whose last days are published, and an API key.
func (d *drill) prepare(ctx context.Context) error {
	if err := writeHistory(d.Dir, historyFile(d.begun)); err != nil {
		return err
	}
	create := "init"
	if d.options.before != "" { // whose import creates the tables
		create = "signing-key init"
	}
	for _, line := range []string{
		create,
		"import transactions " + filepath.Join(d.Dir, historyName),
		"publish --from " + d.begun.Add(unpublished).Format(time.RFC3339),
	} {
		if _, err := d.assay(ctx, strings.Fields(line)...); err != nil {
			return err
		}
	}
	key, err := d.assay(ctx, "key", "create", "--tier", "full", "--name", "drill")
	d.key = strings.TrimSpace(key)
	return err
}

// folder holds the signing key.
func (d *drill) folder() string { return filepath.Join(d.Dir, "publisher") }

// commandPatience is longer than any timeout of a command.
const commandPatience = time.Minute

// assay runs a command of the program and returns its output.
func (d *drill) assay(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, commandPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, d.program.Load().(string), args...)
	cmd.Env = append(os.Environ(), "ASSAY_DIR="+d.folder(), "ASSAY_STORE="+d.url())
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = fmt.Errorf("assay %s: %w: %s", strings.Join(args, " "), err, process.Tail(exit.Stderr))
	}
	return string(out), err
}

// serve starts a node of the program.
func (d *drill) serve(name, store string, port int, args ...string) (*process.Process, error) {
	return d.server(name, store, port, args...).Start()
}

// server is a node of the program. It is killed if the drill dies.
func (d *drill) server(name, store string, port int, args ...string) process.Command {
	return process.Command{
		Name: name, Dir: d.Dir, DeathSignal: syscall.SIGKILL, Program: d.program.Load().(string),
		Env:  []string{"ASSAY_DIR=" + d.folder(), "ASSAY_STORE=" + store},
		Args: append([]string{"serve", "--addr", process.Loopback(port)}, args...),
	}
}

func (d *drill) startPublisher() (err error) {
	d.due = time.Now().Truncate(time.Minute).Add(time.Minute)
	d.publisher, err = d.serve("publisher", d.through(d.between), d.health, "--role", "publish")
	return err
}

// through is the address of the current primary behind a relay.
func (d *drill) through(r *relay.Relay) string {
	return strings.Replace(d.url(), process.Loopback(d.Proxy), r.Address(), 1)
}

func (d *drill) startRedis(ctx context.Context) (err error) {
	d.redis, err = d.run("redis", "redis-server", "--bind", "127.0.0.1", "--port", fmt.Sprint(d.redisPort), "--save", "",
		"--appendonly", "no")
	if err != nil {
		return err
	}
	return d.redis.Await(ctx, patience, func(ctx context.Context) error { return listens(ctx, d.redisPort) })
}

// drainTime is about thirty health checks of the balancer.
const drainTime = "3s"

func (d *drill) startReadNode(r *readNode) (err error) {
	d.starts = append(d.starts, time.Now())
	command := d.server(r.name, d.through(r.relay), r.port,
		"--role", "read", "--drain", drainTime, "--log-level", "warn",
		"--key-limit", "1000000", "--trusted-proxies", "127.0.0.0/8", "--limits",
		fmt.Sprintf("redis://127.0.0.1:%d", d.redisPort))
	if r == d.named() {
		d.useName(&command)
	}
	r.process, err = command.Start()
	return err
}

// awaitReadNode waits until a node is healthy, and marks it as live.
func (d *drill) awaitReadNode(ctx context.Context, r *readNode) error {
	err := r.process.Await(ctx, patience, func(ctx context.Context) error {
		h, err := r.health(ctx)
		if err == nil && h.Status != "healthy" {
			err = fmt.Errorf("%s is %s", r.name, h.Status)
		}
		return err
	})
	if err == nil {
		r.lifecycle.Add(1)
	}
	return err
}

// isLive reports whether the node has to serve every request.
func (r *readNode) isLive() bool { return r.lifecycle.Load()%2 == 1 }

// kill marks the node as not live, and then kills it.
func (r *readNode) kill() {
	r.lifecycle.Add(1)
	r.process.Kill()
}

// cutOff silently drops the node's traffic to the database, as a broken switch does.
func (r *readNode) cutOff() error {
	r.cut = true
	return r.relay.Set(relay.Silent)
}

// reconnect undoes cutOff.
func (r *readNode) reconnect() error {
	r.cut = false
	return r.relay.Set(relay.None)
}

// stop ends everything, the nodes before the servers they depend on.
func (d *drill) stop() {
	for _, r := range d.readNodes {
		if r.process != nil {
			r.process.Kill()
		}
		if r.relay != nil {
			r.relay.Close()
		}
	}
	for _, p := range []*process.Process{d.publisher, d.redis} {
		if p != nil {
			p.Stop()
		}
	}
	if d.between != nil {
		d.between.Close()
	}
	d.cluster.stop()
}
