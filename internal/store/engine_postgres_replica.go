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

// replicaEngine reads a streaming replica of a PostgreSQL server and refuses to write. Notifications are not
// replicated, so it listens on the primary and announces a change once the replica has it.
//
// The address may be that of a load balancer, with different replicas behind its connections. Having checked one says
// nothing about the others, so every read waits until its own connection has at least what was announced or read
// before.
type replicaEngine struct {
	*postgresEngine // of the replica
	primary         *postgresEngine

	caughtUp atomic.Pointer[time.Time] // when the replica last had everything that the primary had

	mu      sync.Mutex
	minimum position // every read has at least the log up to here; guarded by mu
}

// position is a position in the write-ahead log, in bytes from its beginning.
type position int64

// ErrReplica is the error of every write to a replica.
var ErrReplica = errors.New("this is a read replica: write to the primary")

var errReplicaBehind = errors.New("the read replica is behind what was read before")

// OpenReplica opens a streaming replica of a PostgreSQL database for reading. The primary must stay open as long as the
// replica. Migrations reach the replica from the primary; it must have all of them.
func OpenReplica(ctx context.Context, address string, primary *DB) (*DB, error) {
	of, ok := primary.engine.(*postgresEngine)
	if !ok || !IsPostgres(address) {
		return nil, errors.New("only PostgreSQL has read replicas: both addresses must be postgres://…")
	}
	reading, err := openPostgres(ctx, address)
	if err != nil {
		return nil, err
	}
	e := &replicaEngine{postgresEngine: reading, primary: of}
	db := newDB(e)
	err = inOrder(
		func() error { return e.checkOrigin(ctx) },
		func() error { return db.read(ctx, checkMigrated) },
		func() error { return e.measureLag(ctx) },
	)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the read replica %s: %w", e.name(), err), e.close())
	}
	return db, nil
}

// checkOrigin refuses a database that is no copy of the primary's: their log positions could not be compared.
func (e *replicaEngine) checkOrigin(ctx context.Context) error {
	const query = `SELECT system_identifier, current_database()::text FROM pg_control_system()`
	var want, got struct {
		system   int64
		database string
	}
	if err := e.primary.readers.QueryRowContext(ctx, query).Scan(&want.system, &want.database); err != nil {
		return fmt.Errorf("identify the primary: %w", err)
	}
	if err := e.readers.QueryRowContext(ctx, query).Scan(&got.system, &got.database); err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("it is no streaming replica of %s, or another database on one", e.primary.name())
	}
	return nil
}

// checkMigrated is checkSchema, with a reason of its own. It does not wait: the caller retries until the newest
// migration has reached the replica.
func checkMigrated(tx *tx) error {
	err := checkSchema(tx)
	older, ok := errors.AsType[*SchemaError](err)
	if ok && older.Older() || errors.Is(err, ErrNoDatabase) {
		return fmt.Errorf("%w: it has not caught up with the primary yet", err)
	}
	return err
}

// measureLag sets how far behind the replica is. A replica that is behind can be used; its age is that of its last
// commit.
func (e *replicaEngine) measureLag(ctx context.Context) error {
	conn, err := e.primary.listen(ctx)
	if err != nil {
		return fmt.Errorf("read the log position of the primary: %w", err)
	}
	defer closeConn(ctx, conn)
	if reached, err := e.checkReplay(ctx, conn); err != nil || reached {
		return err
	}
	var last time.Time
	err = e.readers.QueryRowContext(ctx,
		`SELECT coalesce(pg_last_xact_replay_timestamp(), pg_postmaster_start_time())`).Scan(&last)
	e.caughtUp.Store(&last)
	return err
}

// LockPublisher refuses: publishing is writing.
func (e *replicaEngine) LockPublisher(context.Context) (context.Context, func(), error) {
	return nil, nil, ErrReplica
}

// Lag returns the time since the replica was last known to have everything that the primary had. It grows while either
// is unreachable.
func (e *replicaEngine) Lag() time.Duration { return time.Since(*e.caughtUp.Load()) }

// begin begins a read that has at least what was announced or read before.
func (e *replicaEngine) begin(ctx context.Context, write bool) (openTx, error) {
	if write {
		return openTx{}, ErrReplica
	}
	return beginIn(ctx, e.readers, func(conn *sql.Conn) (openTx, error) {
		if err := e.catchUp(ctx, conn); err != nil {
			return openTx{}, errors.Join(err, conn.Close())
		}
		return e.beginOn(ctx, conn, false)
	})
}

// catchUp waits until the server of a connection has what was announced or read before.
func (e *replicaEngine) catchUp(ctx context.Context, conn *sql.Conn) error {
	e.mu.Lock()
	minimum := e.minimum
	e.mu.Unlock()
	at, err := awaitReplay(ctx, conn, minimum)
	if err != nil {
		return err
	}
	if at < minimum {
		return fmt.Errorf("%s: %w", e.name(), errReplicaBehind)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.minimum == minimum { // otherwise checkReplay has set it meanwhile
		e.minimum = at
	}
	return nil
}

// replayTimeout is how long to wait for a replica to catch up before reading the position of the primary again.
const replayTimeout = time.Second

// Pauses between two queries to a replica. It usually replays a commit within a few milliseconds.
const (
	replayFirstPause   = 2 * time.Millisecond
	replayLongestPause = 50 * time.Millisecond
)

type rowQuerier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// awaitReplay waits a short time until a server has replayed the log up to a position, and returns how far it is. A
// server that was promoted is its own primary, so it is never behind.
func awaitReplay(ctx context.Context, server rowQuerier, wanted position) (at position, err error) {
	ctx, cancel := context.WithTimeout(ctx, replayTimeout+pingTimeout)
	defer cancel()
	started := time.Now()
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
		if at >= wanted || time.Since(started) > replayTimeout {
			return at, nil
		}
		select {
		case <-ctx.Done():
			return at, ctx.Err()
		case <-time.After(pause):
		}
	}
}

// watch listens on the primary. While the primary is unreachable it announces a change about once a second, so that
// readers follow what still reaches the replica.
func (e *replicaEngine) watch(ctx context.Context, changed func()) {
	for {
		if conn, err := e.primary.listen(ctx); err == nil {
			e.awaitNotifications(ctx, conn, changed)
			closeConn(ctx, conn)
		}
		changed()
		select {
		case <-ctx.Done():
			return
		case <-time.After(longestPause):
		}
	}
}

// awaitNotifications announces commits once the replica has them, until the connection to the primary is lost or the
// context ends.
func (e *replicaEngine) awaitNotifications(ctx context.Context, conn *pgx.Conn, changed func()) {
	for due := true; ctx.Err() == nil; { // due at first, because a commit may have been missed
		reached, err := e.checkReplay(ctx, conn)
		if err != nil {
			return
		}
		pause := pingAfter
		switch {
		case !reached:
			pause = checkPause
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

// checkPause is the time between two checks of a replica that is behind or unreachable.
const checkPause = 250 * time.Millisecond

// checkReplay reads the log position of the primary, and reports whether the replica reaches it within a short time. An
// error is one of the primary.
func (e *replicaEngine) checkReplay(ctx context.Context, conn *pgx.Conn) (reached bool, err error) {
	e.mu.Lock()
	minimum := e.minimum
	e.mu.Unlock()
	asked := time.Now()
	wanted, err := primaryPosition(ctx, conn)
	if err != nil {
		return false, err
	}
	if wanted < minimum { // no replica is ahead of its primary, so the primary was restored from a backup or replaced
		e.setMinimum(func(position) position { return wanted })
	}
	at, away := awaitReplay(ctx, e.readers, wanted)
	if reached = away == nil && at >= wanted; reached {
		e.setMinimum(func(now position) position { return max(now, wanted) })
		e.caughtUp.Store(&asked)
	}
	return reached, nil
}

func (e *replicaEngine) setMinimum(next func(position) position) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.minimum = next(e.minimum)
}

// primaryPosition returns how far the primary's log is on disk, which includes everything committed. The query also
// shows that the connection still works.
func primaryPosition(ctx context.Context, conn *pgx.Conn) (at position, err error) {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	err = conn.QueryRow(ctx, `SELECT (pg_current_wal_flush_lsn() - '0/0'::pg_lsn)::bigint`).Scan((*int64)(&at))
	return at, err
}
