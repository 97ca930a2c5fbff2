package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assaydata/assay/internal/tracing/tracingtest"
)

// A request, an import and a publication are traces with what they did at the store, and the log of requests names
// them. Only a proxy that is trusted continues a trace of its own.
func TestTraces(t *testing.T) {
	t.Parallel()
	dir := nodeFolder(t)
	collector := tracingtest.Start(t)
	if err := os.WriteFile(filepath.Join(dir, "headers"), []byte("X-Token: geheim\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	sender := assayIn(t, dir, "ingest-key create --dir data --source exchange --families transactions")
	server, err := startServer(dir, "server", "serve", "--dir", "data", "--traces", collector.URL, "--traces-one-in", "1",
		"--traces-headers-file", "headers", "--trusted-proxies", "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.kill)
	const parent = "0af7651916cd43dd8448eb211c80319c"
	f := func(parent string) {
		t.Helper()
		url := server.url + "/api/gpu/H100%20SXM?secret=1"
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Traceparent", parent)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close() // the trace is what counts
	}
	f("")
	f("00-" + parent + "-b7ad6b7169203331-01")
	status, stored, _ := postRows(t, server.url, sender, strings.NewReader(feedRowsText(0, 10)))
	if status != http.StatusOK || stored != 10 {
		t.Fatalf("the rows got %d, %d stored", status, stored)
	}
	if err := server.stop(); err != nil {
		t.Fatal(err)
	}

	reads := collector.Named("GET /api/gpu/{gpuName}")
	if len(reads) != 2 || reads[0].Trace == parent || reads[1].Trace != parent {
		t.Errorf("the reads are %+v", reads)
	}
	log, err := os.ReadFile(filepath.Join(dir, "server.err"))
	if err != nil {
		t.Fatal(err)
	}
	logged := map[string]string{} // by trace
	for line := range strings.Lines(string(log)) {
		var entry struct{ Msg, Trace, ID string }
		if err := json.Unmarshal([]byte(line), &entry); err == nil && entry.Msg == "request" {
			logged[entry.Trace] = entry.ID
		}
	}
	for _, read := range reads {
		if id := read.Attributes["assay.request_id"]; id == "" || logged[read.Trace] != id {
			t.Errorf("the request %s has the trace %s, and the log has %v", id, read.Trace, logged)
		}
	}
	imports := collector.Named("import transactions")
	if len(imports) != 1 || len(collector.Named("publish what is due")) == 0 {
		t.Fatalf("received %+v", collector.Spans())
	}
	writes := 0
	for _, span := range collector.Named("store write") {
		if span.Parent == imports[0].ID {
			writes++
		}
	}
	if writes == 0 {
		t.Error("the import wrote nothing to the store")
	}
	for _, header := range collector.Headers() {
		if header.Get("X-Token") != "geheim" {
			t.Errorf("the collector got %v", header)
		}
	}
	if text, err := json.Marshal(collector.Spans()); err != nil || strings.Contains(string(text), "secret") ||
		strings.Contains(string(text), strings.TrimSpace(sender)) {
		t.Errorf("a query or a key is in the spans (%v):\n%s", err, text)
	}
	if strings.Contains(string(log), "geheim") {
		t.Error("the token of the collector is in the log")
	}
}

func TestTraceConfig_Headers(t *testing.T) {
	t.Parallel()
	f := func(text, want string) {
		t.Helper()
		file := filepath.Join(t.TempDir(), "headers")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		config := traceConfig{url: "https://collector.example.com", headersFile: file}
		_, err := config.headers()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "geheim") {
			t.Errorf("%q: the error shows the value: %v", text, err)
		}
	}
	f("Authorization: Bearer geheim\n\nX-Tenant: a\n", "")
	f("", "")
	f("X-Tenant: a\ngeheim\n", "line 2 must be NAME: VALUE")
	f("a b: geheim", "line 1 must be NAME: VALUE")
	f("A:", "line 1 must be NAME: VALUE")
	config := traceConfig{url: "http://collector.example.com", headersFile: "headers"}
	if _, err := config.headers(); err == nil || !strings.Contains(err.Error(), "must begin with https://") {
		t.Errorf("headers in the clear: %v", err)
	}
}
