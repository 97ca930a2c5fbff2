package main

import (
	"github.com/spf13/cobra"

	"github.com/assaydata/assay/internal/store"
)

func newBackupCommand(s *streams) *cobra.Command {
	var location databaseLocation
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy the database to a file, also while it is served",
		Long: `Write a consistent copy of a SQLite database to a new file, also while it is
served. To restore it, put the file into an empty folder as ` + store.FileName + `.
The signing key is a separate file: copy it too.`,
		Example: "  assay backup --dir data backups/monday.db",
		Args:    arguments("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withDatabase(cmd.Context(), location, func(db *store.DB) error {
				if err := db.Backup(cmd.Context(), args[0]); err != nil {
					return err
				}
				s.say("backed up %s to %s", location, args[0])
				return nil
			})
		},
	}
	location.register(cmd.Flags(), defaultFolder)
	return cmd
}
