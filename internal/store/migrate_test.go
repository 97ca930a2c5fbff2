package store_test

import (
	"database/sql"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
	"github.com/assaydata/assay/tools/testenv"
)

// makeOld creates a database with only the first migration, and runs statements on it.
func makeOld(t *testing.T, dir string, statements ...string) {
	t.Helper()
	makeAt(t, 1, dir, statements...)
}

// makeAt creates a database with that many migrations.
func makeAt(t *testing.T, migrations int, dir string, statements ...string) {
	t.Helper()
	schema, err := filepath.Glob("migrations/sqlite/*.sql")
	if err != nil || len(schema) < migrations {
		t.Fatalf("the migrations are %v (%v)", schema, err)
	}
	var texts []string
	for i, file := range schema[:migrations] {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text), fmt.Sprintf(`INSERT INTO migrations VALUES (%d, 0)`, i+1))
	}
	raw, err := sql.Open("sqlite", filepath.Join(dir, store.FileName))
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	statements = append(append(append([]string{
		`PRAGMA journal_mode = wal`,
		`CREATE TABLE migrations (number INTEGER PRIMARY KEY, applied_at INTEGER NOT NULL)`,
	}, texts...),
		`INSERT INTO gpus (gpu_name, free) VALUES ('H100 SXM', 1), ('B200', 1)`,
		`INSERT INTO regions (region) VALUES ('us-east'), ('us-west')`,
	), statements...)
	for _, s := range statements {
		if _, err := raw.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// oldMarket inserts transactions, published values and what they need.
var oldMarket = []string{
	`INSERT INTO sources (source) VALUES ('exchange'), ('desk')`,
	`INSERT INTO providers (provider) VALUES ('Acme'), ('Bolt')`,
	`INSERT INTO transactions VALUES
		(1000, 2, 'b', 1, 1, 2, 2350000000, 8, 24000000, 1, 7),
		(1000, 1, 'b', 2, 0, 1, 1, 1, 1, 0, 8),
		(500, 1, 'a', 1, 2, 1, 999, 2, 3, 1, 9)`,
	`INSERT INTO publications VALUES (1, 10, '1.0.0')`,
	`INSERT INTO series (gpu_id, region_id, grain) VALUES (1, 0, 'hourly')`,
	`INSERT INTO points VALUES (1, 3600000, 0, 2350000000, 1)`,
	`INSERT INTO publication_series VALUES (1, 1, 3600000, 3600000)`,
	`INSERT INTO coverage VALUES (1, 'hourly', 0, 3600000)`,
	`UPDATE counters SET value = 1 WHERE name = 'publication'`,
	`UPDATE counters SET value = 5 WHERE name = 'keys'`,
	`INSERT INTO settings VALUES ('demo_fed', '12'), ('demo_seed', '1')`,
	`INSERT INTO keys VALUES ('aaaaaa', zeroblob(32), 'premium', 'desk', 1, NULL, NULL)`,
}

var oldTransactions = []assay.Transaction{
	{
		Source: "exchange", ID: "a", ExecutedAt: 500, GPU: "H100 SXM", Region: "us-west",
		Price: 999, GPUs: 2, HourMicros: 3, Provider: "Acme", Verified: true, Receipt: 1,
	},
	{
		Source: "desk", ID: "b", ExecutedAt: 1000, GPU: "H100 SXM", Region: "us-east",
		Price: 2_350_000_000, GPUs: 8, HourMicros: 24_000_000, Provider: "Bolt", Verified: true, Receipt: 1,
	},
	{
		Source: "exchange", ID: "b", ExecutedAt: 1000, GPU: "B200",
		Price: 1, GPUs: 1, HourMicros: 1, Provider: "Acme", Receipt: 1,
	},
}

// A migration keeps all transactions and adds receipts and checksums, which AppendWindow checks. Published values have
// no proof and are removed.
func TestMigrate_FromTheFirst(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	makeOld(t, dir, oldMarket...)
	db := storetest.OpenUpgraded(t, dir)
	wantMigrated := func(db *store.DB) {
		t.Helper()
		if got := window(t, db, math.MinInt64, math.MaxInt64); !slices.Equal(got, oldTransactions) {
			t.Errorf("the transactions are\n%+v, want\n%+v", got, oldTransactions)
		}
		want := store.Counters{Catalog: 1, Keys: 5, Receipt: 1}
		if got := mustCounters(t, db); got != want {
			t.Errorf("the counters are %+v, want %+v", got, want)
		}
		p := readPublished(t, db)
		spans := len(p.State.Coverage) + len(p.Covers) + len(p.Changes) + len(p.Publications)
		if spans+len(p.Records)+len(p.Chains)+len(p.Unsigned)+len(p.Late) > 0 {
			t.Errorf("something is published: %+v", p)
		}
		if ledger, err := db.Ledger(t.Context()); err != nil || ledger.Records != 0 {
			t.Errorf("there are %d records (%v), want none", ledger.Records, err)
		}
	}
	wantMigrated(db)
	wantMigrated(storetest.Another(t, db)) // opening again changes nothing
	for name, want := range map[string]string{"demo_fed": "", "demo_seed": "1"} {
		if got, err := db.Setting(t.Context(), name); err != nil || got != want {
			t.Errorf("the setting %s is %q (%v), want %q", name, got, err, want)
		}
	}
	if keys, err := db.ListKeys(t.Context()); err != nil || len(keys) != 1 {
		t.Errorf("the keys are %v (%v), want the old one", keys, err)
	}
	if got := mustCatalog(t, db); len(got.GPUs) != 2 || len(got.Labs) != 0 {
		t.Errorf("the catalog is %+v, want the old one", got)
	}
	// The ids were migrated: a repeated import finds every row.
	wantAppended(t, mustAppend(t, db, oldRows()...), store.Appended{Duplicates: 3})
	// The time can be published again.
	mustPublish(t, db, hours("H100 SXM", 0, 1))
}

// Single rows with receipts, and records with separate hashes, keep their content.
func TestMigrate_IntoSegments(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	record := assay.Determination{
		Line: assay.Line{GPU: "H100 SXM", Region: assay.Global}, Grain: assay.Hourly, At: assay.Hour,
		Methodology: "1.0.0", Value: 7, HasValue: true, Hash: assay.Hash{1, 2, 3},
	}
	body := store.AppendBody(nil, &record)
	body = body[:len(body)-len(record.Hash)]
	makeAt(t, 3, dir,
		`INSERT INTO sources (source) VALUES ('exchange'), ('desk')`,
		`INSERT INTO providers (provider) VALUES ('Acme'), ('Bolt')`,
		`INSERT INTO receipts VALUES (1, 0, 2, 0), (2, 0, 1, 0)`,
		`UPDATE counters SET value = 2 WHERE name = 'receipt'`,
		`INSERT INTO transactions VALUES
			(1000, 2, 'b', 1, 1, 2, 2350000000, 8, 24000000, 1, 1, 0),
			(1000, 1, 'b', 2, 0, 1, 1, 1, 1, 0, 1, 0),
			(500, 1, 'a', 1, 2, 1, 999, 2, 3, 1, 2, 0)`,
		`INSERT INTO series (gpu_id, region_id, grain, records, head) VALUES (1, 0, 'hourly', 1, zeroblob(32))`,
		`INSERT INTO points VALUES (1, 3600000, 0, 7, 300)`,
		fmt.Sprintf(`INSERT INTO records VALUES (1, 3600000, 0, 1, X'%x', X'%x')`, body, record.Hash[:]))
	db := storetest.OpenUpgraded(t, dir)
	want := slices.Clone(oldTransactions)
	want[0].Receipt = 2
	if got := window(t, db, math.MinInt64, math.MaxInt64); !slices.Equal(got, want) {
		t.Errorf("the transactions are\n%+v, want\n%+v", got, want)
	}
	wantAppended(t, mustAppend(t, db, oldRows()...), store.Appended{Duplicates: 3})
	records, err := db.AppendRecords(t.Context(), nil, math.MinInt64, math.MaxInt64)
	wantRecords := []store.Record{{Determination: record, Sequence: 1, Version: 300}}
	if err != nil || !slices.Equal(records, wantRecords) {
		t.Errorf("the records are\n%+v (%v), want\n%+v", records, err, wantRecords)
	}
}

func oldRows() []assay.Transaction { return withoutReceipts(oldTransactions) }

func TestMigrate_Empty(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	makeOld(t, dir)
	db := storetest.OpenUpgraded(t, dir)
	wantCount(t, db, 0)
	if got, want := mustCounters(t, db), (store.Counters{Catalog: 1}); got != want {
		t.Errorf("the counters are %+v, want %+v", got, want)
	}
	mustAppend(t, db, rental("a"))
}

// The ids of a large table are inserted in several parts while the old table is read. Some ids share a hash.
func TestMigrate_InParts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	makeOld(t, dir,
		`INSERT INTO sources (source) VALUES ('exchange')`,
		`INSERT INTO providers (provider) VALUES ('Acme')`,
		`WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99)
		INSERT INTO transactions SELECT i * 37 % 100, 1, printf('%05d', i), 1, 1, 1, 1 + i, 8, 24000000, 1, 0 FROM n`)
	hash := func(_, id string) int64 { return int64(id[4] - '0') }
	store.UpgradeWith(t, "sqlite://"+dir, hash, 7)
	db := storetest.OpenIn(t, dir)
	store.SetIDHash(db, hash)
	got := window(t, db, math.MinInt64, math.MaxInt64)
	if len(got) != 100 {
		t.Fatalf("%d transactions were moved, want 100", len(got))
	}
	for i, x := range got {
		if x.ExecutedAt != int64(i) || x.Receipt != 1 || int64(x.Price-1)*37%100 != x.ExecutedAt {
			t.Errorf("row %d is %+v", i, x)
		}
	}
	wantAppended(t, mustAppend(t, db, withoutReceipts(got)...), store.Appended{Duplicates: 100})
}

// A canceled upgrade leaves the old database unchanged, and the next one completes it.
func TestMigrate_Canceled(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	dir := t.TempDir()
	makeOld(t, dir, oldMarket...)
	tried := 0
	for n := int64(1); ; n += 3 {
		err := store.Upgrade(storetest.BreakAt(t, n), "sqlite://"+dir, "", func(string, int, int) {})
		if err == nil {
			break
		}
		tried++
		wantOld(t, dir)
	}
	if tried < 10 {
		t.Errorf("the upgrade was canceled in %d places, want many", tried)
	}
	if got := window(t, storetest.OpenIn(t, dir), math.MinInt64, math.MaxInt64); !reflect.DeepEqual(got, oldTransactions) {
		t.Errorf("the transactions are\n%+v, want\n%+v", got, oldTransactions)
	}
}

// wantOld checks that a database has only the first migration.
func wantOld(t *testing.T, dir string) {
	t.Helper()
	raw, err := sql.Open("sqlite", filepath.Join(dir, store.FileName)+"?_pragma=busy_timeout(30000)")
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	var migration, rows, received int
	err = raw.QueryRowContext(t.Context(), `SELECT (SELECT max(number) FROM migrations), (SELECT count(*) FROM points),
		(SELECT sum(received_at) FROM transactions)`).Scan(&migration, &rows, &received)
	if err != nil || migration != 1 || rows != 1 || received != 24 {
		t.Fatalf("the old database has the migration %d, %d points and the sum %d of received_at (%v); want 1, 1 and 24",
			migration, rows, received, err)
	}
}
