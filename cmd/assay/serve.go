package main

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/certs"
	"github.com/assaydata/assay/internal/files"
	"github.com/assaydata/assay/internal/limit/sharedlimit"
	"github.com/assaydata/assay/internal/linelog"
	"github.com/assaydata/assay/internal/publish"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/tracing"
)

func newServeCommand(s *streams) *cobra.Command {
	var config serverConfig
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Publish and serve the data of a database",
		Long: `Serve the API and the dashboard, and publish each hour and each day when it
ends. To publish imported history, run assay publish after importing all of it.
Logs go to standard error or --log-file, one JSON object per line, or text with
--log-format text. On an interrupt, requests in flight finish first; a second
interrupt stops immediately. SIGHUP opens the log file again and reads the
configuration file again: limits, trusted proxies and what is logged change
without a restart.

With --tls-cert and --tls-key, or --acme-domain, the server speaks HTTPS itself,
with HTTP/2. The files are read again when they change and at SIGHUP.

Several nodes can share the work: --role publish publishes and serves only its
state; --role read serves without publishing. Both wait for a database that is
down when they start. A node whose database goes down later serves what it has
in memory. The state of a node is in /health, /livez and /readyz. With --drain,
an interrupt first turns /health and /readyz to 503 for that time, so that load
balancers stop sending requests. With --store-read, market data is read from a
replica, while keys and accounts stay at --store. See docs/operate.md for
running several nodes.`,
		Example: `  assay serve --dir data --addr 0.0.0.0:8080
  assay serve --addr 0.0.0.0:443 --redirect-addr 0.0.0.0:80 \
    --acme-domain data.example.com
  assay serve --role read --store postgres://assay@db/assay --drain 10s
  assay serve --config /etc/assay.toml`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			config.again = readAgain(cmd, registerServe)
			return serve(cmd.Context(), config, s)
		},
	}
	registerServe(&config, cmd)
	return cmd
}

func registerServe(config *serverConfig, cmd *cobra.Command) {
	config.register(cmd, defaultFolder)
	config.node.horizon = publish.DefaultHorizon
	config.node.register(cmd)
}

func serve(ctx context.Context, config serverConfig, s *streams) error {
	if err := config.node.check(config.location); err != nil {
		return err
	}
	service, err := openService(ctx, config, wallTime, s.err)
	if err != nil {
		return err
	}
	defer service.close()
	if config.node.role.Publishes() {
		service.parts = append(service.parts, service.warnUnpublished)
	}
	return service.run(ctx, func(address string) {
		s.say("Assay %s %s %s at %s://%s", assay.Release(), config.node.verb(), config.location, config.tls.scheme(), address)
	})
}

// service is everything a serving process runs. This file and node.go put it together, in start-up order.
type service struct {
	config    serverConfig
	now       func() time.Time
	hangups   chan os.Signal
	logFile   *logFile // nil: the log goes to standard error
	logs      *linelog.Writer
	level     slog.LevelVar
	log       *slog.Logger
	certs     *certs.Server // nil if the server does not end TLS itself
	listener  net.Listener
	redirect  net.Listener // nil without --redirect-addr
	admin     net.Listener // nil without --admin-addr
	store     *store.DB    // nil until it is open
	data      *store.DB    // what market data is read from: the store, or a replica of it
	opened    atomic.Bool
	tracer    *tracing.Tracer               // nil without --traces
	limits    *sharedlimit.Redis            // nil if this node counts limits alone
	publisher *publish.Publisher            // nil on a node that only reads
	parts     []func(context.Context) error // loops that run next to the server
}

// servingGC is how far the heap may grow before a collection, in percent of the live heap. A server's heap is
// long-lived and it makes little garbage: collecting somewhat more often than Go's default saves about a tenth of the
// memory, at no measurable cost. GOGC in the environment overrides it.
const servingGC = 60

// openService listens first, so that a port in use is reported before any work is done. The store is opened when the
// service runs, because that may take a while: for the database, or for its tables to be upgraded.
func openService(ctx context.Context, config serverConfig, now func() time.Time, logs io.Writer) (*service, error) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(servingGC)
	}
	signal.Ignore(syscall.SIGPIPE) // a log whose reader has ended must not end the server
	v := &service{config: config, now: now, hangups: watchHangups()}
	var err error
	if v.logFile, err = openLogFile(config.logFile); err != nil {
		return nil, fmt.Errorf("open --log-file: %w", err)
	}
	if v.logFile != nil {
		logs = v.logFile
	}
	v.logs = newLines(logs, now, config.logFormat)
	v.level.Set(config.logLevel)
	v.log = newLog(v.logs, &v.level, config.logFormat)
	if err := v.openCertificates(); err != nil {
		v.close()
		return nil, err
	}
	if err := v.listen(ctx); err != nil {
		v.close()
		return nil, err
	}
	if err := v.listenRedirect(ctx); err != nil {
		v.close()
		return nil, err
	}
	if err := v.listenAdmin(ctx); err != nil {
		v.close()
		return nil, err
	}
	v.warnReadable()
	if err := v.openTraces(ctx); err != nil {
		v.close()
		return nil, err
	}
	if config.node.role.Reads() {
		if err := v.openLimits(ctx); err != nil {
			v.close()
			return nil, err
		}
	}
	if config.node.role.Publishes() {
		key, err := readSigningKey(config.location.folder())
		if err != nil {
			v.close()
			return nil, err
		}
		v.publisher = &publish.Publisher{
			Store: v.store, Key: key, ReadKey: func() (ed25519.PrivateKey, error) {
				return readSigningKey(config.location.folder())
			},
			Now: now, Log: v.log, Lead: publish.DefaultLead, Horizon: config.node.horizon,
		}
	}
	return v, nil
}

// listen takes the port, and warns if readers have to send keys and passwords in the clear.
func (v *service) listen(ctx context.Context) (err error) {
	if v.listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", v.config.addr); err != nil {
		return fmt.Errorf("listen on --addr %s: %w", v.config.addr, err)
	}
	address := v.listener.Addr().String()
	host, _, _ := net.SplitHostPort(address) // a listener's address has a port
	if v.certs == nil && len(v.config.trustedProxies) == 0 && !isLoopback(host) {
		v.log.Warn("keys, passwords and cookies cross the network in the clear: give the server a certificate with "+
			"--tls-cert or --acme-domain, or put a proxy that terminates TLS in front and name it in --trusted-proxies",
			"address", address)
	}
	return nil
}

// warnReadable warns if every user of the machine can read the database's folder or a file in it. assay makes both so
// that only their owner can, but the folder may have been there before, and releases before 0.6.0 left it to the umask.
func (v *service) warnReadable() {
	paths := v.config.location.paths()
	for _, file := range []string{v.config.signIn.secretKeyFile, v.config.tls.key} {
		if file != "" {
			paths = append(paths, file)
		}
	}
	if readable := files.ReadableByAll(paths...); len(readable) > 0 {
		v.log.Warn("every user of this machine can read the database's folder or files in it: run the command",
			"command", files.MakePrivate(readable))
	}
}

// open opens the store.
func (v *service) open(ctx context.Context) error {
	if v.store == nil {
		db, err := v.openStore(ctx)
		if err != nil {
			return err
		}
		db.Now = v.now
		v.store = db
	}
	data, err := v.openData(ctx)
	if err != nil {
		return err
	}
	v.data = data
	v.opened.Store(true)
	return nil
}

// openStore opens the database, and creates or upgrades it if it may.
func (v *service) openStore(ctx context.Context) (*store.DB, error) {
	location := v.config.location
	db, err := store.Open(ctx, location.address())
	schema, other := errors.AsType[*store.SchemaError](err)
	switch {
	case err == nil:
		return db, nil
	case errors.Is(err, store.ErrNoDatabase) && v.config.node.init:
		return createDatabase(ctx, location)
	case other && schema.Older() && v.config.node.upgrade:
		err := store.Upgrade(ctx, location.address(), "", func(migration string, number, of int) {
			v.log.Info("upgrading the database", "migration", migration, "number", number, "of", of)
		})
		if err != nil {
			return nil, err
		}
		return openDatabase(ctx, location)
	}
	return nil, location.explain(err)
}

// openData opens the replica to read market data from, if there is one.
func (v *service) openData(ctx context.Context) (*store.DB, error) {
	replica := v.config.node.replica
	if replica.store == "" {
		return v.store, nil
	}
	db, err := store.OpenReplica(ctx, replica.store, v.store)
	if err != nil {
		return nil, fmt.Errorf("open --store-read %s: %w", replica, err)
	}
	db.Now = v.now
	return db, nil
}

// openLimits connects to the Redis that counts limits for all nodes, if there is one.
func (v *service) openLimits(ctx context.Context) (err error) {
	if v.config.limits == "" {
		return nil
	}
	if v.limits, err = sharedlimit.Open(ctx, v.config.limits, v.log); err != nil {
		return usagef("invalid value for --limits: %w", err)
	}
	v.parts = append(v.parts, v.limits.Run)
	return nil
}

func (v *service) close() {
	if v.listener != nil {
		_ = v.listener.Close() // already closed if the server has run
	}
	if v.redirect != nil {
		_ = v.redirect.Close() // likewise
	}
	if v.admin != nil {
		_ = v.admin.Close() // likewise
	}
	if v.limits != nil {
		_ = v.limits.Close() // no request is in flight anymore
	}
	if v.data != nil && v.data != v.store {
		if err := v.data.Close(); err != nil {
			v.log.Error("close the read replica", "error", err)
		}
	}
	if v.store != nil {
		if err := v.store.Close(); err != nil {
			v.log.Error("close the store", "error", err)
		}
	}
	_ = v.logs.Close()
}

// warnUnpublished logs that imported history is not published yet.
func (v *service) warnUnpublished(ctx context.Context) error {
	hint, err := unpublishedHint(ctx, v.store, v.config.location)
	if err == nil && hint != "" {
		v.log.Warn(hint)
	}
	return nil // a hint that cannot be computed is no reason to stop
}
