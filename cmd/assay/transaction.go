package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
)

func newTransactionCommand(s *streams) *cobra.Command {
	return parentCommand(&cobra.Command{
		Use:   "transaction COMMAND",
		Short: "Mark imported transactions as verified or withdrawn",
		Long: `Mark imported transactions as verified or withdrawn.

A mark counts from now on. Values published before stay as they are until assay
restate recomputes them. Assay records who made a mark, when and why, and never
edits a transaction.`,
		Example: `  assay transaction verify --source exchange --reason "invoice checked" t7
  assay transaction withdraw --source exchange --reason "wrong price" t8 t9`,
	}, newTransactionVerifyCommand(s), newTransactionWithdrawCommand(s))
}

func newTransactionVerifyCommand(s *streams) *cobra.Command {
	return newMarkCommand(s, true, &cobra.Command{
		Use:   "verify ID…",
		Short: "Mark transactions as verified, so that they count",
		Long: `Mark transactions as verified, so that they count from now on. Values published
before stay as they are until assay restate recomputes them.`,
		Example: `  assay transaction verify --source exchange --reason "invoice checked" t7`,
	})
}

func newTransactionWithdrawCommand(s *streams) *cobra.Command {
	return newMarkCommand(s, false, &cobra.Command{
		Use:   "withdraw ID…",
		Short: "Mark transactions as withdrawn, so that they stop counting",
		Long: `Mark transactions as withdrawn, so that they stop counting from now on. Values
published before stay as they are until assay restate recomputes them.`,
		Example: `  assay transaction withdraw --source exchange --reason "wrong price" t8 t9`,
	})
}

// newMarkCommand completes a command that marks transactions as verified or withdrawn.
func newMarkCommand(s *streams, verified bool, cmd *cobra.Command) *cobra.Command {
	var location databaseLocation
	var source string
	var why justification
	cmd.RunE = func(cmd *cobra.Command, ids []string) error {
		if source == "" {
			return usagef("--source is required")
		}
		if err := why.check(); err != nil {
			return err
		}
		if len(ids) == 0 {
			return usagef("missing ID of a transaction")
		}
		return withDatabase(cmd.Context(), location, func(db *store.DB) error {
			for _, id := range ids {
				mark := assay.Verification{Source: source, ID: id, Verified: verified, Actor: why.actor, Reason: why.reason}
				if err := markTransaction(cmd.Context(), db, mark, s); err != nil {
					return err
				}
			}
			return nil
		})
	}
	cmd.Flags().StringVar(&source, "source", "", "`NAME` of the source that reported the transactions")
	why.register(cmd.Flags())
	location.register(cmd.Flags(), defaultFolder)
	return cmd
}

func markTransaction(ctx context.Context, db *store.DB, mark assay.Verification, s *streams) error {
	late, err := db.AddVerification(ctx, mark)
	if err != nil {
		return err
	}
	state, hint := "withdrawn", ""
	if mark.Verified {
		state = "verified"
	}
	if late {
		hint = "; its period is already published and changes only with assay restate"
	}
	s.say("%s: %s%s", mark.ID, state, hint)
	return nil
}

// justification is who makes a change and why. Both are kept for auditors.
type justification struct{ actor, reason string }

func (j *justification) register(flags *pflag.FlagSet) {
	flags.StringVar(&j.reason, "reason", "", "`TEXT` that says why, for auditors")
	flags.StringVar(&j.actor, "actor", "", "`NAME` of who decided it (default: the user who runs the command)")
}

// maxJustification is how many bytes of a reason or an actor are kept.
const maxJustification = 500

func (j *justification) check() error {
	if j.actor == "" {
		j.actor = userName()
	}
	for _, text := range []struct{ flag, value string }{{"--reason", j.reason}, {"--actor", j.actor}} {
		if strings.TrimSpace(text.value) == "" {
			return usagef("%s is required", text.flag)
		}
		if len(text.value) > maxJustification {
			return usagef("%s is longer than %d bytes", text.flag, maxJustification)
		}
	}
	return nil
}

// transactionColumns are the columns of an import file, so that a list can be imported elsewhere.
var transactionColumns = []string{
	"id", "source", "executed_at", "gpu_name", "region", "price", "gpus", "hours", "provider", "verified",
}

// transactionRow is a transaction in a list, with the fields of an import file.
type transactionRow struct {
	ID         string      `json:"id"`
	Source     string      `json:"source"`
	ExecutedAt instant     `json:"executed_at"`
	GPU        string      `json:"gpu_name"`
	Region     string      `json:"region"`
	Price      assay.Nanos `json:"price"`
	GPUs       int64       `json:"gpus"`
	Hours      assay.Nanos `json:"hours"`
	Provider   string      `json:"provider"`
	Verified   bool        `json:"verified"`
}

func newTransactionRow(t *assay.Transaction) transactionRow {
	return transactionRow{
		ID: t.ID, Source: t.Source, ExecutedAt: instant(t.ExecutedAt), GPU: t.GPU, Region: t.Region, Price: t.Price,
		GPUs: t.GPUs, Hours: assay.Nanos(t.HourMicros * 1000), Provider: t.Provider, Verified: t.Verified,
	}
}

func (t transactionRow) cells() []string {
	return []string{
		t.ID, t.Source, t.ExecutedAt.String(), t.GPU, t.Region, t.Price.String(), fmt.Sprint(t.GPUs), t.Hours.String(),
		t.Provider, fmt.Sprint(t.Verified),
	}
}
