//go:build linux

// Command abuse attacks the real program: with hostile requests, whose responses must all be as the description of the
// API promises, and with connections that tie it up, while a well-behaved reader must notice little.
//
//	make build
//	go run ./tools/abuse                            # 10,000,000 requests: about an hour
//	go run ./tools/abuse -update docs/security.md   # also write the tables into the document
//	go run ./tools/abuse -requests 200000 -seed 7   # fewer requests, and others
//	go run ./tools/abuse -seed 7 -only 12345        # send one exchange again and show it
//	go run ./tools/abuse -short                     # about a minute
//
// # Setup
//
// In a temporary folder: the market of the demo, 100,000 API keys, some of them revoked, and accounts that are signed
// in. The real program serves it on loopback. It trusts two addresses of loopback as proxies, so that requests can come
// from 100,000 client addresses and do not just reach their limits.
//
// # Requests
//
// Every request begins as a valid one of an operation in /openapi.json, with values that its schemas allow, from a
// caller without a key, with a Premium, a Full, a revoked or a forged key, or with a session's cookie (callers.go).
// Then up to three mutations change it: values, encodings, paths, methods, headers and bodies (mutations.go,
// bodies.go), and how it is written, from conflicting lengths to bytes that are not HTTP at all (wiremutations.go).
//
// Requests are sent in exchanges of up to 24: pipelined on one connection, or pipelined and then half-closed, or one
// after the other by the client of net/http. All of it follows from the seed and the number of the exchange, so a
// failure can be repeated with -seed and -only.
//
// # Checks
//
// Every response is compared with the description (check.go): the status, the content type, the headers and the body
// with its schema. It must carry the id of its request, so that a response which belongs to another one shows. It must
// not contain a key or a cookie, nor more than its caller may read, nor a header that no rule knows. Every line of the
// server's log must be one JSON object without a secret, and no error (logwatch.go).
//
// # Attacks
//
// Afterwards connections from 16 addresses tie the server up, one way at a time (attacks.go): slow readers, slow
// writers, half-open connections, a flood of connections, and floods from all addresses and with all keys. Meanwhile
// the reader requests prices at a steady rate, in a process of its own (target.Reader). The attackers have the lowest
// priority: their machines would not be the server's.
//
// # Verdict
//
// No response outside the description, no 5xx except a 503 that says when to try again, no panic, no error in the log.
// The server's memory afterwards is at most 20 % above what it was after a warm-up of the same kind. The reader gets no
// error, and its p99 is less than 5 times that of the same run without an attack. A time in which the host of a virtual
// machine took the processors away is measured again. With -short only errors fail, never a number.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/maphash"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/assaydata/assay/tools/report"
	"github.com/assaydata/assay/tools/target"
)

func main() {
	debug.SetGCPercent(400) // leaves the server more of the processors
	target.Main("abuse", parseOptions, run)
}

// section is the part of the document for the tables.
const section report.Section = "abuse"

type options struct {
	assay    string
	requests int64
	seed     uint64
	only     int64 // number of an exchange; negative for none
	short    bool
	update   string
	args     []string // the command line, for the report
	scale    scale
}

// scale is how much there is of everything besides requests.
type scale struct {
	keys        int
	connections int
	warmUp      int64         // requests before the first look at the memory
	settle      time.Duration // before a look at the memory
	quiet       time.Duration // of the reader without an attack
	attack      time.Duration
	flood       int // requests a second
}

var (
	// Idle connections end after two minutes, and the runtime collects garbage at least every two: a memory that has
	// settled for more than four has nothing left to give back.
	fullScale = scale{
		keys: 100_000, connections: 6000, warmUp: 500_000, settle: 250 * time.Second, quiet: time.Minute,
		attack: 40 * time.Second, flood: 3000,
	}
	shortScale = scale{
		keys: 500, connections: 300, warmUp: 1000, quiet: time.Second, attack: time.Second, flood: 500,
	}
)

const (
	fullRequests  = 10_000_000
	shortRequests = 15_000
)

func parseOptions(args []string) (options, error) {
	o := options{args: args}
	flags := flag.NewFlagSet("abuse", flag.ContinueOnError)
	flags.StringVar(&o.assay, "assay", "bin/assay", "the `binary` to attack")
	flags.Int64Var(&o.requests, "requests", 0, "`number` of hostile requests (default 10000000, with -short 15000)")
	flags.Uint64Var(&o.seed, "seed", 1, "`number` that all requests follow from")
	flags.Int64Var(&o.only, "only", -1, "send only the exchange of this `number`, and show it")
	flags.BoolVar(&o.short, "short", false, "few requests, keys and connections; no number fails the run")
	flags.StringVar(&o.update, "update", "", "write the result between the markers of this Markdown `file`")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	o.fill()
	return o, o.check(flags.Args())
}

// fill sets what follows from the options.
func (o *options) fill() {
	requests := int64(fullRequests)
	o.scale = fullScale
	if o.short || o.only >= 0 {
		requests, o.scale = shortRequests, shortScale
	}
	if o.requests == 0 {
		o.requests = requests
	}
	o.scale.warmUp = min(o.scale.warmUp, o.requests)
}

func (o *options) check(rest []string) (err error) {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("unexpected argument %q", rest[0])
	case o.requests < 1:
		return fmt.Errorf("-requests %d: want a positive number", o.requests)
	case o.short && o.update != "":
		return errors.New("-short and -update: a short run is no result for the document")
	}
	if o.assay, err = filepath.Abs(o.assay); err == nil {
		_, err = os.Stat(o.assay)
	}
	if err != nil {
		return fmt.Errorf("-assay: %w; run make build", err)
	}
	return section.Check(o.update)
}

// run runs everything in a temporary folder and prints the report. On failure it keeps the server's log.
func run(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "assay-abuse-")
	if err != nil {
		return err
	}
	if err := runIn(ctx, o, dir); err != nil && ctx.Err() == nil {
		os.RemoveAll(filepath.Join(dir, "data"))
		return fmt.Errorf("%w\nthe server's log is in %s", err, dir)
	}
	return errors.Join(ctx.Err(), os.RemoveAll(dir))
}

func runIn(ctx context.Context, o options, dir string) error {
	progress("preparing the market of the demo and %s keys", thousands(int64(o.scale.keys)))
	m, err := target.Prepare(ctx, o.assay, dir)
	if err != nil {
		return err
	}
	everyone := &cast{addresses: 100_000}
	if err := everyone.createKeys(ctx, m.Folder, o.scale.keys); err != nil {
		return err
	}
	s, err := serve(ctx, o.assay, dir, m)
	if err != nil {
		return err
	}
	defer s.Stop()
	if err := everyone.startSessions(ctx, s, m.Accounts); err != nil {
		return err
	}
	c, err := newCampaign(ctx, o.seed, s, everyone)
	if err != nil {
		return err
	}
	if o.only >= 0 {
		return c.only(ctx, uint64(o.only))
	}
	r := &results{options: o, begun: time.Now(), hostTime: target.ReadHostTime}
	if err := r.collect(ctx, s, c); err != nil {
		return err
	}
	return r.conclude()
}

// newCampaign prepares a campaign from the description that the server itself serves.
func newCampaign(ctx context.Context, seed uint64, s *target.Server, everyone *cast) (*campaign, error) {
	text, err := s.Get(ctx, "/openapi.json")
	if err != nil {
		return nil, err
	}
	d, err := parseDescription(text)
	if err != nil {
		return nil, err
	}
	return &campaign{
		server: s.Address, generator: &generator{seed: seed, now: time.Now(), description: d, cast: everyone},
		checker: &checker{description: d, right: seen{seed: maphash.MakeSeed()}},
	}, nil
}

// progress reports on standard error how far a long run has come.
func progress(format string, args ...any) { fmt.Fprintf(os.Stderr, "abuse: "+format+"\n", args...) }
