package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/assaydata/assay/internal/store"
)

func newSourceCommand(s *streams) *cobra.Command {
	return parentCommand(&cobra.Command{
		Use:   "source COMMAND",
		Short: "Say which sources must deliver before an hour is published",
		Long: `Say which sources of transactions must deliver before an hour is published.

An hour without a transaction of an expected source is held, not published, and
/health says so. It is published when the source delivers, when the source is
declared complete past the hour, or when an operator runs assay publish.`,
		Example: `  assay source expect exchange --dir data
  assay source complete exchange --until 2026-11-01T12:00:00Z --dir data
  assay source list --dir data`,
	}, newSourceListCommand(s), newSourceExpectCommand(s), newSourceForgetCommand(s), newSourceCompleteCommand(s))
}

// expectedSourceRow is a source in assay source list.
type expectedSourceRow struct {
	Source        string   `json:"source"`
	CompleteUntil *instant `json:"complete_until"` // null if the source has declared nothing
}

func newSourceListCommand(s *streams) *cobra.Command {
	var location databaseLocation
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the expected sources and how far they are complete",
		Example: "  assay source list --dir data\n  assay source list --dir data --json",
		Args:    arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withDatabase(cmd.Context(), location, func(db *store.DB) error {
				list, err := db.ExpectedSources(cmd.Context())
				if err != nil {
					return err
				}
				var rows []expectedSourceRow
				for _, e := range list {
					row := expectedSourceRow{Source: e.Source}
					if e.CompleteUntil != 0 {
						until := instant(e.CompleteUntil)
						row.CompleteUntil = &until
					}
					rows = append(rows, row)
				}
				if asJSON {
					return printJSONList(s.out, rows)
				}
				for _, r := range rows {
					complete := "nothing declared"
					if r.CompleteUntil != nil {
						complete = "complete until " + r.CompleteUntil.String()
					}
					fmt.Fprintf(s.out, "%-24s %s\n", r.Source, complete)
				}
				return nil
			})
		},
	}
	location.register(cmd.Flags(), defaultFolder)
	addJSONFlag(cmd, &asJSON)
	return cmd
}

func newSourceExpectCommand(s *streams) *cobra.Command {
	return newSourceChangeCommand(s, &cobra.Command{
		Use:     "expect NAME",
		Short:   "Publish no hour without a transaction of this source",
		Example: "  assay source expect exchange --dir data",
	}, "expected: %s", (*store.DB).ExpectSource)
}

func newSourceForgetCommand(s *streams) *cobra.Command {
	return newSourceChangeCommand(s, &cobra.Command{
		Use:     "forget NAME",
		Short:   "Publish hours also without this source",
		Example: "  assay source forget exchange --dir data",
	}, "no longer expected: %s", (*store.DB).ForgetSource)
}

// newSourceChangeCommand completes a command that changes whether a source is expected.
func newSourceChangeCommand(
	s *streams, cmd *cobra.Command, done string, change func(*store.DB, context.Context, string) error,
) *cobra.Command {
	var location databaseLocation
	cmd.Args = arguments("NAME")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return withDatabase(cmd.Context(), location, func(db *store.DB) error {
			if err := change(db, cmd.Context(), args[0]); err != nil {
				return sourceError(args[0], err)
			}
			s.say(done, args[0])
			return nil
		})
	}
	location.register(cmd.Flags(), defaultFolder)
	return cmd
}

func newSourceCompleteCommand(s *streams) *cobra.Command {
	var location databaseLocation
	var until int64
	cmd := &cobra.Command{
		Use:   "complete NAME",
		Short: "Declare that a source has delivered everything",
		Long: `Declare that an expected source has delivered everything executed before an
instant. Hours up to it no longer wait for the source. A feed can do this after
each delivery; assay import transactions --complete-until does it at the end of
an import.`,
		Example: "  assay source complete exchange --until 2026-11-01T12:00:00Z --dir data",
		Args:    arguments("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkCompleteUntil("--until", until); err != nil {
				return err
			}
			return withDatabase(cmd.Context(), location, func(db *store.DB) error {
				return completeSource(cmd.Context(), db, args[0], until, s)
			})
		},
	}
	addInstantFlag(cmd.Flags(), &until, "until", "`INSTANT` before which nothing is missing (required)")
	location.register(cmd.Flags(), defaultFolder)
	return cmd
}

// checkCompleteUntil refuses a declaration about the future, which would switch the check off.
func checkCompleteUntil(flag string, until int64) error {
	switch now := wallTime().UnixMilli(); {
	case until == 0:
		return usagef("%s is required", flag)
	case until > now:
		return usagef("%s must not be in the future", flag)
	}
	return nil
}

// checkExpected refuses a source that is not expected before anything is done for it.
func checkExpected(ctx context.Context, db *store.DB, source string) error {
	list, err := db.ExpectedSources(ctx)
	if err == nil && !slices.ContainsFunc(list, func(e store.ExpectedSource) bool { return e.Source == source }) {
		err = store.ErrNotExpected
	}
	return sourceError(source, err)
}

func completeSource(ctx context.Context, db *store.DB, source string, until int64, s *streams) error {
	if err := db.CompleteSource(ctx, source, until); err != nil {
		return sourceError(source, err)
	}
	s.say("complete: %s until %s", source, instant(until))
	return nil
}

// sourceError names the source, and says what to do.
func sourceError(source string, err error) error {
	if errors.Is(err, store.ErrNotExpected) {
		return fmt.Errorf("%q is not an expected source: assay source list shows them, assay source expect adds one", source)
	}
	if errors.Is(err, store.ErrExpected) {
		return fmt.Errorf("%q is an expected source already", source)
	}
	return err
}
