package audit

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/proof"
	"github.com/assaydata/assay/internal/store"
)

// The files of a bundle.
const (
	bundleFile        = "bundle.json"
	transactionsFile  = "transactions.csv"
	verificationsFile = "verifications.csv"
	methodologyFolder = "methodology"
	coversFile        = "covers.csv"
	recordsFile       = "records.ndjson"
	manifestsFile     = "manifests.ndjson"
	readmeFile        = "README.txt"
)

// bundleFormat is the form of a bundle, to be told from later ones.
const bundleFormat = "assay-bundle-1"

// bundleHead is what bundle.json says.
type bundleHead struct {
	Format   string            `json:"format"`
	From     string            `json:"from"` // days, the last one not included
	To       string            `json:"to"`
	Unsigned []string          `json:"unsigned_days"` // whose records no manifest lists yet
	Exported string            `json:"exported_at"`
	Files    map[string]string `json:"files"` // the SHA-256 of every other file, which tells damage from forgery
}

// text is how bundle.json is written.
func (h *bundleHead) text() ([]byte, error) {
	text, err := json.MarshalIndent(h, "", "  ")
	return append(text, '\n'), err
}

var (
	transactionColumns = []string{"id", "source", "executed_at", "gpu_name", "region", "price", "gpus", "hours", "provider", "verified", "receipt"}
	eventColumns       = []string{"id", "source", "executed_at", "verified", "actor", "reason", "receipt", "recorded_at"}
	coverColumns       = []string{"gpu_name", "granularity", "from", "to", "version", "published_at", "receipt", "restatement"}
)

const readme = `This folder proves the values that were published for the days from %s up to, not including, %s.

  transactions.csv    what the values were computed from, as it was received; receipt is the order of receiving
  verifications.csv   later words on whether a transaction counts
  methodology/        the rules, one file a version
  covers.csv          which publication determined which time, and up to which receipt it knew the transactions
  records.ndjson      how each value came to be; each record carries the hash of the one before it in its series
  manifests.ndjson    the list of each day's records, signed by the publisher
  bundle.json         the period, its days that are not signed yet, and the SHA-256 of every other file

To check all of it:  assay verify --bundle FOLDER --public-key KEY
with the publisher's key from a place you trust. The folder needs no database and no network.
`

// Exporter writes bundles.
type Exporter struct {
	Store    *store.DB
	From, To int64 // days, midnight UTC: slots that end in [From, To)
	Now      int64

	ledger   store.Ledger
	schedule index.Schedule
	covers   store.Covers // cut to the period
	begin    int64        // where the window of the first day begins
}

// Export writes the proof of a period into a new folder: all of it, or no folder.
func (e *Exporter) Export(ctx context.Context, dir string) (report Report, err error) {
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		return report, fmt.Errorf("%s exists", dir)
	}
	partial := dir + ".partial"
	if err := os.RemoveAll(partial); err != nil {
		return report, err
	}
	if err := os.MkdirAll(filepath.Join(partial, methodologyFolder), 0o700); err != nil {
		return report, err
	}
	if err = e.export(ctx, partial, &report); err == nil {
		err = os.Rename(partial, dir)
	}
	if err != nil {
		return report, errors.Join(err, os.RemoveAll(partial))
	}
	return report, nil
}

func (e *Exporter) export(ctx context.Context, dir string, report *Report) error {
	if err := e.prepare(ctx); err != nil {
		return err
	}
	for _, f := range e.ledger.Methodologies {
		if err := os.WriteFile(filepath.Join(dir, methodologyFolder, f.Version+".toml"), []byte(f.Text), 0o600); err != nil {
			return err
		}
	}
	for _, write := range []func(string) error{e.writeCovers, e.writeEvents, func(dir string) error { return e.stretches(ctx, dir, report) }} {
		if err := write(dir); err != nil {
			return err
		}
	}
	if err := e.manifests(dir, report); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, readmeFile), fmt.Appendf(nil, readme, assay.FormatDay(e.From), assay.FormatDay(e.To)), 0o600); err != nil {
		return err
	}
	return e.writeHead(dir)
}

// prepare fixes what the bundle is of, and cuts the period to the days that something was determined for.
func (e *Exporter) prepare(ctx context.Context) (err error) {
	if e.ledger, err = e.Store.Ledger(ctx); err != nil {
		return err
	}
	if e.schedule, err = scheduleOf(e.ledger.Methodologies); err != nil {
		return err
	}
	e.covers = clipCovers(e.ledger.Covers, e.schedule, e.From, e.To)
	if len(e.covers) == 0 {
		return fmt.Errorf("nothing is published for the days from %s up to %s", assay.FormatDay(e.From), assay.FormatDay(e.To))
	}
	e.From, e.To = coveredDays(e.covers, e.schedule)
	e.begin = e.schedule.LastSlot(assay.Daily, e.From-1)
	return nil
}

// clipCovers cuts covers to the slots that end in [from, to).
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

// coveredDays are the days from that of the first slot that was determined to that of the last.
func coveredDays(covers store.Covers, schedule index.Schedule) (from, to int64) {
	from, to = math.MaxInt64, math.MinInt64
	for key, list := range covers {
		for _, c := range list {
			from, to = min(from, assay.StartOfDay(schedule.NextSlot(key.Grain, c.From))), max(to, assay.StartOfDay(c.To)+assay.Day)
		}
	}
	return from, to
}

// writeHead writes bundle.json, the last of the files, because it has the sums of all others.
func (e *Exporter) writeHead(dir string) error {
	head := bundleHead{Format: bundleFormat, From: assay.FormatDay(e.From), To: assay.FormatDay(e.To), Unsigned: []string{}, Exported: assay.FormatInstant(e.Now), Files: map[string]string{}}
	for _, d := range e.ledger.Unsigned {
		if d >= e.From && d < e.To {
			head.Unsigned = append(head.Unsigned, assay.FormatDay(d))
		}
	}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err == nil {
			head.Files[filepath.ToSlash(name)], err = fileSum(path)
		}
		return err
	})
	if err != nil {
		return err
	}
	text, err := head.text()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, bundleFile), text, 0o600)
}

// fileSum is the SHA-256 of a file.
func fileSum(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), err
}

// writeCovers writes which version determined what.
func (e *Exporter) writeCovers(dir string) error {
	keys := slices.SortedFunc(maps.Keys(e.covers), func(a, b store.CoverageKey) int {
		return cmp.Or(cmp.Compare(a.GPU, b.GPU), cmp.Compare(a.Grain, b.Grain))
	})
	return writeCSV(filepath.Join(dir, coversFile), coverColumns, func(row func(...string) error) error {
		for _, key := range keys {
			for _, c := range e.covers[key] {
				if err := row(key.GPU, key.Grain.String(), assay.FormatInstant(c.From), assay.FormatInstant(c.To), number(c.Version),
					assay.FormatInstant(c.PublishedAt), number(c.Receipt), strconv.FormatBool(c.Restatement)); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

func (e *Exporter) writeEvents(dir string) error {
	return writeCSV(filepath.Join(dir, verificationsFile), eventColumns, func(row func(...string) error) error {
		for _, v := range e.ledger.Events {
			if v.ExecutedAt < e.begin || v.ExecutedAt >= e.To {
				continue
			}
			if err := row(v.ID, v.Source, assay.FormatInstant(v.ExecutedAt), strconv.FormatBool(v.Verified), v.Actor, v.Reason, number(v.Receipt), assay.FormatInstant(v.RecordedAt)); err != nil {
				return err
			}
		}
		return nil
	})
}

// stretches writes transactions and records, a day from fixing to fixing at a time.
func (e *Exporter) stretches(ctx context.Context, dir string, report *Report) error {
	return writeFile(filepath.Join(dir, recordsFile), func(records *bufio.Writer) error {
		return writeCSV(filepath.Join(dir, transactionsFile), transactionColumns, func(row func(...string) error) error {
			for from := e.begin; from < e.To; {
				to := min(e.schedule.NextSlot(assay.Daily, from), e.To)
				if err := e.stretch(ctx, from, to, records, row, report); err != nil {
					return err
				}
				from = to
			}
			return nil
		})
	})
}

func (e *Exporter) stretch(ctx context.Context, from, to int64, records *bufio.Writer, row func(...string) error, report *Report) error {
	transactions, err := e.Store.AppendWindow(ctx, nil, from, to)
	if err != nil {
		return err
	}
	transactions = slices.DeleteFunc(transactions, func(t assay.Transaction) bool { return t.Receipt > e.ledger.Counters.Receipt })
	index.Order(transactions)
	for i := range transactions {
		t := &transactions[i]
		hours := assay.Nanos(t.HourMicros * 1000).String()
		if err := row(t.ID, t.Source, assay.FormatInstant(t.ExecutedAt), t.GPU, t.Region, t.Price.String(), number(t.GPUs), hours, t.Provider, strconv.FormatBool(t.Verified), number(t.Receipt)); err != nil {
			return err
		}
	}
	// A slot that ends where the stretch ends belongs to it; one that ends with the period, to the next period.
	list, err := e.Store.AppendRecords(ctx, nil, max(from+1, e.From), min(to+1, e.To))
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(r store.Record) bool { return r.Version > e.ledger.Counters.Publication })
	for i := range list {
		if _, err := records.Write(append(appendRecordLine(nil, &list[i]), '\n')); err != nil {
			return err
		}
	}
	report.Transactions += len(transactions)
	report.Records += len(list)
	return nil
}

// appendRecordLine appends a record as a line of records.ndjson.
func appendRecordLine(dst []byte, r *store.Record) []byte {
	dst = strconv.AppendInt(append(dst, `{"sequence":`...), r.Sequence, 10)
	dst = strconv.AppendInt(append(dst, `,"version":`...), r.Version, 10)
	return append(proof.AppendJSON(append(dst, `,"record":`...), &r.Determination), '}')
}

func (e *Exporter) manifests(dir string, report *Report) error {
	list := slices.DeleteFunc(slices.Clone(e.ledger.Manifests), func(m assay.Manifest) bool { return m.Day < e.From || m.Day >= e.To })
	report.Manifests = len(list)
	return writeFile(filepath.Join(dir, manifestsFile), func(w *bufio.Writer) error {
		for i := range list {
			if _, err := w.Write(append(proof.AppendManifestJSON(nil, &list[i]), '\n')); err != nil {
				return err
			}
		}
		return nil
	})
}

// writeFile makes a file of what write writes, and has it on the disk.
func writeFile(name string, write func(*bufio.Writer) error) (err error) {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<16)
	err = write(w)
	return errors.Join(err, w.Flush(), f.Sync(), f.Close())
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
