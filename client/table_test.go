package client_test

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/client"
)

// Tables have the rows of the JSON, in each format.
func TestTable(t *testing.T) {
	t.Parallel()
	c := newRig(t).client(t, "premium")
	p := &client.HistoryParams{StartDate: "2026-01-20", EndDate: "2026-01-22"}
	table := func(format client.Format) *bytes.Buffer {
		t.Helper()
		var out bytes.Buffer
		if err := c.Table(t.Context(), &out, format, "/api/gpu/{gpuName}/index-history", p, "H100 SXM"); err != nil {
			t.Fatal(err)
		}
		return &out
	}
	rows, err := csv.NewReader(table(client.CSV)).ReadAll()
	if err != nil || len(rows) != 4 || rows[0][0] != "timestamp" {
		t.Errorf("CSV: %v, %v", rows, err)
	}
	if got := strings.Count(table(client.NDJSON).String(), "\n"); got != 3 {
		t.Errorf("NDJSON has %d lines", got)
	}
	file, err := parquet.OpenFile(bytes.NewReader(table(client.Parquet).Bytes()), int64(table(client.Parquet).Len()))
	if err != nil || file.NumRows() != 3 {
		t.Errorf("Parquet: %v, %v", file, err)
	}
	// without parameters, and without variables
	var out bytes.Buffer
	if err := c.Table(t.Context(), &out, client.CSV, "/api/regions", nil); err != nil || !strings.Contains(out.String(), "us-east") {
		t.Errorf("regions: %q, %v", out.String(), err)
	}
}

func TestTable_Errors(t *testing.T) {
	t.Parallel()
	c := newRig(t).client(t, "premium")
	err := c.Table(t.Context(), io.Discard, client.CSV, "/api/gpu/{gpuName}/hourly", nil, "H200")
	if e := failure(t, err); e.Code != "full_required" {
		t.Errorf("got %+v", e)
	}
	err = c.Table(t.Context(), io.Discard, client.CSV, "/api/publications/latest", nil)
	if e := failure(t, err); e.Code != "bad_response" || !strings.Contains(e.Message, "no tables") {
		t.Errorf("got %+v", e)
	}
	err = c.Table(t.Context(), failing{}, client.CSV, "/api/regions", nil)
	if e := failure(t, err); e.Code != "bad_argument" || !errors.Is(err, errFull) {
		t.Errorf("got %+v", e)
	}
	cut := respond(t, func(out http.ResponseWriter, _ *http.Request) {
		out.Header().Set("Content-Type", "text/csv; charset=utf-8; header=present")
		out.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(out, "region\r\n")
	})
	err = cut.Table(t.Context(), io.Discard, client.CSV, "/api/regions", nil)
	if e := failure(t, err); e.Kind != assay.Unavailable || e.Code != "bad_response" {
		t.Errorf("got %+v", e)
	}
}

var errFull = errors.New("the disk is full")

// failing is a writer that fails.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errFull }
