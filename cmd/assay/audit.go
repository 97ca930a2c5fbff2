package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
)

var auditCommand = &command{
	name: "audit", arguments: "[flags]", summary: "list who changed what about accounts, keys, catalogs and published time",
	details: `Lists the newest entries of the audit log first. Every change is noted in the transaction that makes it; entries are never
changed or removed. The actor is operator:NAME for who ran a command on this machine, account:EMAIL for who was
signed in, and visitor for who failed to sign in. A subject is account:EMAIL, org:NAME, key:ID (of the operator's
own keys), catalog, methodology:VERSION, transaction:SOURCE ID or publication:VERSION.`,
	run: runAudit,
}

func runAudit(ctx context.Context, c *command, args []string, s streams) error {
	flags := newFlags(c, s)
	var at place
	at.register(flags, "assay-data")
	filter := store.AuditFilter{Limit: 100}
	flags.StringVar(&filter.Subject, "subject", "", "`SUBJECT` that the entries are about (default: any)")
	instantFlag(flags, &filter.Since, "since", "`INSTANT` of the first entry (default: the beginning)")
	flags.Func("limit", "`NUMBER` of entries at most, 1 to 1000000 (default 100)", func(text string) error {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 1_000_000 {
			return errors.New("allowed is a whole number from 1 to 1000000")
		}
		filter.Limit = n
		return nil
	})
	asJSON := flags.Bool("json", false, "print one JSON object a line")
	if err := parse(flags, args); err != nil {
		return err
	}
	if err := noArguments(flags); err != nil {
		return err
	}
	db, err := openExisting(ctx, at)
	if err != nil {
		return err
	}
	defer db.Close()
	entries, err := db.AuditLog(ctx, filter)
	if err != nil {
		return err
	}
	if *asJSON {
		return printAuditJSON(s.out, entries)
	}
	table := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "AT\tACTOR\tACTION\tSUBJECT\tDETAIL")
	for _, e := range entries {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", assay.FormatInstant(e.At), e.Actor, e.Action, e.Subject, e.Detail)
	}
	return table.Flush()
}

func printAuditJSON(w io.Writer, entries []store.AuditEntry) error {
	lines := json.NewEncoder(w)
	for _, e := range entries {
		row := struct {
			ID      int64           `json:"id"`
			At      string          `json:"at"`
			Actor   string          `json:"actor"`
			Action  string          `json:"action"`
			Subject string          `json:"subject"`
			Detail  json.RawMessage `json:"detail"`
		}{e.ID, assay.FormatInstant(e.At), e.Actor, e.Action, e.Subject, json.RawMessage(e.Detail)}
		if err := lines.Encode(row); err != nil {
			return err
		}
	}
	return nil
}
