package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/assaydata/assay/internal/store"
)

func newInitCommand(s *streams) *cobra.Command {
	var location databaseLocation
	var noKey bool
	var logName string
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Create a database and the key that signs published days",
		Long: `Create a database, and the key that signs published days. No other command
creates a database, except assay demo and assay serve --init: elsewhere a folder
without one is a typing error.

A SQLite database is created in a folder. For PostgreSQL, create an empty
database first; the folder then holds the signing key. Keep a copy of that key:
it is neither in the database nor in its backup.`,
		Example: `  assay init --dir data
  assay init --store postgres://assay@db/assay --dir /var/lib/assay`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !noKey {
				if err := ensureSigningKey(location.folder(), s); err != nil {
					return err
				}
			}
			db, err := store.Create(cmd.Context(), location.address())
			if err != nil {
				return fmt.Errorf("create a database in %s: %w", location.asFlag(), err)
			}
			defer db.Close()
			s.say("created a database in %s", location)
			if logName == "" {
				return nil
			}
			return db.NameLog(cmd.Context(), logName)
		},
	}
	location.register(cmd.Flags(), defaultFolder)
	parsedFlag(cmd.Flags(), "log-name", textFlag, "",
		"`NAME` of the log for everyone who checks it, such as index.example.com; no other log may have it (default: random)",
		func(text string) error {
			logName = text
			return store.CheckLogName(text)
		})
	cmd.Flags().BoolVar(&noKey, "no-signing-key", false,
		"create no signing key: another node publishes, or days are not signed")
	return cmd
}

// ensureSigningKey creates the signing key unless there is one.
func ensureSigningKey(folder string, s *streams) error {
	key, err := readSigningKey(folder)
	if err != nil || key != nil {
		return err
	}
	if key, err = createSigningKey(folder); err != nil {
		return err
	}
	s.say("created %s", filepath.Join(folder, signingKeyFile))
	fmt.Fprintf(s.out, "public key: %s\n", publicKeyText(key))
	return nil
}
