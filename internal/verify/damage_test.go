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
	"github.com/assaydata/assay/tools/testenv"
)

// tampered is a market whose tables a test changes directly in SQL, and restores.
type tampered struct {
	t   *testing.T
	db  *store.DB
	raw *sql.DB
}

func newTampered(t *testing.T) *tampered {
	t.Helper()
	dir := t.TempDir()
	marketIn(t, dir)
	file := filepath.Join(dir, store.FileName) + "?_pragma=busy_timeout(30000)&_pragma=synchronous(off)"
	raw, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	return tamper(t, storetest.OpenIn(t, dir), raw)
}

func tamper(t *testing.T, db *store.DB, raw *sql.DB) *tampered {
	t.Helper()
	raw.SetMaxOpenConns(1) // the saved tables are temporary ones of a connection
	t.Cleanup(func() { raw.Close() })
	return &tampered{t: t, db: db, raw: raw}
}

// exec runs a statement and counts the rows that it changed.
func (m *tampered) exec(query string, args ...any) int64 {
	m.t.Helper()
	result, err := m.raw.Exec(query, args...)
	if err != nil && strings.Contains(err.Error(), "datatype mismatch") {
		return 0 // a key accepts only numbers
	}
	if err != nil {
		m.t.Fatalf("%s %v: %v", query, args, err)
	}
	n, err := result.RowsAffected()
	if err != nil {
		m.t.Fatal(err)
	}
	return n
}

func (m *tampered) save(table string) {
	m.t.Helper()
	m.exec(fmt.Sprintf(`CREATE TEMP TABLE saved_%[1]s AS SELECT * FROM %[1]s`, table))
}

func (m *tampered) restore(table string) {
	m.t.Helper()
	m.exec(fmt.Sprintf(`DELETE FROM %[1]s`, table))
	m.exec(fmt.Sprintf(`INSERT INTO %[1]s SELECT * FROM saved_%[1]s`, table))
}

// locations are the ways in which an error says where the difference is.
var locations = map[string]*regexp.Regexp{
	"transaction": regexp.MustCompile(`transactions? \S+.*, executed (at|in the hour from) \d{4}-`),
	"slot": regexp.MustCompile(`(H100 SXM|H200|B200|A100 SXM4|)\S* \S* (daily|hourly)` +
		`( at \d{4}-\d\d-\d\dT|, revision|: the chain| from |: there are records|: the time| has the wrong)`),
	"manifest": regexp.MustCompile(
		`manifest (of \d{4}-\d\d-\d\d, revision \d|of \d{4}-\d\d-\d\dT|of \d{4}-\d\d-\d\d: |\d+ is missing)` +
			`|\d{4}-\d\d-\d\d: records are in no manifest`),
	"receipt":      regexp.MustCompile(`receipt \d+`),
	"verification": regexp.MustCompile(`verification (\d+|of transaction)`),
	"correction":   regexp.MustCompile(`correction (\d+|of transaction)`),
	"conflict":     regexp.MustCompile(`the conflict of transaction \S+`),
	"observation":  regexp.MustCompile(`(memory|models|coding|sites) .*, revision \d`),
	"reading":      regexp.MustCompile(`the reading of \S+ .* has -?\d+ of -?\d+ GPUs`),
	"publication":  regexp.MustCompile(`publication \d+`),
	"methodology":  regexp.MustCompile(`methodology`),
	"count":        regexp.MustCompile(`there should be \d+ rows of type`),       // rows at the end of a list are missing
	"instant":      regexp.MustCompile(`at -?\d+ ms|an instant of another type`), // outside the calendar
	"series":       regexp.MustCompile(`series \d+, (daily|hourly) of GPU \d+`),
	"row":          regexp.MustCompile(`row \d+ of \w+: sql: Scan error`), // of another type
	"notice":       regexp.MustCompile(`notice \d+`),
	"restatement":  regexp.MustCompile(`restatement \d+`),
	"record":       regexp.MustCompile(`record \d+(,| is of)|(llm-coding|utilization) of .*, 2026-03-\d\d|value record \d+ is missing`),
	"key":          regexp.MustCompile(`key event \d+|signed with the key`),
	"ids":          regexp.MustCompile(`the table of transaction ids`),
	"log": regexp.MustCompile(`(entry \d+|bundle|tile \d+ of level \d+|checkpoint of \d+ entries) of the log|` +
		`the log does not have \{|where records are in the log|log_records|the log lists|the last checkpoint`),
}

// wantDifference wants a verification to fail, and to name one of the locations.
func (m *tampered) wantDifference(what, wanted string) {
	m.t.Helper()
	_, err := Database(m.t.Context(), m.db, Options{})
	if err == nil {
		m.t.Errorf("%s: not detected", what)
		return
	}
	if !errors.Is(err, ErrDiffers) && !errors.Is(err, store.ErrDamaged) {
		m.t.Errorf("%s: it fails for another reason: %v", what, err)
	}
	for name := range strings.FieldsSeq(wanted + " row") {
		if locations[name].MatchString(err.Error()) {
			return
		}
	}
	m.t.Errorf("%s: the error names none of the locations %s: %v", what, wanted, err)
}

func (m *tampered) wantIntact() {
	m.t.Helper()
	if _, err := Database(m.t.Context(), m.db, Options{}); err != nil {
		m.t.Fatalf("restored: %v", err)
	}
}

// tables are the tables that Database proves, with the rows that matter and the locations that an error may name.
var tables = []struct {
	name, where, locations string
	except                 []string // columns
	onlyLast               bool     // only the last row is missed
	optional               bool     // no row is missed
}{
	{name: "segments", where: "1", locations: "transaction slot instant"},
	{name: "sources", where: "1", locations: "transaction verification"},
	{name: "providers", where: "1", locations: "transaction"},
	{
		name: "gpus", where: "gpu_name IN ('H100 SXM', 'H200', 'B200')", locations: "transaction publication series log",
	},
	{name: "gpus", where: "1", locations: "transaction publication series log", except: []string{"gpu_id"}},
	{name: "regions", where: "region IN ('us-east', 'eu-west')", locations: "transaction slot series log"},
	{name: "regions", where: "1", locations: "transaction slot series log", except: []string{"region_id"}},
	// Their numbers are only an order.
	{name: "labs", where: "1", locations: "log", except: []string{"lab_id"}},
	{name: "memory_types", where: "1", locations: "log", except: []string{"position"}},
	{name: "coding_products", where: "1", locations: "log", except: []string{"position", "series_label", "series_label2"}},
	{name: "hidden", where: "1", locations: "log"},
	{name: "conflicts", where: "1", locations: "conflict log"},
	{name: "utilization", where: "1", locations: "reading record log"},
	{name: "observations", where: "1", locations: "observation record log", except: []string{"observation"}}, // only an order
	{name: "realtime", where: "1", locations: "log"},
	{name: "receipts", where: "1", locations: "receipt verification count"},
	{name: "key_events", where: "1", locations: "key log"},
	{name: "imports", where: "1", locations: "log"},
	{name: "complaint_events", where: "1", locations: "log"},
	{name: "notices", where: "1", locations: "notice count log"},
	{name: "restatements", where: "1", locations: "restatement count log"},
	{name: "value_records", where: "1", locations: "record count log"},
	{name: "transaction_ids", where: "1", locations: "transaction ids"},
	{name: "verifications", where: "1", locations: "verification receipt log"},
	{name: "corrections", where: "1", locations: "correction receipt transaction count log"},
	{name: "methodologies", where: "1", locations: "methodology count"},
	{name: "publications", where: "1", locations: "publication count"},
	{name: "publication_covers", where: "1", locations: "publication"},
	{name: "coverage", where: "1", locations: "slot"},
	{name: "series", where: "1", locations: "slot series"},
	{name: "records", where: "1", locations: "slot instant"},
	{name: "points", where: "1", locations: "slot"},
	// A version that a program of an earlier release has published is not packed: the last row may be missing.
	{name: "packed_points", where: "version < (SELECT max(version) FROM packed_points)", locations: "slot publication"},
	{name: "manifests", where: "1", locations: "manifest count"},
	{name: "unsigned_days", where: "1", locations: "manifest"},
	{name: "log_tiles", where: "1", locations: "log"},
	{name: "log_bundles", where: "1", locations: "log"},
	{name: "log_tail", where: "1", locations: "log"},
	{name: "log_records", where: "1", locations: "log"},
	{name: "log_progress", where: "1", locations: "log"},
	{name: "log_methodologies", where: "1", locations: "log"},
	{
		name: "checkpoints", where: "1", locations: "log",
		except:   []string{"signed_at"}, // what was signed is in the note, and that has no time
		onlyLast: true,                  // what one signs, the next one signs too
	},
	{name: "anchors", where: "1", locations: "log", optional: true}, // the authority may have been down
}

// TestDatabase_AnyColumn changes each column of each table, in single bits and by a lot.
func TestDatabase_AnyColumn(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	for i, table := range tables {
		t.Run(table.name, func(t *testing.T) {
			t.Parallel()
			m := newTampered(t)
			random := rand.New(rand.NewPCG(3, uint64(i)))
			m.save(table.name)
			for _, column := range m.columns(table.name) {
				if slices.Contains(table.except, column) {
					continue
				}
				for _, row := range m.someRows(table.name, table.where, random) {
					for _, change := range changes(row[column], random) {
						what := fmt.Sprintf("%s.%s %v → %v", table.name, column, show(row[column]), show(change))
						if m.change(table.name, column, row, change) {
							m.wantDifference(what, table.locations)
							m.restore(table.name)
						}
					}
				}
			}
			m.wantIntact()
		})
	}
}

func (m *tampered) columns(table string) (names []string) {
	m.t.Helper()
	rows, err := m.raw.Query(`SELECT name FROM pragma_table_info($1)`, table)
	if err != nil {
		m.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			m.t.Fatal(err)
		}
		names = append(names, name)
	}
	if rows.Err() != nil || len(names) == 0 {
		m.t.Fatalf("table %s has no columns: %v", table, rows.Err())
	}
	return names
}

// someRows reads the first row of a table, the last, and one between.
func (m *tampered) someRows(table, where string, random *rand.Rand) (some []map[string]any) {
	m.t.Helper()
	rows, err := m.raw.Query(fmt.Sprintf(`SELECT * FROM %s WHERE %s`, table, where))
	if err != nil {
		m.t.Fatal(err)
	}
	defer rows.Close()
	names := m.columnsOf(rows)
	var all []map[string]any
	for rows.Next() {
		values, into := make([]any, len(names)), make([]any, len(names))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			m.t.Fatal(err)
		}
		row := map[string]any{}
		for i, name := range names {
			row[name] = values[i]
		}
		all = append(all, row)
	}
	if rows.Err() != nil || len(all) == 0 {
		m.t.Fatalf("table %s has no rows: %v", table, rows.Err())
	}
	some = append(some, all[0])
	if len(all) > 1 {
		some = append(some, all[random.IntN(len(all))], all[len(all)-1])
	}
	return some
}

func (m *tampered) columnsOf(rows *sql.Rows) []string {
	m.t.Helper()
	names, err := rows.Columns()
	if err != nil {
		m.t.Fatal(err)
	}
	return names
}

// changes are values that differ a little from the given one.
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
	return []any{int64(1), "text", ""} // it was NULL
}

func show(value any) string {
	if b, ok := value.([]byte); ok {
		return fmt.Sprintf("%x", b)
	}
	return fmt.Sprintf("%q", fmt.Sprint(value))
}

// change sets a column of a row. It returns false if the table does not accept the value: it has another type and is
// converted back, or the row would exist twice.
func (m *tampered) change(table, column string, row map[string]any, value any) bool {
	m.t.Helper()
	where, args := "1", []any{value}
	for name, was := range row {
		args = append(args, was)
		where += fmt.Sprintf(" AND %s IS $%d", name, len(args))
	}
	n := m.exec(fmt.Sprintf(`UPDATE OR IGNORE %s SET %s = $1 WHERE %s`, table, column, where), args...)
	if n > 1 {
		m.t.Fatalf("%s: %d rows are changed", table, n)
	}
	return n == 1
}

func TestDatabase_AnyRowMissing(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	for i, table := range tables {
		if table.optional {
			continue
		}
		t.Run(table.name, func(t *testing.T) {
			t.Parallel()
			m := newTampered(t)
			random := rand.New(rand.NewPCG(4, uint64(i)))
			m.save(table.name)
			rows := m.someRows(table.name, table.where, random)
			if table.onlyLast {
				rows = rows[len(rows)-1:]
			}
			for _, row := range rows {
				where, args := "1", []any{}
				for name, value := range row {
					args = append(args, value)
					where += fmt.Sprintf(" AND %s IS $%d", name, len(args))
				}
				if n := m.exec(fmt.Sprintf(`DELETE FROM %s WHERE %s`, table.name, where), args...); n != 1 {
					t.Fatalf("%s: %d rows are deleted", table.name, n)
				}
				m.wantDifference(fmt.Sprintf("%s without %.200q", table.name, fmt.Sprint(row)), table.locations+" receipt count")
				m.restore(table.name)
			}
			m.wantIntact()
		})
	}
}

// damageOneRow runs a statement that changes, adds or deletes one row, wants it to be detected, and restores the table.
func (m *tampered) damageOneRow(table, damage, wanted string) {
	m.t.Helper()
	m.save(table)
	if n := m.exec(damage); n != 1 {
		m.t.Fatalf("%s: %d rows", damage, n)
	}
	m.wantDifference(damage, wanted)
	m.restore(table)
}

func TestDatabase_AnyExtraRow(t *testing.T) {
	t.Parallel()
	m := newTampered(t)
	f := func(table, insert, wanted string) {
		t.Helper()
		m.damageOneRow(table, insert, wanted)
		m.exec(`DROP TABLE saved_` + table)
	}
	f("segments", `INSERT INTO segments SELECT max(segment) + 1, rows, checksum, body FROM segments`, "transaction")
	f("transaction_ids", `INSERT INTO transaction_ids SELECT hash + 1, segment FROM transaction_ids LIMIT 1`, "ids")
	f("receipts", `INSERT INTO receipts SELECT max(receipt) + 1, received_at, rows, checksum FROM receipts`, "count")
	f("verifications", `INSERT INTO verifications
		SELECT max(event) + 1, executed_at, source_id, id, verified, actor, reason, receipt, checksum, evidence
		FROM verifications`,
		"verification receipt log")
	f("corrections", `INSERT INTO corrections
		SELECT max(correction) + 1, hash, segment, executed_at, source_id, id, actor, reason, receipt, checksum
		FROM corrections`,
		"correction receipt log")
	f("methodologies", `INSERT INTO methodologies
		SELECT version || 'x', effective_at + 1, adopted_at, text, checksum, reason, approver FROM methodologies LIMIT 1`, "count")
	f("publications", `INSERT INTO publications
		SELECT max(version) + 1, published_at, methodology, receipt, reason, actor, checksum FROM publications`, "count")
	f("publication_covers", `INSERT INTO publication_covers
		SELECT version, gpu_id, grain, from_ms + 1, to_ms FROM publication_covers LIMIT 1`, "publication")
	f("publication_covers", `INSERT INTO publication_covers
		SELECT version + 1000, gpu_id, grain, from_ms, to_ms FROM publication_covers LIMIT 1`, "publication")
	f("coverage", `INSERT INTO coverage
		SELECT gpu_id, grain, to_ms + 3600000, to_ms + 7200000 FROM coverage LIMIT 1`, "slot")
	f("series", `INSERT INTO series SELECT max(series_id) + 1, gpu_id, 5, grain, 1, head FROM series`, "slot")
	// A second record of a slot, one far away, and one of a series that does not exist; each with its point.
	for _, r := range []string{
		"series_id, at, revision + 7", "series_id, at + 315360000000, revision", "series_id + 1000, at, revision",
	} {
		m.save("points")
		m.exec(`INSERT INTO points SELECT ` + r + `, value_nanos, version FROM points WHERE series_id = 1 LIMIT 1`)
		f("records", `INSERT INTO records SELECT `+r+`, sequence, body FROM records WHERE series_id = 1 LIMIT 1`, "slot")
		m.restore("points")
		m.exec(`DROP TABLE saved_points`)
	}
	f("points", `INSERT INTO points
		SELECT series_id, at, revision + 7, value_nanos, version FROM points LIMIT 1`, "slot")
	f("points", `INSERT INTO points
		SELECT series_id + 1000, at, revision, value_nanos, version FROM points LIMIT 1`, "slot")
	f("packed_points", `INSERT INTO packed_points
		SELECT max(version) + 1, part, points, checksum, body FROM packed_points`, "publication")
	f("manifests", `INSERT INTO manifests
		SELECT max(sequence) + 1, day + 1, revision, records, digest, signed_at, previous, hash, public_key, signature,
			publication, receipt, revisions
		FROM manifests`, "count")
	m.wantIntact()
}

// TestDatabase_InsertedWithOldReceipt lets the store write one more transaction under an old receipt, with valid
// checksums: then its receipt or its slot differs.
func TestDatabase_InsertedWithOldReceipt(t *testing.T) {
	t.Parallel()
	f := func(gpu string, at int64, receipt int, wanted string) {
		t.Helper()
		m := newTampered(t)
		changed := []string{"receipts", "counters", "log_progress", "log_tail", "log_tiles", "log_bundles"}
		for _, table := range changed {
			m.save(table)
		}
		m.exec(`DELETE FROM receipts WHERE receipt >= $1`, receipt)
		m.exec(`UPDATE counters SET value = $1 WHERE name = 'receipt'`, receipt-1)
		if _, err := m.db.AppendTransactions(t.Context(), []assay.Transaction{late(gpu, at, 99)}); err != nil {
			t.Fatal(err)
		}
		for _, table := range changed {
			m.restore(table)
		}
		m.wantDifference("inserted", wanted)
	}
	f("H100 SXM", instant(6, 3), 2, "slot")          // it would have counted
	f("H100 SXM", marketEnd, 3, "receipt")           // nothing is published there yet
	f("RTX 5090", instant(1, 0), 1, "receipt")       // before the market began
	f("A100 SXM4", instant(20, 0), 13, "receipt")    // the last receipt
	f("H100 SXM", instant(6, 3), 14, "receipt slot") // the receipt of a verification
}
