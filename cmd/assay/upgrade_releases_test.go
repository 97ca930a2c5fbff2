//go:build linux

package main

import (
	"bytes"
	"compress/gzip"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// releasesFolder has what the program of each earlier release wrote and served; its README says how that was made.
const releasesFolder = "testdata/releases"

// oldDatabase is a database that the program of an earlier release has written, loaded into a new one.
type oldDatabase struct {
	t       *testing.T
	release string
	engine  string
	dir     string
	address string // of a PostgreSQL database; SQLite is in dir/data
}

// Every database that a release has ever written can be upgraded at once, with everything in it.
func TestUpgrade_EveryRelease(t *testing.T) {
	t.Parallel()
	needProgram(t)
	dumps, err := filepath.Glob(releasesFolder + "/*/*.sql.gz")
	if err != nil || len(dumps) < 6 {
		t.Fatalf("the databases are %q (%v)", dumps, err)
	}
	for _, dump := range dumps {
		release := filepath.Base(filepath.Dir(dump))
		engine := strings.TrimSuffix(filepath.Base(dump), ".sql.gz")
		t.Run(release+"/"+engine, func(t *testing.T) {
			t.Parallel()
			d := loadOld(t, release, engine)
			first, end := d.period()
			before := d.tables()
			d.refusesBefore()
			d.interrupted()
			if got := d.tables(); !reflect.DeepEqual(got, before) {
				t.Fatalf("an interrupted upgrade has changed the tables:\n%s", difference(before, got))
			}
			d.upgrade()
			d.wantKept(before)
			if release == "0.1.0" { // its values had no records: the upgrade removes them, and they are published again
				d.assay("publish", "--from", first, "--to", end)
			}
			d.assay("verify")
			d.wantServed()
			d.wantBundle(first, end)
		})
	}
}

func loadOld(t *testing.T, release, engine string) *oldDatabase {
	t.Helper()
	d := &oldDatabase{t: t, release: release, engine: engine, dir: t.TempDir()}
	folder := filepath.Join(d.dir, "data")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if engine == "postgres" {
		d.address = storetest.EmptyPostgres(t)
	}
	if release != "0.1.0" { // which signed nothing
		if err := os.WriteFile(filepath.Join(folder, "signing-key.pem"), d.read("pem"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	db := d.open()
	defer db.Close()
	conn, err := db.Conn(t.Context()) // a dump sets up its session
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if engine == "sqlite" {
		if _, err := conn.ExecContext(t.Context(), `PRAGMA journal_mode = wal; PRAGMA synchronous = off`); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := conn.ExecContext(t.Context(), string(unzipped(t, d.read("sql.gz")))); err != nil {
		t.Fatalf("load the database: %v", err)
	}
	return d
}

// read reads a file that belongs to the database.
func (d *oldDatabase) read(suffix string) []byte {
	d.t.Helper()
	text, err := os.ReadFile(filepath.Join(releasesFolder, d.release, d.engine+"."+suffix))
	if err != nil {
		d.t.Fatal(err)
	}
	return text
}

func unzipped(t *testing.T, file []byte) []byte {
	t.Helper()
	in, err := gzip.NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func (d *oldDatabase) open() *sql.DB {
	d.t.Helper()
	driver, name := "sqlite", filepath.Join(d.dir, "data", store.FileName)+"?_pragma=busy_timeout(30000)"
	if d.address != "" {
		driver, name = "pgx", d.address+"&default_query_exec_mode=simple_protocol" // it takes several statements
	}
	db, err := sql.Open(driver, name)
	if err != nil {
		d.t.Fatal(err)
	}
	return db
}

func (d *oldDatabase) environment() []string {
	list := []string{"PATH=" + os.Getenv("PATH"), "ASSAY_DIR=data"}
	if d.address != "" {
		list = append(list, storeVariable+"="+d.address)
	}
	return list
}

func (d *oldDatabase) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(d.t.Context(), program, args...)
	cmd.Dir, cmd.Env = d.dir, d.environment()
	return cmd
}

// assay runs the program, which must succeed, and returns its output.
func (d *oldDatabase) assay(args ...string) string {
	d.t.Helper()
	out, err := d.command(args...).CombinedOutput()
	if err != nil {
		d.t.Fatalf("assay %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// refusesBefore wants the program to refuse the old tables, and to say what to do.
func (d *oldDatabase) refusesBefore() {
	d.t.Helper()
	out, err := d.command("verify").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "assay db upgrade") {
		d.t.Errorf("before the upgrade, assay verify ends with %v:\n%s", err, out)
	}
}

func (d *oldDatabase) status() schemaView {
	d.t.Helper()
	var view schemaView
	if err := json.Unmarshal([]byte(d.assay("db", "status", "--json")), &view); err != nil {
		d.t.Fatal(err)
	}
	return view
}

// upgrade upgrades the database, and then again, which changes nothing.
func (d *oldDatabase) upgrade() {
	d.t.Helper()
	args := []string{"db", "upgrade"}
	if d.address == "" {
		args = append(args, "--backup", "before.db")
	}
	before := d.status()
	want := fmt.Sprintf("from schema %d to %d", before.Schema, store.ProgramSchema())
	if out := d.assay(args...); !strings.Contains(out, want) {
		d.t.Errorf("assay db upgrade says\n%s, want %s", out, want)
	}
	first := d.tables()
	if out := d.assay("db", "upgrade"); !strings.Contains(out, "up to date") {
		d.t.Errorf("the second upgrade says\n%s", out)
	}
	if again := d.tables(); !reflect.DeepEqual(again, first) {
		d.t.Errorf("the second upgrade changed the tables:\n%s", difference(first, again))
	}
}

// storedTable is what is in a table, in the order of the rows' text.
type storedTable struct {
	columns []string
	rows    [][]string
}

// tables reads the whole database.
func (d *oldDatabase) tables() map[string]storedTable {
	d.t.Helper()
	db := d.open()
	defer db.Close()
	list := `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`
	if d.address != "" {
		list = `SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'`
	}
	all := map[string]storedTable{}
	for _, row := range readTable(d.t, db, list).rows {
		all[row[0]] = readTable(d.t, db, fmt.Sprintf(`SELECT * FROM %q`, row[0]))
	}
	return all
}

func readTable(t *testing.T, db *sql.DB, query string) (all storedTable) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	if all.columns, err = rows.Columns(); err != nil {
		t.Fatal(err)
	}
	values, into := make([]any, len(all.columns)), make([]any, len(all.columns))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		row := make([]string, len(values))
		for i, value := range values {
			if bytes, ok := value.([]byte); ok {
				value = hex.EncodeToString(bytes)
			}
			row[i] = fmt.Sprint(value)
		}
		all.rows = append(all.rows, row)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(all.rows, slices.Compare)
	return all
}

// difference names the tables that differ.
func difference(a, b map[string]storedTable) string {
	var list []string
	for name := range a {
		if !reflect.DeepEqual(a[name], b[name]) {
			list = append(list, fmt.Sprintf("%s: %d rows were %d", name, len(b[name].rows), len(a[name].rows)))
		}
	}
	return strings.Join(list, "\n")
}

// movedTables are the tables whose content an upgrade keeps elsewhere or removes, by release. Transactions moved into
// segments. Values of 0.1.0 had no records; published again, they have to be the same.
var movedTables = map[string][]string{
	"0.1.0": {"transactions", "points", "series", "publications", "publication_series", "coverage", "counters"},
}

// wantKept wants every row of the old tables in the new ones, with the same content in the columns that it had.
func (d *oldDatabase) wantKept(before map[string]storedTable) {
	d.t.Helper()
	after, rows := d.tables(), 0
	for name, old := range before {
		if slices.Contains(movedTables[d.release], name) {
			continue
		}
		found := map[string]int{}
		for _, text := range after[name].texts(old.columns) {
			found[text]++
		}
		for _, text := range old.texts(old.columns) {
			if found[text]--; found[text] < 0 {
				d.t.Errorf("the upgrade loses a row of %s: %s", name, text)
			}
			rows++
		}
	}
	if rows < 50 {
		d.t.Errorf("only %d rows were compared", rows)
	}
}

// texts are the rows with some of the columns.
func (a storedTable) texts(columns []string) (list []string) {
	for _, row := range a.rows {
		var text strings.Builder
		for _, column := range columns {
			if i := slices.Index(a.columns, column); i >= 0 {
				fmt.Fprintf(&text, "%s=%s ", column, row[i])
			}
		}
		list = append(list, text.String())
	}
	return list
}

// wantServed sends the requests that were sent to the old program. Every response must have everything that the old
// one had.
func (d *oldDatabase) wantServed() {
	d.t.Helper()
	p, err := startServerWith(d.environment()[1:], d.dir, "server", "serve", "--role", "read", "--key-limit", "100000")
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(p.kill)
	tokens := strings.Fields(string(d.read("keys")))
	callers := map[string]string{"full": tokens[0], "premium": tokens[1]}
	lines := strings.Split(strings.TrimSpace(string(d.read("served"))), "\n")
	if len(lines) < 20 {
		d.t.Errorf("only %d lines are compared", len(lines))
	}
	for i := 0; i+1 < len(lines); i += 2 {
		caller, path, _ := strings.Cut(lines[i], " ")
		response, body, err := getWith(newClient(d.t), callers[caller], p.url+path)
		if err != nil || response.StatusCode != http.StatusOK {
			d.t.Errorf("%s: %v, %s", lines[i], err, body)
			continue
		}
		old, _ := decoded(d.t, lines[i+1]).(map[string]any)
		if cursor, ok := old["next"].(string); ok { // its form may change, as long as the old ones continue
			delete(old, "next")
			since := p.url + "/api/corrections?since=" + cursor
			got := requestWithKey(d.t, callers[caller], http.MethodGet, since, "", http.StatusOK)
			if !strings.Contains(got, `"count":0,`) {
				d.t.Errorf("%s: from the old cursor on, there are %s", lines[i], got)
			}
		}
		if err := contains(decoded(d.t, body), old, "response"); err != nil {
			d.t.Errorf("%s: %v", lines[i], err)
		}
	}
	d.wantCallers(p.url, tokens)
}

// wantCallers wants the keys and the accounts of the database to be what they were.
func (d *oldDatabase) wantCallers(url string, tokens []string) {
	d.t.Helper()
	const revoked, laptop = 2, 3
	if response, body, err := getWith(newClient(d.t), tokens[revoked], url+nearestPath); err != nil ||
		response.StatusCode != http.StatusUnauthorized || !strings.Contains(body, "inactive") {
		d.t.Errorf("the revoked key: %v, %s", err, body)
	}
	if len(tokens) == laptop {
		return // there were no accounts
	}
	got := requestWithKey(d.t, tokens[laptop], http.MethodGet, url+"/api/gpu/H100%20SXM", "", http.StatusOK)
	if !strings.Contains(got, `"access":"premium"`) {
		d.t.Errorf("the key of an account gets %s", got)
	}
	signIn := func(password string, status int) {
		d.t.Helper()
		requestWithKey(d.t, "", http.MethodPost, url+"/api/session",
			fmt.Sprintf(`{"email":"ann@example.com","password":%q}`, password), status)
	}
	signIn("correct-horse-battery-1", http.StatusOK)
	signIn("correct-horse-battery-2", http.StatusUnauthorized)
}

func decoded(t *testing.T, text string) (value any) {
	t.Helper()
	in := json.NewDecoder(strings.NewReader(text))
	in.UseNumber() // the digits count
	if err := in.Decode(&value); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return value
}

// contains is an error that names the first thing that the old value has and the new one lacks.
func contains(value, old any, where string) error {
	switch old := old.(type) {
	case map[string]any:
		object, _ := value.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(old)) {
			if err := contains(object[name], old[name], where+"."+name); err != nil {
				return err
			}
		}
	case []any:
		list, _ := value.([]any)
		if len(list) != len(old) {
			return fmt.Errorf("%s has %d elements, not %d", where, len(list), len(old))
		}
		for i := range old {
			if err := contains(list[i], old[i], fmt.Sprintf("%s[%d]", where, i)); err != nil {
				return err
			}
		}
	default:
		if value != old {
			return fmt.Errorf("%s is %v, and was %v", where, value, old)
		}
	}
	return nil
}

// period is what the old program published: its first day, and the day after the last.
func (d *oldDatabase) period() (first, end string) {
	d.t.Helper()
	_, rest, _ := strings.Cut(string(d.read("served")), "?startDate=")
	if _, err := fmt.Sscanf(rest, "%10s&endDate=%10s", &first, &end); err != nil {
		d.t.Fatal(err)
	}
	last, err := time.Parse(time.DateOnly, end)
	if err != nil {
		d.t.Fatal(err)
	}
	return first, last.AddDate(0, 0, 1).Format(time.DateOnly)
}

// wantBundle wants what the old program published in the proof that is exported for others.
func (d *oldDatabase) wantBundle(first, end string) {
	d.t.Helper()
	if d.release != "0.2.0" { // the first with records: one of each age is enough
		return
	}
	d.assay("export", "--bundle", "bundle", "--from", first, "--to", end)
	d.assay("verify", "--bundle", "bundle")
}

// interrupted kills an upgrade between two migrations. Nothing is changed then.
func (d *oldDatabase) interrupted() {
	d.t.Helper()
	pending := d.status().Pending
	d.killUpgrade(pending, len(pending)/2)
	if left := d.status().Pending; len(left) != len(pending) {
		d.t.Fatalf("after the kill, %d of %d migrations are left", len(left), len(pending))
	}
}

// killUpgrade kills an upgrade after some of its migrations. The upgrade announces each on standard error, which is a
// pipe with space for the announcements of these and no other: it waits there.
func (d *oldDatabase) killUpgrade(pending []string, ran int) {
	d.t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		d.t.Fatal(err)
	}
	defer read.Close()
	defer write.Close()
	size, err := unix.FcntlInt(write.Fd(), unix.F_SETPIPE_SZ, os.Getpagesize()) // the smallest: one page
	if err != nil {
		d.t.Fatal(err)
	}
	space := 0
	for i, title := range pending[:ran] {
		space += len(fmt.Sprintf("upgrading %d of %d: %s\n", i+1, len(pending), title))
	}
	if _, err := write.Write(make([]byte, size-space)); err != nil {
		d.t.Fatal(err)
	}
	cmd := d.command("db", "upgrade")
	cmd.Stderr = write
	if err := cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	err = until(patience, time.Millisecond, func() error {
		if filled, err := unix.IoctlGetInt(int(read.Fd()), unix.TIOCINQ); err != nil || filled < size {
			return fmt.Errorf("%d of %d bytes are announced: %w", filled, size, err)
		}
		return nil
	})
	if err != nil {
		d.t.Error(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		d.t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.Exited() {
		d.t.Fatalf("the upgrade ended before it was killed: %v", cmd.ProcessState)
	}
}
