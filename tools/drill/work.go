//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// runUnderLoad runs the faults under load and counts what they cost.
func (d *drill) runUnderLoad(ctx context.Context) (*results, error) {
	d.journal.begin("the load begins") // no fault: everything before the first one
	work, rest := context.WithCancel(ctx)
	defer rest()
	var load sync.WaitGroup
	for i, r := range d.readNodes {
		load.Go(func() { d.readRepeatedly(work, i) })
		load.Go(func() { d.checkRepeatedly(work, r) })
	}
	var greedy, moving []admission
	load.Go(func() { greedy = d.exceedLimit(work) })
	load.Go(func() { moving = d.exceedLimitMoving(work) })
	operators, running := errgroup.WithContext(ctx)
	patient, giveUp := context.WithCancel(running)
	defer giveUp()
	operators.Go(func() error { return d.importRepeatedly(patient, work) })
	operators.Go(func() error { return d.publishRepeatedly(patient, work) })
	err := d.runFaults(running)
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
	d.journal.countOvershoots([][]admission{greedy, moving}, fallbacks, d.starts[readNodeCount:])
	return d.evaluate(ctx)
}

// runFaults runs the faults of the short or the long form, one after the other.
func (d *drill) runFaults(ctx context.Context) error {
	if _, err := d.awaitPublication(ctx, time.Now()); err != nil { // everything works
		return err
	}
	list := faults
	if d.options.before != "" {
		list = append([]fault{rollingUpgrade}, list...)
	}
	for _, f := range list {
		if f.short != d.options.short && f.name != rollingUpgrade.name || !strings.Contains(f.name, d.options.only) {
			continue
		}
		fmt.Println("drill:", f.name)
		p := d.journal.begin(f.name)
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
