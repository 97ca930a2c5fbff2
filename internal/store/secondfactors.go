package store

import (
	"context"
	"errors"
	"strings"

	"github.com/assaydata/assay"
)

// Errors of the second factors.
var (
	ErrSecondFactor = errors.New("the account has a second factor, and the sign-in has not used it")
	ErrFactorUsed   = errors.New("the code or the sign count was used before, or the factor has been removed")
	ErrTicketUsed   = errors.New("the ticket was used before")
	ErrNoFactor     = errors.New("there is no such second factor")
	ErrLastFactor   = errors.New("the second factor is the last one")
	ErrManyPasskeys = errors.New("the account has as many passkeys as it may have")
	ErrPasskeyTaken = errors.New("the passkey is stored already")
)

// MaxPasskeys is how many passkeys an account may have.
const MaxPasskeys = 20

// TOTP is the authenticator app of an account.
type TOTP struct {
	Secret    []byte // sealed
	LastStep  int64  // of the last code that was used
	CreatedAt int64
}

// Passkey is a passkey of an account.
type Passkey struct {
	ID             string // public
	AccountID      int64
	Name           string
	UserHandle     []byte
	CredentialID   []byte
	PublicKey      []byte
	SignCount      uint32
	BackupEligible bool
	Transports     []string
	CreatedAt      int64
	LastUsedAt     int64 // 0: never
}

// SecondFactors are what an account signs in with besides its password.
type SecondFactors struct {
	TOTP          *TOTP // nil: none
	Passkeys      []Passkey
	RecoveryCodes int // that have not been used
}

// Count is how many second factors there are. Recovery codes are none: they only replace one that is lost.
func (f SecondFactors) Count() int {
	if f.TOTP != nil {
		return 1 + len(f.Passkeys)
	}
	return len(f.Passkeys)
}

// SecondFactors reads the second factors of an account.
func (db *DB) SecondFactors(ctx context.Context, accountID int64) (f SecondFactors, err error) {
	err = db.read(ctx, func(tx *tx) error {
		f, err = readSecondFactors(tx, accountID)
		return err
	})
	return f, err
}

// AccountWithFactors reads an account, including a closed one, and its second factors.
func (db *DB) AccountWithFactors(ctx context.Context, id int64) (a assay.Account, f SecondFactors, err error) {
	err = db.read(ctx, func(tx *tx) error {
		if a, err = accountByID(tx, id); err != nil {
			return err
		}
		f, err = readSecondFactors(tx, id)
		return err
	})
	return a, f, err
}

func readSecondFactors(tx *tx, accountID int64) (f SecondFactors, err error) {
	err = tx.each(`SELECT secret, last_step, created_at FROM totp WHERE account_id = $1`, []any{accountID},
		func(scan scanFunc) error {
			f.TOTP = &TOTP{}
			return scan(&f.TOTP.Secret, &f.TOTP.LastStep, &f.TOTP.CreatedAt)
		})
	if err != nil {
		return f, err
	}
	if f.Passkeys, err = readPasskeys(tx, `account_id = $1`, accountID); err != nil {
		return f, err
	}
	err = tx.QueryRowContext(tx.ctx,
		`SELECT count(*) FROM recovery_codes WHERE account_id = $1 AND used_at IS NULL`, accountID).Scan(&f.RecoveryCodes)
	return f, err
}

// PasskeyByCredential finds a passkey by the id that its authenticator chose, or returns ErrNoFactor.
func (db *DB) PasskeyByCredential(ctx context.Context, credentialID []byte) (p Passkey, err error) {
	err = db.read(ctx, func(tx *tx) error {
		list, err := readPasskeys(tx, `credential_id = $1`, credentialID)
		if err == nil && len(list) == 0 {
			err = ErrNoFactor
		}
		p = append(list, Passkey{})[0]
		return err
	})
	return p, err
}

func readPasskeys(tx *tx, where string, args ...any) (list []Passkey, err error) {
	query := `SELECT passkey_id, account_id, name, user_handle, credential_id, public_key, sign_count, backup_eligible,
		transports, created_at, coalesce(last_used_at, 0) FROM passkeys WHERE ` + where + ` ORDER BY created_at, passkey_id`
	err = tx.each(query, args, func(scan scanFunc) error {
		var p Passkey
		var transports string
		err := scan(&p.ID, &p.AccountID, &p.Name, &p.UserHandle, &p.CredentialID, &p.PublicKey, &p.SignCount,
			&p.BackupEligible, &transports, &p.CreatedAt, &p.LastUsedAt)
		p.Transports = strings.Fields(transports)
		list = append(list, p)
		return err
	})
	return list, err
}

// Ticket is a ticket that is used up: it does not work again before it expires. The zero value is none.
type Ticket struct {
	ID        [16]byte
	ExpiresAt int64
}

// useTicket uses a ticket up, or returns ErrTicketUsed.
func useTicket(tx *tx, t Ticket) error {
	if t == (Ticket{}) {
		return nil
	}
	if err := tx.exec(`DELETE FROM used_tickets WHERE expires_at <= $1`, tx.now); err != nil {
		return err
	}
	return changeOne(tx, ErrTicketUsed, `INSERT INTO used_tickets (ticket_id, expires_at) VALUES ($1, $2)
		ON CONFLICT (ticket_id) DO NOTHING`, t.ID[:], t.ExpiresAt)
}

// changeOne runs a statement that changes one row, or returns an error if it changes none.
func changeOne(tx *tx, none error, query string, args ...any) error {
	result, err := tx.ExecContext(tx.ctx, query, args...)
	if err != nil {
		return err
	}
	n, err := result.RowsAffected()
	if err == nil && n == 0 {
		return none
	}
	return err
}

// UsedFactor is the second factor that a sign-in has used. One of the fields is set, or none.
type UsedFactor struct {
	TOTPStep     int64    // the step of a code
	RecoveryCode [32]byte // the hash of a code
	Passkey      string   // the public id of a passkey
	SignCount    uint32   // of that passkey
}

// useFactor stores that a factor was used, so that the same code or signature does not work again. An account with a
// second factor must have used one.
func useFactor(tx *tx, accountID int64, used UsedFactor) error {
	switch {
	case used.TOTPStep != 0:
		return changeOne(tx, ErrFactorUsed, `UPDATE totp SET last_step = $1 WHERE account_id = $2 AND last_step < $1`,
			used.TOTPStep, accountID)
	case used.Passkey != "":
		return changeOne(tx, ErrFactorUsed, `UPDATE passkeys SET sign_count = $1, last_used_at = $2 WHERE passkey_id = $3
			AND account_id = $4 AND (sign_count < $1 OR sign_count = 0 AND $1 = 0)`,
			int64(used.SignCount), tx.now, used.Passkey, accountID)
	case used.RecoveryCode != [32]byte{}:
		return changeOne(tx, ErrFactorUsed, `UPDATE recovery_codes SET used_at = $1 WHERE account_id = $2 AND hash = $3
			AND used_at IS NULL`, tx.now, accountID, used.RecoveryCode[:])
	}
	has, err := readSecondFactors(tx, accountID)
	if err == nil && has.Count() > 0 {
		err = ErrSecondFactor
	}
	return err
}

// FailSecondFactor logs a sign-in that failed at the second factor, and why.
func (db *DB) FailSecondFactor(ctx context.Context, account assay.Account, from, reason string) error {
	return db.write(ctx, func(tx *tx) error {
		return tx.audit("session.fail", "account:"+account.Email, detail{"address": from, "second_factor": reason})
	})
}

// FactorChange is what a change of an account's second factors needs besides the factor.
type FactorChange struct {
	AccountID int64
	Except    []byte     // the hash of the session that stays; nil for none
	Ticket    Ticket     // of the change; zero for none
	Codes     [][32]byte // the hashes of recovery codes, which are stored if the account had no second factor
}

// AddTOTP stores an authenticator app in place of the one that the account may have. It ends the account's other
// sessions, and reports whether the recovery codes were stored.
func (db *DB) AddTOTP(ctx context.Context, c FactorChange, t TOTP) (withCodes bool, err error) {
	return db.addFactor(ctx, c, detail{"kind": "totp"}, func(tx *tx, _ *SecondFactors) error {
		return tx.exec(`INSERT INTO totp (account_id, secret, last_step, created_at) VALUES ($1, $2, $3, $4)
			ON CONFLICT (account_id) DO UPDATE SET secret = excluded.secret, last_step = excluded.last_step,
			created_at = excluded.created_at`, c.AccountID, t.Secret, t.LastStep, tx.now)
	})
}

// AddPasskey stores a passkey, ends the account's other sessions, and reports whether the recovery codes were stored.
func (db *DB) AddPasskey(ctx context.Context, c FactorChange, p Passkey) (withCodes bool, err error) {
	about := detail{"kind": "passkey", "passkey": p.ID, "name": p.Name}
	return db.addFactor(ctx, c, about, func(tx *tx, before *SecondFactors) error {
		if len(before.Passkeys) >= MaxPasskeys {
			return ErrManyPasskeys
		}
		return changeOne(tx, ErrPasskeyTaken, `INSERT INTO passkeys (passkey_id, account_id, name, user_handle,
			credential_id, public_key, sign_count, backup_eligible, transports, created_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (credential_id) DO NOTHING`,
			p.ID, c.AccountID, p.Name, p.UserHandle, p.CredentialID, p.PublicKey, int64(p.SignCount),
			boolInt(p.BackupEligible), strings.Join(p.Transports, " "), tx.now)
	})
}

func (db *DB) addFactor(
	ctx context.Context, c FactorChange, about detail, add func(tx *tx, before *SecondFactors) error,
) (withCodes bool, err error) {
	err = db.changeFactors(ctx, c, "factor.add", about, func(tx *tx, before *SecondFactors) error {
		if err := add(tx, before); err != nil {
			return err
		}
		if withCodes = before.Count() == 0; !withCodes {
			return nil
		}
		return setRecoveryCodes(tx, c.AccountID, c.Codes)
	})
	return withCodes, err
}

// changeFactors changes the second factors of an open account, and ends its other sessions.
func (db *DB) changeFactors(
	ctx context.Context, c FactorChange, action string, about detail, change func(tx *tx, before *SecondFactors) error,
) error {
	return db.write(ctx, func(tx *tx) error {
		a, err := accountByID(tx, c.AccountID)
		if err == nil && a.ClosedAt != 0 {
			err = ErrNoAccount
		}
		if err != nil {
			return err
		}
		before, err := readSecondFactors(tx, c.AccountID)
		if err != nil {
			return err
		}
		return inOrder(
			func() error { return useTicket(tx, c.Ticket) },
			func() error { return change(tx, &before) },
			func() error { return endSessions(tx, c.AccountID, c.Except) },
			func() error { return tx.audit(action, "account:"+a.Email, about) },
			func() error {
				_, err := tx.bump("accounts")
				return err
			},
		)
	})
}

// RemoveTOTP removes the authenticator app of an account and ends its other sessions. The last factor stays if keepOne
// is true. Recovery codes are removed with the last factor.
func (db *DB) RemoveTOTP(ctx context.Context, c FactorChange, keepOne bool) error {
	return db.removeFactor(ctx, c, keepOne, detail{"kind": "totp"}, func(tx *tx) error {
		return changeOne(tx, ErrNoFactor, `DELETE FROM totp WHERE account_id = $1`, c.AccountID)
	})
}

// RemovePasskey is RemoveTOTP for a passkey.
func (db *DB) RemovePasskey(ctx context.Context, c FactorChange, keepOne bool, id string) error {
	return db.removeFactor(ctx, c, keepOne, detail{"kind": "passkey", "passkey": id}, func(tx *tx) error {
		return changeOne(tx, ErrNoFactor, `DELETE FROM passkeys WHERE account_id = $1 AND passkey_id = $2`, c.AccountID, id)
	})
}

func (db *DB) removeFactor(
	ctx context.Context, c FactorChange, keepOne bool, about detail, remove func(tx *tx) error,
) error {
	return db.changeFactors(ctx, c, "factor.remove", about, func(tx *tx, before *SecondFactors) error {
		if err := remove(tx); err != nil {
			return err
		}
		switch {
		case before.Count() > 1:
			return nil
		case keepOne:
			return ErrLastFactor
		}
		return setRecoveryCodes(tx, c.AccountID, nil)
	})
}

// ResetFactors removes all second factors of an account and ends its sessions, and returns how many factors there were.
func (db *DB) ResetFactors(ctx context.Context, accountID int64) (removed int, err error) {
	about := detail{}
	err = db.changeFactors(ctx, FactorChange{AccountID: accountID}, "factor.reset", about,
		func(tx *tx, before *SecondFactors) error {
			removed = before.Count()
			about["factors"] = removed
			return forgetFactors(tx, accountID)
		})
	return removed, err
}

// forgetFactors deletes the second factors of an account.
func forgetFactors(tx *tx, accountID int64) error {
	return inOrder(
		func() error { return tx.exec(`DELETE FROM totp WHERE account_id = $1`, accountID) },
		func() error { return tx.exec(`DELETE FROM passkeys WHERE account_id = $1`, accountID) },
		func() error { return setRecoveryCodes(tx, accountID, nil) },
	)
}

// ReplaceRecoveryCodes replaces the recovery codes of an account that has a second factor. Sessions continue: what
// they started with has not changed.
func (db *DB) ReplaceRecoveryCodes(ctx context.Context, accountID int64, codes [][32]byte) error {
	return db.write(ctx, func(tx *tx) error {
		a, err := accountByID(tx, accountID)
		if err != nil {
			return err
		}
		has, err := readSecondFactors(tx, accountID)
		if err != nil {
			return err
		}
		if has.Count() == 0 {
			return ErrNoFactor
		}
		if err := setRecoveryCodes(tx, accountID, codes); err != nil {
			return err
		}
		return tx.audit("recovery_codes.create", "account:"+a.Email, detail{"codes": len(codes)})
	})
}

func setRecoveryCodes(tx *tx, accountID int64, codes [][32]byte) error {
	if err := tx.exec(`DELETE FROM recovery_codes WHERE account_id = $1`, accountID); err != nil {
		return err
	}
	for _, hash := range codes {
		err := tx.exec(`INSERT INTO recovery_codes (account_id, hash) VALUES ($1, $2)`, accountID, hash[:])
		if err != nil {
			return err
		}
	}
	return nil
}
