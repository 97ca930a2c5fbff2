package store

import (
	"context"
	"errors"

	"github.com/assaydata/assay"
)

// ErrNoGrant is the error for a grant that does not exist or has ended.
var ErrNoGrant = errors.New("there is no such grant in force")

// GrantChange is a change of an account's grants: some end at an instant, and one is added.
type GrantChange struct {
	End   []int64 // ids of grants
	At    int64   // when they end
	Add   assay.Grant
	Again bool // for the audit log: another trial was allowed explicitly
}

// ChangeGrants changes the grants of an account. The function decide gets all its grants, oldest first, and the time.
// It runs inside the transaction, so that the grants do not change meanwhile.
func (db *DB) ChangeGrants(
	ctx context.Context, account int64, decide func(has []assay.Grant, now int64) (GrantChange, error),
) (g assay.Grant, err error) {
	err = db.write(ctx, func(tx *tx) error {
		a, err := accountByID(tx, account)
		if err != nil {
			return err
		}
		has, err := readGrants(tx, `account_id = $1`, account)
		if err != nil {
			return err
		}
		change, err := decide(has, tx.now)
		if err != nil {
			return err
		}
		for _, id := range change.End {
			if err := endGrant(tx, a, id, change.At); err != nil {
				return err
			}
		}
		g = change.Add
		g.AccountID = account
		return addGrant(tx, a, &g, change.Again)
	})
	return g, err
}

func addGrant(tx *tx, a assay.Account, g *assay.Grant, again bool) error {
	err := tx.QueryRowContext(tx.ctx, `INSERT INTO grants (account_id, plan, starts_at, ends_at) VALUES ($1, $2, $3, $4)
		RETURNING grant_id`, g.AccountID, g.Plan, g.StartsAt, nullable(g.EndsAt)).Scan(&g.ID)
	if err != nil {
		return err
	}
	d := detail{"grant": g.ID, "plan": g.Plan, "starts_at": assay.FormatInstant(g.StartsAt)}
	if g.EndsAt != 0 {
		d["ends_at"] = assay.FormatInstant(g.EndsAt)
	}
	if again {
		d["again"] = true
	}
	if err := tx.audit("grant.add", "account:"+a.Email, d); err != nil {
		return err
	}
	_, err = tx.bump("accounts")
	return err
}

// EndGrant ends a grant now. A grant that has not begun never will.
func (db *DB) EndGrant(ctx context.Context, id int64) error {
	return db.write(ctx, func(tx *tx) error {
		list, err := readGrants(tx, `grant_id = $1`, id)
		if err != nil {
			return err
		}
		if len(list) == 0 || list[0].Until() != 0 && list[0].Until() <= tx.now {
			return ErrNoGrant
		}
		a, err := accountByID(tx, list[0].AccountID)
		if err != nil {
			return err
		}
		return endGrant(tx, a, id, tx.now)
	})
}

func endGrant(tx *tx, a assay.Account, id, at int64) error {
	if err := tx.exec(`UPDATE grants SET ended_at = $1 WHERE grant_id = $2`, at, id); err != nil {
		return err
	}
	err := tx.audit("grant.end", "account:"+a.Email, detail{"grant": id, "at": assay.FormatInstant(at)})
	if err != nil {
		return err
	}
	_, err = tx.bump("accounts")
	return err
}

func readGrants(tx *tx, where string, args ...any) (list []assay.Grant, err error) {
	err = tx.each(`SELECT grant_id, account_id, plan, starts_at, coalesce(ends_at, 0), coalesce(ended_at, 0) FROM grants
		WHERE `+where+` ORDER BY starts_at, grant_id`, args, func(scan scanFunc) error {
		var g assay.Grant
		err := scan(&g.ID, &g.AccountID, &g.Plan, &g.StartsAt, &g.EndsAt, &g.EndedAt)
		list = append(list, g)
		return err
	})
	return list, err
}
