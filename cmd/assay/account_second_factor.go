package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/assaydata/assay/internal/account"
)

func newAccountSecondFactorCommand(s *streams) *cobra.Command {
	var location databaseLocation
	var reset, asJSON bool
	cmd := &cobra.Command{
		Use:   "second-factor EMAIL",
		Short: "List the second factors of an account, or remove them",
		Long: `List what an account signs in with besides its password: an authenticator app
and passkeys. With --reset, remove all of them and the recovery codes, and end
the sessions of the account, for an owner who has lost them. The owner then
signs in with the password alone, so make sure who is asking.`,
		Example: `  assay account second-factor ann@example.com
  assay account second-factor ann@example.com --reset`,
		Args: arguments("EMAIL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withAccounts(cmd.Context(), location, func(accounts *account.Service) error {
				if reset {
					return resetSecondFactors(cmd.Context(), accounts, args[0], s)
				}
				rows, err := secondFactorRows(cmd.Context(), accounts, args[0])
				if err != nil {
					return err
				}
				return printList(s, asJSON, rows, []string{"KIND", "ID", "NAME", "ADDED", "LAST USED"}, secondFactorRow.cells)
			})
		},
	}
	cmd.Flags().BoolVar(&reset, "reset", false, "remove all second factors and end the account's sessions")
	location.register(cmd.Flags(), defaultFolder)
	addJSONFlag(cmd, &asJSON)
	return cmd
}

func resetSecondFactors(ctx context.Context, accounts *account.Service, email string, s *streams) error {
	removed, err := accounts.ResetSecondFactors(ctx, email)
	if err != nil {
		return err
	}
	noun := "second factors"
	if removed == 1 {
		noun = "second factor"
	}
	s.say("removed: %d %s of %s, and ended its sessions", removed, noun, email)
	return nil
}

// secondFactorRow is a second factor in assay account second-factor.
type secondFactorRow struct {
	Kind       string  `json:"kind"` // totp or passkey
	ID         *string `json:"id"`
	Name       *string `json:"name"`
	CreatedAt  instant `json:"created_at"`
	LastUsedAt instant `json:"last_used_at"` // of passkeys
}

func secondFactorRows(
	ctx context.Context, accounts *account.Service, email string,
) (rows []secondFactorRow, err error) {
	factors, err := accounts.FactorsByEmail(ctx, email)
	if err != nil {
		return nil, err
	}
	if factors.TOTP != nil {
		rows = append(rows, secondFactorRow{Kind: "totp", CreatedAt: instant(factors.TOTP.CreatedAt)})
	}
	for _, p := range factors.Passkeys {
		rows = append(rows, secondFactorRow{
			Kind: "passkey", ID: &p.ID, Name: &p.Name, CreatedAt: instant(p.CreatedAt), LastUsedAt: instant(p.LastUsedAt),
		})
	}
	return rows, nil
}

func (r secondFactorRow) cells() []string {
	cells := []string{r.Kind}
	for _, text := range []*string{r.ID, r.Name} {
		if text == nil {
			cells = append(cells, "-")
			continue
		}
		cells = append(cells, *text)
	}
	return append(cells, r.CreatedAt.String(), r.LastUsedAt.String())
}
