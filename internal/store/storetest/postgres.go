package storetest

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/tools/testenv"
)

// Variable names the address of a PostgreSQL server where tests may create databases.
const Variable = "ASSAY_TEST_POSTGRES"

// Server returns the address of the tests' PostgreSQL server. Without a server it skips the test.
func Server(t testing.TB) (address string) {
	t.Helper()
	return testenv.URL(t, testenv.Postgres)
}

// Postgres creates a PostgreSQL database, drops it when the test ends, and returns its address. Without a server it
// skips the test.
func Postgres(t testing.TB) (address string) {
	t.Helper()
	return newPostgres(t, Server(t))
}

// EmptyPostgres is Postgres for a database without tables.
func EmptyPostgres(t testing.TB) (address string) {
	t.Helper()
	server := Server(t)
	return dropLater(t, func() (string, func() error, error) { return createOn(t.Context(), server, "template0") })
}

func newPostgres(t testing.TB, server string) (address string) {
	t.Helper()
	return dropLater(t, func() (string, func() error, error) { return MakePostgres(t.Context(), server) })
}

// dropLater creates a database and drops it when the test ends.
func dropLater(t testing.TB, create func() (address string, remove func() error, err error)) string {
	t.Helper()
	address, remove, err := create()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := remove(); err != nil {
			t.Errorf("drop the test database: %v", err)
		}
	})
	return address
}

// MakePostgres is Postgres for a caller that drops the database before the test ends.
func MakePostgres(ctx context.Context, server string) (address string, remove func() error, err error) {
	name, err := template(ctx, server)
	if err != nil {
		return "", nil, fmt.Errorf("create the template of the test databases: %w", err)
	}
	return createOn(ctx, server, name)
}

// createOn creates a copy of a database.
func createOn(ctx context.Context, server, template string) (address string, remove func() error, err error) {
	database := "assay_test_" + rand.Text()
	// Copying files costs the server a quarter of what logging every page does.
	err = execOn(ctx, server, fmt.Sprintf(`CREATE DATABASE %q TEMPLATE %q STRATEGY file_copy`, database, template))
	if err != nil {
		return "", nil, err
	}
	return in(server, database), func() error {
		return execOn(context.WithoutCancel(ctx), server, fmt.Sprintf(`DROP DATABASE %q WITH (FORCE)`, database))
	}, nil
}

// in returns the address of another database on the server.
func in(server, database string) string {
	u, err := url.Parse(server)
	if err != nil {
		panic(Variable + " is not a valid address")
	}
	u.Path = "/" + database
	return u.String()
}

func execOn(ctx context.Context, address, statement string) error {
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, statement)
	_ = conn.Close(ctx)
	return err
}

// Vacuum removes the rows that transactions have left when they were rolled back. PostgreSQL keeps them for a while,
// and every read of a table passes over them, so that a test that breaks hundreds of transactions would take minutes.
// SQLite keeps none.
func Vacuum(t testing.TB, db *store.DB) {
	t.Helper()
	if IsPostgres(t, db) {
		Exec(t, db, `VACUUM`)
	}
}

// template returns the name of a new, migrated database to copy: a copy takes a fraction of the time of migrating. Each
// process creates one on a server and removes those of earlier processes.
func template(ctx context.Context, server string) (string, error) {
	create := sync.OnceValues(func() (string, error) { return makeTemplate(context.WithoutCancel(ctx), server) })
	made, _ := templates.LoadOrStore(server, create)
	return made.(func() (string, error))()
}

var templates sync.Map // of functions that return the name, by server

func makeTemplate(ctx context.Context, server string) (name string, err error) {
	now := time.Now().UTC()
	if err := removeOld(ctx, server, templatePrefix+now.Add(-time.Hour).Format(templateTime)); err != nil {
		return "", err
	}
	name = templatePrefix + now.Format(templateTime) + rand.Text()
	if err := execOn(ctx, server, fmt.Sprintf(`CREATE DATABASE %q`, name)); err != nil {
		return "", err
	}
	db, err := store.Create(ctx, in(server, name))
	if err != nil {
		return "", err
	}
	return name, db.Close()
}

// A template's name contains its creation time.
const (
	templatePrefix = "assay_template_"
	templateTime   = "20060102_150405_"
)

// removeOld removes the templates whose names sort before the given one. No test runs long enough to need them.
func removeOld(ctx context.Context, server, before string) error {
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	rows, err := conn.Query(ctx, `SELECT datname::text FROM pg_database
		WHERE datname LIKE $1 AND datname::text COLLATE "C" < $2`,
		templatePrefix+"%", before)
	if err != nil {
		return err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	for _, name := range names {
		if err == nil {
			_, err = conn.Exec(ctx, fmt.Sprintf(`DROP DATABASE IF EXISTS %q WITH (FORCE)`, name))
		}
	}
	return err
}
