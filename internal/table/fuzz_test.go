package table_test

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/assaydata/assay/internal/table"
)

// Whatever the text is, a table is whole or there is an error, and lines of NDJSON are JSON if the text was.
func FuzzEnvelope(f *testing.F) {
	f.Add(`{"data":[{"timestamp":"2026-01-30T21:00:00.000Z","index_value":2.5}]}`, uint8(3))
	f.Add(`{"a":"\\"","b":{"c":[1,{}]},"data":{"timestamp":null},"d":[]}`, uint8(1))
	f.Add(`{"data":[{"timestamp":{"index":"}"},"x":[[["]"]]]}]}`, uint8(7))
	f.Fuzz(func(t *testing.T, text string, size uint8) {
		for _, format := range table.Formats {
			var out strings.Builder
			e := table.NewEnvelope(format, points, &out)
			for rest := text; rest != ""; {
				n := min(int(size)+1, len(rest))
				if _, err := io.WriteString(e, rest[:n]); err != nil {
					break
				}
				rest = rest[n:]
			}
			if err := e.Close(); err != nil || format != table.NDJSON || !json.Valid([]byte(text)) {
				continue
			}
			for line := range strings.Lines(out.String()) {
				if !json.Valid([]byte(line)) {
					t.Errorf("%q: the line %q", text, line)
				}
			}
		}
	})
}
