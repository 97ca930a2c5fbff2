package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/net/netutil"
	"golang.org/x/sync/errgroup"

	"github.com/assaydata/assay/internal/metrics"
	"github.com/assaydata/assay/internal/store"
)

// adminConfig is where those who run the server watch it.
type adminConfig struct {
	addr   string // empty: nowhere
	expose bool   // the address may be one that other machines reach
}

func (c *adminConfig) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	parsedFlag(flags, "admin-addr", textFlag, "",
		"`HOST:PORT` for /metrics, /health and /debug/pprof/, such as 127.0.0.1:9090 (default: none of them)", c.setAddr)
	flags.BoolVar(&c.expose, "admin-expose", false,
		"let --admin-addr be an address that other machines reach, for /metrics and /health without /debug/pprof/")
}

func (c *adminConfig) setAddr(text string) error {
	if text == "" {
		c.addr = ""
		return nil
	}
	if err := checkHostPort(text, "127.0.0.1:9090"); err != nil {
		return err
	}
	c.addr = text
	return nil
}

// loopback reports whether only this machine reaches the address.
func (c *adminConfig) loopback() bool {
	host, _, _ := net.SplitHostPort(c.addr) // it was checked
	return isLoopback(host)
}

// check refuses an address that other machines reach, unless the operator has said so: metrics tell a competitor how
// busy the server is and what it serves.
func (c *adminConfig) check() error {
	switch {
	case c.addr == "" && c.expose:
		return usagef("--admin-expose needs --admin-addr")
	case c.addr != "" && !c.loopback() && !c.expose:
		return usagef("other machines reach --admin-addr %s: use a loopback address such as 127.0.0.1:9090, "+
			"or add --admin-expose", c.addr)
	}
	return nil
}

// listenAdmin takes the port of --admin-addr.
func (v *service) listenAdmin(ctx context.Context) (err error) {
	admin := &v.config.admin
	if err := admin.check(); err != nil || admin.addr == "" {
		return err
	}
	if v.admin, err = (&net.ListenConfig{}).Listen(ctx, "tcp", admin.addr); err != nil {
		return fmt.Errorf("listen on --admin-addr %s: %w", admin.addr, err)
	}
	v.log.Info("metrics are served", "address", v.admin.Addr().String(), "profiles", admin.loopback())
	return nil
}

// Limits of the connections of --admin-addr. A profile may take as long as it is asked to. More connections than these
// wait to be accepted, so that they take no descriptors from readers and the database.
const (
	adminConnections   = 32
	adminHeaderTimeout = 5 * time.Second
	adminIdleTimeout   = 2 * time.Minute
)

// serveAdmin serves the metrics until the context ends. It is there before the database is.
func (n *node) serveAdmin(ctx context.Context) error {
	if n.admin == nil {
		return nil
	}
	server := &http.Server{
		Handler:           metrics.Handler(metrics.NewRegistry(n.metrics()), n.server, n.config.admin.loopback(), n.log),
		ReadHeaderTimeout: adminHeaderTimeout, IdleTimeout: adminIdleTimeout,
		ErrorLog: slog.NewLogLogger(n.log.Handler(), slog.LevelWarn),
	}
	var group errgroup.Group
	group.Go(func() error {
		<-ctx.Done()
		return server.Close() // a scrape in flight is no loss
	})
	group.Go(func() error {
		if err := server.Serve(netutil.LimitListener(n.admin, adminConnections)); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve --admin-addr: %w", err)
		}
		return nil
	})
	return group.Wait()
}

// metrics is what the metrics of this node come from.
func (n *node) metrics() *metrics.Node {
	version := newVersion()
	folder := ""
	if location := n.config.location; !store.IsPostgres(location.address()) {
		folder = location.folder()
	}
	var expiry func() time.Time
	if n.certs != nil {
		expiry = n.certs.Expiry
	}
	return &metrics.Node{
		CertificateExpiry: expiry,
		Release:           version.Release, Commit: version.commit(), Go: version.Go, Now: n.now, Log: n.log, Lines: n.logs,
		Server: n.server, Status: n.status, Hub: n.hub, API: n.api, Snapshots: n.follower.Holder, Behind: n.behind,
		Limits: n.limits, Publisher: n.publisher, Alerts: n.alerts, Keys: n.keyring, Accounts: n.accounts,
		Witnesses: len(n.config.node.witnesses), Folder: folder,
		Databases: func() (db, data *store.DB) {
			if !n.opened.Load() {
				return nil, nil
			}
			return n.store, n.data
		},
	}
}
