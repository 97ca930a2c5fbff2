package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/assaydata/assay/internal/limit/sharedlimit"
	"github.com/assaydata/assay/internal/publish"
	"github.com/assaydata/assay/internal/store"
)

var serveCommand = &command{
	name: "serve", arguments: "[flags]", summary: "publish and serve the data of a folder",
	details: `Serves the API, and publishes each hour and each day as it ends. History that was imported is published
by assay publish, once all of it has been loaded. Logs go to standard error, one JSON object a line.
An interrupt lets requests in flight finish; a second one ends at once.

Several processes may share the work: --role publish publishes and answers nothing but /health, --role read serves
without publishing. Both wait for a database that is away when they start, and serve what they know when it
goes away later. With --drain, an interrupt first turns /health to 503 for so long, so that balancers send nobody
here any more. With --store-read the data are read from a replica; keys and accounts are where they are written, at
--store. docs/operate.md tells how nodes are put together.`,
	run: runServe,
}

func runServe(ctx context.Context, c *command, args []string, s streams) error {
	var config serverConfig
	flags := newFlags(c, s)
	config.register(flags)
	config.node.register(flags)
	config.at.register(flags, "assay-data")
	if err := parse(flags, args); err != nil {
		return err
	}
	if err := noArguments(flags); err != nil {
		return err
	}
	if err := config.node.check(config.at); err != nil {
		return err
	}
	service, err := openService(ctx, config, time.Now, s.err)
	if err != nil {
		return err
	}
	defer service.close()
	if config.node.role.Publishes() {
		service.parts = append(service.parts, service.warnUnpublished)
	}
	return service.run(ctx, func(address string) {
		fmt.Fprintf(s.out, "Assay %s %s %s at http://%s\n", version, config.node.verb(), config.at, address)
	})
}

// service is everything a serving process runs. It is put together here and in node.go, in the order things start.
type service struct {
	config    serverConfig
	now       func() time.Time
	logs      *logWriter
	log       *slog.Logger
	listener  net.Listener
	store     *store.DB // nil until it is open
	data      *store.DB // what the data are read from: the store, or a replica of it
	opened    atomic.Bool
	limits    *sharedlimit.Redis            // nil when this node counts by itself
	publisher *publish.Publisher            // nil on a node that only reads
	parts     []func(context.Context) error // what runs beside the server
}

// servingGC is how far the heap may grow before it is collected, in percent of what lives. What a server holds lives long, and
// it makes little garbage beside it: collecting somewhat more often saves about a tenth of the memory, and costs nothing that
// could be told from the noise. GOGC in the environment overrides it.
const servingGC = 70

// openService takes the address first, so that a taken port is known before any work is done, and then opens the store. A node
// of several opens it when it runs, because there it may have to wait for it.
func openService(ctx context.Context, config serverConfig, now func() time.Time, logs io.Writer) (*service, error) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(servingGC)
	}
	v := &service{config: config, now: now, logs: newLogWriter(logs)}
	v.log = newLog(v.logs, config.logLevel)
	var err error
	if v.listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", config.addr); err != nil {
		v.close()
		return nil, fmt.Errorf("listen on --addr %s: %w", config.addr, err)
	}
	if !config.node.waits() {
		if err := v.open(ctx); err != nil {
			v.close()
			return nil, err
		}
	}
	if config.node.role.Reads() {
		if err := v.openLimits(ctx); err != nil {
			v.close()
			return nil, err
		}
	}
	if config.node.role.Publishes() {
		key, err := signingKey(config.at.folder())
		if err != nil {
			v.close()
			return nil, err
		}
		v.publisher = &publish.Publisher{Store: v.store, Key: key, Now: now, Log: v.log}
	}
	return v, nil
}

// open opens the store. A node that only reads makes no database: the one that it is to serve is elsewhere, or not there yet.
func (v *service) open(ctx context.Context) error {
	opening := openStore
	if !v.config.node.role.Publishes() {
		opening = openExisting
	}
	if v.store == nil {
		db, err := opening(ctx, v.config.at)
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

// openData opens the replica that the data are read from, if there is one.
func (v *service) openData(ctx context.Context) (*store.DB, error) {
	at := v.config.node.read
	if at.store == "" {
		return v.store, nil
	}
	db, err := store.OpenReplica(ctx, at.store, v.store)
	if err != nil {
		return nil, fmt.Errorf("open --store-read %s: %w", at, err)
	}
	db.Now = v.now
	return db, nil
}

// openLimits connects to the Redis that counts for all nodes, if there is one.
func (v *service) openLimits(ctx context.Context) (err error) {
	if v.config.limits == "" {
		return nil
	}
	if v.limits, err = sharedlimit.Open(ctx, v.config.limits, v.log); err != nil {
		return usageError{fmt.Errorf("invalid value for flag --limits: %w", err)}
	}
	v.parts = append(v.parts, v.limits.Run)
	return nil
}

func (v *service) close() {
	if v.listener != nil {
		_ = v.listener.Close() // closed before, when the server has run
	}
	if v.limits != nil {
		_ = v.limits.Close() // no request is under way any more
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

// warnUnpublished tells an operator about imported history that nobody can read yet.
func (v *service) warnUnpublished(ctx context.Context) error {
	if hint, err := unpublishedHint(ctx, v.store, v.config.at); err == nil && hint != "" {
		v.log.Warn(hint)
	}
	return nil
}
