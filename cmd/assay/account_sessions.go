package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/account"
	"github.com/assaydata/assay/internal/redact"
)

// sessionsRequest is what assay account sessions does.
type sessionsRequest struct {
	end    string
	endAll bool
	asJSON bool
}

func newAccountSessionsCommand(s *streams) *cobra.Command {
	var location databaseLocation
	var request sessionsRequest
	cmd := &cobra.Command{
		Use:   "sessions EMAIL",
		Short: "List the sessions of an account, or end them",
		Long: `List where an account is signed in, or end its sessions. A session ends after 14
days, and after a day without use. The last use is known to a few minutes. A
session that is ended here stops working on every node within a second.`,
		Example: `  assay account sessions ann@example.com
  assay account sessions ann@example.com --end 3f9c2a71d0b8
  assay account sessions ann@example.com --end-all`,
		Args: arguments("EMAIL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if request.end != "" && request.endAll {
				return usagef("--end and --end-all cannot be used together")
			}
			return withAccounts(cmd.Context(), location, func(accounts *account.Service) error {
				return request.run(cmd.Context(), accounts, args[0], s)
			})
		},
	}
	cmd.Flags().StringVar(&request.end, "end", "", "end the session with this `ID`")
	cmd.Flags().BoolVar(&request.endAll, "end-all", false, "end all sessions of the account")
	location.register(cmd.Flags(), defaultFolder)
	addJSONFlag(cmd, &request.asJSON)
	return cmd
}

func (r *sessionsRequest) run(ctx context.Context, accounts *account.Service, email string, s *streams) error {
	switch {
	case r.endAll:
		ended, err := accounts.EndSessionsFor(ctx, email)
		if err != nil {
			return err
		}
		noun := "sessions"
		if ended == 1 {
			noun = "session"
		}
		s.say("ended: %d %s of %s", ended, noun, email)
		return nil
	case r.end != "":
		if err := accounts.EndSessionFor(ctx, email, r.end); err != nil {
			return err
		}
		s.say("ended: session %s of %s", redact.Keys(r.end), email)
		return nil
	}
	view, err := accounts.AccountByEmail(email)
	if err != nil {
		return err
	}
	list, err := accounts.SessionsOf(ctx, view.ID, "")
	if err != nil {
		return err
	}
	rows := make([]sessionRow, len(list))
	for i, one := range list {
		rows[i] = newSessionRow(one)
	}
	header := []string{"ID", "SIGNED IN", "LAST USED", "ENDS", "ADDRESS", "PROGRAM"}
	return printList(s, r.asJSON, rows, header, sessionRow.cells)
}

// sessionRow is a session in assay account sessions.
type sessionRow struct {
	ID         string  `json:"id"`
	CreatedAt  instant `json:"created_at"`
	LastUsedAt instant `json:"last_used_at"`
	ExpiresAt  instant `json:"expires_at"`
	Address    *string `json:"address"`
	UserAgent  *string `json:"user_agent"`
}

func newSessionRow(s assay.Session) sessionRow {
	return sessionRow{
		ID: s.ID, CreatedAt: instant(s.CreatedAt), LastUsedAt: instant(s.LastUsedAt), ExpiresAt: instant(s.ExpiresAt),
		Address: s.Address, UserAgent: s.UserAgent,
	}
}

func (r sessionRow) cells() []string {
	cells := []string{r.ID, r.CreatedAt.String(), r.LastUsedAt.String(), r.ExpiresAt.String()}
	for _, text := range []*string{r.Address, r.UserAgent} {
		if text == nil {
			cells = append(cells, "-")
			continue
		}
		cells = append(cells, *text)
	}
	return cells
}
