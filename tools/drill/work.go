//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// breakAll has everything at work, lets the faults happen, and counts.
func (d *drill) breakAll(ctx context.Context) (*results, error) {
	d.log.begin("the load begins") // no fault: what comes in before the first
	work, rest := context.WithCancel(ctx)
	defer rest()
	var load sync.WaitGroup
	for i, r := range d.readers {
		load.Go(func() { d.read(work, i) })
		load.Go(func() { d.check(work, r) })
	}
	var admitted []admission
	load.Go(func() { admitted = d.exceed(work) })
	operators, running := errgroup.WithContext(ctx)
	patient, giveUp := context.WithCancel(running)
	defer giveUp()
	operators.Go(func() error { return d.imports(patient, work) })
	operators.Go(func() error { return d.publishes(patient, work) })
	err := d.faults(running)
	rest()
	load.Wait()
	defer time.AfterFunc(patience, giveUp).Stop()
	if operatorErr := operators.Wait(); operatorErr != nil {
		err = errors.Join(operatorErr, err)
	}
	if err != nil {
		return nil, err
	}
	fallbacks, err := d.fallbacks()
	if err != nil {
		return nil, err
	}
	d.log.countOvershoots(admitted, fallbacks, d.starts[readNodes:])
	return d.judge(ctx)
}

// faults lets happen those of this form, one after the other.
func (d *drill) faults(ctx context.Context) error {
	if _, err := d.awaitPublication(ctx, time.Now()); err != nil { // everything is at work
		return err
	}
	for _, f := range faults {
		if f.short != d.options.short {
			continue
		}
		fmt.Println("drill:", f.name)
		p := d.log.begin(f.name)
		if err := f.do(d, ctx, p); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	_, err := d.awaitPrint(ctx, d.due)
	return err
}
