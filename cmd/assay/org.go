package main

import (
	"context"
	"fmt"
	"slices"
	"text/tabwriter"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/account"
	"github.com/assaydata/assay/internal/store"
)

var orgCommand = &command{
	name: "org", arguments: "add|list|show|plan|add-member|remove-member [NAME …] [flags]", summary: "make organizations, set their plan and members",
	details: `  assay org add NAME [--plan none|trial|premium|full]
  assay org list
  assay org show NAME
  assay org plan NAME none|trial|premium|full
  assay org add-member NAME EMAIL [--role member|owner]
  assay org remove-member NAME EMAIL

No member reads less than the organization's plan. Members without a grant of their own may create keys only while the
plan is full; those keys end with the plan or the membership. A trial ends by itself after 72 hours. A running
server follows within a second.`,
	run: runOrg,
}

// orgConfig is what the command is told.
type orgConfig struct{ plan, role string }

func runOrg(ctx context.Context, c *command, args []string, s streams) error {
	var config orgConfig
	flags := newFlags(c, s)
	flags.StringVar(&config.plan, "plan", string(assay.PlanNone), "`PLAN` of the new organization: none, trial, premium or full")
	flags.StringVar(&config.role, "role", assay.RoleMember, "`ROLE` of the new member: member or owner")
	return runVerb(ctx, c, flags, []verb{
		{"add", []string{"NAME"}, []string{"plan"}, true, config.add},
		{"list", nil, nil, false, listOrgs},
		{"show", []string{"NAME"}, nil, false, showOrg},
		{"plan", []string{"NAME", "PLAN"}, nil, false, planOrg},
		{"add-member", []string{"NAME", "EMAIL"}, []string{"role"}, false, config.addMember},
		{"remove-member", []string{"NAME", "EMAIL"}, nil, false, removeMember},
	}, args, s)
}

func (c *orgConfig) add(ctx context.Context, people *account.Service, args []string, s streams) error {
	plan, err := assay.ParsePlan(c.plan)
	if err != nil {
		return usageError{fmt.Errorf("--plan: %w", err)}
	}
	o, err := people.AddOrganization(ctx, args[0], plan)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "added: %s, plan %s\n", o.Name, o.Plan)
	return nil
}

func planOrg(ctx context.Context, people *account.Service, args []string, s streams) error {
	plan, err := assay.ParsePlan(args[1])
	if err != nil {
		return usageError{err}
	}
	if err := people.SetPlan(ctx, args[0], plan); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "set: %s, plan %s\n", args[0], plan)
	return nil
}

func (c *orgConfig) addMember(ctx context.Context, people *account.Service, args []string, s streams) error {
	if err := people.AddMember(ctx, args[0], args[1], c.role); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "added: %s to %s, %s\n", args[1], args[0], c.role)
	return nil
}

func removeMember(ctx context.Context, people *account.Service, args []string, s streams) error {
	if err := people.RemoveMember(ctx, args[0], args[1]); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "removed: %s from %s\n", args[1], args[0])
	return nil
}

func listOrgs(_ context.Context, people *account.Service, _ []string, s streams) error {
	table := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tPLAN\tUNTIL\tMEMBERS\tCREATED")
	for _, o := range people.Organizations() {
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%s\n", o.Name, o.Plan, instantOr(o.PlanUntil, "-"), len(o.Members), assay.FormatInstant(o.CreatedAt))
	}
	return table.Flush()
}

func showOrg(_ context.Context, people *account.Service, args []string, s streams) error {
	all := people.Organizations()
	i := slices.IndexFunc(all, func(o assay.Organization) bool { return o.Name == args[0] })
	if i < 0 {
		return fmt.Errorf("%q: %w", args[0], store.ErrNoOrganization)
	}
	fmt.Fprintf(s.out, "%s, plan %s, until %s\n", all[i].Name, all[i].Plan, instantOr(all[i].PlanUntil, "-"))
	table := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "EMAIL\tROLE\tSINCE")
	for _, m := range all[i].Members {
		fmt.Fprintf(table, "%s\t%s\t%s\n", m.Email, m.Role, assay.FormatInstant(m.Since))
	}
	return table.Flush()
}
