package verify

import (
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// patient is a market whose tables a test changes past the store and puts back.
type patient struct {
	t   *testing.T
	db  *store.DB
	raw *sql.DB
}

func newPatient(t *testing.T) *patient {
	t.Helper()
	dir := t.TempDir()
	marketIn(t, dir)
	p := &patient{t: t, db: storetest.OpenIn(t, dir)}
	var err error
	// One connection, because what is kept lies in its own temporary tables.
	if p.raw, err = sql.Open("sqlite", filepath.Join(dir, store.FileName)+"?_pragma=busy_timeout(30000)&_pragma=synchronous(off)"); err != nil {
		t.Fatal(err)
	}
	p.raw.SetMaxOpenConns(1)
	t.Cleanup(func() { p.raw.Close() })
	return p
}

// exec runs a statement and gives how many rows it touched.
func (p *patient) exec(query string, args ...any) int64 {
	p.t.Helper()
	result, err := p.raw.Exec(query, args...)
	if err != nil && strings.Contains(err.Error(), "datatype mismatch") {
		return 0 // a key takes nothing but numbers
	}
	if err != nil {
		p.t.Fatalf("%s %v: %v", query, args, err)
	}
	n, err := result.RowsAffected()
	if err != nil {
		p.t.Fatal(err)
	}
	return n
}

func (p *patient) keep(table string) {
	p.t.Helper()
	p.exec(fmt.Sprintf(`CREATE TEMP TABLE kept_%[1]s AS SELECT * FROM %[1]s`, table))
}

func (p *patient) restore(table string) {
	p.t.Helper()
	p.exec(fmt.Sprintf(`DELETE FROM %[1]s`, table))
	p.exec(fmt.Sprintf(`INSERT INTO %[1]s SELECT * FROM kept_%[1]s`, table))
}

// places are how a difference tells where it is.
var places = map[string]string{
	"transaction":  `transactions? \S+.*, executed (at|in the hour from) \d{4}-`,
	"slot":         `(H100 SXM|H200|B200|A100 SXM4|)\S* \S* (daily|hourly)( at \d{4}-\d\d-\d\dT|, revision|: the chain| from |: there are records|: the time| has another)`,
	"manifest":     `manifest (of \d{4}-\d\d-\d\d, revision \d|of \d{4}-\d\d-\d\dT|of \d{4}-\d\d-\d\d: |\d+ is missing)`,
	"receipt":      `receipt \d+`,
	"verification": `verification (\d+|of transaction)`,
	"publication":  `publication \d+`,
	"methodology":  `methodology`,
	"count":        `there were \d+ of kind`,                 // of rows at the end of a list, which are gone
	"instant":      `at -?\d+ ms|an instant of another type`, // of what has an instant beyond all years
	"series":       `series \d+, (daily|hourly) of GPU \d+`,
	"row":          `row \d+ of \w+: sql: Scan error`, // of what is not of its type
	"ids":          `the table of transaction ids`,
}

// wantDifference wants a verification to fail, and to name a place of one of the kinds.
func (p *patient) wantDifference(what string, kinds string) {
	p.t.Helper()
	_, err := Database(p.t.Context(), p.db, Options{})
	if err == nil {
		p.t.Errorf("%s: not noticed", what)
		return
	}
	if !errors.Is(err, ErrDiffers) && !errors.Is(err, store.ErrDamaged) {
		p.t.Errorf("%s: it fails for another reason: %v", what, err)
	}
	for kind := range strings.FieldsSeq(kinds + " row") {
		if regexp.MustCompile(places[kind]).MatchString(err.Error()) {
			return
		}
	}
	p.t.Errorf("%s: the error names no place of the kinds %s: %v", what, kinds, err)
}

func (p *patient) wantWell() {
	p.t.Helper()
	if _, err := Database(p.t.Context(), p.db, Options{}); err != nil {
		p.t.Fatalf("put back as it was: %v", err)
	}
}

// tables are what Verify proves, with the rows that matter to it and the kinds of places that a difference may name.
var tables = []struct {
	name, where, kinds string
	except             []string
}{
	{"segments", "1", "transaction slot instant", nil},
	{"sources", "1", "transaction verification", nil},
	{"providers", "1", "transaction", nil},
	{"gpus", "gpu_name IN ('H100 SXM', 'H200', 'B200')", "transaction publication series", []string{"free"}}, // who may read without a key
	{"regions", "region IN ('us-east', 'eu-west')", "transaction slot series", nil},
	{"receipts", "1", "receipt verification count", nil},
	{"transaction_ids", "1", "transaction ids", nil},
	{"verifications", "1", "verification receipt", nil},
	{"methodologies", "1", "methodology count", nil},
	{"publications", "1", "publication count", nil},
	{"publication_covers", "1", "publication", nil},
	{"coverage", "1", "slot", nil},
	{"series", "1", "slot series", nil},
	{"records", "1", "slot instant", nil},
	{"points", "1", "slot", nil},
	{"manifests", "1", "manifest count", nil},
	{"unsigned_days", "1", "manifest", nil},
}

// TestVerify_AnyColumn changes each column of each table by as little as one bit, and at its far end.
func TestVerify_AnyColumn(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("one goroutine and a lot of work: make unit runs it, without the race detector")
	}
	p := newPatient(t)
	random := rand.New(rand.NewPCG(3, 2026))
	for _, table := range tables {
		p.keep(table.name)
		for _, column := range p.columns(table.name) {
			if slices.Contains(table.except, column) {
				continue
			}
			for _, row := range p.someRows(table.name, table.where, random) {
				for _, change := range changes(row[column], random) {
					what := fmt.Sprintf("%s.%s %v → %v", table.name, column, show(row[column]), show(change))
					if p.change(table.name, column, row, change) {
						p.wantDifference(what, table.kinds)
						p.restore(table.name)
					}
				}
			}
		}
		p.wantWell()
	}
}

func (p *patient) columns(table string) (names []string) {
	p.t.Helper()
	rows, err := p.raw.Query(`SELECT name FROM pragma_table_info($1)`, table)
	if err != nil {
		p.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			p.t.Fatal(err)
		}
		names = append(names, name)
	}
	if rows.Err() != nil || len(names) == 0 {
		p.t.Fatalf("table %s has no columns: %v", table, rows.Err())
	}
	return names
}

// someRows gives the first row of a table, the last, and one between.
func (p *patient) someRows(table, where string, random *rand.Rand) (some []map[string]any) {
	p.t.Helper()
	rows, err := p.raw.Query(fmt.Sprintf(`SELECT * FROM %s WHERE %s`, table, where))
	if err != nil {
		p.t.Fatal(err)
	}
	defer rows.Close()
	names := p.columnsOf(rows)
	var all []map[string]any
	for rows.Next() {
		values, into := make([]any, len(names)), make([]any, len(names))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			p.t.Fatal(err)
		}
		row := map[string]any{}
		for i, name := range names {
			row[name] = values[i]
		}
		all = append(all, row)
	}
	if rows.Err() != nil || len(all) == 0 {
		p.t.Fatalf("table %s has no rows: %v", table, rows.Err())
	}
	some = append(some, all[0])
	if len(all) > 1 {
		some = append(some, all[random.IntN(len(all))], all[len(all)-1])
	}
	return some
}

func (p *patient) columnsOf(rows *sql.Rows) []string {
	p.t.Helper()
	names, err := rows.Columns()
	if err != nil {
		p.t.Fatal(err)
	}
	return names
}

// changes are values that differ from the given one by a little.
func changes(value any, random *rand.Rand) []any {
	switch v := value.(type) {
	case int64:
		return []any{v + 1, v ^ 1<<random.IntN(63), v ^ 1<<62, "text", []byte{}}
	case string:
		i := random.IntN(len(v) + 1)
		changed := []any{v + "x", v[:i] + "x" + v[i:]}
		if i < len(v) {
			changed = append(changed, v[:i]+string(v[i]^1)+v[i+1:], v[:i]+v[i+1:])
		}
		return changed
	case []byte:
		var changed []any
		for _, i := range []int{0, random.IntN(len(v)), len(v) - 1} {
			other := []byte(string(v))
			other[i] ^= 1 << random.IntN(8)
			changed = append(changed, other)
		}
		return append(changed, v[:len(v)-1])
	}
	return []any{int64(1), "text", ""} // where there was nothing
}

func show(value any) string {
	if b, ok := value.([]byte); ok {
		return fmt.Sprintf("%x", b)
	}
	return fmt.Sprintf("%q", fmt.Sprint(value))
}

// change sets a column of a row. It gives false when the table does not take the value: it is of another type and
// becomes the same again, or the row would be there twice.
func (p *patient) change(table, column string, row map[string]any, value any) bool {
	p.t.Helper()
	where, args := "1", []any{value}
	for name, was := range row {
		args = append(args, was)
		where += fmt.Sprintf(" AND %s IS $%d", name, len(args))
	}
	n := p.exec(fmt.Sprintf(`UPDATE OR IGNORE %s SET %s = $1 WHERE %s`, table, column, where), args...)
	if n > 1 {
		p.t.Fatalf("%s: %d rows are changed", table, n)
	}
	return n == 1
}

func TestVerify_AnyRowGone(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("one goroutine and a lot of work: make unit runs it, without the race detector")
	}
	p := newPatient(t)
	random := rand.New(rand.NewPCG(4, 2026))
	for _, table := range tables {
		p.keep(table.name)
		for _, row := range p.someRows(table.name, table.where, random) {
			where, args := "1", []any{}
			for name, was := range row {
				args = append(args, was)
				where += fmt.Sprintf(" AND %s IS $%d", name, len(args))
			}
			if n := p.exec(fmt.Sprintf(`DELETE FROM %s WHERE %s`, table.name, where), args...); n != 1 {
				t.Fatalf("%s: %d rows are gone", table.name, n)
			}
			p.wantDifference(fmt.Sprintf("%s without %v", table.name, row), table.kinds+" receipt count")
			p.restore(table.name)
		}
	}
	p.wantWell()
}

// damageOneRow wants a statement that changes, adds or removes one row of a table to be noticed, and takes it back.
func (p *patient) damageOneRow(table, damage, kinds string) {
	p.t.Helper()
	p.keep(table)
	if n := p.exec(damage); n != 1 {
		p.t.Fatalf("%s: %d rows", damage, n)
	}
	p.wantDifference(damage, kinds)
	p.restore(table)
}

func TestVerify_AnyRowMore(t *testing.T) {
	t.Parallel()
	p := newPatient(t)
	f := func(table, insert, kinds string) {
		t.Helper()
		p.damageOneRow(table, insert, kinds)
		p.exec(`DROP TABLE kept_` + table)
	}
	f("segments", `INSERT INTO segments SELECT max(segment) + 1, rows, checksum, body FROM segments`, "transaction")
	f("transaction_ids", `INSERT INTO transaction_ids SELECT hash + 1, segment FROM transaction_ids LIMIT 1`, "ids")
	f("receipts", `INSERT INTO receipts SELECT max(receipt) + 1, received_at, rows, checksum FROM receipts`, "count")
	f("verifications", `INSERT INTO verifications SELECT max(event) + 1, executed_at, source_id, id, verified, actor, reason, receipt, checksum
		FROM verifications`, "verification receipt")
	f("methodologies", `INSERT INTO methodologies SELECT version || 'x', effective_at + 1, adopted_at, text, checksum FROM methodologies LIMIT 1`, "count")
	f("publications", `INSERT INTO publications SELECT max(version) + 1, published_at, methodology, receipt, reason, actor, checksum FROM publications`, "count")
	f("publication_covers", `INSERT INTO publication_covers SELECT version, gpu_id, grain, from_ms + 1, to_ms FROM publication_covers LIMIT 1`, "publication")
	f("publication_covers", `INSERT INTO publication_covers SELECT version + 1000, gpu_id, grain, from_ms, to_ms FROM publication_covers LIMIT 1`, "publication")
	f("coverage", `INSERT INTO coverage SELECT gpu_id, grain, to_ms + 3600000, to_ms + 7200000 FROM coverage LIMIT 1`, "slot")
	f("series", `INSERT INTO series SELECT max(series_id) + 1, gpu_id, 5, grain, 1, head FROM series`, "slot")
	// A record beside another of its slot, one far away, and one of a series that is not there; each with its point.
	for _, r := range []string{"series_id, at, revision + 7", "series_id, at + 315360000000, revision", "series_id + 1000, at, revision"} {
		p.keep("points")
		p.exec(`INSERT INTO points SELECT ` + r + `, value_nanos, version FROM points WHERE series_id = 1 LIMIT 1`)
		f("records", `INSERT INTO records SELECT `+r+`, sequence, body FROM records WHERE series_id = 1 LIMIT 1`, "slot")
		p.restore("points")
		p.exec(`DROP TABLE kept_points`)
	}
	f("points", `INSERT INTO points SELECT series_id, at, revision + 7, value_nanos, version FROM points LIMIT 1`, "slot")
	f("points", `INSERT INTO points SELECT series_id + 1000, at, revision, value_nanos, version FROM points LIMIT 1`, "slot")
	f("manifests", `INSERT INTO manifests SELECT max(sequence) + 1, day + 1, revision, records, digest, signed_at, previous, hash, public_key, signature
		FROM manifests`, "count")
	p.wantWell()
}

// TestVerify_SlippedIn has the store itself write one more transaction under a receipt that is long past, as nobody
// could who does not know the checksums: then its receipt or its slot tells.
func TestVerify_SlippedIn(t *testing.T) {
	t.Parallel()
	f := func(gpu string, at int64, receipt int, kinds string) {
		t.Helper()
		p := newPatient(t)
		for _, table := range []string{"receipts", "counters"} {
			p.keep(table)
		}
		p.exec(`DELETE FROM receipts WHERE receipt >= $1`, receipt)
		p.exec(`UPDATE counters SET value = $1 WHERE name = 'receipt'`, receipt-1)
		if _, err := p.db.AppendTransactions(t.Context(), []assay.Transaction{late(gpu, at, 99)}); err != nil {
			t.Fatal(err)
		}
		for _, table := range []string{"receipts", "counters"} {
			p.restore(table)
		}
		p.wantDifference("slipped in", kinds)
	}
	f("H100 SXM", instant(6, 3), 2, "slot")          // where it would have counted
	f("H100 SXM", marketEnd, 3, "receipt")           // where nothing is published yet
	f("RTX 5090", instant(1, 0), 1, "receipt")       // before the market began
	f("A100 SXM4", instant(20, 0), 13, "receipt")    // with what had come last
	f("H100 SXM", instant(6, 3), 14, "receipt slot") // with an event
}
