//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
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

// patience is how long anything may take to come back. It is generous: what is waited for is that it comes back at all.
const patience = 3 * time.Minute

// drill is everything that runs: the cluster below the store, Redis, and the nodes of the program.
type drill struct {
	*cluster
	options   options
	key       string // a Full key
	redisPort int
	redis     *process.Process
	publisher *process.Process
	health    int       // port of the publisher
	due       time.Time // the first minute that the publisher, as it was started last, has to print
	readers   []*reader
	begun     time.Time // of the history
	log       tally
	balanced  atomic.Bool // the load goes through a balancer
	starts    []time.Time // of read nodes
}

// reader is a node that reads. Its store is behind a relay.
type reader struct {
	name    string
	port    int
	relay   *relay.Relay
	process *process.Process
	// life is odd while the node has to answer every request. It is raised with each loss and each return, so that a request
	// that was under way in between can be told.
	life atomic.Int64
	up   atomic.Bool // by its last check, for the balancer
	cut  bool        // from the store; of the main goroutine
}

func newDrill(c *cluster, o options) *drill {
	d := &drill{cluster: c, options: o, begun: time.Now().UTC().Truncate(24 * time.Hour).Add(-unpublished - published)}
	for i := range readNodes {
		d.readers = append(d.readers, &reader{name: fmt.Sprintf("read%d", i+1)})
	}
	return d
}

// readNodes is how many nodes read.
const readNodes = 3

// start starts everything, with a history to read and to publish.
func (d *drill) start(ctx context.Context) error {
	ports, err := process.SparePorts(2 + readNodes)
	if err != nil {
		return err
	}
	d.redisPort, d.health = ports[0], ports[1]
	if err := d.cluster.start(ctx); err != nil {
		return err
	}
	if err := d.startRedis(ctx); err != nil {
		return err
	}
	if err := d.prepare(ctx); err != nil {
		return err
	}
	if err := d.startPublisher(); err != nil {
		return err
	}
	for i, r := range d.readers {
		r.port = ports[2+i]
		if r.relay, err = relay.Open(process.Loopback(d.Proxy)); err != nil {
			return err
		}
		if err := d.startReader(r); err != nil {
			return err
		}
	}
	for _, r := range d.readers {
		if err := d.awaitReader(ctx, r); err != nil {
			return err
		}
	}
	_, err = d.awaitPrint(ctx, time.Time{})
	return err
}

// prepare makes the signing key, a history whose last days are published, and a key to read it with.
func (d *drill) prepare(ctx context.Context) error {
	if err := keepHistory(d.Dir, historyFile(d.begun)); err != nil {
		return err
	}
	for _, line := range []string{
		"signing-key init",
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

// folder has the signing key.
func (d *drill) folder() string { return filepath.Join(d.Dir, "publisher") }

// commandPatience is longer than a command waits for anything by itself.
const commandPatience = time.Minute

// assay runs a command of the program and gives what it prints.
func (d *drill) assay(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, commandPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, d.options.assay, args...)
	cmd.Env = append(os.Environ(), "ASSAY_DIR="+d.folder(), "ASSAY_STORE="+d.url())
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = fmt.Errorf("assay %s: %w: %s", strings.Join(args, " "), err, process.Tail(exit.Stderr))
	}
	return string(out), err
}

// serve starts a node of the program. When it should outlive us it is killed.
func (d *drill) serve(name, store string, port int, args ...string) (*process.Process, error) {
	return process.Command{
		Name: name, Dir: d.Dir, LastWill: syscall.SIGKILL, Program: d.options.assay,
		Env:  []string{"ASSAY_DIR=" + d.folder(), "ASSAY_STORE=" + store},
		Args: append([]string{"serve", "--addr", process.Loopback(port)}, args...),
	}.Start()
}

func (d *drill) startPublisher() (err error) {
	d.due = time.Now().Truncate(time.Minute).Add(time.Minute)
	d.publisher, err = d.serve("publisher", d.url(), d.health, "--role", "publish")
	return err
}

func (d *drill) startRedis(ctx context.Context) (err error) {
	d.redis, err = d.run("redis", "redis-server", "--bind", "127.0.0.1", "--port", fmt.Sprint(d.redisPort), "--save", "", "--appendonly", "no")
	if err != nil {
		return err
	}
	return d.redis.Await(ctx, patience, func(ctx context.Context) error { return answers(ctx, d.redisPort) })
}

// drainTime is some thirty checks of the balancer.
const drainTime = "3s"

func (d *drill) startReader(r *reader) (err error) {
	d.starts = append(d.starts, time.Now())
	store := strings.Replace(d.url(), process.Loopback(d.Proxy), r.relay.Address(), 1)
	r.process, err = d.serve(r.name, store, r.port, "--role", "read", "--drain", drainTime, "--log-level", "warn", "--key-limit", "1000000",
		"--trusted-proxies", "127.0.0.0/8", "--limits", fmt.Sprintf("redis://127.0.0.1:%d", d.redisPort))
	return err
}

// awaitReader waits until a node is well, and has it counted as living.
func (d *drill) awaitReader(ctx context.Context, r *reader) error {
	err := r.process.Await(ctx, patience, func(ctx context.Context) error {
		h, err := r.health(ctx)
		if err == nil && h.Status != "healthy" {
			err = fmt.Errorf("%s is %s", r.name, h.Status)
		}
		return err
	})
	if err == nil {
		r.life.Add(1)
	}
	return err
}

// lives tells whether the node has to answer.
func (r *reader) lives() bool { return r.life.Load()%2 == 1 }

// lose has the node's answers not counted any more, and then ends it.
func (r *reader) lose() {
	r.life.Add(1)
	r.process.Kill()
}

// cutOff takes the store away from the node, as a broken switch does: without a word.
func (r *reader) cutOff() error {
	r.cut = true
	return r.relay.Set(relay.Silent)
}

// reconnect ends what cutOff did.
func (r *reader) reconnect() error {
	r.cut = false
	return r.relay.Set(relay.None)
}

// stop ends what runs, the nodes before what they lean on.
func (d *drill) stop() {
	for _, r := range d.readers {
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
	d.cluster.stop()
}

// client asks nodes. A node that takes longer has failed.
func client() *http.Client {
	return &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 4}}
}
