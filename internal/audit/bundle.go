package audit

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/proof"
	"github.com/assaydata/assay/internal/store"
)

// VerifyBundle proves what an exported folder holds, or names the first difference. key is the public key that every
// manifest must be signed with; nil for any.
func VerifyBundle(ctx context.Context, dir string, key []byte, progress func(done float64, transactions int)) (report Report, err error) {
	b := &bundle{dir: dir}
	if err := b.open(); err != nil {
		return report, fmt.Errorf("bundle %s: %w", dir, err)
	}
	defer b.close()
	w := &work{Verifier: &Verifier{PublicKey: key}, links: links{}}
	c := newChecker(b.schedule, b.covers, "")
	begin := b.schedule.LastSlot(assay.Daily, b.from-1)
	for from := begin; from < b.to; {
		if ctx.Err() != nil {
			return w.report, ctx.Err()
		}
		to := min(b.schedule.NextSlot(assay.Daily, from), b.to)
		s, err := b.stretch(from, to)
		if err == nil {
			err = c.check(s)
		}
		w.events += len(s.events)
		if err != nil {
			return w.report, fmt.Errorf("bundle %s: %w", dir, err)
		}
		w.report.Transactions += len(s.transactions)
		w.report.Records += len(s.records)
		w.links.add(s.records)
		from = to
		if progress != nil {
			progress(float64(from-begin)/float64(b.to-begin), w.report.Transactions)
		}
	}
	if err := b.conclude(w); err != nil {
		return w.report, fmt.Errorf("bundle %s: %w", dir, err)
	}
	return w.report, nil
}

// conclude checks the chains and the manifests once all records are read.
func (b *bundle) conclude(w *work) error {
	if _, err := b.transactions.next(); !errors.Is(err, io.EOF) {
		return differs("%s line %d: there are transactions after the period", transactionsFile, b.transactions.line)
	}
	if _, err := b.records.next(); !errors.Is(err, io.EOF) {
		return differs("%s line %d: there are records after the period", recordsFile, b.records.line)
	}
	if w.events != len(b.events) {
		return differs("%s: there are verifications of transactions outside the period", verificationsFile)
	}
	for key, list := range w.links {
		if err := checkLinks(key, list); err != nil {
			return err
		}
	}
	if err := checkManifests(b.manifests, false); err != nil {
		return err
	}
	if err := w.signers(b.manifests); err != nil {
		return err
	}
	w.report.Manifests = len(b.manifests)
	w.report.Unsigned = len(b.unsigned)
	return checkSigned(b.manifests, b.unsigned, w.links.days(), func(d int64) bool { return d < b.from || d >= b.to })
}

// bundle is an exported folder being read. Transactions and records are read a stretch at a time, everything else at once.
type bundle struct {
	dir          string
	from, to     int64
	unsigned     []int64
	methodology  []string // its files
	schedule     index.Schedule
	covers       store.Covers
	events       []assay.Verification
	manifests    []assay.Manifest
	transactions *transactionReader
	records      *recordReader
	files        []*os.File
}

func (b *bundle) close() {
	for _, f := range b.files {
		_ = f.Close() // only read
	}
}

func (b *bundle) openFile(name string) (io.Reader, error) {
	f, err := os.Open(filepath.Join(b.dir, name))
	if err != nil {
		return nil, err
	}
	b.files = append(b.files, f)
	return bufio.NewReaderSize(f, 1<<16), nil
}

func (b *bundle) open() (err error) {
	defer func() {
		if err != nil {
			b.close()
		}
	}()
	for _, read := range []func() error{b.readHead, b.readSchedule, b.readCovers, b.checkPeriod, b.readEvents, b.readManifests, b.openStretches} {
		if err := read(); err != nil {
			return err
		}
	}
	return nil
}

func (b *bundle) readHead() error {
	text, err := os.ReadFile(filepath.Join(b.dir, bundleFile))
	if err != nil {
		return err
	}
	var head bundleHead
	if err := json.Unmarshal(text, &head); err != nil {
		return fmt.Errorf("%s: %w", bundleFile, err)
	}
	if head.Format != bundleFormat {
		return fmt.Errorf("%s: the format is %q, and this program reads %s", bundleFile, head.Format, bundleFormat)
	}
	if again, err := head.text(); err != nil || !bytes.Equal(again, text) {
		return differs("%s: it is not written the way such files are", bundleFile)
	}
	for i, text := range append([]string{head.From, head.To}, head.Unsigned...) {
		at, err := time.Parse(assay.DayLayout, text)
		if err != nil {
			return differs("%s: %v", bundleFile, err)
		}
		switch ms := at.UnixMilli(); i {
		case 0:
			b.from = ms
		case 1:
			b.to = ms
		default:
			b.unsigned = append(b.unsigned, ms)
		}
	}
	return b.checkFiles(head.Files)
}

// checkFiles checks that the files are there as they were written.
func (b *bundle) checkFiles(sums map[string]string) error {
	for _, name := range []string{transactionsFile, verificationsFile, coversFile, recordsFile, manifestsFile} {
		if sums[name] == "" {
			return differs("%s: there is no sum of %s", bundleFile, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		if !filepath.IsLocal(name) {
			return differs("%s: %s is no file of a bundle", bundleFile, name)
		}
		sum, err := fileSum(filepath.Join(b.dir, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		if sum != sums[name] {
			return differs("%s: it is not the file that was exported", name)
		}
		if strings.HasPrefix(name, methodologyFolder+"/") {
			b.methodology = append(b.methodology, name)
		}
	}
	return nil
}

// checkPeriod checks that the bundle is of the days that it says.
func (b *bundle) checkPeriod() error {
	if err := checkCovers(b.covers, b.schedule); err != nil {
		return err
	}
	if from, to := coveredDays(b.covers, b.schedule); from != b.from || to != b.to {
		return differs("%s: the period is not that of %s", bundleFile, coversFile)
	}
	return nil
}

func (b *bundle) readSchedule() (err error) {
	var files []assay.MethodologyFile
	for _, name := range b.methodology {
		text, err := os.ReadFile(filepath.Join(b.dir, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		m, err := index.ParseMethodology(string(text))
		if err != nil {
			return differs("%s: %v", name, err)
		}
		files = append(files, assay.MethodologyFile{Version: m.Version, Effective: m.Effective, Text: string(text)})
	}
	slices.SortFunc(files, func(a, b assay.MethodologyFile) int { return cmp.Compare(a.Effective, b.Effective) })
	if b.schedule, err = index.ParseSchedule(files); err != nil {
		return differs("%s: %v", methodologyFolder, err)
	}
	return nil
}

func (b *bundle) readCovers() error {
	b.covers = store.Covers{}
	err := b.readCSV(coversFile, coverColumns, func(p *parser, cells []string) {
		key := store.CoverageKey{GPU: cells[0], Grain: p.grain(cells[1])}
		b.covers[key] = append(b.covers[key], store.Cover{
			Span: store.Span{From: p.instant(cells[2]), To: p.instant(cells[3])}, Version: p.whole(cells[4]),
			PublishedAt: p.instant(cells[5]), Receipt: p.whole(cells[6]), Restatement: p.truth(cells[7]),
		})
	})
	for _, list := range b.covers {
		store.SortCovers(list)
	}
	return err
}

func (b *bundle) readEvents() error {
	return b.readCSV(verificationsFile, eventColumns, func(p *parser, cells []string) {
		b.events = append(b.events, assay.Verification{
			ID: cells[0], Source: cells[1], ExecutedAt: p.instant(cells[2]), Verified: p.truth(cells[3]),
			Actor: cells[4], Reason: cells[5], Receipt: p.whole(cells[6]), RecordedAt: p.instant(cells[7]),
		})
	})
}

func (b *bundle) readManifests() error {
	r, err := b.openFile(manifestsFile)
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		m, err := proof.ParseManifest(lines.Bytes())
		if err == nil && (m.Day < b.from || m.Day >= b.to) {
			err = fmt.Errorf("the manifest of %s is of no day of the period", assay.FormatDay(m.Day))
		}
		if err != nil {
			return differs("%s line %d: %v", manifestsFile, n, err)
		}
		b.manifests = append(b.manifests, m)
	}
	return lines.Err()
}

func (b *bundle) openStretches() error {
	transactions, err := b.openFile(transactionsFile)
	if err != nil {
		return err
	}
	records, err := b.openFile(recordsFile)
	if err != nil {
		return err
	}
	b.transactions = &transactionReader{rows: csv.NewReader(transactions)}
	b.transactions.rows.ReuseRecord = true
	b.records = &recordReader{lines: bufio.NewScanner(records)}
	header, err := b.transactions.rows.Read()
	if err != nil || !slices.Equal(header, transactionColumns) {
		return errors.Join(err, fmt.Errorf("%s: the first line does not name the columns", transactionsFile))
	}
	return nil
}

// stretch reads what belongs to the next stretch, which begins and ends at the given instants.
func (b *bundle) stretch(from, to int64) (*stretch, error) {
	s := &stretch{}
	for _, e := range b.events {
		if e.ExecutedAt >= from && e.ExecutedAt < to {
			s.events = append(s.events, e)
		}
	}
	for {
		t, err := b.transactions.next()
		if errors.Is(err, io.EOF) || err == nil && t.ExecutedAt >= to {
			break
		}
		if err != nil {
			return s, err
		}
		if t.ExecutedAt < from {
			return s, differs("%s line %d: transaction %s of %s is out of order, or before the period", transactionsFile, b.transactions.line, t.ID, t.Source)
		}
		s.transactions = append(s.transactions, t)
		b.transactions.taken()
	}
	for {
		r, err := b.records.next()
		if errors.Is(err, io.EOF) || err == nil && r.At > to {
			return s, nil
		}
		if err != nil {
			return s, err
		}
		s.records = append(s.records, r)
		b.records.taken()
	}
}

// transactionReader reads transactions.csv, looking one row ahead.
type transactionReader struct {
	rows  *csv.Reader
	ahead *assay.Transaction
	line  int
}

func (r *transactionReader) taken() { r.ahead = nil }

func (r *transactionReader) next() (assay.Transaction, error) {
	if r.ahead != nil {
		return *r.ahead, nil
	}
	cells, err := r.rows.Read()
	if err != nil {
		return assay.Transaction{}, err
	}
	r.line, _ = r.rows.FieldPos(0)
	var p parser
	t := assay.Transaction{
		ID: cells[0], Source: cells[1], ExecutedAt: p.instant(cells[2]), GPU: cells[3], Region: cells[4], Price: assay.Nanos(p.decimal(cells[5], 9)),
		GPUs: p.whole(cells[6]), HourMicros: p.decimal(cells[7], 6), Provider: cells[8], Verified: p.truth(cells[9]), Receipt: p.whole(cells[10]),
	}
	if p.err != nil {
		return t, differs("%s line %d: %v", transactionsFile, r.line, p.err)
	}
	r.ahead = &t
	return t, nil
}

// recordReader reads records.ndjson, looking one record ahead.
type recordReader struct {
	lines *bufio.Scanner
	ahead *store.Record
	line  int
}

func (r *recordReader) taken() { r.ahead = nil }

func (r *recordReader) next() (record store.Record, err error) {
	if r.ahead != nil {
		return *r.ahead, nil
	}
	if !r.lines.Scan() {
		return record, cmp.Or(r.lines.Err(), io.EOF)
	}
	r.line++
	var row struct {
		Sequence int64           `json:"sequence"`
		Version  int64           `json:"version"`
		Record   json.RawMessage `json:"record"`
	}
	if err = json.Unmarshal(r.lines.Bytes(), &row); err == nil {
		record.Determination, err = proof.ParseRecord(row.Record)
	}
	if err != nil {
		return record, differs("%s line %d: %v", recordsFile, r.line, err)
	}
	record.Sequence, record.Version = row.Sequence, row.Version
	if !bytes.Equal(appendRecordLine(nil, &record), r.lines.Bytes()) {
		return record, differs("%s line %d: it is not written the way records are", recordsFile, r.line)
	}
	r.ahead = &record
	return record, nil
}

// readCSV reads a whole file with the given columns.
func (b *bundle) readCSV(name string, columns []string, row func(p *parser, cells []string)) error {
	r, err := b.openFile(name)
	if err != nil {
		return err
	}
	rows := csv.NewReader(r)
	header, err := rows.Read()
	if err != nil || !slices.Equal(header, columns) {
		return errors.Join(err, fmt.Errorf("%s: the first line does not name the columns", name))
	}
	for {
		cells, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		var p parser
		row(&p, cells)
		if p.err != nil {
			line, _ := rows.FieldPos(0)
			return differs("%s line %d: %v", name, line, p.err)
		}
	}
}

// parser reads cells and keeps the first error.
type parser struct{ err error }

func (p *parser) keep(err error) {
	if p.err == nil {
		p.err = err
	}
}

func (p *parser) instant(text string) int64 {
	ms, _, err := assay.ParseInstant(text)
	p.keep(err)
	return ms
}

func (p *parser) decimal(text string, decimals int) int64 {
	n, err := assay.ParseDecimal(text, decimals)
	p.keep(err)
	return n
}

func (p *parser) whole(text string) int64 { return p.decimal(text, 0) }

func (p *parser) truth(text string) bool {
	b, err := strconv.ParseBool(text)
	p.keep(err)
	return b
}

func (p *parser) grain(text string) assay.Grain {
	g, err := assay.ParseGrain(text)
	p.keep(err)
	return g
}
