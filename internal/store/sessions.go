package store

import (
	"context"
	"errors"

	"github.com/assaydata/assay"
)

// Session is a sign-in as it is stored: without the token's text.
type Session struct {
	Hash      [32]byte
	AccountID int64
	CreatedAt int64
	ExpiresAt int64
}

// ErrNoSession says that there is no such session.
var ErrNoSession = errors.New("there is no such session")

// SignIn is the sign-in that a session starts with.
type SignIn struct {
	How     string // the method, for the audit log
	Address string // the client's, for the audit log
	Device  NewDevice
}

// StartSession stores a session of an open account and its device, and deletes expired sessions.
func (db *DB) StartSession(ctx context.Context, s Session, by SignIn) (Session, error) {
	err := db.write(ctx, func(tx *tx) error {
		a, err := accountByID(tx, s.AccountID)
		if err != nil {
			return err
		}
		if a.ClosedAt != 0 {
			return ErrNoAccount
		}
		s.CreatedAt = tx.now
		if err := tx.exec(`DELETE FROM sessions WHERE expires_at <= $1`, tx.now); err != nil {
			return err
		}
		err = tx.exec(`INSERT INTO sessions (hash, account_id, created_at, expires_at) VALUES ($1, $2, $3, $4)`,
			s.Hash[:], s.AccountID, s.CreatedAt, s.ExpiresAt)
		if err != nil {
			return err
		}
		if err := rememberDevice(tx, s.AccountID, by.Device); err != nil {
			return err
		}
		if err := tx.audit("session.start", "account:"+a.Email, detail{"how": by.How, "address": by.Address}); err != nil {
			return err
		}
		_, err = tx.bump("sessions")
		return err
	})
	return s, err
}

// FailSession logs a failed sign-in. The given email address is not logged: it may be a password in the wrong field.
func (db *DB) FailSession(ctx context.Context, account assay.Account, from string) error {
	subject := "account:" + account.Email
	if account.ID == 0 {
		subject = "account:unknown"
	}
	return db.write(ctx, func(tx *tx) error { return tx.audit("session.fail", subject, detail{"address": from}) })
}

// EndSession ends a session, or returns ErrNoSession.
func (db *DB) EndSession(ctx context.Context, hash [32]byte) error {
	return db.write(ctx, func(tx *tx) error {
		s, err := readSession(tx, hash)
		if err != nil {
			return err
		}
		a, err := accountByID(tx, s.AccountID)
		if err != nil {
			return err
		}
		if err := tx.exec(`DELETE FROM sessions WHERE hash = $1`, hash[:]); err != nil {
			return err
		}
		if err := tx.audit("session.end", "account:"+a.Email, nil); err != nil {
			return err
		}
		_, err = tx.bump("sessions")
		return err
	})
}

// Sessions lists the sessions that have not expired, and the value of their counter.
func (db *DB) Sessions(ctx context.Context) (list []Session, counter int64, err error) {
	err = db.read(ctx, func(tx *tx) error {
		if counter, err = tx.counter("sessions"); err != nil {
			return err
		}
		list, err = readSessions(tx, `expires_at > $1`, tx.now)
		return err
	})
	return list, counter, err
}

// Session finds a session, including an expired one.
func (db *DB) Session(ctx context.Context, hash [32]byte) (s Session, err error) {
	err = db.read(ctx, func(tx *tx) error {
		s, err = readSession(tx, hash)
		return err
	})
	return s, err
}

func readSession(tx *tx, hash [32]byte) (Session, error) {
	list, err := readSessions(tx, `hash = $1`, hash[:])
	if err != nil || len(list) > 0 {
		return append(list, Session{})[0], err
	}
	return Session{}, ErrNoSession
}

func readSessions(tx *tx, where string, args ...any) (list []Session, err error) {
	query := `SELECT hash, account_id, created_at, expires_at FROM sessions WHERE ` + where
	err = tx.each(query, args, func(scan scanFunc) error {
		var s Session
		var hash []byte
		err := scan(&hash, &s.AccountID, &s.CreatedAt, &s.ExpiresAt)
		copy(s.Hash[:], hash)
		list = append(list, s)
		return err
	})
	return list, err
}

// endSessions ends an account's sessions except the one with the given hash.
func endSessions(tx *tx, accountID int64, except []byte) error {
	err := tx.exec(`DELETE FROM sessions WHERE account_id = $1 AND hash IS DISTINCT FROM $2`, accountID, except)
	if err != nil {
		return err
	}
	_, err = tx.bump("sessions")
	return err
}
