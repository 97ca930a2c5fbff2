package verify

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/proof"
	"github.com/assaydata/assay/internal/store"
)

// transactionReader reads transactions.csv, looking one row ahead.
type transactionReader struct {
	rows  *csvFile
	ahead *assay.Transaction
	line  int
}

func (r *transactionReader) consume() { r.ahead = nil }

// next gives the next transaction, and the same one until it is consumed.
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
		ID: cells[0], Source: cells[1], ExecutedAt: p.instant(cells[2]), GPU: cells[3], Region: cells[4],
		Price: assay.Nanos(p.decimal(cells[5], 9)), GPUs: p.integer(cells[6]), HourMicros: p.decimal(cells[7], 6),
		Provider: cells[8], Verified: p.boolean(cells[9]), Receipt: p.integer(cells[10]),
		Evidence: p.evidence(cells[11]), VerifiedBy: cells[12],
	}
	if p.err != nil {
		return t, differs("%s line %d: %v", transactionsFile, r.line, p.err)
	}
	if !t.HasWholeEvidence() {
		return t, differs("%s line %d: evidence and verified_by belong together, and to a row that is verified",
			transactionsFile, r.line)
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

func (r *recordReader) consume() { r.ahead = nil }

// next gives the next record, and the same one until it is consumed.
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
	err = json.Unmarshal(r.lines.Bytes(), &row)
	if err == nil {
		record.Determination, err = proof.ParseRecord(row.Record)
	}
	if err != nil {
		return record, differs("%s line %d: %v", recordsFile, r.line, err)
	}
	record.Sequence, record.Version = row.Sequence, row.Version
	if !bytes.Equal(appendRecordLine(nil, &record), r.lines.Bytes()) {
		return record, differs("%s line %d: it is not in the form that export writes", recordsFile, r.line)
	}
	r.ahead = &record
	return record, nil
}

// openCSV opens a file whose first line names the given columns.
func (b *bundle) openCSV(name string, columns []string) (*csvFile, error) {
	file, err := b.reader(name)
	if err != nil {
		return nil, err
	}
	rows := newCSVFile(file)
	header, err := rows.Read()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if !slices.Equal(header, columns) {
		return nil, fmt.Errorf("%s: the first line does not name the columns", name)
	}
	return rows, nil
}

// readCSV reads a whole file with the given columns.
func (b *bundle) readCSV(name string, columns []string, row func(p *parser, cells []string)) error {
	rows, err := b.openCSV(name, columns)
	if err != nil {
		return err
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

// parser parses cells and keeps the first error.
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

func (p *parser) integer(text string) int64 { return p.decimal(text, 0) }

func (p *parser) boolean(text string) bool {
	b, err := strconv.ParseBool(text)
	p.keep(err)
	return b
}

func (p *parser) evidence(text string) assay.Evidence {
	e, err := assay.ParseEvidence(text)
	p.keep(err)
	return e
}

func (p *parser) grain(text string) assay.Grain {
	g, err := assay.ParseGrain(text)
	p.keep(err)
	return g
}
