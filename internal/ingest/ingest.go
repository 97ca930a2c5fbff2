// Package ingest brings files and feeds into the store. A reader turns a file into rows; a row is checked, and a good one
// joins a batch; a batch is one transaction of the store. A bad row is reported with its file, line and reason, and never
// stops the good ones. Rows are known by source and id, so importing a file twice changes nothing.
package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
)

// batchRows is how many rows are committed at once: a batch is the unit that a crash can lose, and the fixed cost of a
// commit no longer shows at this size.
const batchRows = 20_000

// Reject is a row that was not imported.
type Reject struct {
	File   string
	Line   int
	Reason string
	Row    string
}

// Counts tell what became of the rows so far.
type Counts struct {
	Inserted, Duplicates, Rejected int
}

// Importer imports transactions. Rejected and Committed may be nil.
type Importer struct {
	Store     *store.DB
	Catalog   assay.Catalog
	Source    string       // the source of rows that do not name one
	NotAfter  int64        // rows executed later than this are from the future
	Rejected  func(Reject) // hears every rejected row
	Committed func(Counts) // hears the counts after every commit

	size   int // rows of a batch when not batchRows; a test's is small
	counts Counts
	batch  []assay.Transaction
	places []place // where each row of the batch came from
}

// place is where a row stood.
type place struct {
	file string
	line int
	text string
}

// File imports one file. The name decides how it is read: .csv, .ndjson or .jsonl, with .gz or .zst behind.
func (im *Importer) File(ctx context.Context, name string, r io.Reader) error {
	plain, format, closer, err := decompress(name, r)
	if err != nil {
		return err
	}
	defer closer()
	lines := newLineReader(plain)
	var parse rowParser
	switch format {
	case ".csv":
		header, err := readHeader(lines)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		parse = header.parse
	case ".ndjson", ".jsonl":
		parse = parseNDJSON
	default:
		return fmt.Errorf("%s: the name does not tell the format: allowed are .csv, .ndjson and .jsonl, with .gz or .zst behind", name)
	}
	return im.rows(ctx, name, lines, parse)
}

// rowParser fills a transaction's text fields from a line.
type rowParser func(line []byte, fields *Fields) error

func (im *Importer) rows(ctx context.Context, name string, lines *lineReader, parse rowParser) error {
	for {
		line, err := lines.next()
		if errors.Is(err, io.EOF) {
			return im.flush(ctx)
		}
		if err != nil && line == nil {
			return fmt.Errorf("%s: read line %d: %w", name, lines.number, err)
		}
		if len(line) == 0 {
			continue
		}
		at := place{name, lines.number, ""}
		var fields Fields
		if err == nil {
			err = parse(line, &fields)
		}
		if err != nil {
			im.reject(at, err.Error(), string(line))
			continue
		}
		if err := im.Row(ctx, at.file, at.line, &fields, line); err != nil {
			return err
		}
	}
}

// Row takes one row's text fields: a good one joins the batch, a bad one is rejected.
func (im *Importer) Row(ctx context.Context, file string, line int, fields *Fields, text []byte) error {
	t, err := im.check(fields)
	if err != nil {
		im.reject(place{file: file, line: line}, err.Error(), string(text))
		return nil
	}
	return im.add(ctx, t, place{file, line, string(text)})
}

// Add takes a transaction that a feed has made; it is checked like a row of a file.
func (im *Importer) Add(ctx context.Context, t assay.Transaction) error {
	if err := im.checkValues(&t); err != nil {
		im.reject(place{file: t.Source}, fmt.Sprintf("id %s: %v", t.ID, err), "")
		return nil
	}
	return im.add(ctx, t, place{file: t.Source})
}

func (im *Importer) add(ctx context.Context, t assay.Transaction, at place) error {
	im.batch = append(im.batch, t)
	im.places = append(im.places, at)
	if len(im.batch) < cmp.Or(im.size, batchRows) {
		return nil
	}
	return im.flush(ctx)
}

// Flush commits the rows that wait for their batch to fill.
func (im *Importer) Flush(ctx context.Context) error { return im.flush(ctx) }

func (im *Importer) flush(ctx context.Context) error {
	if len(im.batch) == 0 {
		return nil
	}
	appended, err := im.Store.AppendTransactions(ctx, im.batch)
	if err != nil {
		return fmt.Errorf("write a batch of %d rows: %w", len(im.batch), err)
	}
	for _, i := range appended.Conflicts {
		im.reject(im.places[i], fmt.Sprintf("id %q of source %q is known with other content; the first stays", im.batch[i].ID, im.batch[i].Source), im.places[i].text)
	}
	im.counts.Inserted += appended.Inserted
	im.counts.Duplicates += appended.Duplicates
	im.batch, im.places = im.batch[:0], im.places[:0]
	if im.Committed != nil {
		im.Committed(im.counts)
	}
	return nil
}

func (im *Importer) reject(at place, reason, text string) {
	im.counts.Rejected++
	if im.Rejected != nil {
		im.Rejected(Reject{File: at.file, Line: at.line, Reason: reason, Row: text})
	}
}

// Counts tells what became of the rows committed so far.
func (im *Importer) Counts() Counts { return im.counts }

// decompress unpacks by the name's last suffix and gives the suffix before it.
func decompress(name string, r io.Reader) (plain io.Reader, format string, closer func(), err error) {
	ext := strings.ToLower(filepath.Ext(name))
	inner := strings.ToLower(filepath.Ext(strings.TrimSuffix(name, filepath.Ext(name))))
	switch ext {
	case ".gz":
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, "", nil, fmt.Errorf("%s: %w", name, err)
		}
		return z, inner, func() {}, nil
	case ".zst":
		z, err := zstd.NewReader(r)
		if err != nil {
			return nil, "", nil, fmt.Errorf("%s: %w", name, err)
		}
		return z, inner, z.Close, nil
	}
	return r, ext, func() {}, nil
}

// check turns text fields into a transaction.
func (im *Importer) check(f *Fields) (t assay.Transaction, err error) {
	if f.Source == "" {
		f.Source = im.Source
	}
	t = assay.Transaction{Source: f.Source, ID: f.ID, GPU: f.GPUName, Region: f.Region, Provider: f.Provider}
	if t.ExecutedAt, err = f.executedAt(); err != nil {
		return t, err
	}
	price, err := number("price", f.Price, 9)
	if err != nil {
		return t, err
	}
	t.Price = assay.Nanos(price)
	if t.GPUs, err = number("gpus", f.GPUs, 0); err != nil {
		return t, err
	}
	if t.HourMicros, err = number("hours", f.Hours, 6); err != nil {
		return t, err
	}
	switch strings.ToLower(f.Verified) {
	case "true", "1":
		t.Verified = true
	case "false", "0":
	default:
		return t, fmt.Errorf("verified %q: allowed are true and false", f.Verified)
	}
	return t, im.checkValues(&t)
}

// Bounds of what can be believed. They also keep the index's sums inside 128 bits, a published value above zero, and the
// change from the lowest to the highest inside a number.
const (
	minPrice      = assay.One / 10_000
	maxPrice      = 1_000 * assay.One
	maxGPUs       = 1_000_000
	maxHourMicros = 100_000 * 1_000_000
	maxText       = 128
)

// notBefore is 2000-01-01: no GPU was rented by the hour earlier.
const notBefore = 946_684_800_000

func (im *Importer) checkValues(t *assay.Transaction) error {
	for _, text := range []struct{ name, value string }{{"id", t.ID}, {"source", t.Source}, {"provider", t.Provider}} {
		if text.value == "" {
			return fmt.Errorf("%s is missing", text.name)
		}
		if len(text.value) > maxText {
			return fmt.Errorf("%s is longer than %d bytes", text.name, maxText)
		}
		if strings.IndexByte(text.value, 0) >= 0 { // JSON can spell it \u0000; not every database can keep it
			return fmt.Errorf("%s has a NUL character", text.name)
		}
	}
	if _, ok := im.Catalog.GPU(t.GPU); !ok {
		return fmt.Errorf("gpu_name %q is not in the catalog: allowed are %s", t.GPU, im.gpuNames())
	}
	if t.Region != "" && !slices.Contains(im.Catalog.Regions, t.Region) {
		return fmt.Errorf("region %q is not in the catalog: allowed are %s, or nothing", t.Region, strings.Join(im.Catalog.Regions, ", "))
	}
	switch {
	case t.Price < minPrice || t.Price > maxPrice:
		return fmt.Errorf("price %s is out of bounds: %s to %s", t.Price, minPrice, maxPrice)
	case t.GPUs <= 0 || t.GPUs > maxGPUs:
		return fmt.Errorf("gpus %d is out of bounds: 1 to %d", t.GPUs, maxGPUs)
	case t.HourMicros <= 0 || t.HourMicros > maxHourMicros:
		return fmt.Errorf("hours is out of bounds: above 0 and at most %d", maxHourMicros/1_000_000)
	case t.ExecutedAt < notBefore:
		return fmt.Errorf("executed_at %s is before the year 2000", assay.FormatInstant(t.ExecutedAt))
	case t.ExecutedAt > im.NotAfter:
		return fmt.Errorf("executed_at %s is in the future", assay.FormatInstant(t.ExecutedAt))
	}
	return nil
}

func (im *Importer) gpuNames() string {
	names := make([]string, len(im.Catalog.GPUs))
	for i, g := range im.Catalog.GPUs {
		names[i] = g.Name
	}
	return strings.Join(names, ", ")
}
