package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/assaydata/assay/internal/files"
	"github.com/assaydata/assay/internal/ingest"
	"github.com/assaydata/assay/internal/store"
)

func newImportCommand(s *streams) *cobra.Command {
	parent := &cobra.Command{
		Use:   "import COMMAND",
		Short: "Import data from files and feeds",
		Long: `Import a data family from files and feeds.

Files can be CSV with a header (.csv), NDJSON (.ndjson, .jsonl), both also
compressed (.gz, .zst), and Parquet (.parquet). A folder stands for all such
files in it and below, in the order of their paths, without hidden ones. A dash
(-) is standard input, with its format in --format.

The header of a CSV file names the columns, in any order. Unknown columns are
refused unless --ignore-columns is given; --map says what the file calls a
column. --delimiter and --encoding read what a spreadsheet writes.

Rows are committed in batches. A known row changes nothing, so you can simply
repeat an import that was interrupted. A bad row is reported with its file, line
and reason, and the import continues; the exit code is then 3. --rejects adds
bad rows to a file with a column for the reason: correct them there, and import
that file. A row with different content under a known key is reported and left
out, unless --revise says that it is a correction.

With --follow, standard input is an NDJSON feed that need not end. Each row is
committed within --follow-delay, and standard output then says up to which line
all rows are safe. While the database is away, the feed waits. At the end of the
input, and on SIGINT or SIGTERM, the remaining rows are committed. To continue
an interrupted feed, send what follows the last committed line; rows that are
sent twice are stored once.

In Parquet files, numbers are integers, DECIMAL, text, or DOUBLE (read as its
shortest decimal form); instants are text or TIMESTAMP in whole milliseconds;
days are text or DATE.`,
		Example: `  assay import transactions --dir data trades.csv more-trades/
  assay template memory | assay import memory --dir data -
  feed | assay import transactions --dir data --follow -`,
	}
	families := make([]*cobra.Command, len(ingest.Families))
	for i, family := range ingest.Families {
		families[i] = newImportFamilyCommand(s, family)
	}
	return parentCommand(parent, families...)
}

func newImportFamilyCommand(s *streams, family ingest.Family) *cobra.Command {
	config := importConfig{family: family, followDelay: time.Second}
	cmd := &cobra.Command{
		Use:     family.Name + " FILE|FOLDER…",
		Short:   strings.ToUpper(family.About[:1]) + family.About[1:],
		Long:    importHelp(family),
		Example: importExample(family.Name),
		RunE: func(cmd *cobra.Command, args []string) error {
			config.arguments = args
			if err := config.validate(); err != nil {
				return err
			}
			return importFiles(cmd.Context(), config, s)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&config.source, "source", "", "`NAME` of the source for rows that do not name one")
	parsedFlag(flags, "format", textFlag, "",
		"`FORMAT` of standard input: csv or ndjson (default: csv, or ndjson with --follow)", config.setFormat)
	completeFlag(cmd, "format", "csv", "ndjson")
	flags.StringVar(&config.rejects, "rejects", "", "`FILE` to add rejected rows to, .csv or .ndjson")
	config.registerFileOptions(cmd)
	flags.BoolVar(&config.keepGoing, "keep-going", false, "continue with the next file when one cannot be read")
	flags.BoolVar(&config.check, "check", false, "check all rows and write none")
	flags.BoolVar(&config.follow, "follow", false, "keep reading standard input until it ends or a signal arrives")
	addDurationFlag(flags, &config.followDelay, "follow-delay", 10*time.Millisecond, time.Minute,
		"`TIME` within which a followed row is committed, 10ms to 1m")
	flags.BoolVar(&config.revise, "revise", false, "take different content under a known key as a new revision")
	if family.Name == transactionFamily {
		flags.StringVar(&config.receipt, "receipt", "",
			"`FILE` to add a signed receipt to for each imported file, which promises its sender that all is in the log")
		addInstantFlag(flags, &config.completeUntil, "complete-until",
			"`INSTANT` before which the expected source in --source is complete with this import")
	}
	config.location.register(flags, defaultFolder)
	return cmd
}

// importHelp explains the columns of a family.
func importHelp(family ingest.Family) string {
	width := 0
	for _, c := range family.Columns {
		width = max(width, len(c.Name))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", paragraph(fmt.Sprintf("Import %s. Each row is %s:", family.Name, family.About)))
	for _, c := range family.Columns {
		name := c.Name
		for _, line := range wrap(c.About, helpWidth-width-4) {
			fmt.Fprintf(&b, "  %-*s  %s\n", width, name, line)
			name = ""
		}
	}
	b.WriteString("\n'assay import --help' explains formats, rejected rows and feeds.")
	return b.String()
}

func importExample(family string) string {
	return fmt.Sprintf("  assay template %[1]s > %[1]s.csv\n  assay import %[1]s --dir data %[1]s.csv", family)
}

const transactionFamily = "transactions"

// importConfig is what to import, from where and how.
type importConfig struct {
	family                  ingest.Family
	location                databaseLocation
	source, format, rejects string
	receipt                 string
	follow, revise          bool
	keepGoing, check        bool
	fileOptions             ingest.FileOptions
	followDelay             time.Duration
	completeUntil           int64 // 0: nothing is declared
	arguments               []string
}

func (c *importConfig) setFormat(text string) error {
	if text != "csv" && text != "ndjson" {
		return errors.New("must be csv or ndjson; Parquet cannot be read from standard input")
	}
	c.format = text
	return nil
}

// registerFileOptions adds the flags for files that differ from those of assay template.
func (c *importConfig) registerFileOptions(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&c.fileOptions.IgnoreColumns, "ignore-columns", false, "ignore unknown columns")
	parsedFlag(flags, "map", listFlag, "", "`THEIRS=OURS,…`: what the files call our columns", c.setMap)
	parsedFlag(flags, "delimiter", textFlag, "comma", "`NAME` of what separates CSV cells: comma, semicolon, tab or pipe",
		func(text string) (err error) {
			c.fileOptions.Delimiter, err = ingest.ParseDelimiter(text)
			return err
		})
	completeFlag(cmd, "delimiter", "comma", "semicolon", "tab", "pipe")
	encodings := append(slices.Sorted(maps.Keys(ingest.Encodings)), "utf-8")
	parsedFlag(flags, "encoding", textFlag, "utf-8", "`NAME` of the encoding of CSV and NDJSON, such as utf-16",
		func(text string) error {
			if !slices.Contains(encodings, text) {
				return errors.New("must be one of " + strings.Join(encodings, ", "))
			}
			c.fileOptions.Encoding = ingest.Encodings[text] // nil for utf-8
			return nil
		})
	completeFlag(cmd, "encoding", encodings...)
}

// setMap parses a list of THEIRS=OURS.
func (c *importConfig) setMap(text string) error {
	c.fileOptions.Rename = map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		theirs, ours, ok := strings.Cut(pair, "=")
		theirs = strings.ToLower(strings.TrimSpace(theirs))
		switch {
		case !ok || theirs == "":
			return fmt.Errorf("%q: must be THEIRS=OURS", pair)
		case !slices.Contains(c.family.Names(), ours):
			return fmt.Errorf("%q is not a column: must be one of %s", ours, strings.Join(c.family.Names(), ", "))
		}
		c.fileOptions.Rename[theirs] = ours
	}
	return nil
}

func (c *importConfig) validate() error {
	switch {
	case c.revise && !c.family.Revises:
		return usagef("--revise cannot be used with %s: their rows stay as they were reported", c.family.Name)
	case c.follow && c.format == "csv":
		return usagef("--follow reads NDJSON: it cannot be used with --format csv")
	case c.follow && !slices.Equal(c.arguments, []string{standardInput}):
		return usagef("--follow reads standard input only: the one argument must be -")
	case len(c.arguments) == 0:
		return usagef("missing FILE (- is standard input)")
	case c.follow && c.fileOptions.Encoding != nil:
		return usagef("--follow reads UTF-8: it cannot be used with --encoding")
	case c.check && (c.follow || c.completeUntil != 0):
		return usagef("--check writes nothing: it cannot be used with --follow or --complete-until")
	case c.receipt != "" && (c.follow || c.check):
		return usagef("--receipt is for whole files: it cannot be used with --follow or --check")
	case c.completeUntil != 0 && c.source == "":
		return usagef("--complete-until needs the source in --source")
	}
	if c.completeUntil != 0 {
		if err := checkCompleteUntil("--complete-until", c.completeUntil); err != nil {
			return err
		}
	}
	if c.format == "" {
		c.format = "csv"
		if c.follow {
			c.format = "ndjson"
		}
	}
	return nil
}

func importFiles(ctx context.Context, config importConfig, s *streams) error {
	input, err := findFiles(config.arguments)
	if err != nil {
		return err
	}
	return withDatabase(ctx, config.location, func(db *store.DB) error {
		if config.completeUntil != 0 {
			if err := checkExpected(ctx, db, config.source); err != nil {
				return err
			}
		}
		run := &importRun{
			importConfig: config, db: db, report: &rejectReport{streams: s}, bar: newProgress(s), streams: s, input: input,
		}
		if config.rejects != "" {
			if run.report.file, err = openRejectFile(config.rejects, input, config); err != nil {
				return fmt.Errorf("--rejects: %w", err)
			}
			defer run.report.file.Close() // each row is written at once
		}
		if config.receipt != "" {
			if run.receipts, err = openReceipts(ctx, db, &config); err != nil {
				return fmt.Errorf("--receipt: %w", err)
			}
			defer run.receipts.file.Close() // each receipt is written at once
		}
		if err := run.readAll(ctx); err != nil {
			return err
		}
		// A signal ends a followed feed; what it brought is still summed up.
		if err := run.printSummary(context.WithoutCancel(ctx)); err != nil {
			return err
		}
		if err := run.rejected(); err != nil || config.completeUntil == 0 {
			return err
		}
		return completeSource(ctx, db, config.source, config.completeUntil, s)
	})
}

// inputFormat is the format of the first input.
func (c *importConfig) inputFormat(input inputFiles) string {
	if first := input.files[0]; first != standardInput {
		return ingest.Format(first)
	}
	return c.format
}

// importRun is one import of several files.
type importRun struct {
	importConfig
	db         *store.DB
	report     *rejectReport
	receipts   *receiptWriter // or nil
	bar        *progress
	streams    *streams
	input      inputFiles
	importer   ingest.AnyImporter
	start      time.Time
	bytesRead  atomic.Int64 // written by the parser, read by the writer
	lastCommit time.Time    // when a commit was last reported
	failing    atomic.Bool  // the database is away, and that is reported
	unread     int          // files that could not be read to their end
}

func (r *importRun) readAll(ctx context.Context) error {
	catalog, err := r.db.Catalog(ctx)
	if err != nil {
		return err
	}
	r.start = time.Now()
	r.importer = r.family.New(ingest.Options{
		Store: r.db, Catalog: catalog, Revise: r.revise, Source: r.source,
		NotAfter: func() int64 { return wallTime().Add(ingest.FutureAllowance).UnixMilli() },
		Rejected: r.reject, Committed: r.committed, Retrying: r.retrying,
		CheckOnly: r.check, FileOptions: r.fileOptions,
	})
	for _, name := range r.input.files {
		err := r.readFile(ctx, name)
		if err == nil {
			continue
		}
		r.bar.stop()
		if _, ok := errors.AsType[ingest.FileError](err); !ok || !r.keepGoing || ctx.Err() != nil {
			return fmt.Errorf("%w (%s so far: %s)", err, r.done(), r.summary())
		}
		fmt.Fprintln(r.streams.err, err)
		r.unread++
	}
	return nil
}

// reject reports a rejected row.
func (r *importRun) reject(reject ingest.Reject) error {
	if r.receipts != nil {
		if err := r.receipts.reject(reject.Line); err != nil {
			return err
		}
	}
	return r.report.add(reject)
}

// done is what happened to the rows.
func (r *importRun) done() string {
	if r.check {
		return "checked"
	}
	return "committed"
}

func (r *importRun) readFile(ctx context.Context, name string) error {
	if name == standardInput {
		name := "standard input." + r.format
		if r.follow {
			in := &countingReader{Reader: r.streams.in, n: &r.bytesRead}
			return r.importer.Follow(ctx, name, in, r.followDelay)
		}
		sum := newFileSum()
		in := &countingReader{Reader: sum.tee(files.Reader(ctx, r.streams.in)), n: &r.bytesRead}
		return r.recorded(ctx, name, sum, func() error { return r.importer.File(ctx, name, in) })
	}
	f, err := files.Open(ctx, name)
	if err != nil {
		return ingest.FileError{Err: err}
	}
	defer f.Close()
	sum, err := sumFile(ctx, f)
	if err != nil {
		return ingest.FileError{Err: fmt.Errorf("%s: %w", name, err)}
	}
	read := sum.tee(files.Reader(ctx, f))
	return r.recorded(ctx, name, sum, func() error {
		return r.importer.File(ctx, name, &countingFile{File: f, reader: read, n: &r.bytesRead})
	})
}

// followReportEvery is how often at most the commits of a followed feed are reported to a log.
const followReportEvery = 10 * time.Second

// committed reports a batch that is safe: in the bar on a terminal, elsewhere in a line. The producer of a feed gets
// the last line that it need not send again.
func (r *importRun) committed(counts ingest.Counts) {
	rows := counts.Inserted + counts.Duplicates
	if r.follow {
		r.acknowledge(counts.Line)
	}
	r.failing.Store(false)
	if !r.bar.terminal {
		if now := time.Now(); !r.follow || now.Sub(r.lastCommit) >= followReportEvery {
			r.streams.note("%s %d %s", r.done(), rows, plural(rows, "row")) // programs read it: no separators
			r.lastCommit = now
		}
		return
	}
	done := 0.0
	if r.input.size > 0 {
		done = float64(r.bytesRead.Load()) / float64(r.input.size)
	}
	r.bar.show("importing", done, fmt.Sprintf("%s rows, %s rows/s", thousands(rows), rate(rows, time.Since(r.start))))
}

// acknowledge tells the producer of a feed that all rows up to a line are safe, also the rejected ones.
func (r *importRun) acknowledge(line int) {
	if r.report.file != nil {
		if err := r.report.file.sync(); err != nil {
			fmt.Fprintf(r.streams.err, "--rejects: %v\n", err)
			return
		}
	}
	fmt.Fprintf(r.streams.out, "committed: line %d\n", line)
}

// retrying reports that a followed feed waits for the database, once until it is back.
func (r *importRun) retrying(err error) {
	if !r.failing.Swap(true) {
		fmt.Fprintf(r.streams.err, "cannot write to the database, trying again: %v\n", err)
	}
}

func (r *importRun) summary() string {
	counts := r.importer.Counts()
	if r.check {
		return fmt.Sprintf("%s good, %s rejected", thousands(counts.Inserted), thousands(counts.Rejected))
	}
	return fmt.Sprintf("%s new, %s known before, %s rejected",
		thousands(counts.Inserted), thousands(counts.Duplicates), thousands(counts.Rejected))
}

func (r *importRun) printSummary(ctx context.Context) error {
	r.bar.finish()
	counts, took := r.importer.Counts(), time.Since(r.start)
	rows := counts.Inserted + counts.Duplicates + counts.Rejected
	heading := "imported"
	if r.check {
		heading = "checked, nothing is written"
	}
	r.streams.say("%s: %s (%.1f s, %s rows/s)", heading, r.summary(), took.Seconds(), rate(rows, took))
	if r.input.folders {
		r.streams.say("read %s", count(len(r.input.files)-r.unread, "file"))
	}
	if r.unread > 0 {
		r.streams.note("not read to the end: %s of %s", thousands(r.unread), count(len(r.input.files), "file"))
	}
	if r.input.skipped > 0 {
		r.streams.note("skipped %s with an unknown format; known formats: %s", count(r.input.skipped, "file"), ingest.Formats)
	}
	if r.family.Name != transactionFamily || r.check {
		return nil
	}
	if text := receiptText(r.importer.Receipts()); text != "" {
		r.streams.say("%s", text)
	}
	hint, err := unpublishedHint(ctx, r.db, r.location)
	if hint != "" {
		r.streams.say("%s", hint)
	}
	return err
}

// receiptText says under which receipts an import was stored, for assay transaction --receipt.
func receiptText(r ingest.Receipts) string {
	switch {
	case r.Number == 0:
		return ""
	case r.Number == 1:
		return fmt.Sprintf("receipt %d", r.First)
	case r.Last-r.First+1 == r.Number:
		return fmt.Sprintf("receipts %d-%d", r.First, r.Last)
	}
	return fmt.Sprintf("%d receipts from %d to %d, with those of others between", r.Number, r.First, r.Last)
}

// rejected ends the report of rejected rows, if there are any. A file that was not read to its end counts as some.
func (r *importRun) rejected() error {
	rejected := r.importer.Counts().Rejected
	if rejected > 0 {
		r.report.finish()
	}
	if rejected+r.unread > 0 {
		return errRejected
	}
	return nil
}
