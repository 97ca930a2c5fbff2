package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/account"
	"github.com/assaydata/assay/internal/demo"
	"github.com/assaydata/assay/internal/keys"
	"github.com/assaydata/assay/internal/live"
	"github.com/assaydata/assay/internal/store"
)

var demoCommand = &command{
	name: "demo", arguments: "[flags]", summary: "try everything out with a synthetic market",
	details: `Makes a synthetic market of two years, publishes it, serves it, and prints keys, accounts and requests to try. The
figures are made up: they follow from the seed and the time alone. The next start takes the market up where
it stood. With --end the demo lives at that moment instead of now, so that every answer can be repeated.`,
	run: runDemo,
}

func runDemo(ctx context.Context, c *command, args []string, s streams) error {
	var config serverConfig
	flags := newFlags(c, s)
	config.register(flags)
	config.at.register(flags, "assay-demo")
	seed := flags.Int64("seed", 1, "`NUMBER` the market follows from")
	noFeed := flags.Bool("no-feed", false, "add no further transactions while serving")
	keysFile := flags.String("keys-file", "", "`FILE` to write the demo's keys and accounts to, as JSON")
	var end int64
	instantFlag(flags, &end, "end", "`INSTANT` that the demo takes for now (default: the clock)")
	if err := parse(flags, args); err != nil {
		return err
	}
	if err := noArguments(flags); err != nil {
		return err
	}
	now, startClock := clockFrom(end)
	service, err := openService(ctx, config, now, s.err)
	if err != nil {
		return err
	}
	defer service.close()
	quiet := *service.publisher // the progress bar tells how far it has come
	quiet.Log = slog.New(slog.DiscardHandler)
	market := &demo.Demo{Store: service.store, Publisher: &quiet, Seed: *seed, Now: service.now, Log: service.log}
	if err := prepareDemo(ctx, service, market, s); err != nil {
		return err
	}
	people := &account.Service{Store: service.store, Now: service.now, Log: service.log}
	if err := people.Load(ctx); err != nil {
		return err
	}
	made, err := demoKeys(ctx, people, config.at.folder())
	if err != nil {
		return err
	}
	if *keysFile != "" {
		if err := made.write(*keysFile); err != nil {
			return fmt.Errorf("--keys-file: %w", err)
		}
	}
	if !*noFeed {
		service.parts = append(service.parts, market.Feed)
	}
	startClock()
	return service.run(ctx, func(address string) { printDemo(s, *seed, address, made) })
}

// clockFrom is the clock, or one that stands at the given instant until it is started: what is prepared before that must
// not depend on how long the preparing takes.
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

// prepareDemo fills the store, showing how far it has come.
func prepareDemo(ctx context.Context, v *service, market *demo.Demo, s streams) error {
	// A folder with transactions is the demo's, and has its mark since it was empty, or it is refused and must not get one.
	_, filled, err := v.store.FirstTransaction(ctx)
	if err == nil && !filled {
		err = v.store.SetSetting(ctx, live.SettingSynthetic, "true")
	}
	if err != nil {
		return err
	}
	if v.publisher.Key == nil {
		if v.publisher.Key, err = makeSigningKey(v.config.at.folder()); err != nil {
			return err
		}
	}
	bar := newProgress(s.err)
	if err := market.Prepare(ctx, func(step string, done float64) { bar.show(step, done, "") }); err != nil {
		bar.leave()
		return err
	}
	bar.complete()
	// Seeding needs far more memory than serving.
	defer debug.FreeOSMemory()
	return v.store.ReleaseMemory(ctx)
}

// demoKeySet is the demo's keys and accounts. It is the one place where keys and passwords are kept as text, because everybody may
// know them.
type demoKeySet struct {
	Premium  string        `json:"premium"`
	Full     string        `json:"full"`
	Revoked  string        `json:"revoked"`
	Accounts []demoAccount `json:"accounts"`
}

// demoKeys reads the demo's keys from its folder, or makes them. What a folder of an earlier version lacks is added.
func demoKeys(ctx context.Context, people *account.Service, dir string) (set demoKeySet, err error) {
	file := filepath.Join(dir, "demo-keys.json")
	text, err := os.ReadFile(file)
	switch {
	case err == nil:
		err = json.Unmarshal(text, &set)
	case errors.Is(err, fs.ErrNotExist):
		set, err = makeDemoKeys(ctx, people.Store)
	}
	if err != nil || len(set.Accounts) > 0 {
		return set, err
	}
	if set.Accounts, err = makeDemoAccounts(ctx, people); err != nil {
		return set, err
	}
	return set, set.write(file)
}

func makeDemoKeys(ctx context.Context, db *store.DB) (set demoKeySet, err error) {
	for _, k := range []struct {
		text *string
		tier assay.Tier
		name string
	}{{&set.Premium, assay.Premium, "demo premium"}, {&set.Full, assay.Full, "demo full"}, {&set.Revoked, assay.Premium, "demo revoked"}} {
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
	return os.WriteFile(file, append(text, '\n'), 0o600)
}

func printDemo(s streams, seed int64, address string, set demoKeySet) {
	base := (&url.URL{Scheme: "http", Host: address}).String()
	fmt.Fprintf(s.out, `
Assay %s demo. SYNTHETIC DATA of seed %d: no figure here is a market price.

  address      %s
  Premium key  %s
  Full key     %s
  revoked key  %s

The dashboard is at %s. Sign in with one of these:
%s
Try:
  curl '%s/api/gpu/H100%%20SXM'
  curl -H 'Authorization: Bearer %s' '%s/api/gpu/H100%%20SXM/history?datetime=2026-06-30'
  curl -H 'Authorization: Bearer %s' '%s/api/gpu/RTX%%20PRO%%206000%%20WS/hourly?order=desc&limit=3'

`, version, seed, base, set.Premium, set.Full, set.Revoked, base, demoAccountTable(set.Accounts), base, set.Premium, base, set.Full, base)
}
