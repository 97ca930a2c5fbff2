package store

import (
	"cmp"
	"context"

	"github.com/assaydata/assay"
)

// Register is everybody who may sign in and everything they were given, as it was at one moment. It says what has been, too:
// a key hangs on access that goes on without a gap.
type Register struct {
	Counters      Counters
	Accounts      []assay.Account
	Organizations []assay.Organization // without plan and members, which follow
	Floors        []Floor
	Memberships   []Membership
	Grants        []assay.Grant
	Keys          []Key
}

// Register reads the register.
func (db *DB) Register(ctx context.Context) (r Register, err error) {
	err = db.read(ctx, func(tx *tx) error {
		r, err = readRegister(tx)
		return err
	})
	return r, err
}

func readRegister(tx *tx) (r Register, err error) {
	if r.Counters, err = readCounters(tx); err != nil {
		return r, err
	}
	if r.Accounts, err = readAccounts(tx, `true`); err != nil {
		return r, err
	}
	if r.Grants, err = readGrants(tx, `true`); err != nil {
		return r, err
	}
	if r.Keys, err = readKeys(tx, `true`); err != nil {
		return r, err
	}
	err = cmp.Or(
		tx.each(`SELECT org_id, name, created_at FROM organizations ORDER BY org_id`, nil, func(scan scanFunc) error {
			var o assay.Organization
			err := scan(&o.ID, &o.Name, &o.CreatedAt)
			r.Organizations = append(r.Organizations, o)
			return err
		}),
		tx.each(`SELECT org_id, plan, from_at, coalesce(until_at, 0) FROM floors ORDER BY org_id, from_at`, nil, func(scan scanFunc) error {
			var f Floor
			err := scan(&f.OrgID, &f.Plan, &f.From, &f.Until)
			r.Floors = append(r.Floors, f)
			return err
		}),
		tx.each(`SELECT org_id, account_id, role, from_at, coalesce(until_at, 0) FROM members ORDER BY from_at, org_id, account_id`, nil, func(scan scanFunc) error {
			var m Membership
			err := scan(&m.OrgID, &m.AccountID, &m.Role, &m.From, &m.Until)
			r.Memberships = append(r.Memberships, m)
			return err
		}),
	)
	return r, err
}
