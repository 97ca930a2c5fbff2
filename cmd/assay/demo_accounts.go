package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/account"
	"github.com/assaydata/assay/internal/store"
)

// demoAccount is an account to sign in to the demo with. Plan is what its grant gives, none without a grant.
type demoAccount struct {
	Email        string     `json:"email"`
	Password     string     `json:"password"`
	Plan         assay.Plan `json:"plan"`
	Organization string     `json:"organization"` // empty: not a member of any
}

// demoFund is the demo's organization, with full access.
const demoFund = "Demo Fund"

// demoAccounts has one account for each kind of access.
var demoAccounts = []demoAccount{
	{Email: "free@demo.example", Plan: assay.PlanNone},
	{Email: "trial@demo.example", Plan: assay.PlanTrial},
	{Email: "premium@demo.example", Plan: assay.PlanPremium},
	{Email: "full@demo.example", Plan: assay.PlanFull},
	{Email: "member@demo.example", Plan: assay.PlanNone, Organization: demoFund},
}

// createDemoAccounts creates the demo's accounts with new passwords. Accounts that exist, because only the file of
// passwords was lost, get a new password.
func createDemoAccounts(ctx context.Context, accounts *account.Service) (created []demoAccount, err error) {
	_, err = accounts.AddOrganization(ctx, demoFund, assay.PlanFull)
	if err != nil && !errors.Is(err, store.ErrNameTaken) {
		return nil, err
	}
	for _, a := range demoAccounts {
		a.Password = account.NewPassword(a.Email)
		if err := createDemoAccount(ctx, accounts, a); err != nil {
			return nil, err
		}
		created = append(created, a)
	}
	return created, nil
}

func createDemoAccount(ctx context.Context, accounts *account.Service, a demoAccount) error {
	name, _, _ := strings.Cut(a.Email, "@")
	_, err := accounts.AddAccount(ctx, a.Email, "Demo "+name, a.Password, false)
	if errors.Is(err, store.ErrEmailTaken) {
		err = accounts.SetPassword(ctx, a.Email, a.Password, false)
	}
	if err != nil {
		return err
	}
	view, err := accounts.AccountByEmail(a.Email)
	if err == nil && a.Plan != assay.PlanNone && len(view.Grants) == 0 {
		_, err = accounts.AddGrant(ctx, a.Email, account.GrantRequest{Plan: a.Plan})
	}
	if err == nil && a.Organization != "" {
		err = accounts.AddMember(ctx, a.Organization, a.Email, assay.RoleMember)
	}
	return err
}

// demoAccountTable lists the accounts.
func demoAccountTable(accounts []demoAccount) string {
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, a := range accounts {
		access := string(a.Plan)
		if a.Plan == assay.PlanNone {
			access = "no grant"
		}
		if a.Organization != "" {
			access += ", member of " + a.Organization + " (full)"
		}
		fmt.Fprintf(table, "  %s\t%s\t%s\n", a.Email, a.Password, access)
	}
	_ = table.Flush() // to memory
	return text.String()
}
