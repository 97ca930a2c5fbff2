package store_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// copySource returns a database with rows in many tables.
func copySource(t *testing.T) *store.DB {
	t.Helper()
	from := storetest.Open(t)
	mustAppend(t, from, rentals(300)...)
	mustPublish(t, from, hours("H100 SXM", 0, 5))
	signDay(t, from, 0)
	mustAccount(t, from, "ann@example.com")
	return from
}

// A copy has everything that the original has, and can be written to.
func TestCopyTo(t *testing.T) {
	t.Parallel()
	from := copySource(t)
	storetest.EachAddress(t, func(t *testing.T, address string) {
		to := storetest.OpenIn(t, address)
		if err := from.CopyTo(t.Context(), to, func(string, int) {}); err != nil {
			t.Fatal(err)
		}
		f := func(what string, read func(db *store.DB) (any, error)) {
			t.Helper()
			want, err := read(from)
			got, errGot := read(to)
			if err != nil || errGot != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s of the copy:\n%+v (%v), want\n%+v (%v)", what, got, errGot, want, err)
			}
		}
		f("ledger", func(db *store.DB) (any, error) { return db.Ledger(t.Context()) })
		f("transactions", func(db *store.DB) (any, error) {
			return db.AppendWindow(t.Context(), nil, math.MinInt64, math.MaxInt64)
		})
		f("records", func(db *store.DB) (any, error) {
			return db.AppendRecords(t.Context(), nil, math.MinInt64, math.MaxInt64)
		})
		f("directory", func(db *store.DB) (any, error) { return db.Directory(t.Context()) })
		f("log", func(db *store.DB) (any, error) { return db.AuditLog(t.Context(), store.AuditFilter{}) })
		f("catalog", func(db *store.DB) (any, error) { return db.Catalog(t.Context()) })
		// New rows get free ids.
		mustAccount(t, to, "bob@example.com")
		next := rental("next")
		next.Source, next.Provider = "another", "Zed"
		batch := append([]assay.Transaction{next}, rentals(300)...)
		wantAppended(t, mustAppend(t, to, batch...), store.Appended{Inserted: 1, Duplicates: 300})
		if err := from.CopyTo(t.Context(), to, func(string, int) {}); !errors.Is(err, store.ErrNotEmpty) {
			t.Errorf("copying into a copy returns the error %v, want %v", err, store.ErrNotEmpty)
		}
	})
}

// A copy of a database with evidence can be opened by the same programs as the original.
func TestCopyTo_UsableBy(t *testing.T) {
	t.Parallel()
	from := storetest.Open(t)
	usableBy := func(db *store.DB) (list []int) {
		raw := storetest.Raw(t, db)
		defer raw.Close()
		rows, err := raw.QueryContext(t.Context(), `SELECT coalesce(usable_by, 0) FROM migrations ORDER BY number`)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			var one int
			if err := rows.Scan(&one); err != nil {
				t.Fatal(err)
			}
			list = append(list, one)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		return list
	}
	before := usableBy(from)
	one := rental("1")
	one.Verified, one.Evidence, one.VerifiedBy = true, assay.Invoice, "Ada"
	mustAppend(t, from, one)
	want := usableBy(from)
	if slices.Equal(before, want) {
		t.Fatal("evidence changes nothing")
	}
	to := storetest.Open(t)
	if err := from.CopyTo(t.Context(), to, func(string, int) {}); err != nil {
		t.Fatal(err)
	}
	if got := usableBy(to); !slices.Equal(got, want) {
		t.Errorf("the copy is usable by %v, the original by %v", got, want)
	}
}

// A copy includes every table.
func TestCopyTo_AllTables(t *testing.T) {
	t.Parallel()
	raw := storetest.Raw(t, storetest.Open(t))
	defer raw.Close()
	rows, err := raw.QueryContext(t.Context(), `SELECT name FROM sqlite_master
		WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name <> 'migrations' ORDER BY name`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var want []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		want = append(want, name)
	}
	if got := slices.Sorted(slices.Values(store.CopiedTables())); rows.Err() != nil || !slices.Equal(got, want) {
		t.Errorf("a copy has the tables\n%q, want\n%q (%v)", got, want, rows.Err())
	}
}

// damages are triggers, by the table in which a copy then differs: a missing or additional row, another text, a NULL.
// The key true is for PostgreSQL.
var damages = map[bool]map[string]string{
	false: {
		"providers": `CREATE TRIGGER damage AFTER INSERT ON providers BEGIN
			UPDATE providers SET provider = provider || ' ' WHERE provider = new.provider AND length(provider) < 6; END`,
		"receipts": `CREATE TRIGGER damage AFTER INSERT ON receipts BEGIN DELETE FROM receipts; END`,
		"settings": `CREATE TRIGGER damage AFTER INSERT ON receipts BEGIN
			INSERT INTO settings (name, value) VALUES ('a', 'b'); END`,
		"audit": `CREATE TRIGGER damage BEFORE INSERT ON audit WHEN new.detail <> '-' BEGIN
			INSERT INTO audit (audit_id, at, actor, action, subject, detail)
			VALUES (new.audit_id, new.at, new.actor, new.action, new.subject, '-'); SELECT RAISE(IGNORE); END`,
		"points": `CREATE TRIGGER damage AFTER INSERT ON points WHEN new.value_nanos IS NOT NULL BEGIN
			UPDATE points SET value_nanos = NULL WHERE series_id = new.series_id AND at = new.at; END`,
	},
	true: {
		"providers": pgDamage("providers", `NEW.provider := NEW.provider || ' '; RETURN NEW`),
		"receipts":  pgDamage("receipts", `RETURN NULL`),
		"settings":  pgDamage("receipts", `INSERT INTO settings (name, value) VALUES ('a', 'b'); RETURN NEW`),
		"audit":     pgDamage("audit", `NEW.detail := '-'; RETURN NEW`),
		"points":    pgDamage("points", `NEW.value_nanos := NULL; RETURN NEW`),
	},
}

func pgDamage(table, body string) string {
	return fmt.Sprintf(`CREATE FUNCTION damage() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN %s; END $$;
		CREATE TRIGGER damage BEFORE INSERT ON %s FOR EACH ROW EXECUTE FUNCTION damage()`, body, table)
}

// A copy that differs from the original is rolled back, and the database stays empty.
func TestCopyTo_Damaged(t *testing.T) {
	t.Parallel()
	from := copySource(t)
	storetest.EachAddress(t, func(t *testing.T, address string) {
		to := storetest.OpenIn(t, address)
		for table, trigger := range damages[store.IsPostgres(address)] {
			storetest.Exec(t, to, trigger)
			err := from.CopyTo(t.Context(), to, func(string, int) {})
			if !errors.Is(err, store.ErrCopyDiffers) || !strings.Contains(err.Error(), "its table "+table+" ") {
				t.Errorf("with damage to %s the error is %v, want %v", table, err, store.ErrCopyDiffers)
			}
			if store.IsPostgres(address) {
				storetest.Exec(t, to, `DROP FUNCTION damage CASCADE`)
			} else {
				storetest.Exec(t, to, `DROP TRIGGER damage`)
			}
		}
		if err := from.CopyTo(t.Context(), to, func(string, int) {}); err != nil {
			t.Errorf("without damage: %v", err)
		}
	})
}

// A copy leaves nothing behind, wherever it is canceled.
func TestCopyTo_Canceled(t *testing.T) {
	t.Parallel()
	from := copySource(t)
	storetest.EachAddress(t, func(t *testing.T, address string) {
		to := storetest.OpenIn(t, address)
		var canceled int
		for n := int64(1); ; n += n/3 + 1 {
			err := from.CopyTo(storetest.BreakAt(t, n), to, func(string, int) {})
			if err == nil {
				break
			}
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("after cancellation at use %d the error is %v, want %v", n, err, context.Canceled)
			}
			canceled++
		}
		if canceled < 5 {
			t.Errorf("the copy was canceled in %d places, want several", canceled)
		}
		wantCount(t, to, 300)
	})
}
