//go:build linux

package main

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/template"
	"time"

	"github.com/assaydata/assay/tools/process"
)

// cluster is the database under test. The templates of the configuration use its fields.
type cluster struct {
	Dir     string
	Bin     string // the folder of PostgreSQL's programs
	Etcd    int    // ports
	Peer    int
	Proxy   int
	Nodes   []*node
	as      *syscall.Credential
	etcd    *process.Process
	haproxy *process.Process
}

// node is a PostgreSQL server with its Patroni.
type node struct {
	*cluster
	Name    string
	SQL     int
	REST    int
	patroni *process.Process
	lost    bool
}

//go:embed patroni.yml haproxy.cfg
var texts embed.FS

func newCluster() (*cluster, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil || len(found) == 0 {
		return nil, errors.New("PostgreSQL not found; run scripts/need postgres etcd haproxy patroni")
	}
	as, err := process.Unprivileged()
	if err != nil {
		return nil, err
	}
	ports, err := process.SparePorts(9)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "assay-drill")
	if err != nil {
		return nil, err
	}
	c := &cluster{Dir: dir, Bin: slices.Max(found), Etcd: ports[0], Peer: ports[1], Proxy: ports[2], as: as}
	for i := range 3 {
		c.Nodes = append(c.Nodes, &node{cluster: c, Name: fmt.Sprintf("node%d", i+1), SQL: ports[3+2*i], REST: ports[4+2*i]})
	}
	if as != nil {
		err = os.Chown(dir, int(as.Uid), int(as.Gid))
	}
	return c, err
}

// url is the address of the current primary.
func (c *cluster) url() string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable&connect_timeout=2", c.Proxy)
}

// start starts everything and waits for a primary with two followers, one of them synchronous.
func (c *cluster) start(ctx context.Context) error {
	client, peer := fmt.Sprintf("http://127.0.0.1:%d", c.Etcd), fmt.Sprintf("http://127.0.0.1:%d", c.Peer)
	var err error
	c.etcd, err = c.run("etcd", "etcd", "--data-dir", filepath.Join(c.Dir, "etcd"),
		"--listen-client-urls", client, "--advertise-client-urls", client, "--listen-peer-urls", peer,
		"--initial-advertise-peer-urls", peer, "--initial-cluster", "default="+peer)
	if err != nil {
		return err
	}
	for _, n := range c.Nodes {
		if err := n.start(); err != nil {
			return err
		}
	}
	config, err := c.write("haproxy.cfg", "haproxy.cfg", c)
	if err != nil {
		return err
	}
	if c.haproxy, err = c.run("haproxy", "/usr/sbin/haproxy", "-db", "-f", config); err != nil {
		return err
	}
	_, err = c.awaitPrimary(ctx, 3)
	return err
}

// run starts a server of the cluster, which ends in order if the drill dies.
func (c *cluster) run(name, program string, args ...string) (*process.Process, error) {
	return process.Command{
		Name:        name,
		Dir:         c.Dir,
		As:          c.as,
		Env:         []string{"HOME=" + c.Dir},
		DeathSignal: syscall.SIGTERM,
		Program:     program,
		Args:        args,
	}.Start()
}

func (n *node) start() error {
	config, err := n.write("patroni.yml", n.Name+".yml", n)
	if err != nil {
		return err
	}
	n.patroni, err = n.run(n.Name, "patroni", config)
	return err
}

// write fills in a template and returns the path of the result.
func (c *cluster) write(text, name string, data any) (string, error) {
	t, err := template.ParseFS(texts, text)
	if err != nil {
		return "", err
	}
	var filled bytes.Buffer
	if err := t.Execute(&filled, data); err != nil {
		return "", err
	}
	file := filepath.Join(c.Dir, name)
	return file, os.WriteFile(file, filled.Bytes(), 0o644)
}

// awaitPrimary waits until primary finds one.
func (c *cluster) awaitPrimary(ctx context.Context, members int) (found *node, err error) {
	what := fmt.Sprintf("%d running nodes, one of them primary and one synchronous", members)
	err = process.Await(ctx, what, 2*time.Minute, func(ctx context.Context) (err error) {
		found, err = c.primary(ctx, members)
		return err
	})
	return found, err
}

// primary finds the primary of a cluster that has this many running members, a synchronous one among them.
func (c *cluster) primary(ctx context.Context, members int) (*node, error) {
	last := errors.New("no node responds")
	for _, n := range c.Nodes {
		found, err := n.view(ctx, members)
		if err == nil {
			return found, nil
		}
		last = err
	}
	return nil, last
}

// view is the primary as this node's Patroni sees it.
func (n *node) view(ctx context.Context, members int) (*node, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/cluster", n.REST),
		nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var seen struct {
		Members []struct{ Name, Role, State string }
	}
	if err := json.NewDecoder(response.Body).Decode(&seen); err != nil {
		return nil, err
	}
	var primary *node
	running, synchronous := 0, false
	for _, m := range seen.Members {
		if m.State != "running" && m.State != "streaming" {
			continue
		}
		running++
		synchronous = synchronous || m.Role == "sync_standby"
		if m.Role == "leader" {
			primary = n.Nodes[slices.IndexFunc(n.Nodes, func(other *node) bool { return other.Name == m.Name })]
		}
	}
	if primary == nil || !synchronous || running < members {
		return nil, fmt.Errorf("%s sees %+v", n.Name, seen.Members)
	}
	return primary, nil
}

// kill kills the node's Patroni and its PostgreSQL, so that neither can shut down in order.
func (n *node) kill() error {
	pid, err := n.postmaster()
	if err != nil {
		return err
	}
	n.patroni.Kill()
	n.lost = true
	return syscall.Kill(pid, syscall.SIGKILL)
}

func (n *node) postmaster() (int, error) {
	text, err := os.ReadFile(filepath.Join(n.Dir, n.Name, "postmaster.pid"))
	if err != nil {
		return 0, err
	}
	first, _, _ := strings.Cut(string(text), "\n")
	return strconv.Atoi(first)
}

// stop ends everything, the nodes before the servers they depend on.
func (c *cluster) stop() {
	for _, n := range c.Nodes {
		n.stop()
	}
	for _, p := range []*process.Process{c.haproxy, c.etcd} {
		if p != nil {
			p.Stop()
		}
	}
}

// stop ends Patroni, which stops its PostgreSQL unless it is still setting it up. That of a killed node has ended
// already.
func (n *node) stop() {
	if n.patroni == nil || n.lost {
		return
	}
	n.patroni.Stop()
	if pid, err := n.postmaster(); err == nil {
		syscall.Kill(pid, syscall.SIGQUIT)
	}
}
