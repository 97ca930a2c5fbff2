//go:build linux

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// report is what the loss of the primary cost.
type report struct {
	Old, New     string        // the primaries
	Gap          time.Duration // from the loss to the next acknowledged write
	Acknowledged int
	Lost         int // acknowledged and not there
	Doubled      int // there more than once
}

// count compares what was acknowledged with what the new primary has.
func (r *report) count(ctx context.Context, w *writer) error {
	rows, err := w.conn.Query(ctx, `SELECT number FROM drill`)
	if err != nil {
		return err
	}
	numbers, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return err
	}
	r.compare(w.acked, numbers)
	return w.conn.Close(ctx)
}

func (r *report) compare(acknowledged, stored []int64) {
	times := map[int64]int{}
	for _, number := range stored {
		times[number]++
		if times[number] == 2 {
			r.Doubled++
		}
	}
	r.Acknowledged = len(acknowledged)
	for _, number := range acknowledged {
		if times[number] == 0 {
			r.Lost++
		}
	}
}

// check is an error that names the goals that were missed.
func (r report) check() error {
	if r.Lost > 0 || r.Doubled > 0 {
		return fmt.Errorf("%d acknowledged writes lost and %d doubled; the goal is none", r.Lost, r.Doubled)
	}
	if r.Old == r.New {
		return fmt.Errorf("%s was killed and is still the primary: there was no failover", r.Old)
	}
	return nil
}

func (r report) String() string {
	return fmt.Sprintf("primary %s killed, %s took over\n"+
		"  next acknowledged write  %.1f s\n  acknowledged writes      %d\n  lost                     %d (goal 0)\n  doubled                  %d (goal 0)\n",
		r.Old, r.New, r.Gap.Seconds(), r.Acknowledged, r.Lost, r.Doubled)
}
