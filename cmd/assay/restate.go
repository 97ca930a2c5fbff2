package main

import (
	"context"
	"errors"
	"log/slog"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/family"
	"github.com/assaydata/assay/internal/publish"
	"github.com/assaydata/assay/internal/store"
)

func newRestateCommand(s *streams) *cobra.Command {
	var location databaseLocation
	var why justification
	var period publish.Restatement
	var dryRun bool
	var familyName string
	cmd := &cobra.Command{
		Use:   "restate",
		Short: "Recompute a published period, as new revisions",
		Long: `Recompute the published hours and days of a GPU with all transactions known now,
under the methodology in effect for them. Slots whose transactions have changed
get a new revision. Nothing is overwritten: as_of still returns what was known
before. assay late lists the changes that a restatement would take into account.

--late recomputes exactly what that list is about, of all GPU models. --dry-run
publishes nothing: it prints each value before and after, as CSV.

--family lets late rows of memory, models, coding or utilization count, those
that are about the period, or all with --late. --dry-run then prints the rows.`,
		Example: `  assay restate --gpu "H100 SXM" --from 2026-07-01 --to 2026-07-08 \
    --reason "late invoices" --actor "Ada Example"
  assay restate --late --dry-run
  assay restate --late --reason "late invoices"
  assay restate --family models --from 2026-07-01 --to 2026-07-08 \
    --reason "the lab has corrected its usage"`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case period.Late && (period.GPU != "" || period.From != 0 || period.To != 0):
				return usagef("--late finds the period: it cannot be used with --gpu, --from or --to")
			case familyName != "" && period.GPU != "":
				return usagef("--family cannot be used with --gpu: GPU prices are restated from transactions")
			case period.Late:
			case period.GPU == "" && familyName == "":
				return usagef("--gpu is required, or --late or --family")
			case period.From == 0 || period.To == 0:
				return usagef("--from and --to are required: the period to recompute")
			case period.From >= period.To:
				return usagef("--from must be before --to")
			}
			if !dryRun {
				if err := why.check(); err != nil {
					return err
				}
			}
			period.Reason, period.Actor = why.reason, why.actor
			if familyName != "" {
				f, err := settlingFamily(familyName)
				if err != nil {
					return err
				}
				r := assay.Restatement{From: period.From, To: period.To, Reason: period.Reason, Actor: period.Actor}
				if period.Late {
					r.From, r.To = assay.Earliest, assay.Latest
				}
				return withDatabase(cmd.Context(), location, func(db *store.DB) error {
					if dryRun {
						return previewFamilyRestatement(cmd.Context(), db, f, r, s)
					}
					return restateFamily(cmd.Context(), db, location, f, r, s)
				})
			}
			if dryRun {
				return withDatabase(cmd.Context(), location, func(db *store.DB) error {
					return previewRestatement(cmd.Context(), db, period, s)
				})
			}
			return withDatabase(cmd.Context(), location, func(db *store.DB) error {
				return restate(cmd.Context(), db, location, period, s)
			})
		},
	}
	cmd.Flags().StringVar(&period.GPU, "gpu", "", "`NAME` of the GPU")
	cmd.Flags().StringVar(&familyName, "family", "", "`NAME` of a family whose late rows shall count, instead of a GPU")
	addInstantFlag(cmd.Flags(), &period.From, "from", "`INSTANT` at which the first window starts")
	addInstantFlag(cmd.Flags(), &period.To, "to", "`INSTANT` at which the last window ends")
	cmd.Flags().BoolVar(&period.Late, "late", false, "recompute what assay late lists, instead of a period")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "print the values before and after, and publish nothing")
	why.register(cmd.Flags())
	location.register(cmd.Flags(), defaultFolder)
	return cmd
}

// nothingToRestate says that a restatement would change nothing.
func nothingToRestate(period publish.Restatement) string {
	if period.Late {
		return "nothing to restate: nothing is late"
	}
	return "nothing to restate: no slot in this period has other transactions than when it was published"
}

// previewRestatement prints what a restatement would change.
func previewRestatement(ctx context.Context, db *store.DB, period publish.Restatement, s *streams) error {
	if err := checkPeriodGPU(ctx, db, period); err != nil {
		return err
	}
	publisher := &publish.Publisher{Store: db, Now: wallTime, Log: slog.New(slog.DiscardHandler)}
	var done publish.Restated
	err := writeCSV(s.out, func(row func(...string) error) error {
		err := row("gpu_name", "region", "period", "at", "revision", "before", "after")
		period.Preview = func(before, after *assay.Determination) {
			if err == nil {
				err = row(after.GPU, after.Region, after.Grain.String(), assay.FormatInstant(after.At),
					strconv.Itoa(after.Revision), valueText(before), valueText(after))
			}
		}
		var failed error
		done, failed = publisher.Restate(ctx, period)
		return errors.Join(err, failed)
	})
	if err != nil {
		return err
	}
	if done.Slots == 0 && done.Settled == 0 {
		s.note("%s", nothingToRestate(period))
		return nil
	}
	s.note("a restatement would make %s, %s of them with a different value, and settle %s; nothing is published",
		count(done.Slots, "new revision"), thousands(done.Moved), countLate(done.Settled))
	return nil
}

// valueText is the value of a slot, or nothing.
func valueText(d *assay.Determination) string {
	if d == nil || !d.HasValue {
		return ""
	}
	return d.Value.String()
}

func countLate(n int) string {
	if n == 1 {
		return "1 late entry"
	}
	return thousands(n) + " late entries"
}

func restate(
	ctx context.Context, db *store.DB, location databaseLocation, period publish.Restatement, s *streams,
) error {
	if err := checkPeriodGPU(ctx, db, period); err != nil {
		return err
	}
	publisher, err := commandPublisher(ctx, db, location)
	if err != nil {
		return err
	}
	done, err := publisher.Restate(ctx, period)
	if err != nil {
		return err
	}
	if done.Version == 0 {
		s.say("%s", nothingToRestate(period))
	} else {
		s.say("restated: %s, %s of them with a different value; %s settled (version %d)",
			count(done.Slots, "new revision"), thousands(done.Moved), countLate(done.Settled), done.Version)
	}
	err = publisher.Sign(ctx) // also if nothing is new: an earlier run may have been stopped before it signed
	publisher.AwaitServed(ctx)
	return err
}

func checkPeriodGPU(ctx context.Context, db *store.DB, period publish.Restatement) error {
	if period.Late {
		return nil
	}
	return checkGPU(ctx, db, "--gpu", period.GPU)
}

// checkGPU refuses a name that is not in the catalog. It was given as a flag or an argument.
func checkGPU(ctx context.Context, db *store.DB, as, name string) error {
	catalog, _, err := db.CatalogWithHidden(ctx)
	if err != nil {
		return err
	}
	if _, ok := catalog.GPU(name); ok {
		return nil
	}
	return usagef("invalid value %q for %s: must be one of %s", name, as, family.Listed(catalog.GPUNames()))
}
