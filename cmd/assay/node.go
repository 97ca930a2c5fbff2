package main

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"golang.org/x/sync/errgroup"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/account"
	"github.com/assaydata/assay/internal/anchor"
	"github.com/assaydata/assay/internal/api"
	"github.com/assaydata/assay/internal/console"
	"github.com/assaydata/assay/internal/dashboard"
	"github.com/assaydata/assay/internal/hasher"
	"github.com/assaydata/assay/internal/intake"
	"github.com/assaydata/assay/internal/keys"
	"github.com/assaydata/assay/internal/links"
	"github.com/assaydata/assay/internal/live"
	"github.com/assaydata/assay/internal/mcp"
	"github.com/assaydata/assay/internal/notify"
	"github.com/assaydata/assay/internal/personal"
	"github.com/assaydata/assay/internal/publish"
	"github.com/assaydata/assay/internal/push"
	"github.com/assaydata/assay/internal/share"
	"github.com/assaydata/assay/internal/snapshot"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/usage"
	"github.com/assaydata/assay/internal/web"
	"github.com/assaydata/assay/internal/witness"
)

// node is everything that a serving process responds from. It exists before the store is open, so that /health responds
// meanwhile. Other requests need a snapshot, which is loaded last, when all other parts are ready.
type node struct {
	*service
	keyring  *keys.Keyring
	accounts *account.Service
	alerts   *notify.Service
	links    *links.Service
	personal *personal.Service
	intake   *intake.Service
	counter  *usage.Counter
	follower *live.Follower
	status   *web.NodeStatus
	api      *api.API
	server   *web.Server
	hub      *push.Hub
	protect  func() error // prepares the accounts for second factors; nil for a node without a listener
}

// run serves until the context ends. It calls ready with the address once the node has data, or once it knows that it
// has to wait for the database. Until then it responds only to requests about its state.
func (v *service) run(ctx context.Context, ready func(address string)) error {
	n, err := v.newNode()
	if err != nil {
		return err
	}
	defer n.accounts.Hasher.Close()
	if err := v.config.signIn.checkSecretKey(v.config.location); err != nil {
		return err
	}
	n.protect = sync.OnceValue(func() error {
		return v.config.signIn.protect(n.accounts, v.config.location, v.origin(), v.log)
	})
	reportReady := sync.OnceFunc(func() { ready(v.listener.Addr().String()) })
	lasting, stop := context.WithCancel(v.tracer.With(context.WithoutCancel(ctx))) // outlives the signal, to drain
	defer stop()
	group, running := errgroup.WithContext(lasting)
	group.Go(func() error { return n.serveHTTP(running) })
	group.Go(func() error { return n.serveRedirect(running) })
	group.Go(func() error { return n.keepCertificates(running) })
	group.Go(func() error { return n.serveAdmin(running) })
	group.Go(func() error { return releaseIdleMemory(running, n.server.DropIdle, n.api.DropIdle) })
	starting, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(running, cancel)()
	if err := n.start(starting, reportReady); err != nil || starting.Err() != nil {
		stop()
		return errors.Join(err, group.Wait())
	}
	if err := n.store.ReleaseMemory(running); err != nil {
		n.log.Warn("the database keeps the memory of bulk writes", "error", err)
	}
	n.status.CheckDatabase(running)
	for _, part := range n.loops() {
		group.Go(func() error { return part(running) })
	}
	group.Go(func() error {
		n.drain(ctx, running)
		stop()
		return nil
	})
	reportReady()
	n.notify(daemon.SdNotifyReady)
	err = errors.Join(group.Wait(), n.lastFlush(ctx))
	n.lastTraces(ctx)
	return err
}

// newNode creates the parts. None of them has read anything yet.
func (v *service) newNode() (*node, error) {
	n := &node{service: v, keyring: &keys.Keyring{Log: v.log}, counter: usage.New(nil, v.log, v.now)}
	n.counter.KeepDays = v.config.usageDays
	n.accounts = &account.Service{Keys: n.keyring, Now: v.now, Log: v.log, Hasher: hasher.New(v.log)}
	var err error
	if n.alerts, err = n.newAlerts(); err != nil {
		return nil, err
	}
	n.links = &links.Service{Accounts: n.accounts, Now: v.now, Log: v.log}
	n.personal = &personal.Service{IsPage: dashboard.IsPage}
	n.follower = &live.Follower{Holder: &snapshot.Holder{}, Now: v.now, Log: v.log}
	n.status = web.NewNodeStatus(web.StatusConfig{
		Role: v.config.node.role, Ping: v.ping, Behind: n.behind, Now: v.now, Log: v.log,
	})
	n.hub = push.NewHub(v.now)
	n.intake = intake.New(intake.Config{
		Keys: &keys.IngestKeys{Log: v.log}, Writes: v.config.node.role.Publishes(), Draining: n.status.Draining,
		SigningKey: func(ctx context.Context, db *store.DB) (ed25519.PrivateKey, error) {
			return commandSigningKey(ctx, db, v.config.location.folder())
		},
		Folder: os.TempDir(), Traces: v.tracer, Now: v.now, Log: v.log,
	})
	n.api = api.New(api.Config{
		Snapshots: n.follower.Holder, Status: n.status, Limits: v.limits, Program: newVersion().program(), Now: v.now,
		Log: v.log, Session: n.sessionInMemory, WatchSession: n.accounts.WatchSession, Hub: n.hub,
	})
	n.follower.Prepare = n.api.Warm
	n.server, err = n.newServer()
	return n, err
}

// How long a node waits before it tries the database again: at first the shortest time in which a database restarts, at
// last the time in Retry-After.
const (
	firstPause   = 250 * time.Millisecond
	longestPause = 5 * time.Second
)

// start opens the store and reads it. A node of several retries until it succeeds or the context ends, and calls
// waiting when it has to wait.
func (n *node) start(ctx context.Context, waiting func()) error {
	for pause := firstPause; ctx.Err() == nil; pause = min(2*pause, longestPause) {
		err := n.load(ctx)
		if _, wrongKey := errors.AsType[*signingKeyError](err); err == nil || wrongKey || !n.config.node.waits() {
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

// load opens the store if it is not open yet, and reads everything that the node serves from.
func (n *node) load(ctx context.Context) error {
	if !n.opened.Load() {
		if err := n.open(ctx); err != nil {
			return err
		}
	}
	if n.publisher != nil {
		n.publisher.Store = n.store
		n.publisher.Report = func(state publish.State, reason string) {
			n.status.ReportPublishing(web.Publishing{State: string(state), Reason: reason})
		}
		if err := checkSigningKey(ctx, n.store, n.config.location.folder(), n.publisher.Key); err != nil {
			return err
		}
		n.intake.Keys.Store = n.store
		if err := n.intake.Keys.Load(ctx); err != nil {
			return err
		}
		n.intake.Open(n.store)
	}
	if !n.config.node.role.Reads() {
		return nil
	}
	n.keyring.Store, n.accounts.Store, n.counter.Store, n.follower.Store = n.store, n.store, n.store, n.data
	n.alerts.Store, n.links.Store, n.personal.Store = n.store, n.store, n.store
	if err := n.keyring.Load(ctx); err != nil {
		return err
	}
	if n.protect != nil { // after the database was opened: a node that only reads creates nothing before that
		if err := n.protect(); err != nil {
			return err
		}
	}
	if err := n.accounts.Load(ctx); err != nil {
		return err
	}
	if err := n.links.Load(ctx); err != nil {
		return err
	}
	err := n.follower.Load(ctx)
	debug.FreeOSMemory() // reading everything takes far more memory than keeping it
	return err
}

// loops run next to the server, depending on the node's role.
func (n *node) loops() []func(context.Context) error {
	loops := append(n.parts, n.status.Watch, n.watchdog, n.reloads)
	if n.config.node.role.Publishes() {
		collector := &witness.Collector{Store: n.store, Peers: n.config.node.witnesses, Log: n.log}
		loops = append(loops, n.publisher.Run, collector.Run, n.intake.Keys.Run)
		if folder := n.config.node.watch; folder != "" {
			loops = append(loops, func(ctx context.Context) error { return n.intake.Watch(ctx, folder) })
		}
		if url := n.config.node.anchor; url != "" {
			keeper := &anchor.Keeper{Store: n.store, URL: url, Now: n.now, Log: n.log}
			loops = append(loops, keeper.Run)
		}
	}
	if n.config.node.role.Reads() {
		loops = append(loops, n.follower.Run, n.keyring.Run, n.accounts.Run, n.accounts.RunUse, n.counter.Run,
			n.links.Run, n.alerts.Run, n.api.RunStreams, n.hub.Run)
	}
	return loops
}

// drain waits for the signal, and then for the time that load balancers need to notice. Everything keeps running
// meanwhile.
func (n *node) drain(ctx, running context.Context) {
	select {
	case <-ctx.Done():
	case <-running.Done():
		return
	}
	n.status.Drain()
	n.notify(daemon.SdNotifyStopping)
	if n.config.node.drain > 0 {
		n.log.Info("draining", "for", n.config.node.drain.String())
	}
	select {
	case <-time.After(n.config.node.drain):
	case <-running.Done():
	}
}

// newServer puts the routes together.
func (n *node) newServer() (*web.Server, error) {
	config := &n.config
	provider, err := config.signIn.provider(n.now, n.log)
	if err != nil {
		return nil, err
	}
	pages, err := dashboard.New()
	if err != nil {
		return nil, fmt.Errorf("read the dashboard: %w", err)
	}
	private := console.New(console.Config{
		API: n.api, Accounts: n.accounts, Usage: n.counter, Alerts: n.alerts, Links: n.links,
		Personal: n.personal, Limits: n.limits, OIDC: provider, OIDCName: config.signIn.name,
		Determinations: n.determinations, ValueRecords: n.valueRecords,
		Log: func() console.Log { return n.data },
	})
	shared := share.New(share.Config{API: n.api, Limits: n.limits, Open: n.links.Open})
	agents := mcp.New(mcp.Config{Release: assay.Release(), Log: n.log, CheckedBy: "the server"})
	server, err := web.New(web.Config{
		Settings: config.settings(n.log), Now: n.now, Requests: n.logs, LogText: config.logFormat == logText,
		Log: n.log, CORSOrigins: config.corsOrigins,
		PublicURL: config.signIn.publicURL, Limits: n.limits, Status: n.status,
		Pages:        share.Announce(pages),
		StandardHTTP: config.standardHTTP, Traces: n.tracer,
		Data: n.api.Data, Key: n.keyring.Lookup, WatchKey: n.keyring.Watch, Hub: n.hub, Count: n.counter.Count,
	}, n.api.Routes(), private.Routes(), private.RecordRoutes(), private.LogRoutes(), agents.Routes(),
		mcp.DocumentRoutes(), shared.Routes(), n.intake.Routes())
	if err != nil {
		return nil, usagef("invalid value for --cors-origins: %w", err)
	}
	agents.Serve(server)
	return server, nil
}

// behind is how old the snapshot is; nothing before there is one.
func (n *node) behind() time.Duration {
	if n.follower.Holder.Load() == nil {
		return 0
	}
	return n.follower.Behind()
}

// sessionInMemory returns the caller of a session without waiting for the database.
func (n *node) sessionInMemory(token string) (assay.Caller, bool) {
	session, ok := n.accounts.IdentifyInMemory(token)
	return session.Caller, ok
}

// errNotOpen is why a node that waits for its database is not healthy.
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

func (v *service) determinations(
	ctx context.Context, line assay.Line, grain assay.Grain, at int64,
) ([]assay.Determination, error) {
	return v.data.Determinations(ctx, line, grain, at)
}

func (v *service) valueRecords(ctx context.Context, index, series string, day int64) ([]assay.ValueRecord, error) {
	return v.data.ValueRecordsOf(ctx, index, series, day)
}

// flushTimeout is how long writing the last uses may take.
const flushTimeout = 10 * time.Second

// lastFlush writes the usage and the last uses of sessions since the last flush, once no request is in flight anymore.
func (n *node) lastFlush(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
	defer cancel()
	if err := n.counter.Flush(ctx); err != nil {
		return fmt.Errorf("write the usage: %w", err)
	}
	return n.accounts.FlushUse(ctx)
}
