package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/assaydata/assay/internal/files"
	"github.com/assaydata/assay/internal/ingest"
)

// shownRejects is how many rejected rows are shown if they are not written to a file.
const shownRejects = 20

// rejectReport reports rejected rows: all of them to a file, or the first ones to standard error.
type rejectReport struct {
	streams *streams
	file    *os.File
	count   int
}

func newRejectReport(s *streams, name string) (*rejectReport, error) {
	r := &rejectReport{streams: s}
	if name == "" {
		return r, nil
	}
	f, err := files.Create(name)
	r.file = f
	return r, err
}

func (r *rejectReport) add(reject ingest.Reject) {
	r.count++
	if r.file != nil {
		line, err := json.Marshal(map[string]any{
			"file": reject.File, "line": reject.Line, "reason": reject.Reason, "row": reject.Row,
		})
		if err == nil {
			_, err = r.file.Write(append(line, '\n'))
		}
		if err == nil {
			return
		}
		fmt.Fprintf(r.streams.err, "write the reject file: %v\n", err)
	}
	if r.count <= shownRejects {
		fmt.Fprintf(r.streams.err, "%s:%d: %s\n", reject.File, reject.Line, reject.Reason)
	}
}

func (r *rejectReport) finish() {
	switch more := r.count - shownRejects; {
	case r.file != nil:
		r.streams.note("%s rejected rows are in %s", thousands(r.count), r.file.Name())
	case more > 0:
		r.streams.note("and %s more; --rejects FILE writes all of them", thousands(more))
	}
}

func (r *rejectReport) close() {
	if r.file != nil {
		if err := r.file.Close(); err != nil {
			fmt.Fprintf(r.streams.err, "close the reject file: %v\n", err)
		}
	}
}
