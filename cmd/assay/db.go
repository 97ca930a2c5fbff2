package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assaydata/assay/internal/store"
)

func newDBCommand(s *streams) *cobra.Command {
	return parentCommand(&cobra.Command{
		Use:   "db COMMAND",
		Short: "Show or upgrade the tables of a database",
		Long: `Show or upgrade the tables of a database.

A release may need other tables than the one before. Their version is the schema
number, which assay version and /health show too. A program refuses a database
with an older schema until assay db upgrade has run, or assay serve --upgrade.
Nodes of the release before keep running while and after that, so that nodes can
be replaced one after another.`,
		Example: `  assay db status --dir data
  assay db upgrade --dir data --backup before-upgrade.db`,
	}, newDBStatusCommand(s), newDBUpgradeCommand(s))
}

// schemaView is what db status prints.
type schemaView struct {
	Database string   `json:"database"`
	Schema   int      `json:"schema"`         // 0: there are no tables
	Program  int      `json:"program_schema"` // that this program needs
	Usable   bool     `json:"usable"`
	Pending  []string `json:"pending"` // what an upgrade runs
}

func newDBStatusCommand(s *streams) *cobra.Command {
	var location databaseLocation
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show which schema a database has and whether it needs an upgrade",
		Long: `Show which schema a database has, and what an upgrade would run. Nothing is
changed.`,
		Example: "  assay db status --dir data\n  assay db status --dir data --json",
		Args:    arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			schema, err := store.ReadSchema(cmd.Context(), location.address())
			if err != nil {
				return location.explain(err)
			}
			view := schemaView{location.String(), schema.Database, schema.Program, schema.Usable, schema.Pending}
			if asJSON {
				view.Pending = append([]string{}, view.Pending...) // not null
				return printJSON(s.out, view)
			}
			fmt.Fprintf(s.out, "database: %s\nschema: %d\nschema of this program: %d\nstate: %s\n",
				view.Database, view.Schema, view.Program, view.state(location))
			return nil
		},
	}
	location.register(cmd.Flags(), defaultFolder)
	addJSONFlag(cmd, &asJSON)
	return cmd
}

func (v schemaView) state(l databaseLocation) string {
	switch {
	case v.Usable && v.Schema > v.Program:
		return "of a later release, which this program can use too"
	case v.Usable:
		return "up to date"
	case v.Schema == 0:
		return "without tables. Create them: " + l.asCommand("init")
	case v.Schema > v.Program:
		return "of a later release: use a newer assay"
	default:
		return fmt.Sprintf("needs an upgrade (%s): %s", strings.Join(v.Pending, ", "), l.asCommand("db upgrade"))
	}
}

func newDBUpgradeCommand(s *streams) *cobra.Command {
	var location databaseLocation
	var backup string
	cmd := &cobra.Command{
		Use:   "upgrade",
		Short: "Bring the tables of an earlier release up to date",
		Long: `Bring the tables of an earlier release up to date: completely, or not at all if
it fails or is interrupted. With --backup, a SQLite database is copied to a file
first. Back up a PostgreSQL database with its own tools.`,
		Example: "  assay db upgrade --dir data --backup before-upgrade.db",
		Args:    arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return upgradeDatabase(cmd.Context(), location, backup, s)
		},
	}
	location.register(cmd.Flags(), defaultFolder)
	cmd.Flags().StringVar(&backup, "backup", "", "`FILE` to copy a SQLite database to first")
	return cmd
}

func upgradeDatabase(ctx context.Context, location databaseLocation, backup string, s *streams) error {
	before, err := store.ReadSchema(ctx, location.address())
	if err != nil {
		return location.explain(err)
	}
	if len(before.Pending) == 0 || before.Database == 0 {
		state := schemaView{"", before.Database, before.Program, before.Usable, nil}.state(location)
		if !before.Usable {
			return fmt.Errorf("%s is %s", location, state)
		}
		s.say("%s is %s", location, state)
		return nil
	}
	err = store.Upgrade(ctx, location.address(), backup, func(migration string, number, of int) {
		s.note("upgrading %d of %d: %s", number, of, migration)
	})
	if err != nil {
		return err
	}
	if backup != "" {
		s.say("backed up %s to %s", location, backup)
	}
	s.say("upgraded %s from schema %d to %d", location, before.Database, before.Program)
	return nil
}
