package main

import (
	"strconv"
	"strings"
	"testing"

	"github.com/assaydata/assay/internal/ingest"
)

// The example of every family can be imported as it is, in both formats, and has the same rows in both.
func TestTemplate_ImportsCleanly(t *testing.T) {
	t.Parallel()
	for _, family := range ingest.Families {
		t.Run(family.Name, func(t *testing.T) {
			t.Parallel()
			dir, rows := initFolder(t), strconv.Itoa(len(family.Example))
			imported := map[string]string{"csv": rows + " new, 0 known", "ndjson": "0 new, " + rows + " known"}
			for _, format := range []string{"csv", "ndjson"} {
				code, example, errs := runAssay(t, "", "template", family.Name, "--format", format)
				if code != exitOK || errs != "" {
					t.Fatalf("template ends with %d\n%s", code, errs)
				}
				code, out, errs := runAssay(t, example, "import", family.Name, "--dir", initFolder(t), "--format", format, "-")
				want := "imported: " + rows + " new, 0 known before, 0 rejected "
				if code != exitOK || !strings.HasPrefix(out, want) {
					t.Errorf("%s: import ends with %d\n%s%s, want %s", format, code, out, errs, want)
				}
				_, out, _ = runAssay(t, example, "import", family.Name, "--dir", dir, "--format", format, "-")
				if want := "imported: " + imported[format] + " before, 0 rejected "; !strings.HasPrefix(out, want) {
					t.Errorf("%s into the same database: %s, want %s", format, out, want)
				}
			}
		})
	}
}

func TestTemplate_Refuses(t *testing.T) {
	t.Parallel()
	f := func(want string, args ...string) {
		t.Helper()
		code, out, errs := runAssay(t, "", append([]string{"template"}, args...)...)
		if code != exitUsage || out != "" || !strings.HasPrefix(errs, want) {
			t.Errorf("%q: exit code %d, %s%s", args, code, out, errs)
		}
	}
	f("assay template: missing FAMILY\n")
	f(`assay template: unknown family "prices": must be one of transactions, utilization`, "prices")
	f(`assay template: invalid value "xml" for --format: must be csv or ndjson`, "transactions", "--format", "xml")
	f(`assay template: unexpected argument "utilization"`, "transactions", "utilization")
}
