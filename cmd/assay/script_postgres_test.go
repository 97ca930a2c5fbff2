package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/assaydata/assay/internal/store/storetest"
)

const (
	// onPostgres is the key of a script's PostgreSQL databases; there are none with SQLite.
	onPostgres = "postgres"

	// storeVariable sets --store.
	storeVariable = "ASSAY_STORE"
)

// scriptDatabases are the PostgreSQL databases of a script. They are created when first named.
type scriptDatabases struct {
	t         testing.TB // of all scripts together
	server    string
	addresses map[string]string
	atEnd     func(func())
}

func (d *scriptDatabases) get(ctx context.Context, name string) (address string, err error) {
	if address, ok := d.addresses[name]; ok {
		return address, nil
	}
	address, remove, err := storetest.MakePostgres(ctx, d.server)
	if err != nil {
		return "", err
	}
	d.addresses[name] = address
	d.atEnd(func() {
		if err := remove(); err != nil {
			d.t.Errorf("remove the database of a script: %v", err)
		}
	})
	return address, nil
}

// postgresOf returns the databases of a script; nil with SQLite.
func postgresOf(ts *testscript.TestScript) *scriptDatabases {
	d, _ := ts.Value(onPostgres).(*scriptDatabases)
	return d
}

func cmdDatabase(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: database NAME")
	}
	if d := postgresOf(ts); d != nil {
		address, err := d.get(context.Background(), args[0])
		ts.Check(err)
		ts.Setenv(storeVariable, address)
	}
}

func cmdDatabaseAway(ts *testscript.TestScript, neg bool, args []string) {
	allowConnections(ts, neg, args, false)
}

func cmdDatabaseBack(ts *testscript.TestScript, neg bool, args []string) {
	allowConnections(ts, neg, args, true)
}

// allowConnections accepts connections to the database, or refuses new ones and ends the open ones.
func allowConnections(ts *testscript.TestScript, neg bool, args []string, allow bool) {
	d := postgresOf(ts)
	if neg || len(args) != 0 || d == nil {
		ts.Fatalf("usage: [postgres] database-away, or [postgres] database-back")
	}
	config, err := pgx.ParseConfig(ts.Getenv(storeVariable))
	ts.Check(err)
	ts.Check(withPostgres(d.server, func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, fmt.Sprintf(`ALTER DATABASE %q ALLOW_CONNECTIONS %t`, config.Database, allow))
		if err == nil && !allow {
			err = endConnections(ctx, conn, config.Database)
		}
		return err
	}))
}

// endConnections ends the connections to a database that accepts no new ones. One that is just being opened does not
// show in pg_stat_activity yet, but keeps the database from being renamed.
func endConnections(ctx context.Context, conn *pgx.Conn, name string) (err error) {
	for range 10 {
		_, err = conn.Exec(ctx, `SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = $1`, name)
		if err != nil {
			return err
		}
		if _, err = conn.Exec(ctx, fmt.Sprintf(`ALTER DATABASE %q RENAME TO %q`, name, name+"_away")); err == nil {
			_, err = conn.Exec(ctx, fmt.Sprintf(`ALTER DATABASE %q RENAME TO %q`, name+"_away", name))
			return err
		}
	}
	return err
}

func withPostgres(address string, f func(context.Context, *pgx.Conn) error) error {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	return errors.Join(f(ctx, conn), conn.Close(ctx))
}

func cmdDump(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: dump FOLDER")
	}
	if postgresOf(ts) == nil {
		return
	}
	folder := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(folder, 0o700))
	ts.Check(withPostgres(ts.Getenv(storeVariable), func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, `SELECT table_name::text FROM information_schema.tables
			WHERE table_schema = 'public' AND table_type = 'BASE TABLE'`)
		if err != nil {
			return err
		}
		tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err == nil && len(tables) == 0 {
			err = errors.New("the database has no tables")
		}
		for _, table := range tables {
			if err == nil {
				err = dumpTable(ctx, conn, table, filepath.Join(folder, table+".dump"))
			}
		}
		return err
	}))
}

// dumpTable writes the cells of a table one after the other, texts and bytes unchanged.
func dumpTable(ctx context.Context, conn *pgx.Conn, table, file string) error {
	rows, err := conn.Query(ctx, `SELECT * FROM `+pgx.Identifier{table}.Sanitize())
	if err != nil {
		return err
	}
	defer rows.Close()
	var all bytes.Buffer
	for rows.Next() {
		for _, cell := range rows.RawValues() {
			all.Write(cell)
			all.WriteByte('\n')
		}
	}
	return errors.Join(rows.Err(), os.WriteFile(file, all.Bytes(), 0o600))
}
