package values_test

import (
	_ "embed"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index"
)

var update = flag.Bool("update", false, "write docs/methodology.md")

//go:embed methodology.md.tmpl
var pageText string

// scenario is a part of a file of scenarios, from the comment that begins with a text to the next empty line. The tests
// of its package compute it.
func scenario(file, begin string) (string, error) {
	text, err := os.ReadFile(filepath.Join("..", "..", file))
	if err != nil {
		return "", err
	}
	_, rest, found := strings.Cut(string(text), "# "+begin)
	if !found {
		return "", fmt.Errorf("%s has no scenario that begins with %q", file, begin)
	}
	part, _, _ := strings.Cut(rest, "\n\n")
	return "```text\n# " + begin + strings.TrimRight(part, "\n") + "\n```\n", nil
}

// The page of the methodology follows from the parameters of the version that new databases begin with, and from
// scenarios.
func TestDocs_Methodology(t *testing.T) {
	t.Parallel()
	page, err := template.New("page").Funcs(template.FuncMap{
		"scenario": scenario,
		"share":    func(hundredths int) string { return strconv.FormatFloat(float64(hundredths)/100, 'f', -1, 64) },
		"duration": func(d time.Duration) string { return strconv.Itoa(int(d.Hours())) + " hours" },
		"day":      assay.FormatDay,
	}).Parse(pageText)
	if err != nil {
		t.Fatal(err)
	}
	standard, err := index.ParseMethodology(index.StandardText())
	if err != nil {
		t.Fatal(err)
	}
	var made strings.Builder
	if err := page.Execute(&made, &standard); err != nil {
		t.Fatal(err)
	}
	const file = "../../docs/methodology.md"
	if *update {
		if err := os.WriteFile(file, []byte(made.String()), 0o644); err != nil { //nolint:gosec // everyone may read it
			t.Fatal(err)
		}
	}
	written, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(written) != made.String() {
		t.Error("docs/methodology.md is not current: go test ./internal/values -run TestDocs_Methodology -update")
	}
}
