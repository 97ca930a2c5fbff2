package verify

import (
	"bufio"
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/files"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/proof"
	"github.com/assaydata/assay/internal/store"
)

// The files of a bundle.
const (
	bundleFile        = "bundle.json"
	transactionsFile  = "transactions.csv"
	verificationsFile = "verifications.csv"
	correctionsFile   = "corrections.csv"
	methodologyFolder = "methodology"
	coversFile        = "covers.csv"
	recordsFile       = "records.ndjson"
	manifestsFile     = "manifests.ndjson"
	keysFile          = "keys.ndjson"
	readmeFile        = "README.txt"
)

// CheckpointFile is the file of a bundle with the last checkpoint of the log.
const CheckpointFile = "checkpoint.txt"

// bundleFormat distinguishes this form of a bundle from others.
const bundleFormat = "assay-bundle-3"

// bundleHead is the content of bundle.json.
type bundleHead struct {
	Format   string            `json:"format"`
	From     string            `json:"from"` // first day
	To       string            `json:"to"`   // day after the last
	Exported string            `json:"exported_at"`
	Log      string            `json:"log"`   // its name
	Files    map[string]string `json:"files"` // the SHA-256 of every other file: damage shows here, forgery in the checks
}

// text is bundle.json as it is written.
func (h *bundleHead) text() ([]byte, error) {
	text, err := json.MarshalIndent(h, "", "  ")
	return append(text, '\n'), err
}

var (
	transactionColumns = []string{
		"id", "source", "executed_at", "gpu_name", "region", "price", "gpus", "hours", "provider", "verified", "receipt",
		"evidence", "verified_by",
	}
	verificationColumns = []string{
		"id", "source", "executed_at", "verified", "actor", "reason", "receipt", "recorded_at", "evidence",
	}
	correctionColumns = []string{
		"id", "source", "executed_at", "corrected_receipt", "actor", "reason", "receipt", "recorded_at",
	}
	coverColumns = []string{
		"gpu_name", "granularity", "from", "to", "version", "published_at", "receipt", "restatement",
	}
)

const readme = `This folder proves the published values of the days from %s up to, but not including, %s.

  transactions.csv    the transactions behind the values, as received; receipt is the order in which they arrived
  verifications.csv   later changes of whether a transaction counts
  corrections.csv     which transactions were replaced by later ones of the same id
  methodology/        the rules, one file per version
  covers.csv          which publication determined which time, and up to which receipt it knew the transactions
  records.ndjson      how each value was computed; each record carries the hash of the one before it in its series
  manifests.ndjson    all manifests from the first on, each with the hash of the one before it: the list of a day's
                      records, signed by the publisher
  keys.ndjson         how the key that signs has changed
  checkpoint.txt      the signed state of the log at the time of the export; a later one must continue it, which
                      assay verify --since FOLDER checks where the database is
  bundle.json         the period, and the SHA-256 of every other file

To check all of it:  assay verify --bundle FOLDER --public-key KEY
with the publisher's key from a source you trust. This needs no database and no network.
`

// ExportOptions say what is exported.
type ExportOptions struct {
	From, To int64 // days, midnight UTC: slots that end in [From, To)
	Now      int64 // the time of the export in bundle.json
}

// exporter is one run of Export.
type exporter struct {
	ExportOptions
	db       *store.DB
	dir      string
	report   Report
	ledger   store.Ledger
	schedule index.Schedule
	covers   store.Covers // clipped to the period
	begin    int64        // where the window of the first day begins
	amended  assay.Amendments
}

// Export writes the proof of a period into a new folder. If it fails, it leaves no folder.
func Export(ctx context.Context, db *store.DB, dir string, o ExportOptions) (report Report, err error) {
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		return report, fmt.Errorf("%s exists", dir)
	}
	e := &exporter{ExportOptions: o, db: db, dir: dir + ".partial"}
	if err := os.RemoveAll(e.dir); err != nil {
		return report, err
	}
	if err := e.makeFolders(); err != nil {
		return report, err
	}
	err = e.writeAll(ctx)
	if err == nil {
		err = os.Rename(e.dir, dir)
	}
	if err != nil {
		return e.report, errors.Join(err, os.RemoveAll(e.dir))
	}
	return e.report, nil
}

// makeFolders makes the folders of the bundle. The bundle's own must be new: in one that another user has made, that
// user could read or replace the files.
func (e *exporter) makeFolders() error {
	if err := os.MkdirAll(filepath.Dir(e.dir), 0o700); err != nil {
		return err
	}
	if err := os.Mkdir(e.dir, 0o700); err != nil {
		return err
	}
	return os.Mkdir(e.path(methodologyFolder), 0o700)
}

// path is a file of the bundle.
func (e *exporter) path(name ...string) string {
	return filepath.Join(append([]string{e.dir}, name...)...)
}

func (e *exporter) writeAll(ctx context.Context) error {
	for _, write := range []func(context.Context) error{
		e.prepare, e.writeMethodology, e.writeCovers, e.writeVerifications, e.writeCorrections, e.writeChunks,
		e.writeManifests, e.writeLog, e.writeReadme, e.writeHead,
	} {
		if err := write(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (e *exporter) writeMethodology(context.Context) error {
	for _, f := range e.ledger.Methodologies {
		if err := files.Write(e.path(methodologyFolder, f.Version+".toml"), []byte(f.Text)); err != nil {
			return err
		}
	}
	return nil
}

// writeLog writes the last checkpoint, empty if there is none, and the events of the key.
func (e *exporter) writeLog(context.Context) error {
	if err := files.Write(e.path(keysFile), []byte(e.ledger.Log.KeyEvents)); err != nil {
		return err
	}
	var last string
	if n := len(e.ledger.Log.Checkpoints); n > 0 {
		last = e.ledger.Log.Checkpoints[n-1].Note
	}
	return files.Write(e.path(CheckpointFile), []byte(last))
}

func (e *exporter) writeReadme(context.Context) error {
	text := fmt.Appendf(nil, readme, assay.FormatDay(e.From), assay.FormatDay(e.To))
	return files.Write(e.path(readmeFile), text)
}

// prepare reads the ledger and clips the period to the days for which anything was determined.
func (e *exporter) prepare(ctx context.Context) (err error) {
	e.ledger, err = e.db.Ledger(ctx)
	if err != nil {
		return err
	}
	e.schedule, err = scheduleOf(e.ledger.Methodologies)
	if err != nil {
		return err
	}
	e.covers = clipCovers(e.ledger.Covers, e.schedule, e.From, e.To)
	if len(e.covers) == 0 {
		return fmt.Errorf("nothing is published for the days from %s up to %s",
			assay.FormatDay(e.From), assay.FormatDay(e.To))
	}
	e.From, e.To = coveredDays(e.covers, e.schedule)
	e.begin = e.schedule.LastSlot(assay.Daily, e.From-1)
	e.amended = between(assay.Amendments{}, e.ledger.Amendments, e.begin, e.To)
	return nil
}

// clipCovers clips covers to the slots that end in [from, to).
func clipCovers(covers store.Covers, schedule index.Schedule, from, to int64) store.Covers {
	clipped := store.Covers{}
	for key, list := range covers {
		first, last := schedule.LastSlot(key.Grain, from-1), schedule.LastSlot(key.Grain, to-1)
		for _, c := range list {
			c.From, c.To = max(c.From, first), min(c.To, last)
			if c.From < c.To {
				clipped[key] = append(clipped[key], c)
			}
		}
	}
	return clipped
}

// coveredDays is the period from the day of the first determined slot to that of the last.
func coveredDays(covers store.Covers, schedule index.Schedule) (from, to int64) {
	from, to = math.MaxInt64, math.MinInt64
	for key, list := range covers {
		for _, c := range list {
			from = min(from, assay.StartOfDay(schedule.NextSlot(key.Grain, c.From)))
			to = max(to, assay.StartOfDay(c.To)+assay.Day)
		}
	}
	return from, to
}

// writeHead writes bundle.json, which comes last because it has the sums of all other files.
func (e *exporter) writeHead(context.Context) error {
	head := bundleHead{
		Format: bundleFormat, From: assay.FormatDay(e.From), To: assay.FormatDay(e.To),
		Exported: assay.FormatInstant(e.exportedAt()), Log: e.ledger.Log.Origin, Files: map[string]string{},
	}
	err := filepath.WalkDir(e.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(e.dir, path)
		if err != nil {
			return err
		}
		head.Files[filepath.ToSlash(name)], err = fileSum(path)
		return err
	})
	if err != nil {
		return err
	}
	text, err := head.text()
	if err != nil {
		return err
	}
	return files.Write(e.path(bundleFile), text)
}

// exportedAt is the time of the export: not before the newest publication, if the clock was set back since.
func (e *exporter) exportedAt() int64 {
	at := e.Now
	for _, p := range e.ledger.Publications {
		at = max(at, p.PublishedAt)
	}
	return at
}

// fileSum is the SHA-256 of a file.
func fileSum(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return sumOf(f)
}

// writeCovers writes which version determined which time.
func (e *exporter) writeCovers(context.Context) error {
	keys := slices.SortedFunc(maps.Keys(e.covers), func(a, b store.CoverageKey) int {
		return cmp.Or(cmp.Compare(a.GPU, b.GPU), cmp.Compare(a.Grain, b.Grain))
	})
	return writeCSV(e.path(coversFile), coverColumns, func(row func(...string) error) error {
		for _, key := range keys {
			for _, c := range e.covers[key] {
				err := row(
					key.GPU, key.Grain.String(), assay.FormatInstant(c.From), assay.FormatInstant(c.To), number(c.Version),
					assay.FormatInstant(c.PublishedAt), number(c.Receipt), strconv.FormatBool(c.Restatement),
				)
				if err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

func (e *exporter) writeVerifications(context.Context) error {
	return writeCSV(e.path(verificationsFile), verificationColumns, func(row func(...string) error) error {
		for _, v := range e.amended.Verifications {
			err := row(
				v.ID, v.Source, assay.FormatInstant(v.ExecutedAt), strconv.FormatBool(v.Verified), v.Actor, v.Reason,
				number(v.Receipt), assay.FormatInstant(v.RecordedAt), v.Evidence.Cell(),
			)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func (e *exporter) writeCorrections(context.Context) error {
	return writeCSV(e.path(correctionsFile), correctionColumns, func(row func(...string) error) error {
		for _, c := range e.amended.Corrections {
			err := row(
				c.ID, c.Source, assay.FormatInstant(c.ExecutedAt), number(c.Row), c.Actor, c.Reason,
				number(c.Receipt), assay.FormatInstant(c.RecordedAt),
			)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// writeChunks writes transactions and records, a day from fixing to fixing at a time.
func (e *exporter) writeChunks(ctx context.Context) error {
	return writeFile(e.path(recordsFile), func(records *bufio.Writer) error {
		return writeCSV(e.path(transactionsFile), transactionColumns, func(row func(...string) error) error {
			for from := e.begin; from < e.To; {
				to := min(e.schedule.NextSlot(assay.Daily, from), e.To)
				if err := e.writeTransactions(ctx, from, to, row); err != nil {
					return err
				}
				if err := e.writeRecords(ctx, from, to, records); err != nil {
					return err
				}
				from = to
			}
			return nil
		})
	})
}

func (e *exporter) writeTransactions(ctx context.Context, from, to int64, row func(...string) error) error {
	list, err := e.db.AppendWindow(ctx, nil, from, to)
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(t assay.Transaction) bool { return t.Receipt > e.ledger.Counters.Receipt })
	index.Order(list, nil)
	for i := range list {
		t := &list[i]
		hours := assay.Nanos(t.HourMicros * 1000).String()
		err := row(
			t.ID, t.Source, assay.FormatInstant(t.ExecutedAt), t.GPU, t.Region, t.Price.String(), number(t.GPUs), hours,
			t.Provider, strconv.FormatBool(t.Verified), number(t.Receipt), t.Evidence.Cell(), t.VerifiedBy,
		)
		if err != nil {
			return err
		}
	}
	e.report.Transactions += len(list)
	return nil
}

// writeRecords writes the records of the slots that end in (from, to], and in the period, which excludes its end.
func (e *exporter) writeRecords(ctx context.Context, from, to int64, w *bufio.Writer) error {
	list, err := e.db.AppendRecords(ctx, nil, max(from+1, e.From), min(to+1, e.To))
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(r store.Record) bool { return r.Version > e.ledger.Counters.Publication })
	for i := range list {
		if _, err := w.Write(append(appendRecordLine(nil, &list[i]), '\n')); err != nil {
			return err
		}
	}
	e.report.Records += len(list)
	return nil
}

// appendRecordLine appends a record as a line of records.ndjson.
func appendRecordLine(dst []byte, r *store.Record) []byte {
	dst = strconv.AppendInt(append(dst, `{"sequence":`...), r.Sequence, 10)
	dst = strconv.AppendInt(append(dst, `,"version":`...), r.Version, 10)
	return append(proof.AppendJSON(append(dst, `,"record":`...), &r.Determination), '}')
}

func (e *exporter) writeManifests(context.Context) error {
	return writeFile(e.path(manifestsFile), func(w *bufio.Writer) error {
		for i := range e.ledger.Manifests {
			m := &e.ledger.Manifests[i]
			if m.Day >= e.From && m.Day < e.To {
				e.report.Manifests++
			}
			if _, err := w.Write(append(proof.AppendManifestJSON(nil, m), '\n')); err != nil {
				return err
			}
		}
		return nil
	})
}

// writeFile creates a file, lets write fill it, and syncs it to the disk. After the first error it only closes the
// file.
func writeFile(name string, write func(*bufio.Writer) error) (err error) {
	f, err := files.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriterSize(f, 1<<16)
	if err := write(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Sync()
}

func writeCSV(name string, columns []string, write func(row func(...string) error) error) error {
	return writeFile(name, func(w *bufio.Writer) error {
		out := csv.NewWriter(w)
		row := func(cells ...string) error { return out.Write(cells) }
		if err := row(columns...); err != nil {
			return err
		}
		if err := write(row); err != nil {
			return err
		}
		out.Flush()
		return out.Error()
	})
}
