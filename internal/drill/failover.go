//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/assaydata/assay/internal/process"
)

// writesAround is how many acknowledged writes come before the loss of the primary, and again after it.
const writesAround = 500

// writer inserts rising numbers, each once, and keeps those that were acknowledged.
type writer struct {
	url   string
	conn  *pgx.Conn // nil after a failure
	next  int64
	acked []int64
}

// write sends the next number. After an error nobody knows whether it is there, so it is never sent again.
func (w *writer) write(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if w.conn == nil {
		conn, err := pgx.Connect(ctx, w.url)
		if err != nil {
			return err
		}
		w.conn = conn
	}
	w.next++
	if _, err := w.conn.Exec(ctx, `INSERT INTO drill VALUES ($1)`, w.next); err != nil {
		w.conn.Close(ctx)
		w.conn = nil
		return err
	}
	w.acked = append(w.acked, w.next)
	return nil
}

// writeMany goes on until so many writes were acknowledged.
func (w *writer) writeMany(ctx context.Context, n int) error {
	for range n {
		if err := process.Await(ctx, "an acknowledged write", time.Minute, w.write); err != nil {
			return err
		}
	}
	return nil
}

// failover loses the primary between two stretches of writes.
func failover(ctx context.Context, c *cluster) (report, error) {
	w := &writer{url: c.url()}
	if err := process.Await(ctx, "a table", time.Minute, func(ctx context.Context) error { return createTable(ctx, c.url()) }); err != nil {
		return report{}, err
	}
	if err := w.writeMany(ctx, writesAround); err != nil {
		return report{}, err
	}
	old, err := c.awaitPrimary(ctx, 3)
	if err != nil {
		return report{}, err
	}
	if err := old.lose(); err != nil {
		return report{}, fmt.Errorf("kill the primary %s: %w", old.Name, err)
	}
	lost := time.Now()
	if err := w.writeMany(ctx, 1); err != nil {
		return report{}, err
	}
	r := report{Old: old.Name, Gap: time.Since(lost)}
	if err := w.writeMany(ctx, writesAround-1); err != nil {
		return report{}, err
	}
	now, err := c.awaitPrimary(ctx, 2)
	if err != nil {
		return report{}, err
	}
	r.New = now.Name
	return r, r.count(ctx, w)
}

func createTable(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, `CREATE TABLE IF NOT EXISTS drill (number bigint NOT NULL)`)
	return errors.Join(err, conn.Close(ctx))
}
