package store

import (
	"context"
	"errors"
	"strings"

	"github.com/assaydata/assay"
)

// Session is a sign-in as it is stored: without the token's text.
type Session struct {
	Hash       [32]byte
	ID         string // public
	AccountID  int64
	CreatedAt  int64
	ExpiresAt  int64 // the latest end, however much it is used
	LastUsedAt int64 // give or take minutes
	Address    string
	UserAgent  string // in short
	Restricted bool   // it began with a temporary password and can only change it
}

const (
	// SessionIdle is how long a session lasts without use.
	SessionIdle = assay.Day
	// idleMargin is how much longer an unused session is kept: other nodes may not have written yet that it was used.
	idleMargin = assay.Hour
)

// ErrNoSession says that there is no such session.
var ErrNoSession = errors.New("there is no such session")

// The ways to sign in.
const (
	ByPassword = "password"
	ByOIDC     = "oidc"
)

// SignIn is the sign-in that a session starts with.
type SignIn struct {
	How      string // ByPassword, ByOIDC or "passkey", with "+" and the second factor if there was one
	Device   NewDevice
	Replaces [32]byte   // the hash of a session that ends; zero for none
	Ticket   Ticket     // that the sign-in uses up; zero for none
	Factor   UsedFactor // the second factor; zero for none
}

// StartSession stores a session of an open account and its device, and deletes those that have ended. The sign-in must
// have used a second factor if the account has one, whatever the caller believes.
func (db *DB) StartSession(ctx context.Context, s Session, by SignIn) (Session, error) {
	err := db.write(ctx, func(tx *tx) error {
		a, err := accountByID(tx, s.AccountID)
		if err != nil {
			return err
		}
		if a.ClosedAt != 0 {
			return ErrNoAccount
		}
		s.CreatedAt, s.LastUsedAt = tx.now, tx.now
		first, _, _ := strings.Cut(by.How, "+") // a second factor may follow
		s.Restricted = a.Temporary && first == ByPassword
		return inOrder(
			func() error {
				return tx.exec(`DELETE FROM sessions WHERE expires_at <= $1 OR last_used_at <= $2`,
					tx.now, tx.now-SessionIdle-idleMargin)
			},
			func() error { return useTicket(tx, by.Ticket) },
			func() error { return useFactor(tx, s.AccountID, by.Factor) },
			func() error { return endReplaced(tx, by.Replaces) },
			func() error {
				return tx.exec(`INSERT INTO sessions (hash, session_id, account_id, created_at, expires_at, last_used_at, address,
					user_agent, restricted) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
					s.Hash[:], s.ID, s.AccountID, s.CreatedAt, s.ExpiresAt, s.LastUsedAt, s.Address, s.UserAgent,
					boolInt(s.Restricted))
			},
			func() error { return rememberDevice(tx, s.AccountID, by.Device) },
			func() error {
				return tx.audit("session.start", "account:"+a.Email,
					detail{"session": s.ID, "how": by.How, "address": s.Address})
			},
			func() error {
				_, err := tx.bump("sessions")
				return err
			},
		)
	})
	return s, err
}

// endReplaced ends the session that a new one replaces, if there is one.
func endReplaced(tx *tx, hash [32]byte) error {
	if hash == ([32]byte{}) {
		return nil
	}
	if err := endSession(tx, `hash = $1`, hash[:]); !errors.Is(err, ErrNoSession) {
		return err
	}
	return nil
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
	return db.write(ctx, func(tx *tx) error { return endSession(tx, `hash = $1`, hash[:]) })
}

// EndSessionOf ends the session of an account with a public id, or returns ErrNoSession.
func (db *DB) EndSessionOf(ctx context.Context, accountID int64, id string) error {
	return db.write(ctx, func(tx *tx) error {
		return endSession(tx, `account_id = $1 AND session_id = $2`, accountID, id)
	})
}

func endSession(tx *tx, where string, args ...any) error {
	s, err := readSession(tx, where, args...)
	if err != nil {
		return err
	}
	a, err := accountByID(tx, s.AccountID)
	if err != nil {
		return err
	}
	if err := tx.exec(`DELETE FROM sessions WHERE hash = $1`, s.Hash[:]); err != nil {
		return err
	}
	if err := tx.audit("session.end", "account:"+a.Email, detail{"session": s.ID}); err != nil {
		return err
	}
	_, err = tx.bump("sessions")
	return err
}

// EndSessions ends the sessions of an account except the one with the given hash, and returns how many there were.
func (db *DB) EndSessions(ctx context.Context, accountID int64, except []byte) (ended int, err error) {
	err = db.write(ctx, func(tx *tx) error {
		a, err := accountByID(tx, accountID)
		if err != nil {
			return err
		}
		list, err := readSessions(tx, `account_id = $1 AND hash IS DISTINCT FROM $2`, accountID, except)
		ended = len(list)
		if err != nil || ended == 0 {
			return err
		}
		if err := endSessions(tx, accountID, except); err != nil {
			return err
		}
		return tx.audit("session.end", "account:"+a.Email, detail{"sessions": ended})
	})
	return ended, err
}

// UseSessions stores when sessions were last used, by the hash of their tokens.
func (db *DB) UseSessions(ctx context.Context, uses map[[32]byte]int64) error {
	return db.write(ctx, func(tx *tx) error {
		for hash, at := range uses {
			err := tx.exec(`UPDATE sessions SET last_used_at = $1 WHERE hash = $2 AND last_used_at < $1`, at, hash[:])
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Sessions lists the sessions that have not ended, and the value of their counter.
func (db *DB) Sessions(ctx context.Context) (list []Session, counter int64, err error) {
	err = db.read(ctx, func(tx *tx) error {
		if counter, err = tx.counter("sessions"); err != nil {
			return err
		}
		list, err = readSessions(tx, `expires_at > $1 AND last_used_at > $2`, tx.now, tx.now-SessionIdle-idleMargin)
		return err
	})
	return list, counter, err
}

// SessionsOf lists the sessions of an account, including some that have ended, newest first.
func (db *DB) SessionsOf(ctx context.Context, accountID int64) (list []Session, err error) {
	err = db.read(ctx, func(tx *tx) error {
		list, err = readSessions(tx, `account_id = $1`, accountID)
		return err
	})
	return list, err
}

// Session finds a session, including an expired one.
func (db *DB) Session(ctx context.Context, hash [32]byte) (s Session, err error) {
	err = db.read(ctx, func(tx *tx) error {
		s, err = readSession(tx, `hash = $1`, hash[:])
		return err
	})
	return s, err
}

func readSession(tx *tx, where string, args ...any) (Session, error) {
	list, err := readSessions(tx, where, args...)
	if err != nil || len(list) > 0 {
		return append(list, Session{})[0], err
	}
	return Session{}, ErrNoSession
}

func readSessions(tx *tx, where string, args ...any) (list []Session, err error) {
	query := `SELECT hash, session_id, account_id, created_at, expires_at, last_used_at, address, user_agent, restricted
		FROM sessions WHERE ` + where + ` ORDER BY created_at DESC, session_id`
	err = tx.each(query, args, func(scan scanFunc) error {
		var s Session
		var hash []byte
		err := scan(&hash, &s.ID, &s.AccountID, &s.CreatedAt, &s.ExpiresAt, &s.LastUsedAt, &s.Address, &s.UserAgent,
			&s.Restricted)
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
