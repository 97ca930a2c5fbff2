package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime/debug"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/assaydata/assay/internal/account"
	"github.com/assaydata/assay/internal/dashboard"
	"github.com/assaydata/assay/internal/httpapi"
	"github.com/assaydata/assay/internal/keys"
	"github.com/assaydata/assay/internal/live"
	"github.com/assaydata/assay/internal/publish"
	"github.com/assaydata/assay/internal/snapshot"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/usage"
)

var serveCommand = &command{
	name: "serve", arguments: "[flags]", summary: "publish and serve the data of a folder",
	details: `Serves the API, and publishes each hour and each day as it ends. History that was imported is published
by assay publish, once all of it has been loaded. Logs go to standard error, one JSON object a line.
An interrupt lets requests in flight finish; a second one ends at once.`,
	run: runServe,
}

func runServe(ctx context.Context, c *command, args []string, s streams) error {
	var config serverConfig
	flags := newFlags(c, s)
	config.register(flags)
	dirFlag(flags, &config.dir, "assay-data")
	if err := parse(flags, args); err != nil {
		return err
	}
	if err := noArguments(flags); err != nil {
		return err
	}
	service, err := openService(ctx, config, time.Now, s.err)
	if err != nil {
		return err
	}
	defer service.close()
	service.warnUnpublished(ctx)
	return service.run(ctx, func(address string) {
		fmt.Fprintf(s.out, "Assay %s serves %s at http://%s\n", version, config.dir, address)
	})
}

// service is everything a serving process runs. It is put together here, in the order things start.
type service struct {
	config    serverConfig
	now       func() time.Time
	logs      *logWriter
	log       *slog.Logger
	listener  net.Listener
	store     *store.DB
	publisher *publish.Publisher
	parts     []func(context.Context) error // what runs beside the server
}

// servingGC is how far the heap may grow before it is collected, in percent of what lives. What a server holds lives long, and
// it makes little garbage beside it: collecting somewhat more often saves about a tenth of the memory, and costs nothing that
// could be told from the noise. GOGC in the environment overrides it.
const servingGC = 70

// openService takes the address first, so that a taken port is known before any work is done, and then opens the store.
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
	if v.store, err = openStore(ctx, config.dir); err != nil {
		v.close()
		return nil, err
	}
	v.store.Now = now
	key, err := signingKey(config.dir)
	if err != nil {
		v.close()
		return nil, err
	}
	v.publisher = &publish.Publisher{Store: v.store, Key: key, Now: now, Log: v.log}
	return v, nil
}

func (v *service) close() {
	if v.listener != nil {
		_ = v.listener.Close() // closed before, when the server has run
	}
	if v.store != nil {
		if err := v.store.Close(); err != nil {
			v.log.Error("close the store", "error", err)
		}
	}
	_ = v.logs.Close()
}

// warnUnpublished tells an operator about imported history that nobody can read yet.
func (v *service) warnUnpublished(ctx context.Context) {
	if hint, err := unpublishedHint(ctx, v.store, v.config.dir); err == nil && hint != "" {
		v.log.Warn(hint)
	}
}

// run serves until the context ends. Ready hears the address once requests are answered.
func (v *service) run(ctx context.Context, ready func(address string)) error {
	people, err := v.openAccounts(ctx)
	if err != nil {
		return err
	}
	counter := usage.New(v.store, v.log)
	holder := &snapshot.Holder{}
	api, err := v.newAPI(holder, people, counter)
	if err != nil {
		return err
	}
	follower := &live.Follower{Store: v.store, Holder: holder, Prepare: api.Warm, Log: v.log}
	if err := follower.Load(ctx); err != nil {
		return err
	}
	group, serving := errgroup.WithContext(ctx)
	for _, part := range append(v.parts, v.publisher.Run, follower.Run, people.Keys.Run, people.Run, counter.Run) {
		group.Go(func() error { return part(serving) })
	}
	group.Go(func() error { return api.Serve(serving, v.listener) })
	ready(v.listener.Addr().String())
	return errors.Join(group.Wait(), v.lastFlush(ctx, counter))
}

// openAccounts reads who there is and which keys there are.
func (v *service) openAccounts(ctx context.Context) (*account.Service, error) {
	keyring := &keys.Keyring{Store: v.store, Log: v.log}
	if err := keyring.Load(ctx); err != nil {
		return nil, err
	}
	people := &account.Service{Store: v.store, Keys: keyring, Now: v.now, Log: v.log}
	return people, people.Load(ctx)
}

func (v *service) newAPI(holder *snapshot.Holder, people *account.Service, counter *usage.Counter) (*httpapi.Server, error) {
	var requests io.Writer
	if v.config.logLevel <= slog.LevelInfo {
		requests = v.logs
	}
	provider, err := v.config.signIn.provider(v.now, v.log)
	if err != nil {
		return nil, err
	}
	pages, err := dashboard.New()
	if err != nil {
		return nil, fmt.Errorf("read the dashboard: %w", err)
	}
	api, err := httpapi.New(httpapi.Config{
		Snapshots: holder, Keys: people.Keys, Ping: v.store.Ping, Now: v.now,
		Requests: requests, Log: v.log,
		Determinations: v.store.Determinations, Version: version, TrustedProxies: v.config.trustedProxies,
		CORSOrigins: v.config.corsOrigins, KeyLimit: v.config.keyLimit,
		Accounts: people, Usage: counter, OIDC: provider, OIDCName: v.config.signIn.name, PublicURL: v.config.signIn.publicURL, Dashboard: pages,
	})
	if err != nil {
		return nil, usageError{fmt.Errorf("invalid value for flag --cors-origins: %w", err)}
	}
	return api, nil
}

// flushTimeout is how long the last counts may take to be written.
const flushTimeout = 10 * time.Second

// lastFlush writes what was counted since the last time, once no request is under way any more.
func (v *service) lastFlush(ctx context.Context, counter *usage.Counter) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
	defer cancel()
	if err := counter.Flush(ctx); err != nil {
		return fmt.Errorf("write the usage: %w", err)
	}
	return nil
}
