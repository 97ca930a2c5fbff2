package metrics_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/assaydata/assay/internal/apitest"
	"github.com/assaydata/assay/internal/metrics"
)

// The document lists every metric. go test ./internal/metrics -run TestDocs -update writes the list.
func TestDocs_Metrics(t *testing.T) {
	t.Parallel()
	const begin = "<!-- metrics:begin, written by go test ./internal/metrics -run TestDocs -update -->\n"
	const end = "<!-- metrics:end -->"
	text := string(readFile(t, document))
	before, rest, ok := strings.Cut(text, begin)
	_, after, found := strings.Cut(rest, end)
	if !ok || !found {
		t.Fatalf("%s lacks the line %s or %s", document, begin, end)
	}
	var b strings.Builder
	b.WriteString("\n| Metric | Type | Labels | What it says |\n|---|---|---|---|\n")
	for _, d := range metrics.Descriptions() {
		labels := "–"
		if d.Labels != "" {
			labels = "`" + strings.ReplaceAll(d.Labels, ", ", "`, `") + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", d.Name, d.Type, labels, d.Help)
	}
	want := before + begin + b.String() + "\n" + end + after
	if want == text {
		return
	}
	if !apitest.Updating() {
		t.Fatalf("the list of metrics in %s is not current: run go test ./internal/metrics -run TestDocs -update", document)
	}
	if err := os.WriteFile(document, []byte(want), 0o644); err != nil { //nolint:gosec // G306: everyone may read it
		t.Fatal(err)
	}
}
