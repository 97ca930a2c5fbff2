package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/keys"
	"github.com/assaydata/assay/internal/redact"
	"github.com/assaydata/assay/internal/store"
)

func newKeyCommand(s *streams) *cobra.Command {
	return parentCommand(&cobra.Command{
		Use:   "key COMMAND",
		Short: "Create, list, limit and revoke API keys",
		Long: `Create, list, limit and revoke API keys.

A key belongs to the operator or to an account. An operator's key has the tier
it was created with. The tier and end of an account's key follow from the
account's access. A running server picks up new and revoked keys within a
second. For the key that signs published days, see assay signing-key.`,
		Example: `  assay key create --tier premium --name "trading desk"
  assay key list
  assay key revoke Ab3dE9`,
	}, newKeyCreateCommand(s), newKeyListCommand(s), newKeyLimitCommand(s), newKeyRevokeCommand(s))
}

// keyRequest is the key to create.
type keyRequest struct {
	tier, account, name string
	expires             int64
}

func newKeyCreateCommand(s *streams) *cobra.Command {
	var location databaseLocation
	var request keyRequest
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Create an API key and print it once",
		Long: `Create an API key and print it to standard output. Only a hash of the key is
stored, so it cannot be shown again.`,
		Example: `  assay key create --tier full --name "trading desk" --expires 2027-01-01
  assay key create --account ann@example.com --name laptop`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := request.check(); err != nil {
				return err
			}
			return withDatabase(cmd.Context(), location, func(db *store.DB) error {
				return request.create(cmd.Context(), db, s)
			})
		},
	}
	addChoiceFlag(cmd, &request.tier, "tier", "`TIER` of an operator's key: premium or full",
		assay.Premium.String(), assay.Full.String())
	cmd.Flags().StringVar(&request.account, "account", "",
		"`EMAIL` of the account that owns the key (default: the operator)")
	cmd.Flags().StringVar(&request.name, "name", "", "`NAME` of the key, 1 to 64 characters")
	addInstantFlag(cmd.Flags(), &request.expires, "expires", "`INSTANT` at which an operator's key ends (default: never)")
	location.register(cmd.Flags(), defaultFolder)
	return cmd
}

func (r *keyRequest) check() error {
	length := len([]rune(r.name))
	switch {
	case r.account != "" && (r.tier != "" || r.expires != 0):
		return usagef("--tier and --expires cannot be used with --account: they follow from the account's access")
	case r.account == "" && r.tier == "":
		return usagef("--tier is required: premium or full")
	case r.account == "" && (length < 1 || length > 64):
		return usagef("--name must have 1 to 64 characters, not %d", length)
	case r.expires != 0 && r.expires <= wallTime().UnixMilli():
		return usagef("--expires %s is in the past", assay.FormatInstant(r.expires))
	}
	if err := assay.CheckVisible("--name", r.name); err != nil {
		return usagef("%w", err)
	}
	return nil
}

func (r *keyRequest) create(ctx context.Context, db *store.DB, s *streams) error {
	if r.account != "" {
		return r.createForAccount(ctx, db, s)
	}
	tier, err := assay.ParseTier(r.tier)
	if err != nil {
		return usagef("--tier: %w", err)
	}
	secret, key, err := keys.Create(ctx, db, tier, r.name, r.expires)
	if err != nil {
		return err
	}
	fmt.Fprintln(s.out, secret.Reveal())
	s.note("created the %s key %s; it is not shown again", key.Tier, key.ID)
	return nil
}

func (r *keyRequest) createForAccount(ctx context.Context, db *store.DB, s *streams) error {
	accounts, err := loadAccounts(ctx, db)
	if err != nil {
		return err
	}
	secret, key, err := accounts.CreateKeyFor(ctx, r.account, r.name)
	if err != nil {
		return err
	}
	fmt.Fprintln(s.out, secret.Reveal())
	s.note("created the %s key %s of %s; it is not shown again", key.Tier, key.ID, r.account)
	return nil
}

// keyRow is a key in assay key list.
type keyRow struct {
	ID         string  `json:"id"`
	Prefix     string  `json:"prefix"`
	Tier       string  `json:"tier"`
	Name       string  `json:"name"`
	Owner      string  `json:"owner"` // operator or an email address
	CreatedAt  instant `json:"created_at"`
	ExpiresAt  instant `json:"expires_at"`
	RevokedAt  instant `json:"revoked_at"`
	LastUsedAt instant `json:"last_used_at"`
	State      string  `json:"state"` // active, ended or revoked
	Limit      int     `json:"limit,omitempty"`
}

func newKeyListCommand(s *streams) *cobra.Command {
	var location databaseLocation
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List all API keys, without their secrets",
		Example: "  assay key list\n  assay key list --json",
		Args:    arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withDatabase(cmd.Context(), location, func(db *store.DB) error {
				rows, err := keyRows(cmd.Context(), db)
				if err != nil {
					return err
				}
				header := []string{"ID", "KEY", "TIER", "NAME", "OWNER", "CREATED", "STATE"}
				return printList(s, asJSON, rows, header, keyRow.cells)
			})
		},
	}
	location.register(cmd.Flags(), defaultFolder)
	addJSONFlag(cmd, &asJSON)
	return cmd
}

func keyRows(ctx context.Context, db *store.DB) (rows []keyRow, err error) {
	list, err := db.ListKeys(ctx)
	if err != nil {
		return nil, err
	}
	directory, err := db.Directory(ctx) // afterwards, so that it has every owner
	if err != nil {
		return nil, err
	}
	owners := map[int64]string{0: "operator"}
	for _, a := range directory.Accounts {
		owners[a.ID] = a.Email
	}
	ends := keys.NewEnds(&directory)
	now := wallTime().UnixMilli()
	for _, k := range list {
		row := keyRow{
			ID: k.ID, Prefix: keys.Prefix(k.Tier) + k.ID, Tier: k.Tier.String(), Name: k.Name, Owner: owners[k.AccountID],
			CreatedAt: instant(k.CreatedAt), ExpiresAt: instant(ends.Of(k)), RevokedAt: instant(k.RevokedAt),
			LastUsedAt: instant(k.LastUsedAt), State: "active", Limit: k.Limit,
		}
		switch {
		case row.RevokedAt != 0:
			row.State = "revoked"
		case row.ExpiresAt != 0 && int64(row.ExpiresAt) <= now:
			row.State = "ended"
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func (k keyRow) cells() []string {
	state := k.State
	switch {
	case k.State == "revoked":
		state += " " + k.RevokedAt.String()
	case k.State == "ended":
		state += " " + k.ExpiresAt.String()
	case k.ExpiresAt != 0:
		state += " until " + k.ExpiresAt.String()
	}
	if k.Limit != 0 {
		state += fmt.Sprintf(", %d/min", k.Limit)
	}
	return []string{k.ID, k.Prefix + "_…", k.Tier, k.Name, k.Owner, k.CreatedAt.String(), state}
}

func newKeyLimitCommand(s *streams) *cobra.Command {
	var location databaseLocation
	cmd := &cobra.Command{
		Use:   "limit ID NUMBER",
		Short: "Give an API key a rate limit of its own",
		Long: `Give an API key a limit of so many requests per minute, in place of
--plan-limits and --key-limit of assay serve. 0 takes it away. A rotated key
keeps its limit. The limit of all keys of an account still applies.`,
		Example: "  assay key limit Ab3dE9 3000\n  assay key limit Ab3dE9 0",
		Args:    arguments("ID", "NUMBER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var limit int
			if err := parseNumber(&limit, 0, maxKeyLimit)(args[1]); err != nil {
				return usagef("invalid NUMBER %q: %w", args[1], err)
			}
			return withDatabase(cmd.Context(), location, func(db *store.DB) error {
				if err := db.LimitKey(cmd.Context(), args[0], limit); err != nil {
					return fmt.Errorf("%s: %w", redact.Keys(args[0]), err)
				}
				if limit == 0 {
					s.say("%s has the limit of its plan", args[0])
				} else {
					s.say("%s has %s per minute", args[0], count(limit, "request"))
				}
				return nil
			})
		},
	}
	location.register(cmd.Flags(), defaultFolder)
	return cmd
}

func newKeyRevokeCommand(s *streams) *cobra.Command {
	var location databaseLocation
	cmd := &cobra.Command{
		Use:     "revoke ID",
		Short:   "Revoke an API key for good",
		Long:    `Revoke an API key for good. The id is the one that assay key list shows.`,
		Example: "  assay key revoke Ab3dE9",
		Args:    arguments("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withDatabase(cmd.Context(), location, func(db *store.DB) error {
				if err := db.RevokeKey(cmd.Context(), args[0]); err != nil {
					return fmt.Errorf("%s: %w", redact.Keys(args[0]), err)
				}
				s.say("revoked %s", args[0])
				return nil
			})
		},
	}
	location.register(cmd.Flags(), defaultFolder)
	return cmd
}
