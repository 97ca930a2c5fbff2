package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/ingest"
	"github.com/assaydata/assay/internal/store"
)

var importCommand = &command{
	name: "import", arguments: "FAMILY [flags] FILE|FOLDER…", summary: "load a family of data from files and feeds",
	details: `Reads CSV (.csv, with a header), NDJSON (.ndjson, .jsonl), both also compressed (.gz, .zst), and Parquet
(.parquet). A folder stands for all such files below it, in the order of their paths, without hidden ones.
- is standard input, whose form --format tells. assay template FAMILY writes an example.

` + schemasHelp() + `
In Parquet, numbers are integers, DECIMAL or text, or DOUBLE, which counts as its shortest decimal form; instants
are text or TIMESTAMP in whole milliseconds; days are text or DATE.

With --follow standard input is a feed that need not end: NDJSON, a row is committed within --follow-delay
after it was read, and at the end of the input or on SIGINT or SIGTERM the rest is committed.

Rows are committed in batches. A row that is known changes nothing, so a broken-off import is simply run
again. A bad row is reported with its file, line and reason, and the others go on; the exit code is then 3. Other
content under a known key is reported too, and kept out, unless --revise says that it is a correction.`,
	run: runImport,
}

// schemasHelp lists the families with their columns.
func schemasHelp() string {
	var b strings.Builder
	for _, s := range ingest.Families {
		width := 0
		for _, c := range s.Columns {
			width = max(width, len(c.Name))
		}
		fmt.Fprintf(&b, "A row of %s is %s:\n\n", s.Name, s.About)
		for _, c := range s.Columns {
			fmt.Fprintf(&b, "  %-*s  %s\n", width, c.Name, c.About)
		}
		b.WriteString("\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// families are the words for what can be imported.
func families() string {
	names := make([]string, len(ingest.Families))
	for i, s := range ingest.Families {
		names[i] = s.Name
	}
	return strings.Join(names, ", ")
}

// futureAllowance is how far a reporting clock may be ahead of ours.
const futureAllowance = 5 * time.Minute

func runImport(ctx context.Context, c *command, args []string, s streams) error {
	config, err := parseImport(c, args, s)
	if err != nil {
		return err
	}
	found, err := findFiles(config.arguments)
	if err != nil {
		return err
	}
	db, err := openStore(ctx, config.at)
	if err != nil {
		return err
	}
	defer db.Close()
	report, err := newRejectReport(s.err, config.rejects)
	if err != nil {
		return fmt.Errorf("--rejects: %w", err)
	}
	defer report.close()
	run := &importRun{importConfig: config, db: db, report: report, bar: newProgress(s.err), streams: s, found: found}
	if err := run.files(ctx); err != nil {
		return err
	}
	// A feed that was followed ends by a signal, too: what it brought is told all the same.
	if err := run.conclude(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	return run.rejected()
}

// importConfig is what an import is told.
type importConfig struct {
	family                  string
	at                      place
	source, format, rejects string
	follow, revise          bool
	followDelay             time.Duration
	arguments               []string
}

func parseImport(c *command, args []string, s streams) (config importConfig, err error) {
	flags := newFlags(c, s)
	config.at.register(flags, "assay-data")
	flags.StringVar(&config.source, "source", "", "`NAME` of the source of rows that do not name one")
	flags.StringVar(&config.format, "format", "", "`FORM` of standard input: csv or ndjson (default csv, and ndjson with --follow)")
	flags.StringVar(&config.rejects, "rejects", "", "`FILE` to write every rejected row to, as NDJSON")
	flags.BoolVar(&config.follow, "follow", false, "go on reading standard input as rows come, until it ends or a signal comes")
	flags.BoolVar(&config.revise, "revise", false, "other content under a known key is a correction: it becomes a new revision")
	config.followDelay = time.Second
	flags.Func("follow-delay", "`TIME` within which a followed row is committed, 10ms to 1m (default 1s)", func(text string) (err error) {
		config.followDelay, err = time.ParseDuration(text)
		if err != nil || config.followDelay < 10*time.Millisecond || config.followDelay > time.Minute {
			return errors.New("allowed are 10ms to 1m, for example 500ms")
		}
		return nil
	})
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		config.family, args = args[0], args[1:]
	}
	if err := parse(flags, args); err != nil {
		return config, err
	}
	config.arguments = flags.Args()
	if err := config.check(); err != nil {
		return config, usageError{err}
	}
	return config, nil
}

func (c *importConfig) check() error {
	family, known := ingest.FindFamily(c.family)
	switch {
	case !known:
		return errors.New("say what to import, for example assay import transactions FILE…; the families are " + families())
	case c.revise && !family.Revises:
		return fmt.Errorf("--revise does not go with %s: what is known there stays as it was reported", c.family)
	case c.format != "" && c.format != "csv" && c.format != "ndjson":
		return fmt.Errorf("invalid value %q for flag --format: allowed are csv and ndjson; a Parquet file cannot come from standard input", c.format)
	case c.follow && c.format == "csv":
		return errors.New("--follow reads NDJSON: it does not go with --format csv")
	case c.follow && !slices.Equal(c.arguments, []string{standardInput}):
		return errors.New("--follow reads standard input and nothing else: the argument must be -")
	case len(c.arguments) == 0:
		return errors.New("no file is named; - is standard input")
	}
	if c.format == "" {
		c.format = "csv"
		if c.follow {
			c.format = "ndjson"
		}
	}
	return nil
}

// importRun is one import of several files.
type importRun struct {
	importConfig
	db       *store.DB
	report   *rejectReport
	bar      *progress
	streams  streams
	found    inputs
	importer ingest.AnyImporter
	begun    time.Time
	read     atomic.Int64 // bytes; by the parser, while the writer looks at it
	said     time.Time    // when a commit was told of last
}

func (r *importRun) files(ctx context.Context) error {
	catalog, err := r.db.Catalog(ctx)
	if err != nil {
		return err
	}
	r.begun = time.Now()
	family, _ := ingest.FindFamily(r.family)
	r.importer = family.New(ingest.Options{
		Store: r.db, Catalog: catalog, Revise: r.revise, Source: r.source,
		NotAfter: func() int64 { return time.Now().Add(futureAllowance).UnixMilli() },
		Rejected: r.report.add, Committed: r.committed,
	})
	for _, name := range r.found.files {
		if err := r.file(ctx, name); err != nil {
			r.bar.leave()
			return fmt.Errorf("%w (committed so far: %s)", err, r.summary())
		}
	}
	return nil
}

func (r *importRun) file(ctx context.Context, name string) error {
	if name == standardInput {
		name, in := "standard input."+r.format, &countedReader{r.streams.in, &r.read}
		if r.follow {
			return r.importer.Follow(ctx, name, in, r.followDelay)
		}
		return r.importer.File(ctx, name, in)
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return r.importer.File(ctx, name, &countedFile{f, &r.read})
}

// followSilence is how often at most a followed feed's commits are told of in a log.
const followSilence = 10 * time.Second

// committed tells of a batch that is safe: on a terminal by the bar, elsewhere by a line.
func (r *importRun) committed(counts ingest.Counts) {
	rows := counts.Inserted + counts.Duplicates
	if !r.bar.terminal {
		if now := time.Now(); !r.follow || now.Sub(r.said) >= followSilence {
			fmt.Fprintf(r.streams.err, "committed %d rows\n", rows)
			r.said = now
		}
		return
	}
	done := 0.0
	if r.found.size > 0 {
		done = float64(r.read.Load()) / float64(r.found.size)
	}
	r.bar.show("importing", done, fmt.Sprintf("%s rows, %s rows/s", thousands(rows), rate(rows, time.Since(r.begun))))
}

func (r *importRun) summary() string {
	counts := r.importer.Counts()
	return fmt.Sprintf("%s new, %s known before, %s rejected", thousands(counts.Inserted), thousands(counts.Duplicates), thousands(counts.Rejected))
}

func (r *importRun) conclude(ctx context.Context) error {
	r.bar.complete()
	counts, took := r.importer.Counts(), time.Since(r.begun)
	fmt.Fprintf(r.streams.out, "imported: %s (%.1f s, %s rows/s)\n", r.summary(), took.Seconds(), rate(counts.Inserted+counts.Duplicates+counts.Rejected, took))
	if r.found.folders {
		fmt.Fprintf(r.streams.out, "read %s\n", counted(len(r.found.files), "file"))
	}
	if r.found.skipped > 0 {
		fmt.Fprintf(r.streams.err, "skipped %s whose name tells no format that can be read: %s\n", counted(r.found.skipped, "file"), ingest.Formats)
	}
	if r.family != "transactions" {
		return nil
	}
	hint, err := unpublishedHint(ctx, r.db, r.at)
	if hint != "" {
		fmt.Fprintln(r.streams.out, hint)
	}
	return err
}

// rejected tells of the rejected rows, if there are any.
func (r *importRun) rejected() error {
	if r.importer.Counts().Rejected == 0 {
		return nil
	}
	r.report.conclude()
	return errRejected
}

// unpublishedHint says how to publish transactions that lie before everything published; it is empty when there are none.
func unpublishedHint(ctx context.Context, db *store.DB, at place) (string, error) {
	first, ok, err := db.FirstTransaction(ctx)
	if err != nil || !ok {
		return "", err
	}
	coverage, err := db.Coverage(ctx)
	if err != nil {
		return "", err
	}
	for _, spans := range coverage {
		if spans[0].From <= first+assay.Day {
			return "", nil
		}
	}
	day := assay.FormatDay(first)
	return fmt.Sprintf("There are transactions from %s on that are not published. When all files are loaded: assay publish %s", day, at.flagsWith("--from "+day)), nil
}

// shownRejects is how many rejected rows are shown when they are not written to a file.
const shownRejects = 20

// rejectReport tells of rejected rows: to a file all of them, else the first ones to standard error.
type rejectReport struct {
	w     io.Writer
	file  *os.File
	count int
}

func newRejectReport(w io.Writer, name string) (*rejectReport, error) {
	r := &rejectReport{w: w}
	if name == "" {
		return r, nil
	}
	f, err := os.Create(name)
	r.file = f
	return r, err
}

func (r *rejectReport) add(reject ingest.Reject) {
	r.count++
	if r.file != nil {
		line, err := json.Marshal(map[string]any{"file": reject.File, "line": reject.Line, "reason": reject.Reason, "row": reject.Row})
		if err == nil {
			_, err = r.file.Write(append(line, '\n'))
		}
		if err == nil {
			return
		}
		fmt.Fprintf(r.w, "write the reject file: %v\n", err)
	}
	if r.count <= shownRejects {
		fmt.Fprintf(r.w, "%s:%d: %s\n", reject.File, reject.Line, reject.Reason)
	}
}

func (r *rejectReport) conclude() {
	switch more := r.count - shownRejects; {
	case r.file != nil:
		fmt.Fprintf(r.w, "%s rejected rows are in %s\n", thousands(r.count), r.file.Name())
	case more > 0:
		fmt.Fprintf(r.w, "and %s more; --rejects FILE gives all of them\n", thousands(more))
	}
}

func (r *rejectReport) close() {
	if r.file != nil {
		if err := r.file.Close(); err != nil {
			fmt.Fprintf(r.w, "close the reject file: %v\n", err)
		}
	}
}
