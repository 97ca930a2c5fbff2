package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// postgres is the server that scripts/with-services started, or one of the developer's own. psql is how we talk to it.
type postgres struct {
	psql     string
	address  *url.URL
	version  string
	settings string // those that decide how fast it writes
}

// The variables that scripts/with-services sets.
const (
	postgresVariable = "ASSAY_TEST_POSTGRES"
	redisVariable    = "ASSAY_TEST_REDIS"
)

func findPostgres(ctx context.Context, psql string, short bool) (*postgres, error) {
	address, err := url.Parse(os.Getenv(postgresVariable))
	if err != nil || address.Host == "" {
		return nil, errors.New(postgresVariable + " names no server; run it under scripts/with-services")
	}
	p := &postgres{psql: psql, address: address}
	out, err := p.ask(ctx, "postgres", `SELECT current_setting('server_version'), current_setting('fsync'),
		current_setting('synchronous_commit'), current_setting('full_page_writes'), current_setting('shared_buffers'), current_setting('max_wal_size');`)
	if err != nil {
		return nil, err
	}
	f := strings.Split(strings.TrimSpace(out), "|")
	if len(f) != 6 {
		return nil, fmt.Errorf("settings of the server: want six in %q", out)
	}
	if !short && (f[1] != "on" || f[2] == "off") {
		return nil, errors.New("the server does not write through to the disk, so that its speed says nothing; set ASSAY_TEST_FSYNC=on")
	}
	p.version, _, _ = strings.Cut(f[0], " ")
	p.settings = fmt.Sprintf("fsync %s, synchronous_commit %s, full_page_writes %s, shared_buffers %s, max_wal_size %s", f[1], f[2], f[3], f[4], f[5])
	return p, nil
}

// environment tells psql where to go. On the command line everybody could read a password.
func (p *postgres) environment(database string) []string {
	password, _ := p.address.User.Password()
	env := []string{
		"PGHOST=" + p.address.Hostname(), "PGPORT=" + p.address.Port(), "PGUSER=" + p.address.User.Username(), "PGPASSWORD=" + password,
		"PGDATABASE=" + database,
	}
	if mode := p.address.Query().Get("sslmode"); mode != "" {
		env = append(env, "PGSSLMODE="+mode)
	}
	return env
}

// run feeds a script to psql, without the user's own settings.
func (p *postgres) run(ctx context.Context, database, dir, script string) (out string, took time.Duration, err error) {
	return command{
		program: p.psql, args: []string{"--no-psqlrc", "--quiet", "--no-align", "--tuples-only", "--set", "ON_ERROR_STOP=1"},
		dir: dir, env: p.environment(database), input: script,
	}.run(ctx)
}

func (p *postgres) ask(ctx context.Context, database, script string) (string, error) {
	out, _, err := p.run(ctx, database, "", script)
	return out, err
}

// in is the address of a database of the server.
func (p *postgres) in(database string) string {
	u := *p.address
	u.Path = "/" + database
	return u.String()
}

// make makes a database of a name that nobody has.
func (p *postgres) make(ctx context.Context) (database string, err error) {
	database = "assay_bench_" + strings.ToLower(rand.Text())
	_, err = p.ask(ctx, "postgres", fmt.Sprintf(`CREATE DATABASE %q;`, database))
	return database, err
}

// remove removes a database, also after an interrupt.
func (p *postgres) remove(ctx context.Context, database string) {
	if _, err := p.ask(context.WithoutCancel(ctx), "postgres", fmt.Sprintf(`DROP DATABASE %q WITH (FORCE);`, database)); err != nil {
		say("the database stays: %v", err)
	}
}

// settle writes down what a step before has left to be written, so that the next does not pay for it.
func (p *postgres) settle(ctx context.Context) error {
	_, err := p.ask(ctx, "postgres", `CHECKPOINT;`)
	return err
}

// postgresImport loads a CSV file as psql does it best while every id is there once.
const postgresImport = `CREATE TABLE transactions (
	id text COLLATE "C" PRIMARY KEY, source text, executed_at timestamptz, gpu_name text, region text,
	price numeric, gpus bigint, hours numeric, provider text, verified boolean
);
\copy transactions FROM '%s' WITH (FORMAT csv, HEADER)
SELECT count(*) FROM transactions;
`

// load imports the file into a database that does not outlive the call.
func (p *postgres) load(ctx context.Context, file string, rows int) (timing, error) {
	database, err := p.make(ctx)
	if err != nil {
		return timing{}, err
	}
	defer p.remove(ctx, database)
	out, took, err := p.run(ctx, database, filepath.Dir(file), fmt.Sprintf(postgresImport, filepath.Base(file)))
	if err != nil {
		return timing{}, err
	}
	got, err := lastCount(out)
	if err == nil && got != rows {
		err = fmt.Errorf("psql: %d rows, want %d", got, rows)
	}
	return timing{count: rows, took: took}, err
}
