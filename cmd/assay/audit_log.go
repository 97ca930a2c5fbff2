package main

import (
	"context"
	"encoding/json"
	"io"

	"github.com/spf13/cobra"

	"github.com/assaydata/assay/internal/store"
)

// auditRow is an entry of the audit log.
type auditRow struct {
	ID      int64           `json:"id"`
	At      instant         `json:"at"`
	Actor   string          `json:"actor"`
	Action  string          `json:"action"`
	Subject string          `json:"subject"`
	Detail  json.RawMessage `json:"detail"`
}

func (e auditRow) cells() []string {
	return []string{e.At.String(), e.Actor, e.Action, e.Subject, string(e.Detail)}
}

func newAuditLogCommand(s *streams) *cobra.Command {
	return auditLogCommand(func(asJSON bool, rows []auditRow) error {
		return printList(s, asJSON, rows, []string{"AT", "ACTOR", "ACTION", "SUBJECT", "DETAIL"}, auditRow.cells)
	})
}

// newOldAuditCommand is the audit log as it was before 0.5.0: its JSON is one object per line.
func newOldAuditCommand(s *streams) *cobra.Command {
	return auditLogCommand(func(asJSON bool, rows []auditRow) error {
		if asJSON {
			return printJSONLines(s.out, rows)
		}
		return printList(s, false, rows, []string{"AT", "ACTOR", "ACTION", "SUBJECT", "DETAIL"}, auditRow.cells)
	})
}

func auditLogCommand(show func(asJSON bool, rows []auditRow) error) *cobra.Command {
	var location databaseLocation
	var asJSON bool
	filter := store.AuditFilter{Limit: 100}
	cmd := &cobra.Command{
		Use:   "audit-log",
		Short: "Show who changed accounts, keys and published data",
		Long: `Show who changed accounts, keys, catalogs and published data, newest first.

Every change is logged in the transaction that makes it. Entries are never
changed or removed. The actor is operator:NAME for a command on this machine,
account:EMAIL for a signed-in account, and visitor for a failed sign-in. The
subject is account:EMAIL, org:NAME, key:ID (of an operator's key), catalog,
methodology:VERSION, transaction:SOURCE ID or publication:VERSION.`,
		Example: `  assay audit-log --since 2026-11-01
  assay audit-log --subject account:ann@example.com --json`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withDatabase(cmd.Context(), location, func(db *store.DB) error {
				rows, err := auditRows(cmd.Context(), db, filter)
				if err != nil {
					return err
				}
				return show(asJSON, rows)
			})
		},
	}
	cmd.Flags().StringVar(&filter.Subject, "subject", "", "show only entries about this `SUBJECT`")
	addInstantFlag(cmd.Flags(), &filter.Since, "since", "show only entries from this `INSTANT` on")
	addNumberFlag(cmd.Flags(), &filter.Limit, "limit", 1, 1_000_000, "show at most this `NUMBER` of entries")
	location.register(cmd.Flags(), defaultFolder)
	addJSONFlag(cmd, &asJSON)
	return cmd
}

func auditRows(ctx context.Context, db *store.DB, filter store.AuditFilter) (rows []auditRow, err error) {
	entries, err := db.AuditLog(ctx, filter)
	for _, e := range entries {
		rows = append(rows, auditRow{
			ID: e.ID, At: instant(e.At), Actor: e.Actor, Action: e.Action, Subject: e.Subject,
			Detail: json.RawMessage(e.Detail),
		})
	}
	return rows, err
}

func printJSONLines(w io.Writer, rows []auditRow) error {
	lines := json.NewEncoder(w)
	for _, row := range rows {
		if err := lines.Encode(row); err != nil {
			return err
		}
	}
	return nil
}
