package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/account"
	"github.com/assaydata/assay/internal/demo"
	"github.com/assaydata/assay/internal/files"
	"github.com/assaydata/assay/internal/keys"
	"github.com/assaydata/assay/internal/live"
	"github.com/assaydata/assay/internal/publish"
	"github.com/assaydata/assay/internal/store"
)

// demoConfig is how the demo's market is made and served.
type demoConfig struct {
	server   serverConfig
	seed     int64
	noFeed   bool
	keysFile string
	end      int64
}

func newDemoCommand(s *streams) *cobra.Command {
	var config demoConfig
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Try Assay with a synthetic market",
		Long: `Generate a synthetic market of two years, publish it, serve it, and print keys,
accounts and requests to try. All figures are made up: they depend only on the
seed and the time. The next start continues the market where it stopped. With
--end the demo runs at that moment instead of now, so that every response can be
reproduced.`,
		Example: `  assay demo
  assay demo --end 2026-11-01T12:01:00Z --no-feed --seed 1`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			config.server.again = readAgain(cmd, registerDemo)
			return runDemo(cmd.Context(), config, s)
		},
	}
	registerDemo(&config.server, cmd)
	cmd.Flags().Int64Var(&config.seed, "seed", 1, "`NUMBER` that the market is generated from")
	cmd.Flags().BoolVar(&config.noFeed, "no-feed", false, "add no new transactions while serving")
	cmd.Flags().StringVar(&config.keysFile, "keys-file", "", "`FILE` to write the demo's keys and accounts to, as JSON")
	addInstantFlag(cmd.Flags(), &config.end, "end", "`INSTANT` to use as the current time (default: the clock)")
	return cmd
}

func registerDemo(config *serverConfig, cmd *cobra.Command) { config.register(cmd, "assay-demo") }

func runDemo(ctx context.Context, config demoConfig, s *streams) error {
	now, startClock := clockFrom(config.end)
	config.server.node.init, config.server.node.upgrade = true, true
	service, err := openService(ctx, config.server, now, s.err)
	if err != nil {
		return err
	}
	defer service.close()
	if err := service.open(ctx); err != nil {
		return err
	}
	service.publisher.Store = service.store
	service.publisher.TrustClock = true // a market that is made up loses nothing when the machine was suspended
	service.publisher.Lead = 0          // its clock stands still while the history is made
	quiet := &publish.Publisher{
		Store: service.store, Key: service.publisher.Key, ReadKey: service.publisher.ReadKey, Now: service.now,
		Log:        slog.New(slog.DiscardHandler), // the progress bar shows the same
		TrustClock: true, Horizon: service.publisher.Horizon,
	}
	market := &demo.Demo{
		Store: service.store, Publisher: quiet, Seed: config.seed, Now: service.now, Log: service.log,
	}
	if err := prepareDemo(ctx, service, market, s); err != nil {
		return err
	}
	keys, err := prepareDemoKeys(ctx, service, config)
	if err != nil {
		return err
	}
	if !config.noFeed {
		service.parts = append(service.parts, market.Feed)
	}
	startClock()
	return service.run(ctx, func(address string) {
		printDemo(s, config.seed, config.server.tls.scheme()+"://"+address, keys)
	})
}

func prepareDemoKeys(ctx context.Context, v *service, config demoConfig) (set demoKeySet, err error) {
	accounts := &account.Service{Store: v.store, Now: v.now, Log: v.log}
	if err := accounts.Load(ctx); err != nil {
		return set, err
	}
	set, err = demoKeys(ctx, accounts, config.server.location.folder())
	if err != nil || config.keysFile == "" {
		return set, err
	}
	if err := set.write(config.keysFile); err != nil {
		return set, fmt.Errorf("--keys-file: %w", err)
	}
	return set, nil
}

// clockFrom is the clock, or one that stands still at the given instant until it is started: the data prepared before
// that must not depend on how long the preparation takes.
func clockFrom(end int64) (now func() time.Time, start func()) {
	if end == 0 {
		return time.Now, func() {}
	}
	var started atomic.Pointer[time.Time]
	now = func() time.Time {
		at := time.UnixMilli(end)
		if since := started.Load(); since != nil {
			at = at.Add(time.Since(*since))
		}
		return at
	}
	return now, func() { at := time.Now(); started.Store(&at) }
}

// prepareDemo fills the store and shows its progress.
func prepareDemo(ctx context.Context, v *service, market *demo.Demo, s *streams) error {
	// A database with transactions either is a demo's, and was marked when it was empty, or it is refused and must not
	// be marked.
	_, filled, err := v.store.FirstTransaction(ctx)
	if err == nil && !filled {
		err = v.store.SetSetting(ctx, live.SettingSynthetic, "true")
	}
	if err != nil {
		return err
	}
	if v.publisher.Key == nil {
		if v.publisher.Key, err = createSigningKey(v.config.location.folder()); err != nil {
			return err
		}
	}
	market.Publisher.Key = v.publisher.Key
	bar := newProgress(s)
	err = market.Prepare(ctx, func(step string, done float64) { bar.show(step, done, "") })
	if err != nil {
		bar.stop()
		return err
	}
	bar.finish()
	debug.FreeOSMemory() // seeding needs far more memory than serving
	return nil
}

// demoKeySet is the demo's keys and accounts. Only here are keys and passwords stored as text: they protect nothing.
type demoKeySet struct {
	Premium  string        `json:"premium"`
	Full     string        `json:"full"`
	Revoked  string        `json:"revoked"`
	Accounts []demoAccount `json:"accounts"`
}

// demoKeys reads the demo's keys from its folder, or creates them. A folder of an earlier version gets the accounts
// that it lacks.
func demoKeys(ctx context.Context, accounts *account.Service, dir string) (set demoKeySet, err error) {
	file := filepath.Join(dir, "demo-keys.json")
	text, err := os.ReadFile(file)
	switch {
	case err == nil:
		err = json.Unmarshal(text, &set)
	case errors.Is(err, fs.ErrNotExist):
		set, err = createDemoKeys(ctx, accounts.Store)
	}
	if err != nil || len(set.Accounts) > 0 {
		return set, err
	}
	if set.Accounts, err = createDemoAccounts(ctx, accounts); err != nil {
		return set, err
	}
	return set, set.write(file)
}

func createDemoKeys(ctx context.Context, db *store.DB) (set demoKeySet, err error) {
	for _, k := range []struct {
		text *string
		tier assay.Tier
		name string
	}{
		{text: &set.Premium, tier: assay.Premium, name: "demo premium"},
		{text: &set.Full, tier: assay.Full, name: "demo full"},
		{text: &set.Revoked, tier: assay.Premium, name: "demo revoked"},
	} {
		secret, key, err := keys.Create(ctx, db, k.tier, k.name, 0)
		if err != nil {
			return set, err
		}
		*k.text = secret.Reveal()
		if k.text == &set.Revoked {
			if err := db.RevokeKey(ctx, key.ID); err != nil {
				return set, err
			}
		}
	}
	return set, nil
}

func (set demoKeySet) write(file string) error {
	text, err := json.MarshalIndent(set, "", "  ")
	if err != nil {
		return err
	}
	return files.Write(file, append(text, '\n'))
}

func printDemo(s *streams, seed int64, base string, set demoKeySet) {
	s.say(`
Assay %s demo. SYNTHETIC DATA from seed %d: no figure here is a market price.

  address      %s
  Premium key  %s
  Full key     %s
  revoked key  %s

Open the dashboard at %s and sign in with one of these:
%s
Try these requests:
  curl '%s/api/gpu/H100%%20SXM'
  curl -H 'Authorization: Bearer %s' '%s/api/gpu/H100%%20SXM/history?datetime=2026-06-30'
  curl -H 'Authorization: Bearer %s' '%s/api/gpu/RTX%%20PRO%%206000%%20WS/hourly?order=desc&limit=3'

Press Ctrl-C to stop.
`, assay.Release(), seed, base, set.Premium, set.Full, set.Revoked, base, demoAccountTable(set.Accounts),
		base, set.Premium, base, set.Full, base)
}
