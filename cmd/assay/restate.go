package main

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/assaydata/assay/internal/publish"
	"github.com/assaydata/assay/internal/store"
)

func newRestateCommand(s *streams) *cobra.Command {
	var location databaseLocation
	var why justification
	var period publish.Restatement
	cmd := &cobra.Command{
		Use:   "restate",
		Short: "Recompute a published period, as new revisions",
		Long: `Recompute the published hours and days of a GPU with all transactions known now,
under the methodology in effect for them. Slots whose transactions have changed
get a new revision. Nothing is overwritten: as_of still returns what was known
before. assay late lists the changes that a restatement would take into account.`,
		Example: `  assay restate --gpu "H100 SXM" --from 2026-07-01 --to 2026-07-08 \
    --reason "late invoices" --actor "Ada Example"`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case period.GPU == "":
				return usagef("--gpu is required")
			case period.From == 0 || period.To == 0:
				return usagef("--from and --to are required: the period to recompute")
			case period.From >= period.To:
				return usagef("--from must be before --to")
			}
			if err := why.check(); err != nil {
				return err
			}
			period.Reason, period.Actor = why.reason, why.actor
			return withDatabase(cmd.Context(), location, func(db *store.DB) error {
				return restate(cmd.Context(), db, location, period, s)
			})
		},
	}
	cmd.Flags().StringVar(&period.GPU, "gpu", "", "`NAME` of the GPU")
	addInstantFlag(cmd.Flags(), &period.From, "from", "`INSTANT` at which the first window starts")
	addInstantFlag(cmd.Flags(), &period.To, "to", "`INSTANT` at which the last window ends")
	why.register(cmd.Flags())
	location.register(cmd.Flags(), defaultFolder)
	return cmd
}

func restate(
	ctx context.Context, db *store.DB, location databaseLocation, period publish.Restatement, s *streams,
) error {
	if err := checkGPU(ctx, db, period.GPU); err != nil {
		return err
	}
	key, err := commandSigningKey(ctx, db, location.folder())
	if err != nil {
		return err
	}
	publisher := &publish.Publisher{Store: db, Key: key, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
	done, err := publisher.Restate(ctx, period)
	if err != nil {
		return err
	}
	if done.Version == 0 {
		s.say("nothing to restate: no slot in this period has other transactions than when it was published")
		return nil
	}
	s.say("restated: %s new revisions, %s of them with a different value; %s late entries settled (version %d)",
		thousands(done.Slots), thousands(done.Moved), thousands(done.Settled), done.Version)
	return publisher.Sign(ctx)
}

// checkGPU refuses a name that is not in the catalog.
func checkGPU(ctx context.Context, db *store.DB, name string) error {
	catalog, err := db.Catalog(ctx)
	if err != nil {
		return err
	}
	if _, ok := catalog.GPU(name); ok {
		return nil
	}
	names := make([]string, len(catalog.GPUs))
	for i, gpu := range catalog.GPUs {
		names[i] = gpu.Name
	}
	return usagef("invalid value %q for --gpu: must be one of %s", name, strings.Join(names, ", "))
}
