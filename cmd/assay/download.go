package main

import (
	"context"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/assaydata/assay/client"
	"github.com/assaydata/assay/internal/download"
)

// downloadConfig is the configuration of a download.
type downloadConfig struct {
	source   serverSource
	folder   string
	datasets []string
}

// The patience of a download: a server that makes its list, or is over its limit, says when to come back.
const (
	downloadRetries = 6
	downloadMaxWait = 3 * time.Minute
)

func newDownloadCommand(s *streams) *cobra.Command {
	var c downloadConfig
	cmd := &cobra.Command{
		Use:   "download",
		Short: "Keep a folder with all data of a server current",
		Long: `Keep a folder with all data of a server current.

The server has each dataset as one Parquet file a month, once the month is
complete. This command downloads the files that are not in the folder, and
checks the SHA-256 of each. An interrupted download continues where it stopped,
even at another node. When values of a month are restated, its file is replaced.
Run it again to get what is new, for example once a day.

The files of a dataset are in a folder of its name. Programs such as DuckDB
read all of them together: SELECT * FROM 'data/gpu-hourly/*.parquet'.

The datasets are gpu-daily, gpu-hourly (needs a Full key), gpu-utilization,
memory-daily, otpi, workload, workload-daily and coding; "all" stands for those
that the key may read.`,
		Example: `  assay download --server https://assay.example.com --key-file key.txt \
    --dataset gpu-hourly --out data
  assay download --server http://127.0.0.1:8080 --key-file key.txt \
    --dataset all --out data`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error { return runDownload(cmd.Context(), &c, s) },
	}
	flags := cmd.Flags()
	c.source.register(flags)
	c.registerDatasets(flags)
	flags.StringVar(&c.folder, "out", "", "`FOLDER` of the files; created if it is missing (required)")
	return cmd
}

func (c *downloadConfig) registerDatasets(flags *pflag.FlagSet) {
	parsedFlag(flags, "dataset", listFlag, "", "`NAME,…` of datasets, or all (required)", func(text string) error {
		c.datasets = splitList(text)
		return nil
	})
}

func runDownload(ctx context.Context, c *downloadConfig, s *streams) error {
	key, err := c.source.readKey()
	switch {
	case err != nil:
		return err
	case key == "":
		return usagef("--key-file is required")
	case len(c.datasets) == 0:
		return usagef("--dataset is required")
	case c.folder == "":
		return usagef("--out is required")
	case slices.Contains(c.datasets, download.All):
		c.datasets = []string{download.All}
	}
	reader, err := client.New(c.source.server, client.WithKey(key), client.WithRetries(downloadRetries),
		client.WithMaxWait(downloadMaxWait))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.folder, 0o755); err != nil { //nolint:gosec // G301: the folder is for other programs
		return err
	}
	folder, err := os.OpenRoot(c.folder)
	if err != nil {
		return err
	}
	defer func() { _ = folder.Close() }() // it has nothing to write
	d := &download.Downloader{Client: reader, Folder: folder, Wait: sleep, Report: func(f *client.BulkFile) {
		s.say("%s: %s, %s", f.Name, count(int(f.Rows), "row"), count(int(f.Size), "byte"))
	}}
	result, err := d.Run(ctx, c.datasets)
	if err != nil {
		return err
	}
	s.say("downloaded: %s, %s; %s up to date, %s removed", count(result.Downloaded, "file"),
		count(int(result.Bytes), "byte"), count(result.Present, "file"), count(result.Removed, "earlier revision"))
	return nil
}
