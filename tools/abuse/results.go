//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/assaydata/assay/tools/target"
)

// results is what a run has found.
type results struct {
	options  options
	begun    time.Time
	requests tally
	took     time.Duration
	outside  int   // responses outside the description
	lines    int64 // of the server's log
	logged   int   // lines that must not be in it
	memory   []remembered
	quiet    attacked // without an attack
	attacks  []attacked
	failures []error
	hostTime func() (target.HostTime, error) // target.ReadHostTime, except in tests
}

// remembered is the server's memory after a part of the run.
type remembered struct {
	after    string
	resident int64
}

// attacked is an attack and what the reader has noticed of it.
type attacked struct {
	name         string
	opened, sent int64
	want         int64 // requests; 0: any number
	target.Readings
	taken float64 // part of the processors' time that the host has taken meanwhile
}

// collect runs the campaign and the attacks. What the server does wrong is collected; an error means that the run
// itself cannot be completed.
func (r *results) collect(ctx context.Context, s *target.Server, c *campaign) error {
	log, err := watchLog(s.Process, c.generator.cast)
	if err != nil {
		return err
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	watched := make(chan error, 1)
	go func() { watched <- log.run(watching) }()
	if err := r.campaign(ctx, s, c); err != nil {
		return err
	}
	if err := r.attack(ctx, s, c); err != nil {
		return err
	}
	if s.Ended() {
		r.failures = append(r.failures, s.Explain(errors.New("the server has ended")))
	}
	stop()
	r.failures = append(r.failures, <-watched)
	r.outside, r.lines, r.logged = len(c.failures), log.lines, len(log.found)
	return ctx.Err()
}

// campaign sends the hostile requests, those of the warm-up first.
func (r *results) campaign(ctx context.Context, s *target.Server, c *campaign) error {
	o := &r.options
	progress("warming up with %s requests", thousands(o.scale.warmUp))
	var warm tally
	err := c.run(ctx, o.scale.warmUp, &warm)
	if err == nil {
		if err := r.remember(ctx, s, "the warm-up"); err != nil {
			return err
		}
		progress("sending %s hostile requests with seed %d", thousands(o.requests), o.seed)
		begun := time.Now()
		err = c.run(ctx, o.requests, &r.requests)
		r.took = time.Since(begun)
	}
	if err != nil {
		r.failures = append(r.failures, fmt.Errorf("seed %d: %w", o.seed, err))
	}
	return r.remember(ctx, s, "the requests")
}

// attack lets the reader read without an attack, and then during each.
func (r *results) attack(ctx context.Context, s *target.Server, c *campaign) error {
	everyone, scale := c.generator.cast, r.options.scale
	reader, err := target.StartReader(ctx, reading(s.Address, everyone.reader))
	if err != nil {
		return err
	}
	defer reader.Stop()
	progress("reading without an attack")
	r.quiet, err = r.calmest(func() (attacked, error) {
		got, err := reader.While(func() { target.Pause(ctx, scale.quiet) })
		return attacked{name: "none", Readings: got}, err
	})
	if err != nil {
		return err
	}
	if err := target.YieldProcessors(); err != nil {
		return err
	}
	for _, attack := range attacks {
		progress("reading during an attack: %s", attack.name)
		during, err := r.calmest(func() (attacked, error) {
			a := &arena{
				campaign: c, cast: everyone, server: s.Address, connections: scale.connections, rate: scale.flood,
			}
			attacking, stop := context.WithCancel(ctx)
			ended := make(chan error, 1)
			go func() { ended <- attack.run(attacking, a) }()
			got, err := reader.While(func() { target.Pause(ctx, scale.attack) })
			stop()
			if err := <-ended; err != nil {
				r.failures = append(r.failures, fmt.Errorf("%s: %w", attack.name, err))
			}
			return attacked{name: attack.name, opened: a.opened.Load(), sent: a.sent.Load(), want: a.want, Readings: got}, err
		})
		if err != nil {
			return err
		}
		r.attacks = append(r.attacks, during)
	}
	return r.remember(ctx, s, "the attacks")
}

// A host that takes the processors away delays the reader as an attack would. A measurement in which it has taken more
// than this part of their time is repeated, a few times at most.
const (
	mostTaken = 0.01
	mostTries = 4
)

// calmest measures until the host leaves the processors alone, and returns the time in which it has taken least. What
// has failed in any of them has failed.
func (r *results) calmest(measure func() (attacked, error)) (calmest attacked, err error) {
	failed, first := 0, ""
	for try := 1; ; try++ {
		before, err := r.hostTime()
		if err != nil {
			return calmest, err
		}
		got, err := measure()
		if err != nil {
			return calmest, err
		}
		after, err := r.hostTime()
		if err != nil {
			return calmest, err
		}
		got.taken = after.TakenSince(before)
		if failed += got.Failed; first == "" {
			first = got.First
		}
		if try == 1 || got.taken < calmest.taken {
			calmest = got
		}
		if calmest.taken <= mostTaken || try == mostTries || r.options.short {
			calmest.Failed, calmest.First = failed, first
			return calmest, nil
		}
		progress("again: the host has taken %.1f %% of the processors' time", 100*got.taken)
	}
}

// remember reads the server's memory once it has settled.
func (r *results) remember(ctx context.Context, s *target.Server, after string) error {
	target.Pause(ctx, r.options.scale.settle)
	resident, err := s.Resident()
	if err != nil {
		return s.Explain(fmt.Errorf("read the memory of the server after %s: %w", after, err))
	}
	r.memory = append(r.memory, remembered{after, resident})
	return nil
}
