package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
)

func newCatalogHideCommand(s *streams) *cobra.Command {
	return newVisibilityCommand(s, "hidden", (*store.DB).Hide, &cobra.Command{
		Use:   "hide KIND NAME",
		Short: "Hide an entry that is retired or was added by mistake",
		Long: `Hide an entry of a catalog: it is no longer listed and served, rows that name it
are rejected, and nothing more is published for it. What is stored and published
stays, and assay verify proves it as before.

KIND is ` + oneOf(assay.CatalogKinds) + `.`,
		Example: "  assay catalog hide gpu MI300X\n  assay catalog hide region ap-east",
	})
}

func newCatalogUnhideCommand(s *streams) *cobra.Command {
	return newVisibilityCommand(s, "visible", (*store.DB).Unhide, &cobra.Command{
		Use:   "unhide KIND NAME",
		Short: "Make a hidden entry visible again",
		Long: `Make a hidden entry visible again, with everything that is stored of it.

KIND is ` + oneOf(assay.CatalogKinds) + `.`,
		Example: "  assay catalog unhide region ap-east",
	})
}

// newVisibilityCommand completes a command that hides an entry or makes it visible.
func newVisibilityCommand(
	s *streams, state string, change func(*store.DB, context.Context, assay.CatalogEntry) error, cmd *cobra.Command,
) *cobra.Command {
	var location databaseLocation
	cmd.Args = arguments("KIND", "NAME")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		e := assay.CatalogEntry{Kind: args[0], Name: args[1]}
		if !slices.Contains(assay.CatalogKinds, e.Kind) {
			return usagef("invalid KIND %q: must be %s", e.Kind, oneOf(assay.CatalogKinds))
		}
		return withDatabase(cmd.Context(), location, func(db *store.DB) error {
			if err := change(db, cmd.Context(), e); err != nil {
				return err
			}
			s.say("%s %s is %s", e.Kind, e.Name, state)
			return nil
		})
	}
	location.register(cmd.Flags(), defaultFolder)
	return cmd
}
