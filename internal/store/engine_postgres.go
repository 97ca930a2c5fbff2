package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// postgresEngine has one writing connection and several reading ones, and two that are made when they are needed: one hears of
// commits, one holds the publisher's lock. Among the writing connections of all processes there is one writer at a time, as in
// SQLite: receipts and counters become visible in their order, and nobody finds a name or an id half written.
type postgresEngine struct {
	config  *pgx.ConnConfig
	writer  *sql.DB
	readers *sql.DB
}

// The advisory locks of a database.
const (
	writerLock    = 0x61737361790001 // held by a transaction that writes
	publisherLock = 0x61737361790002 // held by a session that publishes
)

// postgresReaders is how many readings go on at once; readings are short, and others of the process wait.
const postgresReaders = 8

func openPostgres(ctx context.Context, address string) (*postgresEngine, error) {
	config, err := pgx.ParseConfig(address)
	if err != nil {
		return nil, fmt.Errorf("the address of the database: %w", err) // without its password
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectPatience
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

// connectPatience is how long making a connection may take.
const connectPatience = 5 * time.Second

// postgresSettings are those of our sessions. The server looks after a client that has gone silent, so that nobody waits long
// for a lock whose holder's machine is gone.
var postgresSettings = map[string]string{
	"application_name":        "assay",
	"tcp_keepalives_idle":     "5",
	"tcp_keepalives_interval": "2",
	"tcp_keepalives_count":    "3",
	"tcp_user_timeout":        "11000", // keepalives are silent while an answer waits to be taken; as long as they take
}

// A process that is cut off in the middle of a transaction that writes would keep the writer's lock, and all others from writing,
// for as long as the network pretends that it is there. Ours leave no such pause between two statements.
const (
	idleTimeout = "idle_in_transaction_session_timeout"
	writerIdle  = "10s"
)

// postgresOldest is the first version that has all we use.
const postgresOldest = 15

func (e *postgresEngine) checkVersion(ctx context.Context) error {
	var number int
	var encoding string
	err := e.readers.QueryRowContext(ctx, `SELECT current_setting('server_version_num')::bigint, current_setting('server_encoding')`).Scan(&number, &encoding)
	if err == nil && number/10000 < postgresOldest {
		err = fmt.Errorf("PostgreSQL %d is too old: %d or newer is needed", number/10000, postgresOldest)
	}
	if err == nil && encoding != "UTF8" {
		err = fmt.Errorf("the encoding of the database is %s: it must be UTF8", encoding)
	}
	return err
}

// name is where the database is, without user and password.
func (e *postgresEngine) name() string {
	return fmt.Sprintf("postgres://%s:%d/%s", e.config.Host, e.config.Port, e.config.Database)
}

func (e *postgresEngine) migrations() string { return "migrations/postgres" }

func (e *postgresEngine) close() error { return errors.Join(e.readers.Close(), e.writer.Close()) }

// begin begins a transaction. A connection of the pool may have been lost since it was used last; then nothing has been done
// yet, and the next one is tried.
func (e *postgresEngine) begin(ctx context.Context, write bool) (begun, error) {
	pool := e.readers
	if write {
		pool = e.writer
	}
	return beginIn(ctx, pool, func(conn *sql.Conn) (begun, error) { return e.beginOn(ctx, conn, write) })
}

func beginIn(ctx context.Context, pool *sql.DB, beginOn func(*sql.Conn) (begun, error)) (b begun, err error) {
	for range postgresReaders + 1 {
		var conn *sql.Conn
		if conn, err = pool.Conn(ctx); err != nil {
			return begun{}, err
		}
		if b, err = beginOn(conn); err == nil || ctx.Err() != nil || errors.Is(err, errBehind) {
			break
		}
	}
	return b, err
}

// finishPatience is how long the end of a transaction may take once its context has ended.
const finishPatience = 5 * time.Second

// beginOn begins a transaction on a connection. Its end does not depend on the context: a commit that is broken off while it is
// under way has happened or not, and nobody could tell.
func (e *postgresEngine) beginOn(ctx context.Context, conn *sql.Conn, write bool) (begun, error) {
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	hurry := context.AfterFunc(ctx, cancel)                                       // until it has begun there is nothing that could be broken off
	options := &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true} // all of a reading is of one moment
	if write {
		options = &sql.TxOptions{Isolation: sql.LevelReadCommitted} // what was committed while we waited for the lock counts
	}
	t, err := conn.BeginTx(own, options)
	hurry()
	forget := context.AfterFunc(ctx, func() {
		late := time.AfterFunc(finishPatience, cancel)
		context.AfterFunc(own, func() { late.Stop() })
	})
	end := func() {
		forget()
		cancel()
		_ = conn.Close() // the transaction has told what there is to tell
	}
	if err == nil && write {
		// The notice goes out with the commit.
		if _, err = t.ExecContext(ctx, `SELECT pg_advisory_xact_lock($1), pg_notify($2, '')`, int64(writerLock), channel); err != nil {
			_ = t.Rollback()
		}
	}
	if err != nil {
		end()
	}
	return begun{t, conn, end}, err
}

// Ping tells whether the database can be read. It begins a transaction for that, because begin knows what to do about
// connections that were lost while nobody used them: they say nothing about the database now.
func (e *postgresEngine) Ping(ctx context.Context) error {
	b, err := e.begin(ctx, false)
	if err == nil {
		var one int
		err = errors.Join(b.QueryRowContext(ctx, `SELECT 1 FROM counters LIMIT 1`).Scan(&one), b.Rollback())
		b.end()
	}
	if ctx.Err() != nil {
		return ctx.Err() // whatever it has made of the connection
	}
	return err
}

// Lag is none where commits go.
func (e *postgresEngine) Lag() time.Duration { return 0 }

// ReleaseMemory has nothing to give back: the memory is the server's.
func (e *postgresEngine) ReleaseMemory(context.Context) error { return nil }

// Backup leaves it to PostgreSQL's own tools, which know how to go on from a copy.
func (e *postgresEngine) Backup(_ context.Context, file string) error {
	return fmt.Errorf("backup to %s: the database is PostgreSQL's: use pg_dump for a copy, or archive the WAL", file)
}
