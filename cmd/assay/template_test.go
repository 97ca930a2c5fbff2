package main

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/assaydata/assay/internal/ingest"
)

var importedRows = regexp.MustCompile(`^imported: (\d+) new, 0 known before, 0 rejected `)

// The example of every family can be imported as it is, in both forms, and is the same rows in both.
func TestTemplate_ImportsCleanly(t *testing.T) {
	for _, schema := range ingest.Families {
		dir := t.TempDir()
		for i, format := range []string{"csv", "ndjson"} {
			code, example, errs := runAssay(t, "", "template", schema.Name, "--format", format)
			if code != exitOK || errs != "" {
				t.Fatalf("template %s: exit code %d\n%s", schema.Name, code, errs)
			}
			code, out, errs := runAssay(t, example, "import", schema.Name, "--dir", t.TempDir(), "--format", format, "-")
			found := importedRows.FindStringSubmatch(out)
			if code != exitOK || found == nil || found[1] != strconv.Itoa(len(schema.Example)) {
				t.Errorf("%s as %s: exit code %d\n%s%s", schema.Name, format, code, out, errs)
			}
			_, out, _ = runAssay(t, example, "import", schema.Name, "--dir", dir, "--format", format, "-")
			if known := strings.HasPrefix(out, "imported: 0 new, "+strconv.Itoa(len(schema.Example))+" known before, 0 rejected"); known != (i == 1) {
				t.Errorf("%s: after the first form the second brings %s", schema.Name, out)
			}
		}
	}
}

func TestTemplate_Refuses(t *testing.T) {
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
