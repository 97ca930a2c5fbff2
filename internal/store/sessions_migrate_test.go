package store_test

import (
	"testing"
	"time"

	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// sessionsBefore turns a database into one from before sessions had public ids, with two sessions in it.
var sessionsBefore = []string{
	`DROP TABLE totp`,
	`DROP TABLE passkeys`,
	`DROP TABLE recovery_codes`,
	`DROP TABLE used_tickets`,
	`DROP TABLE devices`,
	`DELETE FROM counters WHERE name = 'devices'`,
	`DROP INDEX sessions_by_id`,
	`ALTER TABLE sessions DROP COLUMN session_id`,
	`ALTER TABLE sessions DROP COLUMN last_used_at`,
	`ALTER TABLE sessions DROP COLUMN address`,
	`ALTER TABLE sessions DROP COLUMN user_agent`,
	`ALTER TABLE sessions DROP COLUMN restricted`,
	`ALTER TABLE accounts DROP COLUMN password_temporary`,
	`ALTER TABLE accounts DROP COLUMN password_before`,
	`DELETE FROM migrations WHERE number BETWEEN 7 AND 10`,
	`INSERT INTO accounts (account_id, email, name, created_at) VALUES (1, 'ann@example.com', '', 1)`,
}

// Sessions from before they had ids keep working: they get one each, and count as used now.
func TestMigrate_Sessions(t *testing.T) {
	t.Parallel()
	storetest.EachAddress(t, func(t *testing.T, address string) {
		trigger := `DROP TRIGGER session_of_an_earlier_release`
		if store.IsPostgres(address) {
			trigger += ` ON sessions`
		}
		storetest.ExecAt(t, address, trigger)
		for _, statement := range sessionsBefore {
			storetest.ExecAt(t, address, statement)
		}
		now := time.Now().UnixMilli()
		for _, hash := range [][]byte{make([]byte, 32), append(make([]byte, 31), 1)} {
			storetest.ExecAt(t, address,
				`INSERT INTO sessions (hash, account_id, created_at, expires_at) VALUES ($1, 1, 2, $2)`, hash, now+1_000_000)
		}
		db := storetest.OpenUpgraded(t, address)
		list, _, err := db.Sessions(t.Context())
		if err != nil || len(list) != 2 || list[0].ID == list[1].ID {
			t.Fatalf("the sessions are %+v (%v)", list, err)
		}
		for _, s := range list {
			if len(s.ID) != 12 || s.LastUsedAt < now || s.AccountID != 1 || s.CreatedAt != 2 || s.Address != "" {
				t.Errorf("a session is %+v", s)
			}
		}
		if devices, _, err := db.Devices(t.Context()); err != nil || len(devices) != 0 {
			t.Errorf("the devices are %+v (%v)", devices, err)
		}
		s := store.Session{Hash: [32]byte{9}, ID: "abc", AccountID: 1, ExpiresAt: now + 1_000_000}
		if _, err := db.StartSession(t.Context(), s, store.SignIn{}); err != nil {
			t.Error(err)
		}
	})
}
