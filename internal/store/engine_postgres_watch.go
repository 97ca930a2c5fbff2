package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// channel is where commits are told of.
const channel = "assay"

const (
	silence      = time.Second     // after which a connection is asked whether it is still there
	pingPatience = 2 * time.Second // for its answer
	firstPause   = 50 * time.Millisecond
	longestPause = time.Second // between attempts to connect; readers are promised new data within about that
)

// watch hears of commits on a connection of its own. When that is lost it connects again, and calls changed once, because
// something may have been missed.
func (e *postgresEngine) watch(ctx context.Context, changed func()) {
	pause := firstPause
	for {
		if conn, err := e.listen(ctx); err == nil {
			pause = firstPause
			changed()
			attend(ctx, conn, changed)
			hangUp(ctx, conn)
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
		hangUp(ctx, conn)
		return nil, err
	}
	return conn, nil
}

// attend stays with a connection until it is lost or the context ends, and calls notice for each that comes. A connection that
// is silent may be lost without a word, so it is asked now and then.
func attend(ctx context.Context, conn *pgx.Conn, notice func()) {
	for ctx.Err() == nil {
		waiting, cancel := context.WithTimeout(ctx, silence)
		_, err := conn.WaitForNotification(waiting)
		timedOut := waiting.Err() != nil
		cancel()
		switch {
		case err == nil:
			notice()
		case !timedOut || conn.IsClosed():
			return
		default:
			asking, cancel := context.WithTimeout(ctx, pingPatience)
			err := conn.Ping(asking)
			cancel()
			if err != nil {
				return
			}
		}
	}
}

// hangUp closes a connection without waiting long for a server that may be gone.
func hangUp(ctx context.Context, conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pingPatience)
	defer cancel()
	_ = conn.Close(ctx) // the server notices in any case
}

var errLockLost = errors.New("the publisher's lock was lost with its connection")

// LockPublisher takes an advisory lock of a session, on a connection of its own. The server lets go of it when the connection
// ends, and so does the holder: the context that it works under ends, too.
func (e *postgresEngine) LockPublisher(ctx context.Context) (held context.Context, unlock func(), err error) {
	conn, err := pgx.ConnectConfig(ctx, e.config.Copy())
	if err == nil {
		if _, err = conn.Exec(ctx, `SELECT pg_advisory_lock($1)`, int64(publisherLock)); err != nil {
			hangUp(ctx, conn)
		}
	}
	if ctx.Err() != nil {
		if err == nil {
			hangUp(ctx, conn)
		}
		return nil, nil, ctx.Err()
	}
	if err != nil {
		return nil, nil, fmt.Errorf("take the publisher's lock: %w", err)
	}
	held, cancel := context.WithCancelCause(ctx)
	attending := make(chan struct{})
	go func() {
		defer close(attending)
		attend(held, conn, func() {})
		cancel(errLockLost)
	}()
	return held, func() {
		cancel(nil)
		<-attending
		hangUp(ctx, conn)
	}, nil
}
