package client_test

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"testing"

	"github.com/assaydata/assay/client"
)

// A file of the list can be read, from any offset on, and has the listed hash.
func TestBulkFile(t *testing.T) {
	t.Parallel()
	c := newRig(t).client(t, "full")
	files, err := c.Bulk(t.Context(), nil)
	if err != nil || len(files.Data) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	read := func(f *client.BulkFile, from int64) []byte {
		t.Helper()
		body, err := c.BulkFile(t.Context(), f, from)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = body.Close() }()
		text, err := io.ReadAll(body)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	for _, f := range files.Data {
		begin, rest := read(&f, 0)[:100], read(&f, 100)
		sum := sha256.Sum256(append(begin[:100:100], rest...))
		if hex.EncodeToString(sum[:]) != f.SHA256 || int64(100+len(rest)) != f.Size {
			t.Errorf("%s: %x, %d bytes", f.Name, sum, 100+len(rest))
		}
	}
}

func TestBulkFile_Errors(t *testing.T) {
	t.Parallel()
	f := &client.BulkFile{Name: "a.parquet", Dataset: "a", Size: 10, SHA256: "0"}
	c := respond(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.Header.Get("Range") {
		case "bytes=1-":
			w.Header().Set("Content-Range", "bytes 0-9/10")
			w.WriteHeader(http.StatusPartialContent)
		case "bytes=2-":
			_, _ = w.Write([]byte("x")) // shorter than the offset
		}
	})
	for from, code := range map[int64]string{-1: "bad_argument", 10: "bad_argument", 1: "bad_response", 2: "bad_response"} {
		_, err := c.BulkFile(t.Context(), f, from)
		if e := failure(t, err); e.Code != code {
			t.Errorf("from %d: %+v, want %s", from, e, code)
		}
	}
}
