//go:build linux

package main

import (
	"context"
	"errors"
	"time"
)

const publishPause = 300 * time.Millisecond

// publishes determines hours of the history that nobody has determined, one after the other, each until that is acknowledged.
func (d *drill) publishes(ctx, work context.Context) error {
	for hour := d.begun; work.Err() == nil; hour = hour.Add(time.Hour) {
		if hour.Sub(d.begun) >= unpublished {
			return errors.New("the history is too short for this drill: every hour of it is published")
		}
		from, to := hour.Format(time.RFC3339), hour.Add(time.Hour).Format(time.RFC3339)
		if err := d.until(ctx, "publish", "--from", from, "--to", to); err != nil {
			return err
		}
		d.log.note(func(p *phase) { p.hours = append(p.hours, hour) })
		every(work, publishPause)
	}
	return nil
}
