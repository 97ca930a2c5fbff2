//go:build linux

package main

import (
	"context"
	"errors"
	"time"
)

const publishPause = 300 * time.Millisecond

// publishRepeatedly publishes the unpublished hours of the history one after the other, each until that is
// acknowledged.
func (d *drill) publishRepeatedly(ctx, work context.Context) error {
	for hour := d.begun; work.Err() == nil; hour = hour.Add(time.Hour) {
		if hour.Sub(d.begun) >= unpublished {
			return errors.New("the history is too short for this drill: all its hours are published")
		}
		from, to := hour.Format(time.RFC3339), hour.Add(time.Hour).Format(time.RFC3339)
		if err := d.retry(ctx, "publish", "--from", from, "--to", to); err != nil {
			return err
		}
		d.journal.record(func(p *phase) { p.hours = append(p.hours, hour) })
		pause(work, publishPause)
	}
	return nil
}
