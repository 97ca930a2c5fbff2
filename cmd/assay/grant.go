package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/account"
)

func newGrantCommand(s *streams) *cobra.Command {
	return parentCommand(&cobra.Command{
		Use:   "grant COMMAND",
		Short: "Give accounts access and end it",
		Long: `Give accounts access and end it.

A trial is Premium for 72 hours. A different plan ends the one in force when it
starts; the same plan again extends it. API keys end with the access they depend
on, and a later grant does not revive them; a Premium key keeps working when its
owner moves up to full. A running server follows within a second.`,
		Example: `  assay grant add ann@example.com trial
  assay grant list
  assay grant end 7`,
	}, newGrantAddCommand(s), newGrantListCommand(s), newGrantEndCommand(s))
}

// grantPlans are the plans that a grant can give.
var grantPlans = []string{string(assay.PlanTrial), string(assay.PlanPremium), string(assay.PlanFull)}

func newGrantAddCommand(s *streams) *cobra.Command {
	var location databaseLocation
	var request account.GrantRequest
	cmd := &cobra.Command{
		Use:   "add EMAIL PLAN",
		Short: "Give an account a trial, Premium or full access",
		Example: `  assay grant add ann@example.com trial
  assay grant add ann@example.com premium --from 2027-01-01 --until 2028-01-01`,
		Args:              arguments("EMAIL", "PLAN"),
		ValidArgsFunction: completeArgument(1, grantPlans...),
		RunE: func(cmd *cobra.Command, args []string) error {
			plan, err := assay.ParsePlan(args[1])
			if err != nil || plan == assay.PlanNone {
				return usagef("invalid plan %q: must be %s", args[1], oneOf(grantPlans))
			}
			request.Plan = plan
			return withAccounts(cmd.Context(), location, func(accounts *account.Service) error {
				return addGrant(cmd.Context(), accounts, args[0], request, s)
			})
		},
	}
	addInstantFlag(cmd.Flags(), &request.From, "from", "`INSTANT` at which the access starts (default: now)")
	addInstantFlag(cmd.Flags(), &request.Until, "until", "`INSTANT` at which the access ends (default: never)")
	cmd.Flags().BoolVar(&request.Again, "again", false, "allow another trial for an account that had one")
	location.register(cmd.Flags(), defaultFolder)
	return cmd
}

func addGrant(
	ctx context.Context, accounts *account.Service, email string, request account.GrantRequest, s *streams,
) error {
	g, err := accounts.AddGrant(ctx, email, request)
	if errors.Is(err, account.ErrHadTrial) {
		return fmt.Errorf("%w; allow another with --again", err)
	}
	if err != nil {
		return err
	}
	s.say("granted: %s, %s", email, newGrantRow(email, g).text())
	return nil
}

func newGrantEndCommand(s *streams) *cobra.Command {
	var location databaseLocation
	cmd := &cobra.Command{
		Use:     "end ID",
		Short:   "End a grant now",
		Long:    `End a grant now. The id is the one that assay grant list shows.`,
		Example: "  assay grant end 7",
		Args:    arguments("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil {
				return usagef("invalid grant id %q: must be a number from 'assay grant list'", args[0])
			}
			return withAccounts(cmd.Context(), location, func(accounts *account.Service) error {
				if err := accounts.EndGrant(cmd.Context(), id); err != nil {
					return err
				}
				s.say("ended: grant %d", id)
				return nil
			})
		},
	}
	location.register(cmd.Flags(), defaultFolder)
	return cmd
}

// grantRow is a grant in assay grant list.
type grantRow struct {
	ID    int64   `json:"id"`
	Email string  `json:"email"`
	Plan  string  `json:"plan"`
	From  instant `json:"from"`
	Until instant `json:"until"`
	State string  `json:"state"` // to come, in force or ended
}

func newGrantRow(email string, g assay.Grant) grantRow {
	return grantRow{
		ID: g.ID, Email: email, Plan: string(g.Plan), From: instant(g.StartsAt), Until: instant(g.Until()),
		State: grantState(g, wallTime().UnixMilli()),
	}
}

func grantState(g assay.Grant, now int64) string {
	switch until := g.Until(); {
	case until != 0 && (until <= now || until <= g.StartsAt):
		return "ended"
	case g.StartsAt > now:
		return "to come"
	}
	return "in force"
}

func (g grantRow) text() string {
	return fmt.Sprintf("%s from %s until %s (grant %d)", g.Plan, g.From, g.Until, g.ID)
}

func (g grantRow) cells() []string {
	return []string{strconv.FormatInt(g.ID, 10), g.Email, g.Plan, g.From.String(), g.Until.String(), g.State}
}

func newGrantListCommand(s *streams) *cobra.Command {
	var location databaseLocation
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List all grants, past ones included",
		Example: "  assay grant list\n  assay grant list --json",
		Args:    arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withAccounts(cmd.Context(), location, func(accounts *account.Service) error {
				var rows []grantRow
				for _, v := range accounts.Accounts() {
					for _, g := range v.Grants {
						rows = append(rows, newGrantRow(v.Email, g))
					}
				}
				return printList(s, asJSON, rows, []string{"ID", "EMAIL", "PLAN", "FROM", "UNTIL", "STATE"}, grantRow.cells)
			})
		},
	}
	location.register(cmd.Flags(), defaultFolder)
	addJSONFlag(cmd, &asJSON)
	return cmd
}
