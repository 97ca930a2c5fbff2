package store

import (
	"context"

	"github.com/assaydata/assay"
)

// Directory holds every account and organization with its access history, as of one moment. The history matters: a key
// lasts only as long as the access it is based on continues without a gap.
type Directory struct {
	Counters      Counters
	Accounts      []assay.Account
	Organizations []assay.Organization // without plan and members, which are in the lists below
	Plans         []OrgPlan
	Memberships   []Membership
	Grants        []assay.Grant
}

// Directory reads the directory in one transaction.
func (db *DB) Directory(ctx context.Context) (d Directory, err error) {
	err = db.read(ctx, func(tx *tx) error {
		d, err = readDirectory(tx)
		return err
	})
	return d, err
}

func readDirectory(tx *tx) (d Directory, err error) {
	if d.Counters, err = readCounters(tx); err != nil {
		return d, err
	}
	if d.Accounts, err = readAccounts(tx, `true`); err != nil {
		return d, err
	}
	if d.Grants, err = readGrants(tx, `true`); err != nil {
		return d, err
	}
	if d.Organizations, err = readOrganizations(tx); err != nil {
		return d, err
	}
	if d.Plans, err = readOrgPlans(tx); err != nil {
		return d, err
	}
	d.Memberships, err = readMemberships(tx)
	return d, err
}

func readOrganizations(tx *tx) (list []assay.Organization, err error) {
	err = tx.each(`SELECT org_id, name, created_at FROM organizations ORDER BY org_id`, nil, func(scan scanFunc) error {
		var o assay.Organization
		err := scan(&o.ID, &o.Name, &o.CreatedAt)
		list = append(list, o)
		return err
	})
	return list, err
}

func readOrgPlans(tx *tx) (list []OrgPlan, err error) {
	err = tx.each(`SELECT org_id, plan, from_at, coalesce(until_at, 0) FROM floors ORDER BY org_id, from_at`, nil,
		func(scan scanFunc) error {
			var p OrgPlan
			err := scan(&p.OrgID, &p.Plan, &p.From, &p.Until)
			list = append(list, p)
			return err
		})
	return list, err
}

func readMemberships(tx *tx) (list []Membership, err error) {
	err = tx.each(`SELECT org_id, account_id, role, from_at, coalesce(until_at, 0) FROM members
		ORDER BY from_at, org_id, account_id`, nil, func(scan scanFunc) error {
		var m Membership
		err := scan(&m.OrgID, &m.AccountID, &m.Role, &m.From, &m.Until)
		list = append(list, m)
		return err
	})
	return list, err
}
