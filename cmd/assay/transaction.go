package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
)

func newTransactionCommand(s *streams) *cobra.Command {
	return parentCommand(&cobra.Command{
		Use:   "transaction COMMAND",
		Short: "Verify, withdraw or correct imported transactions",
		Long: `Mark imported transactions as verified or withdrawn, or replace them by
corrected ones.

A change counts from now on. Values published before stay as they are until
assay restate recomputes them. Assay records who made a change, when and why,
and keeps the transactions as they were received. Either all transactions that a
command names are changed, or none.`,
		Example: `  assay transaction verify --source exchange --reason "invoice checked" t7
  assay transaction withdraw --source exchange --reason "wrong price" t8 t9
  assay transaction withdraw --reason "wrong file" --from-file wrong.csv
  assay transaction correct --reason "prices in EUR" right.csv`,
	}, newTransactionVerifyCommand(s), newTransactionWithdrawCommand(s), newTransactionCorrectCommand(s))
}

func newTransactionVerifyCommand(s *streams) *cobra.Command {
	return newMarkCommand(s, true, &cobra.Command{
		Use:   "verify ID…",
		Short: "Mark transactions as verified, so that they count",
		Long: `Mark transactions as verified, so that they count from now on. Values published
before stay as they are until assay restate recomputes them. Either all of them
are marked, or none.

--evidence says what the verification rests on. Every record shows how much of
its volume rests on which class; judgement is for what an expert has decided,
with the rationale as the reason.

--from-file takes any file with a column id. --receipt takes all transactions of
a receipt that do not count; assay import prints the receipts.`,
		Example: `  assay transaction verify --source exchange --evidence invoice --reason seen t7`,
	})
}

func newTransactionWithdrawCommand(s *streams) *cobra.Command {
	return newMarkCommand(s, false, &cobra.Command{
		Use:   "withdraw ID…",
		Short: "Mark transactions as withdrawn, so that they stop counting",
		Long: `Mark transactions as withdrawn, so that they stop counting from now on. Values
published before stay as they are until assay restate recomputes them. Either
all of them are marked, or none.

--from-file takes the file that was imported, or any other with a column id.
--receipt takes all transactions of a receipt that count; assay import prints
the receipts.`,
		Example: `  assay transaction withdraw --source exchange --reason "wrong price" t8 t9
  assay transaction withdraw --reason "wrong file" --from-file wrong.csv
  assay transaction withdraw --reason "wrong file" --receipt 41-43`,
	})
}

// newMarkCommand completes a command that marks transactions as verified or withdrawn.
func newMarkCommand(s *streams, verified bool, cmd *cobra.Command) *cobra.Command {
	var location databaseLocation
	var named namedTransactions
	var why justification
	var evidence evidenceFlag
	cmd.RunE = func(cmd *cobra.Command, ids []string) error {
		named.ids = ids
		if err := named.check(); err != nil {
			return err
		}
		if err := why.check(); err != nil {
			return err
		}
		return withDatabase(cmd.Context(), location, func(db *store.DB) error {
			marks, err := named.marks(cmd.Context(), db, verified)
			if err != nil {
				return err
			}
			for i := range marks {
				marks[i].Verified, marks[i].Actor, marks[i].Reason = verified, why.actor, why.reason
				marks[i].Evidence = assay.Evidence(evidence)
			}
			return markTransactions(cmd.Context(), db, marks, s)
		})
	}
	named.register(cmd.Flags())
	why.register(cmd.Flags())
	if verified {
		cmd.Flags().Var(&evidence, "evidence",
			"`CLASS` of what it rests on: payment, invoice, order, metering, attestation\nor judgement")
	}
	location.register(cmd.Flags(), defaultFolder)
	return cmd
}

// evidenceFlag is a class of evidence.
type evidenceFlag assay.Evidence

func (e *evidenceFlag) String() string { return assay.Evidence(*e).Cell() }
func (*evidenceFlag) Type() string     { return "class" }

func (e *evidenceFlag) Set(text string) error {
	class, err := assay.ParseEvidence(text)
	*e = evidenceFlag(class)
	return err
}

// shownMarks is how many marked transactions are named one by one.
const shownMarks = 20

func markTransactions(ctx context.Context, db *store.DB, marks []assay.Verification, s *streams) error {
	late, err := db.AddVerifications(ctx, marks...)
	if err != nil {
		return err
	}
	state := "withdrawn"
	if marks[0].Verified {
		state = "verified"
	}
	if len(marks) > shownMarks {
		s.say("%s: %s", state, count(len(marks), "transaction"))
		if published := len(slices.DeleteFunc(late, func(l bool) bool { return !l })); published > 0 {
			s.say("already published and changed only by assay restate: the periods of %s", thousands(published))
		}
		return nil
	}
	for i, mark := range marks {
		hint := ""
		if late[i] {
			hint = "; its period is already published and changes only with assay restate"
		}
		s.say("%s: %s%s", mark.ID, state, hint)
	}
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
	"evidence", "verified_by",
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
	Evidence   string      `json:"evidence"`
	VerifiedBy string      `json:"verified_by"`
}

func newTransactionRow(t *assay.Transaction) transactionRow {
	return transactionRow{
		ID: t.ID, Source: t.Source, ExecutedAt: instant(t.ExecutedAt), GPU: t.GPU, Region: t.Region, Price: t.Price,
		GPUs: t.GPUs, Hours: assay.Nanos(t.HourMicros * 1000), Provider: t.Provider, Verified: t.Verified,
		Evidence: t.Evidence.Cell(), VerifiedBy: t.VerifiedBy,
	}
}

func (t transactionRow) cells() []string {
	return []string{
		t.ID, t.Source, t.ExecutedAt.String(), t.GPU, t.Region, t.Price.String(), fmt.Sprint(t.GPUs), t.Hours.String(),
		t.Provider, fmt.Sprint(t.Verified), t.Evidence, t.VerifiedBy,
	}
}
