package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/files"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/publish"
	"github.com/assaydata/assay/internal/store"
)

func newMethodologyCommand(s *streams) *cobra.Command {
	return parentCommand(&cobra.Command{
		Use:   "methodology COMMAND",
		Short: "Show the rules of the index or adopt a new version",
		Long: `Show the rules of the index or adopt a new version.

A methodology is a TOML file with these keys: version, effective, decimals;
[fixing] zone, time; [minimum] transactions, providers; and, optional,
[[fallback]] name, transactions, providers, a weaker minimum for days, tried in
the order of the file; [winsorise] lower, upper; [cap] provider_share;
[publication] delay (default 5s), which a slot waits after its end for rows that
are on their way; [governance] notice (default 0h), which users get of the next
version and of the end of series; [otpi] minimum_models, minimum_requests
(default 1 each), below which a lab has no token price on a day, and mix, a
reference mix of input, cached and output tokens in percent; [workload]
like_for_like (lmdi, sato-vartia or geks), base, window_days, by which prices of
workloads are compared; [utilization] max_age, how long a reading counts;
[settlement] after, when a day of memory, models, coding or utilization is
final.`,
		Example: `  assay methodology show --dir data > methodology.toml
  assay backtest --dir data --methodology methodology.toml
  assay methodology adopt --dir data methodology.toml`,
	}, newMethodologyListCommand(s), newMethodologyShowCommand(s), newMethodologyAdoptCommand(s))
}

// withMethodologies opens a database whose methodologies are in order.
func withMethodologies(
	ctx context.Context, location databaseLocation, call func(db *store.DB, schedule index.Schedule) error,
) error {
	return withDatabase(ctx, location, func(db *store.DB) error {
		schedule, err := publish.LoadSchedule(ctx, db)
		if err != nil {
			return err
		}
		return call(db, schedule)
	})
}

// methodologyRow is a version in assay methodology list.
type methodologyRow struct {
	Version   string  `json:"version"`
	Effective instant `json:"effective"`
	AdoptedAt instant `json:"adopted_at"`
	Reason    string  `json:"reason"`
	Approver  string  `json:"approver"`
}

func newMethodologyListCommand(s *streams) *cobra.Command {
	var location databaseLocation
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the versions and when they take effect",
		Example: "  assay methodology list --dir data\n  assay methodology list --dir data --json",
		Args:    arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withMethodologies(cmd.Context(), location, func(db *store.DB, _ index.Schedule) error {
				files, err := db.Methodologies(cmd.Context())
				if err != nil {
					return err
				}
				var rows []methodologyRow
				for _, f := range files {
					rows = append(rows, methodologyRow{
						Version: f.Version, Effective: instant(f.Effective), AdoptedAt: instant(f.Adopted),
						Reason: f.Reason, Approver: f.Approver,
					})
				}
				if asJSON {
					return printJSONList(s.out, rows)
				}
				for _, r := range rows {
					fmt.Fprintf(s.out, "%-16s in effect from %s, adopted %s", r.Version, r.Effective, r.AdoptedAt)
					if r.Reason != "" {
						fmt.Fprintf(s.out, ", approved by %s: %s", r.Approver, r.Reason)
					}
					fmt.Fprintln(s.out)
				}
				return nil
			})
		},
	}
	location.register(cmd.Flags(), defaultFolder)
	addJSONFlag(cmd, &asJSON)
	return cmd
}

func newMethodologyShowCommand(s *streams) *cobra.Command {
	var location databaseLocation
	var version string
	cmd := &cobra.Command{
		Use:     "show",
		Short:   "Print a version as it was adopted",
		Example: "  assay methodology show --dir data\n  assay methodology show --dir data --version 1.0.0",
		Args:    arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withMethodologies(cmd.Context(), location, func(db *store.DB, _ index.Schedule) error {
				return showMethodology(cmd.Context(), db, version, s)
			})
		},
	}
	cmd.Flags().StringVar(&version, "version", "", "`VERSION` to print (default: the newest)")
	location.register(cmd.Flags(), defaultFolder)
	return cmd
}

func showMethodology(ctx context.Context, db *store.DB, version string, s *streams) error {
	files, err := db.Methodologies(ctx)
	if err != nil {
		return err
	}
	for i := len(files) - 1; i >= 0; i-- {
		if version == "" || files[i].Version == version {
			fmt.Fprint(s.out, files[i].Text)
			return nil
		}
	}
	return fmt.Errorf("no version %s; 'assay methodology list' shows all", version)
}

func newMethodologyAdoptCommand(s *streams) *cobra.Command {
	var location databaseLocation
	var reason, approver string
	cmd := &cobra.Command{
		Use:   "adopt FILE",
		Short: "Adopt a TOML file as the next version",
		Long: `Adopt a TOML file as the next version. It must take effect after everything that
is published: history keeps the version it was computed with. Once anything is
published, it cannot take effect in the past, and not before the notice that the
version in effect asks for (governance.notice, such as "168h") has passed.

The reason is public, at /api/methodology and in the log. The log commits to the
approver. assay backtest shows beforehand what a version would change.`,
		Example: `  assay methodology adopt next.toml --dir data --reason outliers \
    --approver committee`,
		Args: arguments("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if reason == "" || approver == "" {
				return usagef("a change of the methodology needs --reason and --approver")
			}
			return withMethodologies(cmd.Context(), location, func(db *store.DB, schedule index.Schedule) error {
				adoption := assay.MethodologyFile{Reason: reason, Approver: approver}
				if err := adoptMethodology(cmd.Context(), db, schedule, args[0], adoption, s); err != nil {
					return fmt.Errorf("%s: %w", args[0], err)
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "`TEXT` that says why; everyone can read it")
	cmd.Flags().StringVar(&approver, "approver", "", "`NAME` of who has approved the change")
	location.register(cmd.Flags(), defaultFolder)
	return cmd
}

// maxMethodologyFile is the size limit of a methodology, in bytes; one has some hundred.
const maxMethodologyFile = 64 << 10

func adoptMethodology(
	ctx context.Context, db *store.DB, schedule index.Schedule, name string, file assay.MethodologyFile, s *streams,
) error {
	text, err := files.Read(ctx, name, maxMethodologyFile)
	if err != nil {
		return err
	}
	m, err := index.ParseMethodology(string(text))
	if err != nil {
		return err
	}
	if _, ok := schedule.Version(m.Version); !ok {
		if _, err := schedule.With(m); err != nil {
			return err
		}
	}
	file.Version, file.Effective, file.Text = m.Version, m.Effective, string(text)
	if err := db.AdoptMethodology(ctx, file, schedule.At(wallTime().UnixMilli()).Notice); err != nil {
		return err
	}
	s.say("adopted: version %s, in effect from %s", m.Version, assay.FormatInstant(m.Effective))
	return nil
}
