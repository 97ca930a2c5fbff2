package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// channel is the NOTIFY channel of commits.
const channel = "assay"

const (
	pingAfter    = time.Second // a connection that is silent for that long is pinged
	pingTimeout  = 2 * time.Second
	firstPause   = 50 * time.Millisecond
	longestPause = time.Second // between attempts to connect; readers are promised new data within about a second
)

// watch listens for commits on its own connection. When the connection is lost it reconnects and calls changed once,
// because it may have missed a commit.
func (e *postgresEngine) watch(ctx context.Context, changed func()) {
	pause := firstPause
	for {
		if conn, err := e.listen(ctx); err == nil {
			pause = firstPause
			changed()
			awaitNotifications(ctx, conn, changed)
			closeConn(ctx, conn)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		pause = min(2*pause, longestPause)
	}
}

func (e *postgresEngine) listen(ctx context.Context) (*pgx.Conn, error) {
	conn, err := pgx.ConnectConfig(ctx, e.config.Copy())
	if err != nil {
		return nil, err
	}
	if _, err := conn.Exec(ctx, `LISTEN `+channel); err != nil {
		closeConn(ctx, conn)
		return nil, err
	}
	return conn, nil
}

// awaitNotifications calls notified for each notification until the connection is lost or the context ends. A silent
// connection may be lost unnoticed, so it is pinged.
func awaitNotifications(ctx context.Context, conn *pgx.Conn, notified func()) {
	for ctx.Err() == nil {
		waiting, cancel := context.WithTimeout(ctx, pingAfter)
		_, err := conn.WaitForNotification(waiting)
		timedOut := waiting.Err() != nil
		cancel()
		switch {
		case err == nil:
			notified()
		case !timedOut || conn.IsClosed():
			return
		default:
			pinging, cancel := context.WithTimeout(ctx, pingTimeout)
			err := conn.Ping(pinging)
			cancel()
			if err != nil {
				return
			}
		}
	}
}

// closeConn closes a connection without waiting long for a server that may be gone.
func closeConn(ctx context.Context, conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pingTimeout)
	defer cancel()
	_ = conn.Close(ctx) // the server notices the end in any case
}

var errLockLost = errors.New("the publisher's lock was lost with its connection")

// LockPublisher takes a session-level advisory lock on its own connection. When the connection ends, the server
// releases the lock, and the context of the work under it ends too.
func (e *postgresEngine) LockPublisher(ctx context.Context) (held context.Context, unlock func(), err error) {
	conn, err := e.lockedConn(ctx)
	if ctx.Err() != nil {
		if err == nil {
			closeConn(ctx, conn)
		}
		return nil, nil, ctx.Err()
	}
	if err != nil {
		return nil, nil, fmt.Errorf("take the publisher's lock: %w", err)
	}
	held, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		awaitNotifications(held, conn, func() {})
		cancel(errLockLost)
	}()
	return held, func() {
		cancel(nil)
		<-ended
		closeConn(ctx, conn)
	}, nil
}

// lockedConn makes a connection that holds the publisher's lock.
func (e *postgresEngine) lockedConn(ctx context.Context) (*pgx.Conn, error) {
	conn, err := pgx.ConnectConfig(ctx, e.config.Copy())
	if err != nil {
		return nil, err
	}
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock($1)`, int64(publisherLock)); err != nil {
		closeConn(ctx, conn)
		return nil, err
	}
	return conn, nil
}
