package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assaydata/assay/internal/family"
	"github.com/assaydata/assay/internal/ingest"
	"github.com/assaydata/assay/internal/keys"
	"github.com/assaydata/assay/internal/redact"
	"github.com/assaydata/assay/internal/store"
)

func newIngestKeyCommand(s *streams) *cobra.Command {
	return parentCommand(&cobra.Command{
		Use:   "ingest-key COMMAND",
		Short: "Create, list and revoke keys with which sources send data",
		Long: `Create, list and revoke ingest keys. With one, a source sends its rows to
POST /api/ingest/FAMILY of a running server. A key is limited to one source and
to some families, and reads nothing. A running server picks up new and revoked
keys within a second.`,
		Example: `  assay ingest-key create --source exchange --families transactions
  assay ingest-key list
  assay ingest-key revoke Ab3dE9`,
	}, newIngestKeyCreateCommand(s), newIngestKeyListCommand(s), newIngestKeyRevokeCommand(s))
}

func newIngestKeyCreateCommand(s *streams) *cobra.Command {
	var location databaseLocation
	var source string
	var families []string
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Create an ingest key and print it once",
		Long: `Create an ingest key and print it to standard output. Only a hash of the key is
stored, so it cannot be shown again. Rows that name another source than the
key's are rejected, and rows that name none get it.`,
		Example: `  assay ingest-key create --source exchange --families transactions
  assay ingest-key create --source desk --families memory,models --dir data`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if source == "" || len(families) == 0 {
				return usagef("--source and --families are required")
			}
			if err := family.CheckText("--source", source); err != nil {
				return usagef("%w", err)
			}
			return withDatabase(cmd.Context(), location, func(db *store.DB) error {
				secret, key, err := keys.CreateIngest(cmd.Context(), db, source, families)
				if err != nil {
					return err
				}
				fmt.Fprintln(s.out, secret.Reveal())
				s.note("created the ingest key %s of %s; it is not shown again", key.ID, key.Source)
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&source, "source", "", "`NAME` of the only source whose rows the key may send")
	usage := "`FAMILY,…`: what the key may send, such as transactions,memory"
	parsedFlag(cmd.Flags(), "families", listFlag, "", usage, func(text string) error {
		families = nil
		for _, name := range splitList(text) {
			if _, ok := ingest.FindFamily(name); !ok {
				return fmt.Errorf("%q is not a family: must be %s", name, oneOf(familyNames()))
			}
			if !slices.Contains(families, name) {
				families = append(families, name)
			}
		}
		return nil
	})
	completeFlag(cmd, "families", familyNames()...)
	location.register(cmd.Flags(), defaultFolder)
	return cmd
}

// ingestKeyRow is a key in assay ingest-key list.
type ingestKeyRow struct {
	ID        string   `json:"id"`
	Prefix    string   `json:"prefix"`
	Source    string   `json:"source"`
	Families  []string `json:"families"`
	CreatedAt instant  `json:"created_at"`
	RevokedAt instant  `json:"revoked_at"`
	State     string   `json:"state"` // active or revoked
}

func (k ingestKeyRow) cells() []string {
	state := k.State
	if k.RevokedAt != 0 {
		state += " " + k.RevokedAt.String()
	}
	return []string{k.ID, k.Prefix + "_…", k.Source, strings.Join(k.Families, ","), k.CreatedAt.String(), state}
}

func newIngestKeyListCommand(s *streams) *cobra.Command {
	var location databaseLocation
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List all ingest keys, without their secrets",
		Example: "  assay ingest-key list\n  assay ingest-key list --json",
		Args:    arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withDatabase(cmd.Context(), location, func(db *store.DB) error {
				list, _, err := db.IngestKeys(cmd.Context())
				if err != nil {
					return err
				}
				rows := make([]ingestKeyRow, len(list))
				for i, k := range list {
					rows[i] = ingestKeyRow{
						ID: k.ID, Prefix: keys.IngestPrefix + k.ID, Source: k.Source, Families: k.Families,
						CreatedAt: instant(k.CreatedAt), RevokedAt: instant(k.RevokedAt), State: "active",
					}
					if k.RevokedAt != 0 {
						rows[i].State = "revoked"
					}
				}
				header := []string{"ID", "KEY", "SOURCE", "FAMILIES", "CREATED", "STATE"}
				return printList(s, asJSON, rows, header, ingestKeyRow.cells)
			})
		},
	}
	location.register(cmd.Flags(), defaultFolder)
	addJSONFlag(cmd, &asJSON)
	return cmd
}

func newIngestKeyRevokeCommand(s *streams) *cobra.Command {
	var location databaseLocation
	cmd := &cobra.Command{
		Use:     "revoke ID",
		Short:   "Revoke an ingest key for good",
		Long:    `Revoke an ingest key for good. The id is that of assay ingest-key list.`,
		Example: "  assay ingest-key revoke Ab3dE9",
		Args:    arguments("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withDatabase(cmd.Context(), location, func(db *store.DB) error {
				if err := db.RevokeIngestKey(cmd.Context(), args[0]); err != nil {
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
