package main

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/account"
	"github.com/assaydata/assay/internal/store"
)

func newOrgCommand(s *streams) *cobra.Command {
	return parentCommand(&cobra.Command{
		Use:   "org COMMAND",
		Short: "Add organizations, set their plans and members",
		Long: `Add organizations, set their plans and members.

Every member may read at least what the organization's plan allows. Members
without a grant of their own may create API keys only while the plan is full;
those keys end with the plan or the membership. A trial ends automatically after
72 hours. A running server follows within a second.`,
		Example: `  assay org add "Example Fund" --plan full
  assay org add-member "Example Fund" ann@example.com --role owner
  assay org list`,
	}, newOrgAddCommand(s), newOrgListCommand(s), newOrgShowCommand(s), newOrgPlanCommand(s), newOrgAddMemberCommand(s),
		newOrgRemoveMemberCommand(s))
}

// orgPlans are the plans that an organization can have.
var orgPlans = append([]string{string(assay.PlanNone)}, grantPlans...)

func newOrgAddCommand(s *streams) *cobra.Command {
	var location databaseLocation
	plan := string(assay.PlanNone)
	cmd := &cobra.Command{
		Use:     "add NAME",
		Short:   "Add an organization",
		Example: `  assay org add "Example Fund" --plan full`,
		Args:    arguments("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withAccounts(cmd.Context(), location, func(accounts *account.Service) error {
				o, err := accounts.AddOrganization(cmd.Context(), args[0], assay.Plan(plan))
				if err != nil {
					return err
				}
				s.say("added: %s, plan %s", o.Name, o.Plan)
				return nil
			})
		},
	}
	addChoiceFlag(cmd, &plan, "plan", "`PLAN` of the organization: "+oneOf(orgPlans), orgPlans...)
	location.register(cmd.Flags(), defaultFolder)
	return cmd
}

func newOrgPlanCommand(s *streams) *cobra.Command {
	var location databaseLocation
	cmd := &cobra.Command{
		Use:               "plan NAME PLAN",
		Short:             "Set the plan of an organization",
		Long:              "Set the plan of an organization: " + oneOf(orgPlans) + ".",
		Example:           `  assay org plan "Example Fund" premium`,
		Args:              arguments("NAME", "PLAN"),
		ValidArgsFunction: completeArgument(1, orgPlans...),
		RunE: func(cmd *cobra.Command, args []string) error {
			plan, err := assay.ParsePlan(args[1])
			if err != nil {
				return usagef("invalid plan %q: must be %s", args[1], oneOf(orgPlans))
			}
			return withAccounts(cmd.Context(), location, func(accounts *account.Service) error {
				if err := accounts.SetPlan(cmd.Context(), args[0], plan); err != nil {
					return err
				}
				s.say("set: %s, plan %s", args[0], plan)
				return nil
			})
		},
	}
	location.register(cmd.Flags(), defaultFolder)
	return cmd
}

func newOrgAddMemberCommand(s *streams) *cobra.Command {
	var location databaseLocation
	role := assay.RoleMember
	cmd := &cobra.Command{
		Use:     "add-member NAME EMAIL",
		Short:   "Add an account to an organization",
		Example: `  assay org add-member "Example Fund" ann@example.com --role owner`,
		Args:    arguments("NAME", "EMAIL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withAccounts(cmd.Context(), location, func(accounts *account.Service) error {
				if err := accounts.AddMember(cmd.Context(), args[0], args[1], role); err != nil {
					return err
				}
				s.say("added: %s to %s, %s", args[1], args[0], role)
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&role, "role", role, "`ROLE` of the member: member or owner")
	completeFlag(cmd, "role", assay.RoleMember, assay.RoleOwner)
	location.register(cmd.Flags(), defaultFolder)
	return cmd
}

func newOrgRemoveMemberCommand(s *streams) *cobra.Command {
	var location databaseLocation
	cmd := &cobra.Command{
		Use:     "remove-member NAME EMAIL",
		Short:   "Remove an account from an organization",
		Example: `  assay org remove-member "Example Fund" ann@example.com`,
		Args:    arguments("NAME", "EMAIL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withAccounts(cmd.Context(), location, func(accounts *account.Service) error {
				if err := accounts.RemoveMember(cmd.Context(), args[0], args[1]); err != nil {
					return err
				}
				s.say("removed: %s from %s", args[1], args[0])
				return nil
			})
		},
	}
	location.register(cmd.Flags(), defaultFolder)
	return cmd
}

// orgRow is an organization in assay org list and assay org show.
type orgRow struct {
	Name      string      `json:"name"`
	Plan      string      `json:"plan"`
	PlanUntil instant     `json:"plan_until"`
	CreatedAt instant     `json:"created_at"`
	Members   []memberRow `json:"members"`
}

type memberRow struct {
	Email string  `json:"email"`
	Role  string  `json:"role"`
	Since instant `json:"since"`
}

func orgRows(accounts *account.Service) (rows []orgRow) {
	for _, o := range accounts.Organizations() {
		row := orgRow{
			Name: o.Name, Plan: string(o.Plan), PlanUntil: instant(o.PlanUntil), CreatedAt: instant(o.CreatedAt),
			Members: []memberRow{},
		}
		for _, m := range o.Members {
			row.Members = append(row.Members, memberRow{Email: m.Email, Role: m.Role, Since: instant(m.Since)})
		}
		rows = append(rows, row)
	}
	return rows
}

func (o orgRow) cells() []string {
	return []string{o.Name, o.Plan, o.PlanUntil.String(), strconv.Itoa(len(o.Members)), o.CreatedAt.String()}
}

func (m memberRow) cells() []string { return []string{m.Email, m.Role, m.Since.String()} }

func newOrgListCommand(s *streams) *cobra.Command {
	var location databaseLocation
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List all organizations",
		Example: "  assay org list\n  assay org list --json",
		Args:    arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withAccounts(cmd.Context(), location, func(accounts *account.Service) error {
				header := []string{"NAME", "PLAN", "UNTIL", "MEMBERS", "CREATED"}
				return printList(s, asJSON, orgRows(accounts), header, orgRow.cells)
			})
		},
	}
	location.register(cmd.Flags(), defaultFolder)
	addJSONFlag(cmd, &asJSON)
	return cmd
}

func newOrgShowCommand(s *streams) *cobra.Command {
	var location databaseLocation
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "show NAME",
		Short:   "Show an organization and its members",
		Example: "  assay org show \"Example Fund\"\n  assay org show \"Example Fund\" --json",
		Args:    arguments("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withAccounts(cmd.Context(), location, func(accounts *account.Service) error {
				return showOrg(accounts, args[0], asJSON, s)
			})
		},
	}
	location.register(cmd.Flags(), defaultFolder)
	addJSONFlag(cmd, &asJSON)
	return cmd
}

func showOrg(accounts *account.Service, name string, asJSON bool, s *streams) error {
	rows := orgRows(accounts)
	i := slices.IndexFunc(rows, func(o orgRow) bool { return o.Name == name })
	if i < 0 {
		return fmt.Errorf("%q: %w", name, store.ErrNoOrganization)
	}
	if asJSON {
		return printJSON(s.out, rows[i])
	}
	fmt.Fprintf(s.out, "%s, plan %s, until %s\n", rows[i].Name, rows[i].Plan, rows[i].PlanUntil)
	return printList(s, false, rows[i].Members, []string{"EMAIL", "ROLE", "SINCE"}, memberRow.cells)
}
