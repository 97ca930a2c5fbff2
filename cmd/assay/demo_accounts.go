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

// demoAccount is an account to sign in to the demo with. Plan is its own, none without a grant.
type demoAccount struct {
	Email        string     `json:"email"`
	Password     string     `json:"password"`
	Plan         assay.Plan `json:"plan"`
	Organization string     `json:"organization"` // that it is a member of; empty for none
}

// demoFund is the demo's organization, which is on full access.
const demoFund = "Demo Fund"

// demoAccounts are one for each thing an account can be.
var demoAccounts = []demoAccount{
	{Email: "free@demo.example", Plan: assay.PlanNone},
	{Email: "trial@demo.example", Plan: assay.PlanTrial},
	{Email: "premium@demo.example", Plan: assay.PlanPremium},
	{Email: "full@demo.example", Plan: assay.PlanFull},
	{Email: "member@demo.example", Plan: assay.PlanNone, Organization: demoFund},
}

// makeDemoAccounts makes the demo's accounts with new passwords. Those that are there, because only the file of passwords was
// lost, get a new one.
func makeDemoAccounts(ctx context.Context, people *account.Service) (made []demoAccount, err error) {
	if _, err := people.AddOrganization(ctx, demoFund, assay.PlanFull); err != nil && !errors.Is(err, store.ErrNameTaken) {
		return nil, err
	}
	for _, a := range demoAccounts {
		a.Password = account.NewPassword()
		if err := makeDemoAccount(ctx, people, a); err != nil {
			return nil, err
		}
		made = append(made, a)
	}
	return made, nil
}

func makeDemoAccount(ctx context.Context, people *account.Service, a demoAccount) error {
	name, _, _ := strings.Cut(a.Email, "@")
	_, err := people.AddAccount(ctx, a.Email, "Demo "+name, a.Password)
	if errors.Is(err, store.ErrEmailTaken) {
		err = people.SetPassword(ctx, a.Email, a.Password)
	}
	if err != nil {
		return err
	}
	view, err := people.AccountByEmail(a.Email)
	if err == nil && a.Plan != assay.PlanNone && len(view.Grants) == 0 {
		_, err = people.AddGrant(ctx, a.Email, account.GrantAsk{Plan: a.Plan})
	}
	if err == nil && a.Organization != "" {
		err = people.AddMember(ctx, a.Organization, a.Email, assay.RoleMember)
	}
	return err
}

// demoAccountTable lists the accounts for people.
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
