package main

import (
	"context"
	"crypto/ed25519"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/assaydata/assay/internal/family"
	"github.com/assaydata/assay/internal/ingest"
	"github.com/assaydata/assay/internal/intake"
	"github.com/assaydata/assay/internal/natsqueue"
	"github.com/assaydata/assay/internal/store"
)

func newIngestCommand(s *streams) *cobra.Command {
	return parentCommand(&cobra.Command{
		Use:   "ingest COMMAND",
		Short: "Import rows from a queue as they come",
		Long: `Import rows from a queue as they come, until an interrupt. Sources without a
queue send rows to POST /api/ingest of a running server, or put files into the
folder of assay serve --watch.`,
		Example: `  assay ingest nats --stream TRADES --family transactions --source exchange`,
	}, newIngestNATSCommand(s))
}

// natsConfig is what assay ingest nats imports, and from where.
type natsConfig struct {
	location databaseLocation
	family   string
	source   string
	queue    natsqueue.Config
}

func newIngestNATSCommand(s *streams) *cobra.Command {
	var config natsConfig
	cmd := &cobra.Command{
		Use:   "nats",
		Short: "Import the messages of a NATS JetStream stream",
		Long: `Import the messages of a NATS JetStream stream until an interrupt. A message has
rows of one family as NDJSON, one JSON object a line, with the columns of
assay import.

A message is acknowledged after its rows are in the database, and rows have
keys: after a crash of this program, of the database or of NATS, each row is
stored once. A message with a row that is wrong, or known with another content,
is terminated with the reason; its other rows are stored. While the database is
down, nothing is fetched. Run it next to assay serve, on the same database.`,
		Example: `  assay ingest nats --stream TRADES --family transactions --source exchange
  assay ingest nats --server tls://nats.example.com --credentials nats.creds \
    --stream PRICES --subject prices.memory --consumer memory --family memory`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return ingestNATS(cmd.Context(), config, s)
		},
	}
	flags := cmd.Flags()
	config.location.register(flags, defaultFolder)
	config.queue.Server, config.queue.Consumer = "nats://127.0.0.1:4222", "assay"
	addAddressFlag(flags, &config.queue.Server, "server", "`URL,…` of the NATS servers, nats:// or tls://",
		natsqueue.CheckServer)
	flags.StringVar(&config.queue.Stream, "stream", "", "`NAME` of the stream (required)")
	flags.StringVar(&config.queue.Consumer, "consumer", config.queue.Consumer,
		"`NAME` of the durable consumer, which is created if there is none")
	flags.StringVar(&config.queue.Subject, "subject", "", "`SUBJECT` of the messages to import (default: all)")
	flags.StringVar(&config.queue.Credentials, "credentials", "", "`FILE` with the credentials of a NATS user")
	flags.StringVar(&config.queue.CA, "ca", "",
		"`FILE` with the authority of the servers' certificates (default: those of the system)")
	addChoiceFlag(cmd, &config.family, "family", "`FAMILY` of the rows (required): "+oneOf(familyNames()),
		familyNames()...)
	flags.StringVar(&config.source, "source", "",
		"`NAME` of the only source whose rows are imported (default: as rows say)")
	return cmd
}

func ingestNATS(ctx context.Context, config natsConfig, s *streams) error {
	if config.queue.Stream == "" || config.family == "" || config.queue.Consumer == "" {
		return usagef("--stream and --family are required")
	}
	if config.source != "" {
		if err := family.CheckText("--source", config.source); err != nil {
			return usagef("%w", err)
		}
	}
	rows, _ := ingest.FindFamily(config.family)
	var level slog.LevelVar
	log := newLog(s.err, &level, logJSON)
	return withDatabase(ctx, config.location, func(db *store.DB) error {
		config.queue.Log = log
		queue, err := natsqueue.Open(ctx, config.queue)
		if err != nil {
			return err
		}
		defer queue.Close()
		service := intake.New(intake.Config{
			SigningKey: func(context.Context, *store.DB) (ed25519.PrivateKey, error) {
				return nil, nil //nolint:nilnil // no one gets a receipt: the acknowledgment is one
			},
			Folder: os.TempDir(), Now: wallTime, Log: log,
		})
		service.Open(db)
		s.say("importing %s from the stream %s", config.family, config.queue.Stream)
		var total intake.Consumed
		err = service.Consume(ctx, queue, rows, config.source, func(done intake.Consumed) {
			total = done
			log.Info("imported messages", "messages", done.Messages, "stored", done.Stored, "known", done.Known,
				"refused", done.Refused)
		})
		s.say("imported %d messages: %d rows new, %d known before; %d messages refused",
			total.Messages, total.Stored, total.Known, total.Refused)
		return err
	})
}
