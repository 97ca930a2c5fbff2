package verify

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/proof"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/verifier"
)

// Bundle proves what an exported folder holds, or names the first difference.
func Bundle(ctx context.Context, dir string, signatures Signatures, progress Progress) (report Report, err error) {
	folder, err := openFolder(ctx, dir)
	if err != nil {
		return report, fmt.Errorf("bundle %s: %w", dir, err)
	}
	defer folder.close()
	b := &bundle{bundleFolder: folder}
	if err := b.read(); err != nil {
		return report, fmt.Errorf("bundle %s: %w", dir, err)
	}
	signatures.PublicKeys = b.keys.Reached(signatures.PublicKeys)
	found := newFindings(b.manifests)
	err = b.checkChunks(ctx, &found, progress)
	if err == nil {
		err = b.conclude(&found, signatures)
	}
	if err != nil {
		return found.report, fmt.Errorf("bundle %s: %w", dir, err)
	}
	return found.report, nil
}

// checkChunks reads and checks the bundle, a day from fixing to fixing at a time.
func (b *bundle) checkChunks(ctx context.Context, found *findings, progress Progress) error {
	checker := newChecker(b.schedule, b.covers, store.Span{From: math.MinInt64, To: math.MaxInt64})
	begin := b.schedule.LastSlot(assay.Daily, b.from-1)
	for from := begin; from < b.to; {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		to := min(b.schedule.NextSlot(assay.Daily, from), b.to)
		c, err := b.chunk(from, to)
		if err != nil {
			return err
		}
		if err := checker.check(c); err != nil {
			return err
		}
		found.add(c)
		found.days.close(to + 1)
		from = to
		if progress != nil {
			progress(float64(from-begin)/float64(b.to-begin), found.report.Transactions)
		}
	}
	return nil
}

// conclude checks the chains and the manifests once all records are read.
func (b *bundle) conclude(found *findings, signatures Signatures) error {
	if _, err := b.transactions.next(); !errors.Is(err, io.EOF) {
		return differs("%s line %d: there are transactions after the period", transactionsFile, b.transactions.line)
	}
	if _, err := b.records.next(); !errors.Is(err, io.EOF) {
		return differs("%s line %d: there are records after the period", recordsFile, b.records.line)
	}
	if found.verifications != len(b.amendments.Verifications) {
		return differs("%s: there are verifications of transactions outside the period", verificationsFile)
	}
	if found.corrections != len(b.amendments.Corrections) {
		return differs("%s: there are corrections of transactions outside the period", correctionsFile)
	}
	for key, c := range found.chains {
		if err := c.check(key); err != nil {
			return err
		}
	}
	found.days.close(math.MaxInt64)
	receipts := map[int64]int64{}
	for _, list := range b.covers {
		for _, c := range list {
			receipts[c.Version] = c.Receipt
			if c.PublishedAt > b.exported {
				return differs("%s: it was exported before publication %d", bundleFile, c.Version)
			}
		}
	}
	if err := checkManifests(b.manifests, receipts); err != nil {
		return err
	}
	outside := func(day int64) bool { return day < b.from || day >= b.to }
	err := found.checkSigned(&signing{Signatures: signatures, outside: outside, ended: b.exported})
	if err != nil {
		return err
	}
	return b.checkCheckpoint(signatures.PublicKeys)
}

// bundle is an exported folder being read: transactions and records one chunk at a time, everything else at once.
type bundle struct {
	*bundleFolder
	from, to     int64
	exported     int64
	methodology  []string // its files
	schedule     index.Schedule
	covers       store.Covers
	amendments   assay.Amendments
	manifests    []assay.Manifest
	log          string // its name
	keys         *verifier.Keys
	transactions *transactionReader
	records      *recordReader
}

// read reads everything but the transactions and the records, which it opens.
func (b *bundle) read() error {
	for _, read := range []func() error{
		b.readHead, b.readSchedule, b.readCovers, b.checkPeriod, b.readVerifications, b.readCorrections, b.readManifests,
		b.readKeys, b.openChunks,
	} {
		if err := read(); err != nil {
			return err
		}
	}
	return nil
}

func (b *bundle) readHead() error {
	text, err := b.content(bundleFile)
	if err != nil {
		return err
	}
	var head bundleHead
	if err := json.Unmarshal(text, &head); err != nil {
		return fmt.Errorf("%s: %w", bundleFile, err)
	}
	switch head.Format {
	case bundleFormat:
	case "assay-bundle-1", "assay-bundle-2":
		return fmt.Errorf("%s: the format is %s, of a release before 0.6.0, which can be forged: it does not hold the whole "+
			"chain of manifests. Export the period again", bundleFile, head.Format)
	default:
		return fmt.Errorf("%s: the format is %q; this program reads %s", bundleFile, head.Format, bundleFormat)
	}
	again, err := head.text()
	if err != nil || !bytes.Equal(again, text) {
		return differs("%s: it is not in the form that export writes", bundleFile)
	}
	from, fromErr := time.Parse(assay.DayLayout, head.From)
	to, toErr := time.Parse(assay.DayLayout, head.To)
	exported, _, exportedErr := assay.ParseInstant(head.Exported)
	if err := errors.Join(fromErr, toErr, exportedErr); err != nil {
		return differs("%s: %v", bundleFile, err)
	}
	b.from, b.to, b.exported, b.log = from.UnixMilli(), to.UnixMilli(), exported, head.Log
	return b.checkFiles(head.Files)
}

// checkFiles checks that the files are those that were exported.
func (b *bundle) checkFiles(sums map[string]string) error {
	for _, name := range []string{
		transactionsFile, verificationsFile, correctionsFile, coversFile, recordsFile, manifestsFile, keysFile,
		CheckpointFile,
	} {
		if sums[name] == "" {
			return differs("%s: the sum of %s is missing", bundleFile, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		if !filepath.IsLocal(name) {
			return differs("%s: %s is not a file of a bundle", bundleFile, name)
		}
		sum, err := b.sum(name)
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

// checkPeriod checks that the covers span the days that bundle.json names.
func (b *bundle) checkPeriod() error {
	if err := checkCovers(b.covers, b.schedule); err != nil {
		return err
	}
	from, to := coveredDays(b.covers, b.schedule)
	if from != b.from || to != b.to {
		return differs("%s: the period is not that of %s", bundleFile, coversFile)
	}
	return nil
}

func (b *bundle) readSchedule() (err error) {
	var files []assay.MethodologyFile
	for _, name := range b.methodology {
		text, err := b.content(name)
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
			Span: store.Span{From: p.instant(cells[2]), To: p.instant(cells[3])}, Version: p.integer(cells[4]),
			PublishedAt: p.instant(cells[5]), Receipt: p.integer(cells[6]), Restatement: p.boolean(cells[7]),
		})
	})
	for _, list := range b.covers {
		store.SortCovers(list)
	}
	return err
}

func (b *bundle) readVerifications() error {
	return b.readCSV(verificationsFile, verificationColumns, func(p *parser, cells []string) {
		b.amendments.Verifications = append(b.amendments.Verifications, assay.Verification{
			ID: cells[0], Source: cells[1], ExecutedAt: p.instant(cells[2]), Verified: p.boolean(cells[3]),
			Actor: cells[4], Reason: cells[5], Receipt: p.integer(cells[6]), RecordedAt: p.instant(cells[7]),
			Evidence: p.evidence(cells[8]),
		})
	})
}

func (b *bundle) readCorrections() error {
	return b.readCSV(correctionsFile, correctionColumns, func(p *parser, cells []string) {
		b.amendments.Corrections = append(b.amendments.Corrections, assay.Correction{
			ID: cells[0], Source: cells[1], ExecutedAt: p.instant(cells[2]), Row: p.integer(cells[3]),
			Actor: cells[4], Reason: cells[5], Receipt: p.integer(cells[6]), RecordedAt: p.instant(cells[7]),
		})
	})
}

func (b *bundle) readManifests() error {
	r, err := b.reader(manifestsFile)
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		m, err := proof.ParseManifest(lines.Bytes())
		if err != nil {
			return differs("%s line %d: %v", manifestsFile, n, err)
		}
		b.manifests = append(b.manifests, m)
	}
	return lines.Err()
}

func (b *bundle) readKeys() error {
	events, err := b.content(keysFile)
	if err != nil {
		return err
	}
	if b.keys, err = verifier.ReadKeys(b.log, string(events)); err != nil {
		return differs("%s: %v", keysFile, err)
	}
	return nil
}

// checkCheckpoint checks that the checkpoint, if there is one, is signed with an accepted key or, if any is accepted,
// with one of the bundle.
func (b *bundle) checkCheckpoint(accepted [][]byte) error {
	signed, err := b.content(CheckpointFile)
	if err != nil || len(signed) == 0 {
		return err
	}
	if len(accepted) == 0 {
		for _, e := range b.keys.Events() {
			accepted = append(accepted, e.PublicKey)
		}
		for i := range b.manifests {
			accepted = append(accepted, b.manifests[i].PublicKey)
		}
	}
	for _, key := range accepted {
		if _, err := proof.OpenCheckpoint(string(signed), b.log, key); err == nil {
			return nil
		}
	}
	return differs("%s: it is not signed with a key that is accepted", CheckpointFile)
}

func (b *bundle) openChunks() error {
	rows, err := b.openCSV(transactionsFile, transactionColumns)
	if err != nil {
		return err
	}
	rows.ReuseRecord = true
	records, err := b.reader(recordsFile)
	if err != nil {
		return err
	}
	b.transactions = &transactionReader{rows: rows}
	b.records = &recordReader{lines: bufio.NewScanner(records)}
	return nil
}

// chunk reads what belongs to the next chunk, which is of [from, to).
func (b *bundle) chunk(from, to int64) (*chunk, error) {
	c := &chunk{amendments: between(assay.Amendments{}, b.amendments, from, to)}
	for {
		t, err := b.transactions.next()
		if errors.Is(err, io.EOF) || err == nil && t.ExecutedAt >= to {
			break
		}
		if err != nil {
			return nil, err
		}
		if t.ExecutedAt < from {
			return nil, differs("%s line %d: transaction %s of %s is out of order or before the period",
				transactionsFile, b.transactions.line, t.ID, t.Source)
		}
		c.transactions = append(c.transactions, t)
		b.transactions.consume()
	}
	for {
		r, err := b.records.next()
		if errors.Is(err, io.EOF) || err == nil && r.At > to {
			c.listed = c.records
			return c, nil
		}
		if err != nil {
			return nil, err
		}
		c.records = append(c.records, r)
		b.records.consume()
	}
}
