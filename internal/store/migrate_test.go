package store_test

import (
	"database/sql"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// makeOld makes a database as the first migration left it, and runs statements on it.
func makeOld(t *testing.T, dir string, statements ...string) {
	t.Helper()
	schema, err := filepath.Glob("migrations/sqlite/001_*.sql")
	if err != nil || len(schema) != 1 {
		t.Fatalf("the first migration is %v (%v)", schema, err)
	}
	text, err := os.ReadFile(schema[0])
	if err != nil {
		t.Fatal(err)
	}
	raw, err := sql.Open("sqlite", filepath.Join(dir, store.FileName))
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	statements = append([]string{
		`PRAGMA journal_mode = wal`,
		`CREATE TABLE migrations (number INTEGER PRIMARY KEY, applied_at INTEGER NOT NULL)`,
		`INSERT INTO migrations VALUES (1, 0)`,
		string(text),
		`INSERT INTO gpus (gpu_name, free) VALUES ('H100 SXM', 1), ('B200', 1)`,
		`INSERT INTO regions (region) VALUES ('us-east'), ('us-west')`,
	}, statements...)
	for _, s := range statements {
		if _, err := raw.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// oldMarket is transactions, values and everything around them.
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
	{Source: "exchange", ID: "a", ExecutedAt: 500, GPU: "H100 SXM", Region: "us-west", Price: 999, GPUs: 2, HourMicros: 3, Provider: "Acme", Verified: true, Receipt: 1},
	{Source: "desk", ID: "b", ExecutedAt: 1000, GPU: "H100 SXM", Region: "us-east", Price: 2_350_000_000, GPUs: 8, HourMicros: 24_000_000, Provider: "Bolt", Verified: true, Receipt: 1},
	{Source: "exchange", ID: "b", ExecutedAt: 1000, GPU: "B200", Price: 1, GPUs: 1, HourMicros: 1, Provider: "Acme", Receipt: 1},
}

// The transactions of an old database are all there, with receipts and checksums, which AppendWindow asks for. What was
// published has no proof and is taken back.
func TestMigrate_FromTheFirst(t *testing.T) {
	dir := t.TempDir()
	makeOld(t, dir, oldMarket...)
	db := storetest.OpenIn(t, dir)
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
		if len(p.State.Coverage)+len(p.Covers)+len(p.Changes)+len(p.Publications)+len(p.Records)+len(p.Chains)+len(p.Unsigned)+len(p.Late) > 0 {
			t.Errorf("something is published: %+v", p)
		}
		if ledger, err := db.Ledger(t.Context()); err != nil || ledger.Records != 0 {
			t.Errorf("there are %d records (%v)", ledger.Records, err)
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
		t.Errorf("the keys are %v (%v), want the one that was there", keys, err)
	}
	if got := mustCatalog(t, db); len(got.GPUs) != 2 || len(got.Labs) != 0 {
		t.Errorf("the catalog is %+v, want the one that was there", got)
	}
	// The ids came along: a repeated import finds every row.
	wantAppended(t, mustAppend(t, db, oldRows()...), store.Appended{Duplicates: 3})
	// And the time is open again.
	mustPublish(t, db, hours("H100 SXM", 0, 1))
}

func oldRows() []assay.Transaction { return withoutReceipts(oldTransactions) }

func TestMigrate_Empty(t *testing.T) {
	dir := t.TempDir()
	makeOld(t, dir)
	db := storetest.OpenIn(t, dir)
	wantCount(t, db, 0)
	if got, want := mustCounters(t, db), (store.Counters{Catalog: 1}); got != want {
		t.Errorf("the counters are %+v, want %+v", got, want)
	}
	mustAppend(t, db, rental("a"))
}

// A large table is moved in several parts, each while the old table is being read.
func TestMigrate_InParts(t *testing.T) {
	store.SetMoveRows(t, 7)
	dir := t.TempDir()
	makeOld(t, dir,
		`INSERT INTO sources (source) VALUES ('exchange')`,
		`INSERT INTO providers (provider) VALUES ('Acme')`,
		`WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99)
		INSERT INTO transactions SELECT i * 37 % 100, 1, printf('%05d', i), 1, 1, 1, 1 + i, 8, 24000000, 1, 0 FROM n`)
	db := storetest.OpenIn(t, dir)
	got := window(t, db, math.MinInt64, math.MaxInt64)
	if len(got) != 100 {
		t.Fatalf("%d transactions were moved, want 100", len(got))
	}
	for i, x := range got {
		if x.ExecutedAt != int64(i) || x.Receipt != int64(i/7+1) || int64(x.Price-1)*37%100 != x.ExecutedAt {
			t.Errorf("row %d is %+v", i, x)
		}
	}
	if got := mustCounters(t, db).Receipt; got != 15 {
		t.Errorf("the receipt is %d, want 15", got)
	}
}

// A move that breaks off leaves the old database as it was, and the next opening does it.
func TestMigrate_BrokenOff(t *testing.T) {
	dir := t.TempDir()
	makeOld(t, dir, oldMarket...)
	tried := 0
	for n := int64(1); ; n += 3 {
		db, err := store.Open(storetest.BreakAt(t, n), dir)
		if err == nil {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
			break
		}
		tried++
		wantOld(t, dir)
	}
	if tried < 10 {
		t.Errorf("the opening was broken off in %d places, want many", tried)
	}
	if got := window(t, storetest.OpenIn(t, dir), math.MinInt64, math.MaxInt64); !reflect.DeepEqual(got, oldTransactions) {
		t.Errorf("the transactions are\n%+v, want\n%+v", got, oldTransactions)
	}
}

// wantOld checks that a database is still as the first migration left it.
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
		t.Fatalf("the old database is at migration %d with %d points and receptions of %d in all (%v)", migration, rows, received, err)
	}
}
