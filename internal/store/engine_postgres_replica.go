package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

// replicaEngine reads a streaming replica of a PostgreSQL server. Nothing is written through it. Notices are not replicated:
// it listens on the primary, and announces a change once the replica has it.
//
// The address may be that of a balancer, with another replica behind each connection. So what was proven of one says nothing
// about the next: every reading waits until its own connection has at least what was announced or read before.
type replicaEngine struct {
	*postgresEngine // of the replica
	primary         *postgresEngine

	caughtUp atomic.Pointer[time.Time] // when the replica last had all that the primary had

	mu    sync.Mutex
	floor position // what every reading has at least; guarded by mu
}

// position is a place in the write-ahead log, in bytes from its beginning.
type position int64

// ErrReplica says why a replica is not written to.
var ErrReplica = errors.New("this is a read replica: only the primary is written to")

var errBehind = errors.New("the read replica is behind what was read before")

// OpenReplica opens a streaming replica of a database of PostgreSQL, which stays in use as long as it. All that can be done
// with it is reading. It must have all migrations, which come to it from the primary.
func OpenReplica(ctx context.Context, address string, primary *DB) (*DB, error) {
	of, ok := primary.engine.(*postgresEngine)
	if !ok || !IsPostgres(address) {
		return nil, errors.New("only PostgreSQL has read replicas: both addresses are postgres://…")
	}
	reading, err := openPostgres(ctx, address)
	if err != nil {
		return nil, err
	}
	e := &replicaEngine{postgresEngine: reading, primary: of}
	db := newDB(e)
	err = e.checkOrigin(ctx)
	if err == nil {
		err = db.read(ctx, checkMigrated)
	}
	if err == nil {
		err = e.firstLook(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the read replica %s: %w", e.name(), err), e.close())
	}
	db.startWatching(ctx)
	return db, nil
}

// checkOrigin refuses a database that is no copy of the primary's: its positions could not be compared.
func (e *replicaEngine) checkOrigin(ctx context.Context) error {
	const query = `SELECT system_identifier, current_database()::text FROM pg_control_system()`
	var want, got struct {
		system   int64
		database string
	}
	if err := e.primary.readers.QueryRowContext(ctx, query).Scan(&want.system, &want.database); err != nil {
		return fmt.Errorf("ask the primary what it is: %w", err)
	}
	if err := e.readers.QueryRowContext(ctx, query).Scan(&got.system, &got.database); err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("it is no streaming replica of %s, or another database of one", e.primary.name())
	}
	return nil
}

// checkMigrated waits for nobody: who opens a replica that the newest migration has not reached yet tries again.
func checkMigrated(tx *tx) error {
	files, err := migrationFiles(tx.engine.migrations())
	if err != nil {
		return err
	}
	var last int
	if err := tx.QueryRowContext(tx.ctx, `SELECT coalesce(max(number), 0) FROM migrations`).Scan(&last); err != nil {
		return fmt.Errorf("ask for its migrations, which come from the primary: %w", err)
	}
	switch newest := files[len(files)-1].number; {
	case last < newest:
		return fmt.Errorf("it is at migration %d and this program needs %d: it has not caught up with the primary yet", last, newest)
	case last > newest:
		return fmt.Errorf("the database is at migration %d and this program knows %d: use a newer assay", last, newest)
	}
	return nil
}

// firstLook finds out how far behind the replica is. One that is not up to date can be used all the same, and then is as old as
// the last commit that it has.
func (e *replicaEngine) firstLook(ctx context.Context) error {
	conn, err := e.primary.listen(ctx)
	if err != nil {
		return fmt.Errorf("ask the primary how far it is: %w", err)
	}
	defer hangUp(ctx, conn)
	if reached, err := e.prove(ctx, conn); err != nil || reached {
		return err
	}
	var last time.Time
	err = e.readers.QueryRowContext(ctx, `SELECT coalesce(pg_last_xact_replay_timestamp(), pg_postmaster_start_time())`).Scan(&last)
	e.caughtUp.Store(&last)
	return err
}

// LockPublisher refuses: who publishes writes.
func (e *replicaEngine) LockPublisher(context.Context) (context.Context, func(), error) {
	return nil, nil, ErrReplica
}

// Lag is how long ago the replica was last known to have all that the primary had. It grows while either is away.
func (e *replicaEngine) Lag() time.Duration { return time.Since(*e.caughtUp.Load()) }

// begin begins a reading that has at least what was announced or read before.
func (e *replicaEngine) begin(ctx context.Context, write bool) (begun, error) {
	if write {
		return begun{}, ErrReplica
	}
	return beginIn(ctx, e.readers, func(conn *sql.Conn) (begun, error) {
		if err := e.catchUp(ctx, conn); err != nil {
			return begun{}, errors.Join(err, conn.Close())
		}
		return e.beginOn(ctx, conn, false)
	})
}

// catchUp waits until the server of a connection has what was announced or read before.
func (e *replicaEngine) catchUp(ctx context.Context, conn *sql.Conn) error {
	e.mu.Lock()
	floor := e.floor
	e.mu.Unlock()
	at, err := awaitReplay(ctx, conn, floor)
	if err != nil {
		return err
	}
	if at < floor {
		return fmt.Errorf("%s: %w", e.name(), errBehind)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.floor == floor { // else the primary has said otherwise
		e.floor = at
	}
	return nil
}

// replayPatience is how long a replica may take for what the primary has, before the primary is asked again.
const replayPatience = time.Second

// Pauses between two questions to a replica: a commit mostly takes it a few milliseconds.
const (
	replayFirstPause   = 2 * time.Millisecond
	replayLongestPause = 50 * time.Millisecond
)

type rowQuerier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// awaitReplay waits until a server has replayed the log up to a position, though not for long, and tells how far it has come. A
// server that has been promoted decides itself what there is, so it is never behind.
func awaitReplay(ctx context.Context, server rowQuerier, wanted position) (at position, err error) {
	ctx, cancel := context.WithTimeout(ctx, replayPatience+pingPatience)
	defer cancel()
	begun := time.Now()
	for pause := replayFirstPause; ; pause = min(2*pause, replayLongestPause) {
		var replica bool
		err := server.QueryRowContext(ctx, `SELECT pg_is_in_recovery(),
			(coalesce(pg_last_wal_replay_lsn(), '0/0') - '0/0'::pg_lsn)::bigint`).Scan(&replica, (*int64)(&at))
		if err != nil {
			return 0, err
		}
		if !replica {
			return max(at, wanted), nil
		}
		if at >= wanted || time.Since(begun) > replayPatience {
			return at, nil
		}
		select {
		case <-ctx.Done():
			return at, ctx.Err()
		case <-time.After(pause):
		}
	}
}

// watch listens on the primary. While that is away it announces a change about once a second: what the replica has is followed
// all the same.
func (e *replicaEngine) watch(ctx context.Context, changed func()) {
	for {
		if conn, err := e.primary.listen(ctx); err == nil {
			e.attend(ctx, conn, changed)
			hangUp(ctx, conn)
		}
		changed()
		select {
		case <-ctx.Done():
			return
		case <-time.After(longestPause):
		}
	}
}

// attend stays with a connection to the primary until it is lost or the context ends. What was committed is announced once the
// replica has it.
func (e *replicaEngine) attend(ctx context.Context, conn *pgx.Conn, changed func()) {
	for due := true; ctx.Err() == nil; { // due at first, because something may have been missed
		reached, err := e.prove(ctx, conn)
		if err != nil {
			return
		}
		pause := silence
		switch {
		case !reached:
			pause = provePause
		case due:
			changed()
			due = false
		}
		waiting, cancel := context.WithTimeout(ctx, pause)
		_, err = conn.WaitForNotification(waiting)
		timedOut := waiting.Err() != nil
		cancel()
		if err != nil && (!timedOut || conn.IsClosed()) {
			return
		}
		due = due || err == nil
	}
}

// provePause is how long a replica that is behind or away is left alone.
const provePause = 250 * time.Millisecond

// prove asks the primary how far it is, and tells whether the replica has come as far in a short time. An error is one of the
// primary.
func (e *replicaEngine) prove(ctx context.Context, conn *pgx.Conn) (reached bool, err error) {
	e.mu.Lock()
	floor := e.floor
	e.mu.Unlock()
	asked := time.Now()
	wanted, err := primaryPosition(ctx, conn)
	if err != nil {
		return false, err
	}
	if wanted < floor { // no replica is ahead of its primary: that was restored from a copy, or another took its place
		e.setFloor(func(position) position { return wanted })
	}
	at, away := awaitReplay(ctx, e.readers, wanted)
	if reached = away == nil && at >= wanted; reached {
		e.setFloor(func(now position) position { return max(now, wanted) })
		e.caughtUp.Store(&asked)
	}
	return reached, nil
}

func (e *replicaEngine) setFloor(next func(position) position) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.floor = next(e.floor)
}

// primaryPosition is how far the primary's log is on its disk, and so whatever has been committed. It also tells that the
// connection is still there.
func primaryPosition(ctx context.Context, conn *pgx.Conn) (at position, err error) {
	ctx, cancel := context.WithTimeout(ctx, pingPatience)
	defer cancel()
	err = conn.QueryRow(ctx, `SELECT (pg_current_wal_flush_lsn() - '0/0'::pg_lsn)::bigint`).Scan((*int64)(&at))
	return at, err
}
