package store

import (
	"context"
	"errors"

	"github.com/assaydata/assay"
)

// ShareLink is a share link as it is stored: without its token.
type ShareLink struct {
	ID        string // public
	Hash      [32]byte
	AccountID int64
	Name      string
	assay.SharedSeries
	CreatedAt int64
}

// ErrNoShareLink is the error for a link that the account does not have.
var ErrNoShareLink = errors.New("there is no such share link")

const linkColumns = `link_id, hash, account_id, name, family, series, region, granularity, span, created_at`

// shareLinks is the counter of the links.
const shareLinks = "share_links"

// ShareLinks lists all share links, and the counter of their changes.
func (db *DB) ShareLinks(ctx context.Context) (list []ShareLink, counter int64, err error) {
	err = db.read(ctx, func(tx *tx) error {
		if counter, err = tx.counter(shareLinks); err != nil {
			return err
		}
		list, err = readShareLinks(tx, `true`)
		return err
	})
	return list, counter, err
}

// ShareLinksOf lists the share links of an account, oldest first.
func (db *DB) ShareLinksOf(ctx context.Context, accountID int64) (list []ShareLink, err error) {
	err = db.read(ctx, func(tx *tx) error {
		list, err = readShareLinks(tx, `account_id = $1`, accountID)
		return err
	})
	return list, err
}

// AddShareLink stores a new share link, unless its account has as many as it may have.
func (db *DB) AddShareLink(ctx context.Context, l ShareLink, most int) (ShareLink, error) {
	err := db.write(ctx, func(tx *tx) error {
		owner, err := openAccount(tx, l.AccountID)
		if err != nil {
			return err
		}
		var has int
		err = tx.QueryRowContext(tx.ctx, `SELECT count(*) FROM share_links WHERE account_id = $1`, l.AccountID).Scan(&has)
		if err != nil {
			return err
		}
		if has >= most {
			return ErrTooMany
		}
		l.CreatedAt = tx.now
		err = tx.exec(`INSERT INTO share_links (`+linkColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
			l.ID, l.Hash[:], l.AccountID, l.Name, l.Family, l.Series, l.Region, l.Granularity, l.Range, l.CreatedAt)
		if err != nil {
			return err
		}
		return auditShareLink(tx, "share-link.add", owner, l.ID, detail{
			"family": l.Family, "series": l.Series, "region": l.Region, "granularity": l.Granularity, "range": l.Range,
		})
	})
	return l, err
}

// RemoveShareLink revokes a share link of an account.
func (db *DB) RemoveShareLink(ctx context.Context, accountID int64, id string) error {
	return db.write(ctx, func(tx *tx) error {
		owner, err := accountByID(tx, accountID)
		if err != nil {
			return err
		}
		list, err := readShareLinks(tx, `account_id = $1 AND link_id = $2`, accountID, id)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return ErrNoShareLink
		}
		if err := tx.exec(`DELETE FROM share_links WHERE link_id = $1`, id); err != nil {
			return err
		}
		return auditShareLink(tx, "share-link.remove", owner, id, detail{})
	})
}

// auditShareLink logs a change of a link under its account, and raises the counter of the links.
func auditShareLink(tx *tx, action string, owner assay.Account, id string, d detail) error {
	d["share_link"] = id
	if err := tx.audit(action, "account:"+owner.Email, d); err != nil {
		return err
	}
	_, err := tx.bump(shareLinks)
	return err
}

func readShareLinks(tx *tx, where string, args ...any) (list []ShareLink, err error) {
	err = tx.each(`SELECT `+linkColumns+` FROM share_links WHERE `+where+` ORDER BY created_at, link_id`, args,
		func(scan scanFunc) error {
			var l ShareLink
			var hash []byte
			err := scan(&l.ID, &hash, &l.AccountID, &l.Name, &l.Family, &l.Series, &l.Region, &l.Granularity, &l.Range,
				&l.CreatedAt)
			copy(l.Hash[:], hash)
			list = append(list, l)
			return err
		})
	return list, err
}
