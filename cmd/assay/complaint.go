package main

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/assaydata/assay/internal/proof"
	"github.com/assaydata/assay/internal/store"
)

func newComplaintCommand(s *streams) *cobra.Command {
	return parentCommand(&cobra.Command{
		Use:   "complaint COMMAND",
		Short: "Keep questions and complaints about the index, and answers",
		Long: `Keep the questions and complaints about the index that you receive, and your
answers. The log commits to each of them with its time, so that none can be
changed or left out later. Who complained and what was said stays in the
database, and no one reads it there but you.`,
		Example: `  assay complaint receive --from reader --text Why? --dir data
  assay complaint answer 1 --text Because --dir data
  assay complaint list --dir data`,
	}, newComplaintReceiveCommand(s), newComplaintAnswerCommand(s), newComplaintListCommand(s))
}

func newComplaintReceiveCommand(s *streams) *cobra.Command {
	var location databaseLocation
	var sender, text string
	cmd := &cobra.Command{
		Use:     "receive",
		Short:   "Record a question or complaint",
		Example: "  assay complaint receive --from reader --text Why? --dir data",
		Args:    arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if sender == "" || text == "" {
				return usagef("a complaint needs --from and --text")
			}
			return withDatabase(cmd.Context(), location, func(db *store.DB) error {
				number, err := db.ReceiveComplaint(cmd.Context(), sender, text)
				if err != nil {
					return err
				}
				s.say("received: complaint %d", number)
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&sender, "from", "", "`NAME` of who asks or complains")
	cmd.Flags().StringVar(&text, "text", "", "`TEXT` of the question or complaint")
	location.register(cmd.Flags(), defaultFolder)
	return cmd
}

func newComplaintAnswerCommand(s *streams) *cobra.Command {
	var location databaseLocation
	var text string
	cmd := &cobra.Command{
		Use:     "answer NUMBER",
		Short:   "Record an answer",
		Example: "  assay complaint answer 1 --text Because --dir data",
		Args:    arguments("NUMBER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			number, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil || text == "" {
				return usagef("an answer needs the number of the complaint and --text")
			}
			return withDatabase(cmd.Context(), location, func(db *store.DB) error {
				err := db.AnswerComplaint(cmd.Context(), number, text)
				if errors.Is(err, store.ErrNoComplaint) {
					return fmt.Errorf("%d: %w; 'assay complaint list' shows all", number, err)
				}
				if err == nil {
					s.say("answered: complaint %d", number)
				}
				return err
			})
		},
	}
	cmd.Flags().StringVar(&text, "text", "", "`TEXT` of the answer")
	location.register(cmd.Flags(), defaultFolder)
	return cmd
}

// complaintRow is a complaint or an answer in assay complaint list.
type complaintRow struct {
	Complaint int64   `json:"complaint"`
	At        instant `json:"at"`
	Action    string  `json:"action"`
	From      string  `json:"from"` // the one who complains, or the operator who answers
	Text      string  `json:"text"`
}

func newComplaintListCommand(s *streams) *cobra.Command {
	var location databaseLocation
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List complaints and answers, oldest first",
		Example: "  assay complaint list --dir data\n  assay complaint list --dir data --json",
		Args:    arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withDatabase(cmd.Context(), location, func(db *store.DB) error {
				events, err := db.ComplaintEvents(cmd.Context())
				if err != nil {
					return err
				}
				var rows []complaintRow
				for _, e := range events {
					row := complaintRow{e.Complaint, instant(e.At), e.Action, e.Sender, e.Text}
					if e.Action == proof.AnswerComplaint {
						row.From = e.Actor
					}
					rows = append(rows, row)
				}
				if asJSON {
					return printJSONList(s.out, rows)
				}
				for _, r := range rows {
					fmt.Fprintf(s.out, "%-6d %s  %-8s %s: %s\n", r.Complaint, r.At, r.Action, r.From, r.Text)
				}
				return nil
			})
		},
	}
	location.register(cmd.Flags(), defaultFolder)
	addJSONFlag(cmd, &asJSON)
	return cmd
}
