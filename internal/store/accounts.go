package store

import (
	"context"
	"database/sql"
	"errors"

	"github.com/assaydata/assay"
)

// Errors of the account methods.
var (
	ErrNoAccount     = errors.New("there is no such account")
	ErrEmailTaken    = errors.New("the email address belongs to another account")
	ErrOtherIdentity = errors.New("the account is linked with another identity")
)

// NewAccount is the data of a new account.
type NewAccount struct {
	Email    string // in lower case
	Name     string
	Password string // an argon2id hash; empty: none
	// Temporary says that the owner has to change the password.
	Temporary bool
	Issuer    string // of an OpenID Connect identity, with Subject; empty: none
	Subject   string
}

// AddAccount stores a new account.
func (db *DB) AddAccount(ctx context.Context, n NewAccount) (a assay.Account, err error) {
	err = db.write(ctx, func(tx *tx) error {
		a, err = addAccount(tx, n)
		return err
	})
	return a, err
}

func addAccount(tx *tx, n NewAccount) (assay.Account, error) {
	a := assay.Account{
		Email: n.Email, Name: n.Name, HasPassword: n.Password != "", Temporary: n.Temporary, Issuer: n.Issuer,
		CreatedAt: tx.now,
	}
	err := tx.QueryRowContext(tx.ctx, `INSERT INTO accounts (email, name, password, password_temporary, oidc_issuer,
		oidc_subject, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (email) DO NOTHING RETURNING account_id`,
		n.Email, n.Name, nullText(n.Password), boolInt(n.Temporary), nullText(n.Issuer), nullText(n.Subject), tx.now,
	).Scan(&a.ID)
	if errors.Is(err, sql.ErrNoRows) {
		return a, ErrEmailTaken
	}
	if err != nil {
		return a, err
	}
	d := detail{"name": a.Name, "has_password": a.HasPassword}
	if a.Issuer != "" {
		d["issuer"] = a.Issuer
	}
	if err := tx.audit("account.add", "account:"+a.Email, d); err != nil {
		return a, err
	}
	_, err = tx.bump("accounts")
	return a, err
}

// CloseAccount closes an account permanently, ends its sessions and deletes what it kept for itself. Closing it again
// changes nothing.
func (db *DB) CloseAccount(ctx context.Context, id int64) error {
	return db.write(ctx, func(tx *tx) error {
		a, err := accountByID(tx, id)
		if err != nil || a.ClosedAt != 0 {
			return err
		}
		if err := tx.exec(`UPDATE accounts SET closed_at = $1 WHERE account_id = $2`, tx.now, id); err != nil {
			return err
		}
		if err := endSessions(tx, id, nil); err != nil {
			return err
		}
		if err := forgetDevices(tx, id); err != nil {
			return err
		}
		if err := forgetFactors(tx, id); err != nil {
			return err
		}
		if err := forgetPersonal(tx, id); err != nil {
			return err
		}
		if err := tx.audit("account.close", "account:"+a.Email, nil); err != nil {
			return err
		}
		_, err = tx.bump("accounts")
		return err
	})
}

// NewPassword is a password of an account.
type NewPassword struct {
	Hash      string // argon2id
	Temporary bool   // its owner has to change it
}

// SetPassword replaces an account's password and ends its sessions except the one with the given hash, which is no
// longer restricted.
func (db *DB) SetPassword(ctx context.Context, id int64, p NewPassword, except []byte) error {
	return db.write(ctx, func(tx *tx) error {
		a, err := accountByID(tx, id)
		if err != nil {
			return err
		}
		err = tx.exec(`UPDATE accounts SET password_before = password, password = $1, password_temporary = $2
			WHERE account_id = $3`, p.Hash, boolInt(p.Temporary), id)
		if err != nil {
			return err
		}
		if err := tx.exec(`UPDATE sessions SET restricted = 0 WHERE hash = $1`, except); err != nil {
			return err
		}
		if err := endSessions(tx, id, except); err != nil {
			return err
		}
		if err := tx.audit("account.password", "account:"+a.Email, detail{"temporary": p.Temporary}); err != nil {
			return err
		}
		_, err = tx.bump("accounts")
		return err
	})
}

// Identity is an OpenID Connect identity: a subject of an issuer, with an email address that the issuer has verified.
type Identity struct {
	Issuer, Subject string
	Email           string // in lower case
	Name            string
}

// AccountOf uses up the ticket of a sign-in and finds the account of its identity. That is the one linked with it;
// otherwise the one with that email address, and if there is none, it adds one. An account that has a password is not
// linked: unlinked reports that its owner has to give it first, see LinkIdentity. It also finds closed accounts.
func (db *DB) AccountOf(ctx context.Context, who Identity, used Ticket) (a assay.Account, unlinked bool, err error) {
	if who.Issuer == "" || who.Subject == "" {
		return a, false, errors.New("an identity needs an issuer and a subject")
	}
	err = db.write(ctx, func(tx *tx) error {
		if err := useTicket(tx, used); err != nil {
			return err
		}
		a, err = oneAccount(tx, identified, who.Issuer, who.Subject)
		if !errors.Is(err, ErrNoAccount) {
			return err
		}
		a, err = oneAccount(tx, `email = $1`, who.Email)
		switch {
		case errors.Is(err, ErrNoAccount):
			a, err = addAccount(tx, NewAccount{Email: who.Email, Name: who.Name, Issuer: who.Issuer, Subject: who.Subject})
			return err
		case err != nil || a.ClosedAt != 0:
			return err
		case a.Issuer != "":
			return ErrOtherIdentity
		case a.HasPassword:
			unlinked = true
			return nil
		}
		a.Issuer = who.Issuer
		return linkIdentity(tx, a, who)
	})
	return a, unlinked, err
}

// identified selects the account that is linked with an identity.
const identified = `oidc_issuer = $1 AND oidc_subject = $2`

// ErrPasswordChanged says that the password of an account is no longer the one that was checked.
var ErrPasswordChanged = errors.New("the password of this account has changed")

// LinkIdentity uses up a ticket and links an open account with an identity. password is the hash that the owner's
// password was checked against.
func (db *DB) LinkIdentity(ctx context.Context, accountID int64, password string, who Identity, used Ticket) error {
	return db.write(ctx, func(tx *tx) error {
		if err := useTicket(tx, used); err != nil {
			return err
		}
		a, err := oneAccount(tx, `account_id = $1 AND password = $2 AND closed_at IS NULL`, accountID, password)
		if errors.Is(err, ErrNoAccount) {
			return ErrPasswordChanged
		}
		if err != nil {
			return err
		}
		_, err = oneAccount(tx, identified, who.Issuer, who.Subject)
		if a.Issuer != "" || err == nil {
			return ErrOtherIdentity
		}
		if !errors.Is(err, ErrNoAccount) {
			return err
		}
		return linkIdentity(tx, a, who)
	})
}

func linkIdentity(tx *tx, a assay.Account, who Identity) error {
	err := tx.exec(`UPDATE accounts SET oidc_issuer = $1, oidc_subject = $2 WHERE account_id = $3`,
		who.Issuer, who.Subject, a.ID)
	if err != nil {
		return err
	}
	if err := tx.audit("account.link", "account:"+a.Email, detail{"issuer": who.Issuer}); err != nil {
		return err
	}
	_, err = tx.bump("accounts")
	return err
}

// AccountByEmail finds an account, including a closed one.
func (db *DB) AccountByEmail(ctx context.Context, email string) (a assay.Account, err error) {
	err = db.read(ctx, func(tx *tx) error {
		a, err = oneAccount(tx, `email = $1`, email)
		return err
	})
	return a, err
}

// Password reads the argon2id hashes of an account's password and of the one before; they are empty if there is none.
// Callers read them when they need them and do not cache them.
func (db *DB) Password(ctx context.Context, id int64) (hash, before string, err error) {
	err = db.read(ctx, func(tx *tx) error {
		return tx.each(`SELECT coalesce(password, ''), coalesce(password_before, '') FROM accounts WHERE account_id = $1`,
			[]any{id}, func(scan scanFunc) error { return scan(&hash, &before) })
	})
	return hash, before, err
}

func accountByID(tx *tx, id int64) (assay.Account, error) {
	return oneAccount(tx, `account_id = $1`, id)
}

func oneAccount(tx *tx, where string, args ...any) (assay.Account, error) {
	list, err := readAccounts(tx, where, args...)
	if err != nil || len(list) > 0 {
		return append(list, assay.Account{})[0], err
	}
	return assay.Account{}, ErrNoAccount
}

func readAccounts(tx *tx, where string, args ...any) (list []assay.Account, err error) {
	err = tx.each(`SELECT account_id, email, name, password IS NOT NULL, password_temporary, coalesce(oidc_issuer, ''),
		created_at, coalesce(closed_at, 0), EXISTS (SELECT 1 FROM totp WHERE totp.account_id = accounts.account_id)
		OR EXISTS (SELECT 1 FROM passkeys WHERE passkeys.account_id = accounts.account_id)
		FROM accounts WHERE `+where+` ORDER BY account_id`, args, func(scan scanFunc) error {
		var a assay.Account
		err := scan(&a.ID, &a.Email, &a.Name, &a.HasPassword, &a.Temporary, &a.Issuer, &a.CreatedAt, &a.ClosedAt,
			&a.SecondFactor)
		list = append(list, a)
		return err
	})
	return list, err
}
