//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/tools/process"
)

// catchUp is what a publisher took to make the real-time prints that it had missed.
type catchUp struct {
	prints  int
	memory  int64
	longest time.Duration // that another writer waited for its turn
}

// missedHours is how long no publisher ran; every line has two transactions in each of them.
const missedHours = 8

// measureCatchUp starts a publisher on a database with the transactions of some hours that were not printed, and asks
// for the write lock meanwhile.
func measureCatchUp(ctx context.Context, o options) (c catchUp, err error) {
	fmt.Println("growth: real-time prints that were missed")
	dir, err := os.MkdirTemp("", "assay-growth")
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	d := &database{options: o, dir: dir, measured: &measured{}}
	if err := d.run(ctx, "init", nil, "init"); err != nil {
		return c, err
	}
	db, err := store.Open(ctx, "sqlite://"+d.folder())
	if err != nil {
		return c, err
	}
	defer db.Close()
	lines := models * regions
	if o.short {
		lines /= 100
	}
	if err := db.AddToCatalog(ctx, catalog()); err != nil {
		return c, err
	}
	last := time.Now().UTC().Truncate(time.Minute)
	if err := d.run(ctx, "import", missedRows(lines, last), "import", "transactions", "-"); err != nil {
		return c, err
	}
	from := last.Add(-missedHours * time.Hour).Truncate(time.Hour)
	if err := d.run(ctx, "publish", nil, "publish", "--from", from.Format(time.RFC3339)); err != nil {
		return c, err
	}
	return d.watchCatchUp(ctx, db, last)
}

// watchCatchUp runs the publisher until it has printed up to an instant.
func (d *database) watchCatchUp(ctx context.Context, db *store.DB, last time.Time) (c catchUp, err error) {
	ports, err := process.SparePorts(1)
	if err != nil {
		return c, err
	}
	p, err := process.Command{
		Name: "publisher", Dir: d.dir, DeathSignal: syscall.SIGKILL, Program: d.assay,
		Env:  []string{"ASSAY_DIR=" + d.folder()},
		Args: []string{"serve", "--role", "publish", "--addr", process.Loopback(ports[0])},
	}.Start()
	if err != nil {
		return c, err
	}
	defer p.Stop()
	writer, err := d.openRaw()
	if err != nil {
		return c, err
	}
	defer writer.Close()
	tick := time.NewTicker(keyPause)
	defer tick.Stop()
	for begun := time.Now(); ; <-tick.C {
		before := time.Now()
		tx, err := writer.BeginTx(ctx, nil)
		if err != nil {
			return c, err
		}
		c.longest = max(c.longest, time.Since(before))
		if err := tx.Rollback(); err != nil {
			return c, err
		}
		counters, err := db.Counters(ctx)
		if err != nil {
			return c, err
		}
		if counters.Realtime >= last.UnixMilli() {
			break
		}
		if p.Ended() || time.Since(begun) > patience {
			return c, p.Explain(fmt.Errorf("the prints reach to %s, not %s",
				assay.FormatInstant(counters.Realtime), assay.FormatInstant(last.UnixMilli())))
		}
	}
	if _, c.memory, err = usageOf(p.Pid()); err != nil {
		return c, err
	}
	prints, err := db.Realtime(ctx, 0, last.UnixMilli())
	c.prints = len(prints)
	return c, err
}

// missedRows are the transactions of the missed hours, as CSV.
func missedRows(lines int, last time.Time) *bytes.Buffer {
	b := bytes.NewBufferString("id,source,executed_at,gpu_name,region,price,gpus,hours,provider,verified\n")
	for i := range 2 * missedHours {
		at := last.Add(-time.Duration(i)*30*time.Minute - time.Minute).Format(time.RFC3339)
		for line := range lines {
			fmt.Fprintf(b, "%d-%d,growth,%s,%s,%s,2.5,8,24,Alder,true\n", i, line, at, model(line%models), region(line/models))
		}
	}
	return b
}

// catalog has the models and regions of every database.
func catalog() (c assay.Catalog) {
	for i := range models {
		c.GPUs = append(c.GPUs, assay.GPU{Name: model(i), Free: true})
	}
	for i := range regions {
		c.Regions = append(c.Regions, region(i))
	}
	return c
}

// text is the result in words.
func (c *catchUp) text() string {
	return fmt.Sprintf("After %d hours without a publisher, %s real-time prints were made with at most %d MB; "+
		"another writer waited at most %s.\n", missedHours, thousands(c.prints), c.memory>>20, milliseconds(c.longest))
}

// maxCatchUp is how much memory a publisher may have while it makes prints that it has missed, and maxWait how long it
// may let another writer wait.
const (
	maxCatchUp = 1 << 30
	maxWait    = time.Second
)

func (c *catchUp) check(short bool) error {
	switch {
	case c.prints == 0:
		return errors.New("no real-time prints were made")
	case c.longest > maxWait && !short:
		return fmt.Errorf("another writer waited %s, more than %s", milliseconds(c.longest), milliseconds(maxWait))
	}
	if c.memory > maxCatchUp {
		return fmt.Errorf("missed prints take %d MB, more than %d MB", c.memory>>20, maxCatchUp>>20)
	}
	return nil
}
