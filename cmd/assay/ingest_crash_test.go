package main

import (
	"encoding/json"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// feedRowsText is the text of feed rows.
func feedRowsText(from, to int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		b.WriteString(feedRow(i))
	}
	return b.String()
}

// storedTransactions are the transactions of the database in a folder, without their receipts.
func storedTransactions(t *testing.T, dir string) (all []assay.Transaction) {
	t.Helper()
	db, err := store.Open(t.Context(), sqliteScheme+dir)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	received, err := db.AppendWindow(t.Context(), nil, math.MinInt64, math.MaxInt64)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range received {
		x.Receipt = 0
		all = append(all, x)
	}
	return all
}

// postRows posts rows of transactions to a server.
func postRows(t *testing.T, url, key string, body io.Reader) (status int, stored, known int) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/api/ingest/transactions", body)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-ndjson")
	request.Header.Set("Authorization", "Bearer "+key)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, 0, 0
	}
	defer response.Body.Close()
	var result struct{ Stored, Known int }
	if err := json.NewDecoder(response.Body).Decode(&result); err != nil {
		t.Error(err)
	}
	return response.StatusCode, result.Stored, result.Known
}

// A server is killed while a body arrives. The sender sends it again to the next server: the rows are those of one
// import, none is missing and none doubled.
func TestCrash_IngestKilled(t *testing.T) {
	t.Parallel()
	needProgram(t)
	const rows, before = 60_000, 30_000 // more than the first batch
	dir := t.TempDir()
	mustRun(t, "init", "--dir", filepath.Join(dir, "data"), "--no-signing-key")
	key := assayIn(t, dir, "ingest-key create --dir data --source exchange --families transactions")
	server, err := startServer(dir, "first", "serve", "--dir", "data")
	if err != nil {
		t.Fatal(err)
	}
	in, out := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		status, _, _ := postRows(t, server.url, key, in)
		ended <- status
	}()
	if _, err := io.WriteString(out, feedRowsText(0, before)); err != nil {
		t.Fatal(err)
	}
	storetest.Eventually(t, "a batch is stored", func() bool {
		return len(storedTransactions(t, filepath.Join(dir, "data"))) > 0
	})
	server.kill()
	out.CloseWithError(io.ErrClosedPipe)
	if status := <-ended; status != 0 {
		t.Errorf("the sender whose server was killed got the status %d", status)
	}
	if server, err = startServer(dir, "second", "serve", "--dir", "data"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.kill)
	status, stored, known := postRows(t, server.url, key, strings.NewReader(feedRowsText(0, rows)))
	if status != 200 || stored+known != rows || known < 20_000 || known >= rows {
		t.Errorf("sent again: status %d, %d rows stored and %d known", status, stored, known)
	}
	clean := t.TempDir()
	if err := os.WriteFile(filepath.Join(clean, "rows.ndjson"), []byte(feedRowsText(0, rows)), 0o600); err != nil {
		t.Fatal(err)
	}
	mustRun(t, "init", "--dir", clean, "--no-signing-key")
	mustRun(t, "import", "transactions", "--dir", clean, filepath.Join(clean, "rows.ndjson"))
	got, want := storedTransactions(t, filepath.Join(dir, "data")), storedTransactions(t, clean)
	if len(want) != rows || !slices.Equal(got, want) {
		t.Errorf("%d rows are stored, and %d by one import, or they differ", len(got), len(want))
	}
}
