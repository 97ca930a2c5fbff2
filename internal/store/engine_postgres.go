package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// postgresEngine has one connection for writing, several for reading, and two that are made when needed: one listens
// for commits, one holds the publisher's lock. Of all processes one writes at a time, as in SQLite: receipts and
// counters become visible in their order, and a name or an id is never half written.
type postgresEngine struct {
	config  *pgx.ConnConfig
	writer  *sql.DB
	readers *sql.DB
}

// Keys of the advisory locks in a database.
const (
	writerLock    = 0x61737361790001 // held by a transaction that writes
	publisherLock = 0x61737361790002 // held by a session that publishes
)

// postgresReaders bounds the concurrent reads of a process. Reads are short; more of them wait.
const postgresReaders = 8

func openPostgres(ctx context.Context, address string) (*postgresEngine, error) {
	config, err := pgx.ParseConfig(address)
	if failure, ok := errors.AsType[*pgconn.ParseConfigError](err); ok {
		failure.ConnString = postgresScheme + "…" // the error would show the address
	}
	if err != nil {
		return nil, fmt.Errorf("parse the database address: %w", err)
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectTimeout
	}
	for name, value := range postgresSettings {
		if config.RuntimeParams[name] == "" {
			config.RuntimeParams[name] = value
		}
	}
	writing := config.Copy()
	if writing.RuntimeParams[idleTimeout] == "" {
		writing.RuntimeParams[idleTimeout] = writerIdle
	}
	e := &postgresEngine{config: config, writer: stdlib.OpenDB(*writing), readers: stdlib.OpenDB(*config)}
	e.writer.SetMaxOpenConns(1)
	e.readers.SetMaxOpenConns(postgresReaders)
	e.readers.SetMaxIdleConns(postgresReaders)
	if err := e.checkVersion(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", e.name(), err), e.close())
	}
	return e, nil
}

// connectTimeout bounds making a connection, unless the address sets connect_timeout.
const connectTimeout = 5 * time.Second

// postgresSettings are the settings of our sessions. With them the server soon notices a client that is gone, and
// releases its locks. It compiles no statement (jit), because indexOnly makes the planner think that any scan of a
// table, also of one with three rows, is worth a fifth of a second of compiling.
var postgresSettings = map[string]string{
	"application_name":        "assay",
	"tcp_keepalives_idle":     "5",
	"tcp_keepalives_interval": "2",
	"tcp_keepalives_count":    "3",
	"tcp_user_timeout":        "11000", // as long as the keepalives, which pause while sent data is not acknowledged
	"jit":                     "off",
}

// A process that is cut off in the middle of a write transaction would hold the writer's lock until the network reports
// the loss. The server ends such a session; ours never pause that long between two statements.
const (
	idleTimeout = "idle_in_transaction_session_timeout"
	writerIdle  = "10s"
)

// postgresOldest is the oldest supported version.
const postgresOldest = 15

func (e *postgresEngine) checkVersion(ctx context.Context) error {
	var number int
	var encoding string
	err := e.readers.QueryRowContext(ctx,
		`SELECT current_setting('server_version_num')::bigint, current_setting('server_encoding')`).Scan(&number, &encoding)
	switch {
	case err != nil:
		return err
	case number/10000 < postgresOldest:
		return fmt.Errorf("PostgreSQL %d is too old: version %d or newer is required", number/10000, postgresOldest)
	case encoding != "UTF8":
		return fmt.Errorf("the encoding of the database is %s: it must be UTF8", encoding)
	}
	return nil
}

// name returns the address of the database without user and password.
func (e *postgresEngine) name() string {
	return fmt.Sprintf("postgres://%s:%d/%s", e.config.Host, e.config.Port, e.config.Database)
}

func (e *postgresEngine) migrations() string { return "migrations/postgres" }

func (e *postgresEngine) hasTable(tx *tx, name string) (exists bool, err error) {
	err = tx.QueryRowContext(tx.ctx, `SELECT to_regclass($1) IS NOT NULL`, name).Scan(&exists)
	return exists, err
}

func (e *postgresEngine) close() error { return errors.Join(e.readers.Close(), e.writer.Close()) }

// begin begins a transaction. When a pooled connection turns out to be lost, nothing has been done yet and the next one
// is tried.
func (e *postgresEngine) begin(ctx context.Context, write bool) (openTx, error) {
	pool := e.readers
	if write {
		pool = e.writer
	}
	return beginIn(ctx, pool, func(conn *sql.Conn) (openTx, error) { return e.beginOn(ctx, conn, write) })
}

func beginIn(ctx context.Context, pool *sql.DB, beginOn func(*sql.Conn) (openTx, error)) (b openTx, err error) {
	for range postgresReaders + 1 {
		var conn *sql.Conn
		if conn, err = pool.Conn(ctx); err != nil {
			return openTx{}, err
		}
		if b, err = beginOn(conn); err == nil || ctx.Err() != nil || errors.Is(err, errReplicaBehind) {
			break
		}
	}
	return b, err
}

// finishTimeout bounds the commit or rollback of a transaction after its context has ended.
const finishTimeout = 5 * time.Second

// beginOn begins a transaction on a connection. Its commit does not depend on the context: with a commit canceled
// halfway, we could not tell whether it happened.
func (e *postgresEngine) beginOn(ctx context.Context, conn *sql.Conn, write bool) (openTx, error) {
	txCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stopCancel := context.AfterFunc(ctx, cancel) // the context may cancel the beginning: nothing has been done yet
	// A read sees one moment. A write sees everything that was committed while it waited for the lock.
	options := &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}
	if write {
		options = &sql.TxOptions{Isolation: sql.LevelReadCommitted}
	}
	t, err := conn.BeginTx(txCtx, options)
	stopCancel()
	stopTimer := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(finishTimeout, cancel)
		context.AfterFunc(txCtx, func() { timer.Stop() })
	})
	end := func() {
		stopTimer()
		cancel()
		_ = conn.Close() // the transaction has reported any error
	}
	if err == nil && write {
		// PostgreSQL sends the notification with the commit.
		_, err = t.ExecContext(ctx, `SELECT pg_advisory_xact_lock($1), pg_notify($2, '')`, int64(writerLock), channel)
		if err != nil {
			_ = t.Rollback()
		}
	}
	if err != nil {
		end()
	}
	return openTx{Tx: t, conn: conn, end: end}, err
}

// Ping checks that the database can be read. It begins a transaction, because begin replaces connections that were lost
// while idle: they say nothing about the database now.
func (e *postgresEngine) Ping(ctx context.Context) error {
	b, err := e.begin(ctx, false)
	if err == nil {
		var one int
		err = errors.Join(b.QueryRowContext(ctx, `SELECT 1 FROM counters LIMIT 1`).Scan(&one), b.Rollback())
		b.end()
	}
	if ctx.Err() != nil {
		return ctx.Err() // the connection's error is only its consequence
	}
	return err
}

// Lag returns zero: commits go to this database.
func (e *postgresEngine) Lag() time.Duration { return 0 }

// Clock asks the server.
func (e *postgresEngine) Clock(ctx context.Context) (at time.Time, ok bool, err error) {
	b, err := e.begin(ctx, false)
	if err != nil {
		return at, false, err
	}
	defer b.end()
	err = b.QueryRowContext(ctx, `SELECT clock_timestamp()`).Scan(&at)
	return at, err == nil, errors.Join(err, b.Rollback())
}

// ReleaseMemory does nothing: the memory is the server's.
func (e *postgresEngine) ReleaseMemory(context.Context) error { return nil }

// Backup refuses: PostgreSQL has tools for it.
func (e *postgresEngine) Backup(_ context.Context, file string) error {
	return fmt.Errorf("backup to %s: this is a PostgreSQL database: use pg_dump, or archive the WAL", file)
}
