package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/assaydata/assay"
)

// OrgPlan is the plan of an organization during a period. Its table is called floors, because no member has less
// access.
type OrgPlan struct {
	OrgID       int64
	Plan        assay.Plan
	From, Until int64 // Until 0: open
}

// Membership is a period in which an account is a member of an organization.
type Membership struct {
	OrgID, AccountID int64
	Role             string
	From, Until      int64 // Until 0: open
}

// Errors of the organization methods.
var (
	ErrNoOrganization = errors.New("there is no such organization")
	ErrNameTaken      = errors.New("the name belongs to another organization")
	ErrNoMember       = errors.New("the account is not a member")
)

// AddOrganization stores a new organization with its first plan.
func (db *DB) AddOrganization(ctx context.Context, name string, plan assay.Plan) (o assay.Organization, err error) {
	o = assay.Organization{Name: name, Plan: plan}
	err = db.write(ctx, func(tx *tx) error {
		o.CreatedAt = tx.now
		err := tx.QueryRowContext(tx.ctx, `INSERT INTO organizations (name, created_at) VALUES ($1, $2)
			ON CONFLICT DO NOTHING RETURNING org_id`, name, tx.now).Scan(&o.ID)
		if errors.Is(err, sql.ErrNoRows) {
			return ErrNameTaken
		}
		if err != nil {
			return err
		}
		if o.PlanUntil, err = addOrgPlan(tx, o.ID, plan); err != nil {
			return err
		}
		if err := tx.audit("org.add", "org:"+name, detail{"plan": plan}); err != nil {
			return err
		}
		_, err = tx.bump("accounts")
		return err
	})
	return o, err
}

// SetPlan ends the plan of an organization and begins another. A trial ends automatically. Setting the current plan
// again changes nothing, unless it has an end.
func (db *DB) SetPlan(ctx context.Context, org int64, plan assay.Plan) error {
	return db.write(ctx, func(tx *tx) error {
		name, err := organizationName(tx, org)
		if err != nil {
			return err
		}
		var same bool
		err = tx.each(`SELECT 1 FROM floors WHERE org_id = $1 AND plan = $2 AND until_at IS NULL`, []any{org, plan},
			func(scanFunc) error {
				same = true
				return nil
			})
		if err != nil || same {
			return err
		}
		err = tx.exec(`UPDATE floors SET until_at = $1 WHERE org_id = $2 AND (until_at IS NULL OR until_at > $1)`,
			tx.now, org)
		if err != nil {
			return err
		}
		until, err := addOrgPlan(tx, org, plan)
		if err != nil {
			return err
		}
		d := detail{"plan": plan}
		if until != 0 {
			d["until"] = assay.FormatInstant(until)
		}
		if err := tx.audit("org.plan", "org:"+name, d); err != nil {
			return err
		}
		_, err = tx.bump("accounts")
		return err
	})
}

func addOrgPlan(tx *tx, org int64, plan assay.Plan) (until int64, err error) {
	if plan == assay.PlanTrial {
		until = tx.now + assay.TrialLength
	}
	return until, tx.exec(`INSERT INTO floors (org_id, plan, from_at, until_at) VALUES ($1, $2, $3, $4)`,
		org, plan, tx.now, nullable(until))
}

// AddMember makes an account a member of an organization, or changes its role there.
func (db *DB) AddMember(ctx context.Context, org, account int64, role string) error {
	return db.changeMember(ctx, org, account, func(tx *tx, was string) (action string, d detail, err error) {
		if was == role {
			return "", nil, nil
		}
		err = tx.exec(`INSERT INTO members (org_id, account_id, role, from_at) VALUES ($1, $2, $3, $4)`,
			org, account, role, tx.now)
		return "org.add-member", detail{"role": role}, err
	})
}

// RemoveMember ends a membership.
func (db *DB) RemoveMember(ctx context.Context, org, account int64) error {
	return db.changeMember(ctx, org, account, func(_ *tx, was string) (action string, d detail, err error) {
		if was == "" {
			return "", nil, ErrNoMember
		}
		return "org.remove-member", detail{}, nil
	})
}

// changeMember changes the membership of an account. The function change gets its current role, which is empty without
// one, and returns the action and details for the audit log. Without an action nothing changes; otherwise the current
// role ends.
func (db *DB) changeMember(
	ctx context.Context, org, account int64, change func(tx *tx, was string) (action string, d detail, err error),
) error {
	return db.write(ctx, func(tx *tx) error {
		name, err := organizationName(tx, org)
		if err != nil {
			return err
		}
		a, err := accountByID(tx, account)
		if err != nil {
			return err
		}
		const current = ` WHERE org_id = $1 AND account_id = $2 AND until_at IS NULL`
		var was string
		err = tx.each(`SELECT role FROM members`+current, []any{org, account},
			func(scan scanFunc) error { return scan(&was) })
		if err != nil {
			return err
		}
		action, d, err := change(tx, was)
		if err != nil || action == "" {
			return err
		}
		err = tx.exec(`UPDATE members SET until_at = $3`+current+` AND role = $4`,
			org, account, tx.now, was)
		if err != nil {
			return err
		}
		d["account"] = a.Email
		if err := tx.audit(action, "org:"+name, d); err != nil {
			return err
		}
		_, err = tx.bump("accounts")
		return err
	})
}

func organizationName(tx *tx, org int64) (name string, err error) {
	err = tx.QueryRowContext(tx.ctx, `SELECT name FROM organizations WHERE org_id = $1`, org).Scan(&name)
	if errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("organization %d: %w", org, ErrNoOrganization)
	}
	return name, err
}
