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

// postgres is the server that scripts/with-services started, or the developer's own, used through psql.
type postgres struct {
	psql     string
	address  *url.URL
	version  string
	settings string // that decide how fast it writes
}

// The variables that scripts/with-services sets.
const (
	postgresVariable = "ASSAY_TEST_POSTGRES"
	redisVariable    = "ASSAY_TEST_REDIS"
)

func findPostgres(ctx context.Context, psql string, short bool) (*postgres, error) {
	address, err := url.Parse(os.Getenv(postgresVariable))
	if err != nil || address.Host == "" {
		return nil, errors.New(postgresVariable + " is not the URL of a server; " +
			"run the benchmark under scripts/with-services")
	}
	p := &postgres{psql: psql, address: address}
	out, err := p.query(ctx, "postgres", `SELECT current_setting('server_version'), current_setting('fsync'),
		current_setting('synchronous_commit'), current_setting('full_page_writes'),
		current_setting('shared_buffers'), current_setting('max_wal_size');`)
	if err != nil {
		return nil, err
	}
	f := strings.Split(strings.TrimSpace(out), "|")
	if len(f) != 6 {
		return nil, fmt.Errorf("settings of the server: want six in %q", out)
	}
	if !short && (f[1] != "on" || f[2] == "off") {
		return nil, errors.New("the server does not flush its writes to disk, so its speed means nothing; " +
			"set ASSAY_TEST_FSYNC=on")
	}
	p.version, _, _ = strings.Cut(f[0], " ")
	p.settings = fmt.Sprintf("fsync %s, synchronous_commit %s, full_page_writes %s, shared_buffers %s, max_wal_size %s",
		f[1], f[2], f[3], f[4], f[5])
	return p, nil
}

// environment tells psql where to connect. Other users of the machine could read a password on the command line.
func (p *postgres) environment(database string) []string {
	password, _ := p.address.User.Password()
	env := []string{
		"PGHOST=" + p.address.Hostname(),
		"PGPORT=" + p.address.Port(),
		"PGUSER=" + p.address.User.Username(),
		"PGPASSWORD=" + password,
		"PGDATABASE=" + database,
	}
	if mode := p.address.Query().Get("sslmode"); mode != "" {
		env = append(env, "PGSSLMODE="+mode)
	}
	return env
}

// run runs a script in psql, without the user's settings.
func (p *postgres) run(ctx context.Context, database, dir, script string) (out string, took time.Duration, err error) {
	return command{
		program: p.psql, args: []string{"--no-psqlrc", "--quiet", "--no-align", "--tuples-only", "--set", "ON_ERROR_STOP=1"},
		dir: dir, env: p.environment(database), input: script,
	}.run(ctx)
}

func (p *postgres) query(ctx context.Context, database, script string) (string, error) {
	out, _, err := p.run(ctx, database, "", script)
	return out, err
}

// in is the address of a database of the server.
func (p *postgres) in(database string) string {
	u := *p.address
	u.Path = "/" + database
	return u.String()
}

// make makes a database with an unused name.
func (p *postgres) make(ctx context.Context) (database string, err error) {
	database = "assay_bench_" + strings.ToLower(rand.Text())
	_, err = p.query(ctx, "postgres", fmt.Sprintf(`CREATE DATABASE %q;`, database))
	return database, err
}

// remove removes a database, also after an interrupt.
func (p *postgres) remove(ctx context.Context, database string) {
	drop := fmt.Sprintf(`DROP DATABASE %q WITH (FORCE);`, database)
	if _, err := p.query(context.WithoutCancel(ctx), "postgres", drop); err != nil {
		progress("the database %s is left: %v", database, err)
	}
}

// checkpoint flushes the writes of the step before, so that the next step does not pay for them.
func (p *postgres) checkpoint(ctx context.Context) error {
	_, err := p.query(ctx, "postgres", `CHECKPOINT;`)
	return err
}

// postgresImport is the fastest way to load a CSV file with psql that keeps ids unique.
const postgresImport = `CREATE TABLE transactions (
	id text COLLATE "C" PRIMARY KEY, source text, executed_at timestamptz, gpu_name text, region text,
	price numeric, gpus bigint, hours numeric, provider text, verified boolean
);
\copy transactions FROM '%s' WITH (FORMAT csv, HEADER)
SELECT count(*) FROM transactions;
`

// importFile imports the file into a temporary database.
func (p *postgres) importFile(ctx context.Context, file string, rows int) (timing, error) {
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
