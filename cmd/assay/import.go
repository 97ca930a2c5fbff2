package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/ingest"
	"github.com/assaydata/assay/internal/store"
)

var importCommand = &command{
	name: "import", arguments: "transactions [flags] FILE…", summary: "load transactions from files",
	details: `Reads CSV (.csv, with a header) and NDJSON (.ndjson, .jsonl), also compressed (.gz, .zst); - is standard
input, whose form --format tells. The columns:

  id           unique within its source
  source       who reported it; may be left out when --source is given
  executed_at  ISO 8601 date-time, or YYYY-MM-DD HH:MM:SS in UTC
  gpu_name     a GPU of the catalog, spelled exactly
  region       a region of the catalog, or empty
  price        USD per GPU-hour, up to 9 decimals
  gpus         how many, a whole number
  hours        how long, up to 6 decimals
  provider     who rented it out
  verified     true or false

Rows are committed in batches. A row that is known changes nothing, so a broken-off import is simply run
again. A bad row is reported with its file, line and reason, and the others go on; the exit code is then 3.`,
	run: runImport,
}

// futureAllowance is how far a reporting clock may be ahead of ours.
const futureAllowance = 5 * time.Minute

func runImport(ctx context.Context, c *command, args []string, s streams) error {
	flags := newFlags(c, s)
	var dir string
	dirFlag(flags, &dir, "assay-data")
	source := flags.String("source", "", "`NAME` of the source of rows that do not name one")
	format := flags.String("format", "csv", "`FORM` of standard input: csv or ndjson")
	rejects := flags.String("rejects", "", "`FILE` to write every rejected row to, as NDJSON")
	if len(args) > 0 && args[0] == "transactions" {
		args = args[1:]
	} else if len(args) == 0 || !strings.HasPrefix(args[0], "-") {
		return usageError{errors.New("say what to import: assay import transactions FILE…")}
	}
	if err := parse(flags, args); err != nil {
		return err
	}
	if *format != "csv" && *format != "ndjson" {
		return usageError{fmt.Errorf("invalid value %q for flag --format: allowed are csv and ndjson", *format)}
	}
	if flags.NArg() == 0 {
		return usageError{errors.New("no file is named; - is standard input")}
	}
	db, err := store.Open(ctx, dir)
	if err != nil {
		return fmt.Errorf("open --dir %s: %w", dir, err)
	}
	defer db.Close()
	report, err := newRejectReport(s.err, *rejects)
	if err != nil {
		return fmt.Errorf("--rejects: %w", err)
	}
	defer report.close()
	run := &importRun{db: db, report: report, bar: newProgress(s.err), streams: s, stdin: "standard input." + *format}
	if err := run.files(ctx, flags.Args(), *source); err != nil {
		return err
	}
	return run.conclude(ctx, dir)
}

// importRun is one import of several files.
type importRun struct {
	db       *store.DB
	report   *rejectReport
	bar      *progress
	streams  streams
	stdin    string // what standard input counts as
	importer *ingest.Importer
	begun    time.Time
	size     int64 // of all files; 0 when not known
	read     int64
}

func (r *importRun) files(ctx context.Context, names []string, source string) error {
	catalog, err := r.db.Catalog(ctx)
	if err != nil {
		return err
	}
	r.begun = time.Now()
	r.importer = &ingest.Importer{
		Store: r.db, Catalog: catalog, Source: source,
		NotAfter: time.Now().Add(futureAllowance).UnixMilli(), Rejected: r.report.add, Committed: r.committed,
	}
	for _, name := range names {
		if info, err := os.Stat(name); err == nil {
			r.size += info.Size()
		}
	}
	for _, name := range names {
		if err := r.file(ctx, name); err != nil {
			r.bar.leave()
			return fmt.Errorf("%w (committed so far: %s)", err, r.summary())
		}
	}
	return nil
}

func (r *importRun) file(ctx context.Context, name string) error {
	if name == "-" {
		return r.importer.File(ctx, r.stdin, &counted{r.streams.in, &r.read})
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return r.importer.File(ctx, name, &counted{f, &r.read})
}

// counted counts what is read.
type counted struct {
	r io.Reader
	n *int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	*c.n += int64(n)
	return n, err
}

// committed tells of a batch that is safe: on a terminal by the bar, elsewhere by a line.
func (r *importRun) committed(counts ingest.Counts) {
	rows := counts.Inserted + counts.Duplicates
	if !r.bar.terminal {
		fmt.Fprintf(r.streams.err, "committed %d rows\n", rows)
		return
	}
	done := 0.0
	if r.size > 0 {
		done = float64(r.read) / float64(r.size)
	}
	r.bar.show("importing", done, fmt.Sprintf("%s rows, %s rows/s", thousands(rows), rate(rows, time.Since(r.begun))))
}

func (r *importRun) summary() string {
	counts := r.importer.Counts()
	return fmt.Sprintf("%s new, %s known before, %s rejected", thousands(counts.Inserted), thousands(counts.Duplicates), thousands(counts.Rejected))
}

func (r *importRun) conclude(ctx context.Context, dir string) error {
	r.bar.complete()
	counts, took := r.importer.Counts(), time.Since(r.begun)
	fmt.Fprintf(r.streams.out, "imported: %s (%.1f s, %s rows/s)\n", r.summary(), took.Seconds(), rate(counts.Inserted+counts.Duplicates+counts.Rejected, took))
	hint, err := unpublishedHint(ctx, r.db, dir)
	if err != nil {
		return err
	}
	if hint != "" {
		fmt.Fprintln(r.streams.out, hint)
	}
	if counts.Rejected > 0 {
		r.report.conclude()
		return errRejected
	}
	return nil
}

// unpublishedHint says how to publish transactions that lie before everything published; it is empty when there are none.
func unpublishedHint(ctx context.Context, db *store.DB, dir string) (string, error) {
	first, _, err := db.TransactionSpan(ctx)
	if err != nil || first == 0 {
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
	day := assay.FormatInstant(first)[:len(assay.DayLayout)]
	return fmt.Sprintf("There are transactions from %s on that are not published. When all files are loaded: assay publish --dir %s --from %s", day, dir, day), nil
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
