package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/assaydata/assay/internal/family"
	"github.com/assaydata/assay/internal/files"
	"github.com/assaydata/assay/internal/ingest"
)

// shownRejects is how many rejected rows are shown if they are not written to a file.
const shownRejects = 20

// rejectReport reports rejected rows: all of them to a file, or the first ones to standard error.
type rejectReport struct {
	streams *streams
	file    *rejectFile // or nil
	count   int
}

func (r *rejectReport) add(reject ingest.Reject) error {
	r.count++
	switch {
	case r.file != nil:
		if err := r.file.add(reject); err != nil {
			return fmt.Errorf("--rejects: %w", err)
		}
	case r.count <= shownRejects:
		fmt.Fprintln(r.streams.err, rejectReason(reject))
	}
	return nil
}

func rejectReason(reject ingest.Reject) string {
	return fmt.Sprintf("%s:%d: %s", reject.File, reject.Line, reject.Reason)
}

func (r *rejectReport) finish() {
	switch more := r.count - shownRejects; {
	case r.file != nil:
		r.streams.note("added to %s: %s", r.file.Name(), count(r.count, "rejected row"))
	case more > 0:
		r.streams.note("and %s more; --rejects FILE writes all of them", thousands(more))
	}
}

// rejectFile collects rejected rows in the columns of the family and one for the reason, so that it can be imported as
// soon as the rows are corrected.
type rejectFile struct {
	*os.File
	schema *family.Schema
	csv    bool
	synced bool
}

// openRejectFile opens a file to add to it. Its name says the format, otherwise the input does.
func openRejectFile(name string, input inputFiles, config importConfig) (*rejectFile, error) {
	format := ingest.Format(name)
	switch extension := strings.ToLower(filepath.Ext(name)); {
	case format == "parquet", extension == ".gz", extension == ".zst":
		return nil, fmt.Errorf("%s: rows cannot be added to a %s file; use .csv or .ndjson", name, extension)
	case input.has(name):
		return nil, fmt.Errorf("%s is one of the files to import: name another", name)
	case format == "":
		format = config.inputFormat(input)
	}
	f, err := files.Append(name)
	if err != nil {
		return nil, err
	}
	schema := *config.family.Schema
	reason := family.Column{Name: ingest.ReasonColumn, Optional: true}
	schema.Columns = append(slices.Clone(schema.Columns), reason)
	r := &rejectFile{File: f, schema: &schema, csv: format != "ndjson", synced: true}
	if err := r.prepare(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), f.Close())
	}
	return r, nil
}

// prepare begins a file, or checks that it can be continued.
func (r *rejectFile) prepare() error {
	var header bytes.Buffer
	if r.csv {
		if err := r.schema.WriteCSV(&header, r.schema.Names()); err != nil {
			return err
		}
	}
	info, err := r.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Size() == 0 {
		_, err := r.Write(header.Bytes())
		return err
	}
	if r.csv {
		first, err := bufio.NewReader(io.NewSectionReader(r, 0, 64<<10)).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if want := header.String(); strings.TrimRight(first, "\r\n") != strings.TrimRight(want, "\n") {
			return fmt.Errorf("its header must be %q to be continued; name another file", strings.TrimRight(want, "\n"))
		}
	}
	last := make([]byte, 1)
	if _, err := r.ReadAt(last, info.Size()-1); err != nil {
		return err
	}
	if last[0] != '\n' { // its last row was cut off
		_, err = r.Write([]byte("\n"))
	}
	return err
}

func (r *rejectFile) add(reject ingest.Reject) error {
	reason := rejectReason(reject)
	if reject.Text != "" {
		reason += ": " + strings.ToValidUTF8(reject.Text, "\uFFFD")
	}
	r.synced = false
	row := append(reject.Cells, reason)
	if r.csv {
		return r.schema.WriteCSV(r, row)
	}
	return r.schema.WriteNDJSON(r, row)
}

// sync makes sure that a crash of the machine does not lose a row that its producer need not send again.
func (r *rejectFile) sync() error {
	if r.synced {
		return nil
	}
	r.synced = true
	if info, err := r.Stat(); err != nil || !info.Mode().IsRegular() {
		return err
	}
	return r.Sync()
}
