package main

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fakePostgres is reached by a psql that prints its arguments, its variables and the line.
func fakePostgres(t *testing.T, address, line string) *postgres {
	t.Helper()
	program := filepath.Join(t.TempDir(), "psql")
	script := "#!/bin/sh\necho \"$*\"; env | grep ^PG | sort\necho '" + line + "'\n"
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return &postgres{psql: program, address: u}
}

// A command line can be read by everybody on the machine.
func TestPostgres_PasswordInTheEnvironment(t *testing.T) {
	p := fakePostgres(t, "postgres://ann:hunter2@db.example:5433/postgres?sslmode=disable", "")
	out, err := p.query(t.Context(), "other", "SELECT 1;")
	if err != nil {
		t.Fatal(err)
	}
	arguments, variables, _ := strings.Cut(out, "\n")
	if strings.Contains(arguments, "hunter2") {
		t.Errorf("psql is called with %s", arguments)
	}
	for _, want := range []string{
		"PGHOST=db.example\n", "PGPORT=5433\n", "PGUSER=ann\n", "PGPASSWORD=hunter2\n",
		"PGDATABASE=other\n", "PGSSLMODE=disable\n",
	} {
		if !strings.Contains(variables, want) {
			t.Errorf("no %q in the environment:\n%s", want, variables)
		}
	}
	if got, want := p.in("other"), "postgres://ann:hunter2@db.example:5433/other?sslmode=disable"; got != want {
		t.Errorf("the address of another database is %s, want %s", got, want)
	}
}

func TestPostgres_Load(t *testing.T) {
	f := func(line, wantErr string) {
		t.Helper()
		p := fakePostgres(t, "postgres://ann@127.0.0.1/postgres", line)
		_, err := p.importFile(t.Context(), filepath.Join(t.TempDir(), "file.csv"), 2000)
		wantError(t, err, wantErr)
	}
	f("2000", "")
	f("1999", "psql: 1999 rows, want 2000")
	f("COPY", "parse the count")
}

func TestFindPostgres(t *testing.T) {
	f := func(address, line string, short bool, wantErr string) {
		t.Helper()
		t.Setenv(postgresVariable, address)
		p := fakePostgres(t, "postgres://h/d", "")
		if err := os.WriteFile(p.psql, []byte("#!/bin/sh\necho '"+line+"'\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		_, err := findPostgres(t.Context(), p.psql, short)
		wantError(t, err, wantErr)
	}
	const address = "postgres://ann@127.0.0.1/postgres"
	f("", "", true, "is not the URL of a server; run the benchmark under scripts/with-services")
	f(address, "15.20 (Debian)|on|on|on|128MB|1GB", false, "")
	f(address, "15.20 (Debian)|off|off|off|128MB|1GB", true, "")
	f(address, "15.20 (Debian)|off|on|on|128MB|1GB", false, "ASSAY_TEST_FSYNC=on")
	f(address, "15.20 (Debian)|on|off|on|128MB|1GB", false, "ASSAY_TEST_FSYNC=on")
	f(address, "15.20", false, "want six")
}
