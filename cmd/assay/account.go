package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assaydata/assay/internal/account"
	"github.com/assaydata/assay/internal/store"
)

func newAccountCommand(s *streams) *cobra.Command {
	return parentCommand(&cobra.Command{
		Use:   "account COMMAND",
		Short: "Add, list and close accounts, and manage their sign-in",
		Long: `Add, list and close accounts, set their passwords, end their sessions and reset
their second factors.

An account signs in to the dashboard, with a password or through OpenID
Connect. What it may read follows from its grants (assay grant) and its
organizations (assay org).`,
		Example: `  assay account add ann@example.com --name "Ann Example"
  assay account list
  assay account close ann@example.com`,
	}, newAccountAddCommand(s), newAccountListCommand(s), newAccountShowCommand(s), newAccountPasswordCommand(s),
		newAccountSessionsCommand(s), newAccountSecondFactorCommand(s), newAccountCloseCommand(s))
}

// loadAccounts loads the accounts of a database for a single command.
func loadAccounts(ctx context.Context, db *store.DB) (*account.Service, error) {
	accounts := &account.Service{Store: db, Now: wallTime, Log: slog.New(slog.DiscardHandler)}
	return accounts, accounts.Load(ctx)
}

func newAccountAddCommand(s *streams) *cobra.Command {
	var location databaseLocation
	var name string
	var fromStdin, noPassword bool
	cmd := &cobra.Command{
		Use:   "add EMAIL",
		Short: "Add an account",
		Long: `Add an account. Assay generates a password and prints it once, to standard
output. With --password-stdin the password is the first line of standard input,
12 to 128 characters and not easy to guess. The owner has to change it at the
first sign-in. Without a password the account can only sign in through OpenID
Connect.`,
		Example: `  assay account add ann@example.com --name "Ann Example"
  assay account add bob@example.com --password-stdin < password.txt
  assay account add cyd@example.com --no-password`,
		Args: arguments("EMAIL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if fromStdin && noPassword {
				return usagef("--password-stdin and --no-password cannot be used together")
			}
			return withAccounts(cmd.Context(), location, func(accounts *account.Service) error {
				password, err := "", error(nil)
				if !noPassword {
					password, err = choosePassword(s.in, args[0], fromStdin)
				}
				if err != nil {
					return err
				}
				a, err := accounts.AddAccount(cmd.Context(), args[0], name, password, true)
				if err != nil {
					return err
				}
				if !noPassword && !fromStdin {
					s.showPassword(password)
				}
				s.note("added account %s", a.Email)
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "`NAME` of the person, up to 64 characters")
	addPasswordFlag(cmd, &fromStdin)
	cmd.Flags().BoolVar(&noPassword, "no-password", false, "add the account without a password")
	location.register(cmd.Flags(), defaultFolder)
	return cmd
}

func newAccountPasswordCommand(s *streams) *cobra.Command {
	var location databaseLocation
	var fromStdin bool
	cmd := &cobra.Command{
		Use:   "password EMAIL",
		Short: "Set a new password and sign the account out everywhere",
		Long: `Set a new password, generated and printed once or read from standard input, and
end all sessions of the account. The owner has to change it at the next sign-in.`,
		Example: `  assay account password ann@example.com
  assay account password ann@example.com --password-stdin < password.txt`,
		Args: arguments("EMAIL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withAccounts(cmd.Context(), location, func(accounts *account.Service) error {
				password, err := choosePassword(s.in, args[0], fromStdin)
				if err != nil {
					return err
				}
				if err := accounts.SetPassword(cmd.Context(), args[0], password, true); err != nil {
					return err
				}
				if !fromStdin {
					s.showPassword(password)
				}
				s.note("set the password and ended the account's sessions")
				return nil
			})
		},
	}
	addPasswordFlag(cmd, &fromStdin)
	location.register(cmd.Flags(), defaultFolder)
	return cmd
}

func addPasswordFlag(cmd *cobra.Command, fromStdin *bool) {
	cmd.Flags().BoolVar(fromStdin, "password-stdin", false, "read the password from standard input")
}

// choosePassword reads a password from the first line of standard input, or generates one.
func choosePassword(in io.Reader, email string, fromStdin bool) (string, error) {
	if !fromStdin {
		return account.NewPassword(email), nil
	}
	line, err := bufio.NewReader(io.LimitReader(in, 4<<10)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read the password: %w", err)
	}
	if line = strings.TrimRight(line, "\r\n"); line == "" {
		return "", errors.New("read the password: standard input is empty")
	}
	return line, nil
}

// showPassword prints a generated password alone on standard output.
func (s *streams) showPassword(password string) {
	fmt.Fprintln(s.out, password)
	s.note("generated a password; it is not shown again")
}

func newAccountCloseCommand(s *streams) *cobra.Command {
	var location databaseLocation
	cmd := &cobra.Command{
		Use:   "close EMAIL",
		Short: "Close an account and end its sessions and keys",
		Long: `Close an account and end its sessions and keys for good. Its email address stays
taken.`,
		Example: "  assay account close ann@example.com",
		Args:    arguments("EMAIL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withAccounts(cmd.Context(), location, func(accounts *account.Service) error {
				if err := accounts.CloseAccount(cmd.Context(), args[0]); err != nil {
					return err
				}
				s.say("closed %s and ended its sessions and keys", args[0])
				return nil
			})
		},
	}
	location.register(cmd.Flags(), defaultFolder)
	return cmd
}

// accountRow is an account in assay account list.
type accountRow struct {
	Email      string  `json:"email"`
	Name       string  `json:"name"`
	Plan       string  `json:"plan"`
	PlanSource string  `json:"plan_source"` // grant, the name of an organization, or -
	PlanUntil  instant `json:"plan_until"`
	CreatedAt  instant `json:"created_at"`
	ClosedAt   instant `json:"closed_at"`
}

func newAccountRow(v account.View) accountRow {
	return accountRow{
		Email: v.Email, Name: v.Name, Plan: string(v.Plan), PlanSource: planSource(v), PlanUntil: instant(v.PlanUntil),
		CreatedAt: instant(v.CreatedAt), ClosedAt: instant(v.ClosedAt),
	}
}

func (a accountRow) state() string {
	if a.ClosedAt != 0 {
		return "closed " + a.ClosedAt.String()
	}
	return "open"
}

func (a accountRow) cells() []string {
	return []string{a.Email, a.Plan, a.PlanSource, a.PlanUntil.String(), a.CreatedAt.String(), a.state()}
}

// planSource is where an account's plan comes from.
func planSource(v account.View) string {
	switch v.Source {
	case "":
		return "-"
	case "organization":
		return v.Organization
	}
	return v.Source
}

func newAccountListCommand(s *streams) *cobra.Command {
	var location databaseLocation
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List all accounts with their plans",
		Example: "  assay account list\n  assay account list --json",
		Args:    arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withAccounts(cmd.Context(), location, func(accounts *account.Service) error {
				var rows []accountRow
				for _, v := range accounts.Accounts() {
					rows = append(rows, newAccountRow(v))
				}
				header := []string{"EMAIL", "PLAN", "FROM", "UNTIL", "CREATED", "STATE"}
				return printList(s, asJSON, rows, header, accountRow.cells)
			})
		},
	}
	location.register(cmd.Flags(), defaultFolder)
	addJSONFlag(cmd, &asJSON)
	return cmd
}
