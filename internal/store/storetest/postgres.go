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

// Variable names the address of a PostgreSQL server where the tests may make databases.
const Variable = "ASSAY_TEST_POSTGRES"

// Server is the address of the PostgreSQL server of the tests. Without one the test is skipped, and says so.
func Server(t testing.TB) (address string) {
	t.Helper()
	return testenv.URL(t, testenv.Postgres)
}

// Postgres makes a database of PostgreSQL that goes away with the test, and gives its address. Without a server the
// test is skipped, and says so.
func Postgres(t testing.TB) (address string) {
	t.Helper()
	address, remove, err := MakePostgres(t.Context(), Server(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := remove(); err != nil {
			t.Errorf("remove the database of the test: %v", err)
		}
	})
	return address
}

// MakePostgres is Postgres for a part of a test that ends before it.
func MakePostgres(ctx context.Context, server string) (address string, remove func() error, err error) {
	name, err := template(ctx, server)
	if err != nil {
		return "", nil, fmt.Errorf("make the template of the test databases: %w", err)
	}
	own := "assay_test_" + rand.Text()
	// Copying files takes the server a quarter of the work of logging every page.
	err = execOn(ctx, server, fmt.Sprintf(`CREATE DATABASE %q TEMPLATE %q STRATEGY file_copy`,
		own, name))
	if err != nil {
		return "", nil, err
	}
	return in(server, own), func() error {
		return execOn(context.WithoutCancel(ctx), server, fmt.Sprintf(`DROP DATABASE %q WITH (FORCE)`, own))
	}, nil
}

// in is the address of another database of a server.
func in(server, database string) string {
	u, err := url.Parse(server)
	if err != nil {
		panic(Variable + " is no address")
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

// template is a database as the store makes it: copying that one takes a fraction of the time. It is made once a
// process, and those of processes before are removed.
func template(ctx context.Context, server string) (string, error) {
	templateOnce.Do(func() { templateName, errTemplate = makeTemplate(context.WithoutCancel(ctx), server) })
	return templateName, errTemplate
}

var (
	templateOnce sync.Once
	templateName string
	errTemplate  error
)

func makeTemplate(ctx context.Context, server string) (name string, err error) {
	now := time.Now().UTC()
	if err := removeOld(ctx, server, templatePrefix+now.Add(-time.Hour).Format(templateTime)); err != nil {
		return "", err
	}
	name = templatePrefix + now.Format(templateTime) + rand.Text()
	if err := execOn(ctx, server, fmt.Sprintf(`CREATE DATABASE %q`, name)); err != nil {
		return "", err
	}
	db, err := store.Open(ctx, in(server, name))
	if err != nil {
		return "", err
	}
	return name, db.Close()
}

// A template's name tells when it was made.
const (
	templatePrefix = "assay_template_"
	templateTime   = "20060102_150405_"
)

// removeOld removes the templates whose names come before the given one: no test runs for that long.
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
