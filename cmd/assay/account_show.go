package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assaydata/assay/internal/account"
)

// accountDetails is everything that assay account show tells.
type accountDetails struct {
	accountRow
	SignsInBy     []string        `json:"signs_in_by"` // password, or the issuer's address
	KeyTier       string          `json:"key_tier"`    // of the keys it may create; empty: none
	Grants        []grantRow      `json:"grants"`
	Organizations []membershipRow `json:"organizations"`
	Keys          []accountKeyRow `json:"keys"`
}

type membershipRow struct {
	Name string `json:"name"`
	Role string `json:"role"`
	Plan string `json:"plan"`
}

type accountKeyRow struct {
	ID         string  `json:"id"`
	Prefix     string  `json:"prefix"`
	Name       string  `json:"name"`
	Tier       string  `json:"tier"`
	State      string  `json:"state"`
	ExpiresAt  instant `json:"expires_at"`
	LastUsedAt instant `json:"last_used_at"`
}

func newAccountShowCommand(s *streams) *cobra.Command {
	var location databaseLocation
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "show EMAIL",
		Short:   "Show an account with its grants, organizations and keys",
		Example: "  assay account show ann@example.com\n  assay account show ann@example.com --json",
		Args:    arguments("EMAIL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withAccounts(cmd.Context(), location, func(accounts *account.Service) error {
				details, err := findAccountDetails(cmd.Context(), accounts, args[0])
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(s.out, details)
				}
				return printTable(s.out, details.rows())
			})
		},
	}
	location.register(cmd.Flags(), defaultFolder)
	addJSONFlag(cmd, &asJSON)
	return cmd
}

func findAccountDetails(ctx context.Context, accounts *account.Service, email string) (accountDetails, error) {
	v, err := accounts.AccountByEmail(email)
	if err != nil {
		return accountDetails{}, err
	}
	keys, err := accounts.KeysOf(ctx, v.ID)
	if err != nil {
		return accountDetails{}, err
	}
	d := accountDetails{
		accountRow: newAccountRow(v), SignsInBy: signInMethods(v), KeyTier: v.KeyTier,
		Grants: []grantRow{}, Organizations: []membershipRow{}, Keys: []accountKeyRow{},
	}
	for _, g := range v.Grants {
		d.Grants = append(d.Grants, newGrantRow(v.Email, g))
	}
	for _, o := range v.Organizations {
		d.Organizations = append(d.Organizations, membershipRow{Name: o.Name, Role: o.Role, Plan: string(o.Plan)})
	}
	for _, k := range keys {
		d.Keys = append(d.Keys, accountKeyRow{
			ID: k.ID, Prefix: k.Prefix, Name: k.Name, Tier: k.Tier.String(), State: k.Status,
			ExpiresAt: instant(k.ExpiresAt), LastUsedAt: instant(k.LastUsedAt),
		})
	}
	return d, nil
}

func signInMethods(v account.View) []string {
	methods := []string{}
	if v.HasPassword {
		methods = append(methods, "password")
	}
	if v.Issuer != "" {
		methods = append(methods, v.Issuer)
	}
	return methods
}

func (d accountDetails) rows() [][]string {
	rows := [][]string{
		{"email", d.Email},
		{"name", d.Name},
		{"state", d.state()},
		{"signs in by", strings.Join(d.SignsInBy, ", ")},
		{"plan", fmt.Sprintf("%s, from %s, until %s", d.Plan, d.PlanSource, d.PlanUntil)},
		{"may create", d.KeyTier},
	}
	for _, g := range d.Grants {
		rows = append(rows, []string{"grant", g.text()})
	}
	for _, o := range d.Organizations {
		rows = append(rows, []string{"organization", fmt.Sprintf("%s, %s, plan %s", o.Name, o.Role, o.Plan)})
	}
	for _, k := range d.Keys {
		rows = append(rows, []string{"key", fmt.Sprintf("%s_…, %q, %s, until %s, last used %s",
			k.Prefix, k.Name, k.State, k.ExpiresAt, k.LastUsedAt.or("never"))})
	}
	return rows
}
