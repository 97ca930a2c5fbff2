package store

import (
	"context"
	"database/sql"
	"errors"

	"github.com/assaydata/assay"
)

// Device is a browser that has signed in to an account, as it is stored: without the token's text.
type Device struct {
	Hash      [32]byte
	AccountID int64
	UsedAt    int64 // when it last signed in, give or take deviceUpdate
}

const (
	// DeviceLength is how long a browser is remembered after its last sign-in.
	DeviceLength = 180 * assay.Day
	// deviceUpdate is how often the last sign-in is written.
	deviceUpdate = 30 * assay.Day
	// maxDevices is how many browsers of an account are remembered: those that signed in last.
	maxDevices = 20
)

// Devices lists the devices that are remembered, and the value of their counter.
func (db *DB) Devices(ctx context.Context) (list []Device, counter int64, err error) {
	err = db.read(ctx, func(tx *tx) error {
		if counter, err = tx.counter("devices"); err != nil {
			return err
		}
		list = nil
		return tx.each(`SELECT hash, account_id, used_at FROM devices WHERE used_at > $1`, []any{tx.now - DeviceLength},
			func(scan scanFunc) error {
				var d Device
				var hash []byte
				err := scan(&hash, &d.AccountID, &d.UsedAt)
				copy(d.Hash[:], hash)
				list = append(list, d)
				return err
			})
	})
	return list, counter, err
}

// NewDevice is the device of a sign-in: the token it gets, and the one it had.
type NewDevice struct {
	Hash     [32]byte
	Replaces [32]byte // equal to Hash if the device keeps its token; zero if it had none
}

// rememberDevice stores that a device has signed in to an account. A new token takes over the accounts of the one it
// replaces.
func rememberDevice(tx *tx, accountID int64, d NewDevice) error {
	if d.Hash == d.Replaces {
		var used int64
		err := tx.QueryRowContext(tx.ctx, `SELECT used_at FROM devices WHERE hash = $1 AND account_id = $2`,
			d.Hash[:], accountID).Scan(&used)
		if err == nil && used > tx.now-deviceUpdate {
			return nil
		}
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
	}
	return inOrder(
		func() error { return tx.exec(`DELETE FROM devices WHERE used_at <= $1`, tx.now-DeviceLength) },
		func() error {
			return tx.exec(`UPDATE devices SET hash = $1 WHERE hash = $2 AND hash <> $1`, d.Hash[:], d.Replaces[:])
		},
		func() error {
			return tx.exec(`INSERT INTO devices (hash, account_id, used_at) VALUES ($1, $2, $3)
				ON CONFLICT (hash, account_id) DO UPDATE SET used_at = excluded.used_at`, d.Hash[:], accountID, tx.now)
		},
		func() error {
			return tx.exec(`DELETE FROM devices WHERE account_id = $1 AND hash NOT IN (SELECT hash FROM devices
				WHERE account_id = $1 ORDER BY used_at DESC, hash LIMIT $2)`, accountID, maxDevices)
		},
		func() error {
			_, err := tx.bump("devices")
			return err
		},
	)
}

// forgetDevices deletes the devices of an account.
func forgetDevices(tx *tx, accountID int64) error {
	if err := tx.exec(`DELETE FROM devices WHERE account_id = $1`, accountID); err != nil {
		return err
	}
	_, err := tx.bump("devices")
	return err
}
