package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/account"
	"github.com/assaydata/assay/internal/dashboard"
	"github.com/assaydata/assay/internal/httpapi"
	"github.com/assaydata/assay/internal/keys"
	"github.com/assaydata/assay/internal/live"
	"github.com/assaydata/assay/internal/snapshot"
	"github.com/assaydata/assay/internal/usage"
)

// node is what a process knows and answers from. It is made before the store is open, so that /health can be asked meanwhile.
// Requests reach the other parts once there is a snapshot, and that is the last thing that is loaded.
type node struct {
	*service
	keyring  *keys.Keyring
	people   *account.Service
	counter  *usage.Counter
	follower *live.Follower
	api      *httpapi.Server
}

// run serves until the context ends. Ready hears the address once requests are answered, or once it is known that the data
// will have to be waited for.
func (v *service) run(ctx context.Context, ready func(address string)) error {
	n, err := v.newNode()
	if err != nil {
		return err
	}
	tell := sync.OnceFunc(func() { ready(v.listener.Addr().String()) })
	lasting, stop := context.WithCancel(context.WithoutCancel(ctx)) // beyond the signal: what drains still serves
	defer stop()
	group, running := errgroup.WithContext(lasting)
	serve := func() error { return n.api.Serve(running, v.listener) }
	if v.config.node.waits() {
		group.Go(serve)
	}
	starting, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(running, cancel)()
	if err := n.start(starting, tell); err != nil || starting.Err() != nil {
		stop()
		return errors.Join(err, group.Wait())
	}
	if !v.config.node.waits() {
		group.Go(serve)
	}
	for _, part := range n.loops() {
		group.Go(func() error { return part(running) })
	}
	group.Go(func() error {
		n.drain(ctx, running)
		stop()
		return nil
	})
	tell()
	return errors.Join(group.Wait(), n.lastFlush(ctx))
}

// newNode puts the parts together, none of which has read anything yet.
func (v *service) newNode() (*node, error) {
	n := &node{service: v, keyring: &keys.Keyring{Log: v.log}, counter: usage.New(nil, v.log)}
	n.people = &account.Service{Keys: n.keyring, Now: v.now, Log: v.log}
	n.follower = &live.Follower{Holder: &snapshot.Holder{}, Log: v.log}
	var err error
	if n.api, err = n.newAPI(); err != nil {
		return nil, err
	}
	n.follower.Prepare = n.api.Warm
	return n, nil
}

// How long a node waits before it tries the database again: at first as long as a restart of it takes at least, at last as long
// as Retry-After has told its callers.
const (
	firstPause   = 250 * time.Millisecond
	longestPause = 5 * time.Second
)

// start opens the store and reads it. A node of several tries until it has succeeded or the context has ended, and says that it
// is waiting.
func (n *node) start(ctx context.Context, waiting func()) error {
	for pause := firstPause; ctx.Err() == nil; pause = min(2*pause, longestPause) {
		err := n.load(ctx)
		if err == nil || !n.config.node.waits() {
			return err
		}
		n.log.Warn("waiting for the database", "error", err, "again_in", pause.String())
		waiting()
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	return nil
}

// load opens the store if it is not open, and reads what the node serves from.
func (n *node) load(ctx context.Context) error {
	if !n.opened.Load() {
		if err := n.open(ctx); err != nil {
			return err
		}
	}
	if n.publisher != nil {
		n.publisher.Store = n.store
	}
	if !n.config.node.role.Reads() {
		return nil
	}
	n.keyring.Store, n.people.Store, n.counter.Store, n.follower.Store = n.store, n.store, n.store, n.data
	if err := n.keyring.Load(ctx); err != nil {
		return err
	}
	if err := n.people.Load(ctx); err != nil {
		return err
	}
	return n.follower.Load(ctx)
}

// loops are what runs beside the server, by the node's role.
func (n *node) loops() []func(context.Context) error {
	loops := append(n.parts, n.api.Watch)
	if n.config.node.role.Publishes() {
		loops = append(loops, n.publisher.Run)
	}
	if n.config.node.role.Reads() {
		loops = append(loops, n.follower.Run, n.keyring.Run, n.people.Run, n.counter.Run)
	}
	return loops
}

// drain waits for the signal, and then as long as balancers are given to notice. Meanwhile everything goes on.
func (n *node) drain(ctx, running context.Context) {
	select {
	case <-ctx.Done():
	case <-running.Done():
		return
	}
	n.api.Drain()
	if n.config.node.drain > 0 {
		n.log.Info("draining", "for", n.config.node.drain.String())
	}
	select {
	case <-time.After(n.config.node.drain):
	case <-running.Done():
	}
}

func (n *node) newAPI() (*httpapi.Server, error) {
	config := &n.config
	var requests io.Writer
	if config.logLevel <= slog.LevelInfo {
		requests = n.logs
	}
	provider, err := config.signIn.provider(n.now, n.log)
	if err != nil {
		return nil, err
	}
	pages, err := dashboard.New()
	if err != nil {
		return nil, fmt.Errorf("read the dashboard: %w", err)
	}
	api, err := httpapi.New(httpapi.Config{
		Snapshots: n.follower.Holder, Keys: n.keyring, Ping: n.ping, Now: n.now,
		Role: config.node.role, Behind: n.follower.Behind,
		Requests: requests, Log: n.log,
		Determinations: n.determinations, Version: assay.Release(), TrustedProxies: config.trustedProxies,
		CORSOrigins: config.corsOrigins, KeyLimit: config.keyLimit, Limits: n.limits,
		Accounts: n.people, Usage: n.counter, OIDC: provider, OIDCName: config.signIn.name, PublicURL: config.signIn.publicURL, Dashboard: pages,
	})
	if err != nil {
		return nil, usagef("invalid value for --cors-origins: %w", err)
	}
	return api, nil
}

// errNotOpen is why a node that waits for its database is not well.
var errNotOpen = errors.New("the database has not been opened yet")

func (v *service) ping(ctx context.Context) error {
	if !v.opened.Load() {
		return errNotOpen
	}
	if err := v.data.Ping(ctx); err != nil || v.data == v.store {
		return err
	}
	return v.store.Ping(ctx)
}

func (v *service) determinations(ctx context.Context, line assay.Line, grain assay.Grain, at int64) ([]assay.Determination, error) {
	return v.data.Determinations(ctx, line, grain, at)
}

// flushTimeout is how long the last counts may take to be written.
const flushTimeout = 10 * time.Second

// lastFlush writes what was counted since the last time, once no request is under way any more.
func (n *node) lastFlush(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
	defer cancel()
	if err := n.counter.Flush(ctx); err != nil {
		return fmt.Errorf("write the usage: %w", err)
	}
	return nil
}
