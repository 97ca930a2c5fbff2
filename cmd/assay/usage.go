package main

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
)

// usageRow is what an account or a key has used.
type usageRow struct {
	Organization string `json:"organization"`
	Account      string `json:"account"`
	KeyID        string `json:"key_id,omitempty"`
	KeyName      string `json:"key_name,omitempty"`
	Requests     int64  `json:"requests"`
	Failed       int64  `json:"failed"`
}

func newUsageCommand(s *streams) *cobra.Command {
	var location databaseLocation
	var from, to int64
	var asJSON bool
	by := "account"
	cmd := &cobra.Command{
		Use:   "usage",
		Short: "Count the requests of all customers, as for an invoice",
		Long: `Count the requests of all accounts, or of all their keys, as CSV or JSON. Days
are in UTC. Without --from and --to it is the current month. An account has a
line for each organization that its keys are based on. Keys that belong to no
account have an empty one. A request counts on the day it ended; failed are
those with a status of 400 or more.`,
		Example: `  assay usage --dir data --from 2026-10-01 --to 2026-11-01 > october.csv
  assay usage --dir data --by key --json`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			from, to := usagePeriod(from, to, wallTime())
			switch {
			case from >= to:
				return usagef("--from must be before --to")
			case from != assay.StartOfDay(from) || to != assay.StartOfDay(to):
				return usagef("--from and --to must be days, such as 2026-11-01")
			}
			read := func(ctx context.Context, db *store.DB) ([]usageRow, error) {
				totals, err := db.UsageTotals(ctx, from, to-assay.Day)
				return usageRows(totals, by), err
			}
			return withDatabase(cmd.Context(), location, func(db *store.DB) error {
				return printRows(cmd.Context(), db, s, asJSON, usageColumns(by), read, usageRow.cells)
			})
		},
	}
	addInstantFlag(cmd.Flags(), &from, "from", "`DAY` to start with (default: the first of this month)")
	addInstantFlag(cmd.Flags(), &to, "to", "`DAY` to end before (default: tomorrow)")
	addChoiceFlag(cmd, &by, "by", "`WHAT` to count by: account or key", "account", "key")
	location.register(cmd.Flags(), defaultFolder)
	addJSONFlag(cmd, &asJSON)
	return cmd
}

// usagePeriod fills in what is not given.
func usagePeriod(from, to int64, now time.Time) (int64, int64) {
	now = now.UTC()
	if from == 0 {
		from = time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	}
	if to == 0 {
		to = assay.StartOfDay(now.UnixMilli()) + assay.Day
	}
	return from, to
}

func usageColumns(by string) []string {
	if by == "key" {
		return []string{"organization", "account", "key_id", "key_name", "requests", "failed"}
	}
	return []string{"organization", "account", "requests", "failed"}
}

func (u usageRow) cells() []string {
	cells := []string{u.Organization, u.Account}
	if u.KeyID != "" {
		cells = append(cells, u.KeyID, u.KeyName)
	}
	return append(cells, strconv.FormatInt(u.Requests, 10), strconv.FormatInt(u.Failed, 10))
}

// usageRows are the totals of keys, or of accounts. Keys of an account follow each other.
func usageRows(totals []store.UsageTotal, by string) (rows []usageRow) {
	for _, t := range totals {
		if last := len(rows) - 1; by == "account" && last >= 0 &&
			rows[last].Account == t.Email && rows[last].Organization == t.Organization {
			rows[last].Requests += t.Requests
			rows[last].Failed += t.Failed
			continue
		}
		row := usageRow{Organization: t.Organization, Account: t.Email, Requests: t.Requests, Failed: t.Failed}
		if by == "key" {
			row.KeyID, row.KeyName = t.KeyID, t.KeyName
		}
		rows = append(rows, row)
	}
	return rows
}
