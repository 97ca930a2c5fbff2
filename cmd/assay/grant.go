package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/account"
)

var grantCommand = &command{
	name: "grant", arguments: "add|end|list [EMAIL PLAN | ID] [flags]", summary: "give accounts access, and end it",
	details: `  assay grant add EMAIL trial [--from INSTANT] [--again]
  assay grant add EMAIL premium|full [--from INSTANT] [--until INSTANT]
  assay grant end ID
  assay grant list

A trial is Premium for 72 hours from its start. Another plan ends the one in force when it begins; the same plan
once more extends it. Keys end with the access they hang on, and a later grant does not revive them; a Premium key
goes on when its owner moves up to full. A running server follows within a second.`,
	run: runGrant,
}

// grantConfig is what the command is told.
type grantConfig struct {
	from, until int64
	again       bool
}

func runGrant(ctx context.Context, c *command, args []string, s streams) error {
	var config grantConfig
	flags := newFlags(c, s)
	instantFlag(flags, &config.from, "from", "`INSTANT` at which the access begins (default: now)")
	instantFlag(flags, &config.until, "until", "`INSTANT` at which the access ends (default: never)")
	flags.BoolVar(&config.again, "again", false, "give another trial to an account that had one")
	return runVerb(ctx, c, flags, []verb{
		{"add", []string{"EMAIL", "PLAN"}, []string{"from", "until", "again"}, false, config.add},
		{"end", []string{"ID"}, nil, false, endGrant},
		{"list", nil, nil, false, listGrants},
	}, args, s)
}

func (c *grantConfig) add(ctx context.Context, people *account.Service, args []string, s streams) error {
	plan, err := assay.ParsePlan(args[1])
	if err != nil || plan == assay.PlanNone {
		return usageError{fmt.Errorf("plan %q: allowed are trial, premium and full", args[1])}
	}
	g, err := people.AddGrant(ctx, args[0], account.GrantAsk{Plan: plan, From: c.from, Until: c.until, Again: c.again})
	if errors.Is(err, account.ErrHadTrial) {
		return fmt.Errorf("%w; --again gives another", err)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "granted: %s, %s\n", args[0], grantText(g))
	return nil
}

func endGrant(ctx context.Context, people *account.Service, args []string, s streams) error {
	id, err := strconv.ParseInt(args[0], 10, 64)
	if err != nil {
		return usageError{fmt.Errorf("grant %q is no number: assay grant list shows them", args[0])}
	}
	if err := people.EndGrant(ctx, id); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "ended: grant %d\n", id)
	return nil
}

func grantText(g assay.Grant) string {
	return fmt.Sprintf("%s from %s until %s (grant %d)", g.Plan, assay.FormatInstant(g.StartsAt), instantOr(g.Until(), "-"), g.ID)
}

func listGrants(_ context.Context, people *account.Service, _ []string, s streams) error {
	now := time.Now().UnixMilli()
	table := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tEMAIL\tPLAN\tFROM\tUNTIL\tSTATE")
	for _, v := range people.Accounts() {
		for _, g := range v.Grants {
			fmt.Fprintf(table, "%d\t%s\t%s\t%s\t%s\t%s\n", g.ID, v.Email, g.Plan, assay.FormatInstant(g.StartsAt), instantOr(g.Until(), "-"), grantState(g, now))
		}
	}
	return table.Flush()
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
