package verify

import (
	"reflect"
	"testing"

	"github.com/assaydata/assay/internal/store/storetest"
	"github.com/assaydata/assay/tools/testenv"
)

// The market can be proven on PostgreSQL as on SQLite, and changes in SQL are detected. The tests of SQLite change
// every column; the same code reads both, so one change per table is enough here.
func TestDatabase_Postgres(t *testing.T) {
	t.Parallel()
	testenv.OneGoroutine(t)
	db := storetest.OpenIn(t, storetest.Postgres(t))
	market := openMarket(t)
	if err := market.CopyTo(t.Context(), db, func(string, int) {}); err != nil {
		t.Fatal(err)
	}
	want, err := Database(t.Context(), market, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Database(t.Context(), db, Options{}); err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("the report of the copy is %+v (%v), want %+v", got, err, want)
	}
	m := tamper(t, db, storetest.Raw(t, db))
	f := m.damageOneRow
	f("segments", `UPDATE segments SET body = set_byte(body, 3, 255 - get_byte(body, 3))
		WHERE segment = (SELECT min(segment) FROM segments)`, "transaction slot instant")
	f("transaction_ids", `DELETE FROM transaction_ids
		WHERE hash = (SELECT min(hash) FROM transaction_ids)`, "transaction ids")
	f("receipts", `UPDATE receipts SET rows = rows + 1 WHERE receipt = 1`, "receipt")
	f("verifications", `UPDATE verifications SET reason = reason || 'x' WHERE event = 1`, "verification receipt")
	f("methodologies", `UPDATE methodologies SET text = text || ' ' WHERE version = '1.0.0'`, "methodology")
	f("publications", `DELETE FROM publications
		WHERE version = (SELECT max(version) FROM publications)`, "publication count")
	f("coverage", `DELETE FROM coverage WHERE ctid = (SELECT ctid FROM coverage LIMIT 1)`, "slot")
	f("records", `UPDATE records SET body = set_byte(body, 3, 255 - get_byte(body, 3))
		WHERE ctid = (SELECT ctid FROM records LIMIT 1)`, "slot instant")
	f("points", `UPDATE points SET value_nanos = value_nanos + 1 WHERE ctid = (SELECT ctid FROM points
		WHERE value_nanos IS NOT NULL LIMIT 1)`, "slot")
	f("manifests", `UPDATE manifests SET signature = set_byte(signature, 0, 255 - get_byte(signature, 0))
		WHERE sequence = 1`, "manifest")
	m.wantIntact()
}
