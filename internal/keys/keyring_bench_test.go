package keys

import (
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store/storetest"
)

// BenchmarkKeyring_Change is what a server does when a key is added to 100,000, beside what it does at its start.
func BenchmarkKeyring_Change(b *testing.B) {
	db := storetest.Open(b)
	storetest.Exec(b, db, `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
		INSERT INTO accounts (email, name, created_at) SELECT i || '@example.com', 'a', 1 FROM n`)
	storetest.Exec(b, db, `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
		INSERT INTO keys (key_id, hash, tier, name, created_at, account_id)
		SELECT 'k' || i, randomblob(32), 'premium', 'a', 1, i % 10000 FROM n`)
	storetest.Exec(b, db, `UPDATE counters SET value = value + 1 WHERE name IN ('keys', 'accounts')`)
	b.Run("start", func(b *testing.B) {
		for b.Loop() {
			newKeyring(b, db)
		}
	})
	b.Run("change", func(b *testing.B) {
		k := newKeyring(b, db)
		for b.Loop() {
			b.StopTimer()
			create(b, db, assay.Full, 0)
			b.StartTimer()
			if err := k.Load(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
}
