// Command bench compares Assay with nginx on the same answers, on the same machine, in the same minute.
//
//	make build && scripts/need nginx wrk
//	go run ./internal/bench                              # about six minutes
//	go run ./internal/bench -update docs/performance.md  # and write the table down
//	go run ./internal/bench -short                       # seconds: does it run at all
//
// # Method
//
// The real binary serves the demo market from a temporary folder. Each answer is fetched from it once and written to a
// file, and nginx serves that file: what nginx reaches is what the machine can do with these bytes when nothing has to be
// decided. Then wrk loads Assay, nginx, Assay, nginx and so on, so that a slow minute of the machine hits both, and the
// medians over the rounds are compared.
//
// Everything the server does for a caller stays switched on: the limiter, the key check, the log. The limiter allows 60
// calls a minute from an address, so the load comes from millions of addresses (see wrk.lua); nginx is sent exactly the
// same requests. A single answer that is refused, cut short or lost fails the run: a fast refusal is not a fast answer.
//
// # How to read it
//
// Read the ratio. Requests per second depend on the machine, and wrk takes its part of the same cores. A ratio of 0.5
// means that Assay answers half as many requests as nginx sends copies of a file. The latencies are those of 32
// connections that ask again as soon as they are answered, so they are times under full load, not of a single call.
//
// The floors (scenario.go, report.go) are there to catch a lost optimisation, not a noisy neighbour: measure again on a
// quiet machine before believing a failure. With -short only errors fail, never a number.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

func main() {
	// Children die with the thread that started them (process_linux.go), so that thread must live as long as we do.
	runtime.LockOSThread()
	o, err := parseOptions(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends us at once
	err = run(ctx, o)
	if ctx.Err() != nil {
		err = errors.New("interrupted")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type options struct {
	assay    string
	rounds   int
	duration time.Duration
	short    bool
	update   string
}

func parseOptions(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.StringVar(&o.assay, "assay", "bin/assay", "the `binary` to measure")
	flags.IntVar(&o.rounds, "rounds", 5, "how often each case is measured, 1 to 50")
	flags.DurationVar(&o.duration, "duration", 5*time.Second, "length of one measurement, whole seconds, 1s to 60s")
	flags.BoolVar(&o.short, "short", false, "one round of one second; no number fails the run")
	flags.StringVar(&o.update, "update", "", "write the result between the markers of this Markdown `file`")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.short {
		o.rounds, o.duration = 1, time.Second
	}
	return o, o.check(flags.Args())
}

func (o options) check(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("unexpected argument %q", rest[0])
	case o.rounds < 1 || o.rounds > 50:
		return fmt.Errorf("-rounds %d: want 1 to 50", o.rounds)
	case o.duration < time.Second || o.duration > time.Minute || o.duration%time.Second != 0:
		return fmt.Errorf("-duration %s: want whole seconds, 1s to 60s", o.duration)
	case o.short && o.update != "":
		return errors.New("-short and -update: one second is too short to be written down")
	}
	return nil
}

// run is the whole benchmark. Whatever it started is gone when it returns.
func run(ctx context.Context, o options) error {
	tools, err := findTools(o.assay)
	if err != nil {
		return err
	}
	if err := checkMarkers(o.update); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "assay-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)

	assay, err := startAssay(ctx, o.assay, dir)
	if err != nil {
		return err
	}
	defer assay.stop()
	scenarios := newScenarios(assay.keys, time.Now())
	if err := assay.fetchBodies(ctx, scenarios); err != nil {
		return err
	}
	nginx, err := startNginx(ctx, tools.nginx, dir, scenarios)
	if err != nil {
		return err
	}
	defer nginx.stop()

	wrk, err := newLoader(tools.wrk, dir)
	if err != nil {
		return err
	}
	r := report{options: o, tools: tools, at: time.Now()}
	for i, s := range scenarios {
		pair := [2]target{{assay.process, assay.base}, {nginx.process, nginx.bases[i]}}
		res, err := measure(ctx, wrk, o, s, pair)
		if err != nil {
			return err
		}
		r.results = append(r.results, res)
	}
	if r.memory, err = assay.memory(); err != nil {
		return err
	}
	return r.publish(os.Stdout)
}

// target is one of the two servers under load.
type target struct {
	process *process
	base    string
}

// measure loads the pair in turns and gives the medians.
func measure(ctx context.Context, wrk loader, o options, s scenario, pair [2]target) (result, error) {
	if !o.short {
		for _, t := range pair { // connections, caches and the garbage collector find their pace
			if _, err := loadOnce(ctx, wrk, s, t, time.Second); err != nil {
				return result{}, err
			}
		}
	}
	var samples [len(pair)][]sample
	for round := range o.rounds {
		for i, t := range pair {
			got, err := loadOnce(ctx, wrk, s, t, o.duration)
			if err != nil {
				return result{}, err
			}
			samples[i] = append(samples[i], got)
		}
		fmt.Fprintf(os.Stderr, "%s, round %d of %d: Assay %s req/s, nginx %s req/s\n", s.name, round+1, o.rounds,
			thousands(samples[0][round].rate), thousands(samples[1][round].rate))
	}
	return result{scenario: s, assay: medians(samples[0]), nginx: medians(samples[1])}, nil
}

func loadOnce(ctx context.Context, wrk loader, s scenario, t target, d time.Duration) (sample, error) {
	got, err := wrk.load(ctx, t.base, s, d)
	if err != nil {
		return got, t.process.explain(fmt.Errorf("%s, %s: %w", s.name, t.process.name, err))
	}
	return got, t.process.trimLog()
}

// tools are the programs this one drives.
type tools struct {
	nginx, wrk string
}

func findTools(assay string) (tools, error) {
	if _, err := exec.LookPath(assay); err != nil {
		return tools{}, fmt.Errorf("find the server: %w; run make build", err)
	}
	t := tools{nginx: lookTool("nginx"), wrk: lookTool("wrk")}
	if t.nginx == "" || t.wrk == "" {
		return t, fmt.Errorf("nginx (%q) or wrk (%q) not found; run scripts/need nginx wrk", t.nginx, t.wrk)
	}
	return t, nil
}

// lookTool also looks where Debian puts daemons, which is not on everybody's PATH.
func lookTool(name string) string {
	for _, candidate := range []string{name, "/usr/sbin/" + name} {
		if path, err := exec.LookPath(candidate); err == nil {
			return path
		}
	}
	return ""
}
