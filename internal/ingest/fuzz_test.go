package ingest

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/assaydata/assay"
)

// FuzzRow reads arbitrary lines. Each is accepted or rejected exactly once, and accepted ones are plausible.
func FuzzRow(f *testing.F) {
	rows := []map[string]string{
		good(), with("price", "1e400"), with("price", "-0"), with("gpus", "１"), with("hours", "0.0000001"),
		with("executed_at", "2026-01-02 03:04:05+1400"), with("id", `"`), with("provider", "a,b\x00"), with("region", ""),
	}
	for _, row := range rows {
		f.Add(false, csvLine(row))
		f.Add(true, jsonLine(row))
	}
	for _, text := range []string{
		"", "\x000\x00", "\xff\xfe", "\n\r\n", bom + "{}", `"`, `a"b,"c`, "\xff", `{"price":NaN}`, `{"id":{}}`, `[`, `null`,
		csvLine(good()) + `"` + csvLine(good()), jsonLine(good()) + "{\n" + jsonLine(good()), strings.Repeat("x", 70_000) + "\n{}",
	} {
		f.Add(false, text)
		f.Add(true, text)
	}
	f.Fuzz(checkLines)
}

// bom may stand before the first line.
const bom = "\xef\xbb\xbf"

// checkLines imports lines and stops before the commit, when the accepted rows can be looked at.
func checkLines(t *testing.T, asJSON bool, text string) {
	name, content := "a.csv", csvHeaderLine+text+"\n"
	if asJSON {
		name, content = "a.ndjson", text+"\n"
	}
	var out outcome
	im := Transactions(testOptions(nil, &out))
	stop := errors.New("stop before the commit")
	ctx, cancel := context.WithCancel(t.Context())
	recognized := len(content) >= 4 // otherwise the end is met once when the first bytes are looked at
	end := readerFunc(func([]byte) (int, error) {
		if recognized {
			cancel()
		}
		recognized = true
		return 0, stop
	})
	err := im.File(ctx, name, io.MultiReader(strings.NewReader(content), end))
	if err != nil && utf16Name([]byte(content[:min(4, len(content))])) != "" {
		return // the file is refused
	}
	if !errors.Is(err, stop) {
		t.Fatalf("a line ended the file: %v", err)
	}
	var told, want []int
	for i := range im.filling.rows {
		told = append(told, im.filling.from[i].line)
		if why := implausible(&im.filling.rows[i]); why != "" {
			t.Errorf("took %+v: %s", im.filling.rows[i], why)
		}
	}
	for _, r := range out.rejects {
		told = append(told, r.Line)
		if r.Reason == "" {
			t.Errorf("rejected without a reason: %+v", r)
		}
	}
	for i, line := range strings.Split(strings.TrimPrefix(content, bom), "\n") {
		blank := strings.Trim(line, "\r") == "" && len(line) < maxLine
		if header := !asJSON && i == 0; !header && !blank {
			want = append(want, i+1)
		}
	}
	slices.Sort(told)
	if !slices.Equal(told, want) {
		t.Errorf("told of the lines %v, want %v", told, want)
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// implausible says what is wrong with a transaction, by the bounds that docs/publish.md promises.
func implausible(x *assay.Transaction) string {
	_, known := catalog.GPU(x.GPU)
	switch {
	case x.Price < assay.One/10_000 || x.Price > 1_000*assay.One:
		return "price"
	case x.GPUs < 1 || x.GPUs > 1_000_000:
		return "gpus"
	case x.HourMicros <= 0 || x.HourMicros > 100_000_000_000:
		return "hours"
	case x.GPUs*x.HourMicros > 1_000_000_000_000_000:
		return "GPU-hours"
	case x.ExecutedAt < 946_684_800_000 || x.ExecutedAt > notAfter:
		return "executed_at"
	case !known || x.Region == assay.Global || x.Region != "" && !catalog.HasRegion(x.Region):
		return "not in the catalog"
	}
	for _, text := range []string{x.ID, x.Source, x.Provider} {
		if text == "" || len(text) > 128 || strings.ContainsRune(text, 0) {
			return "text"
		}
	}
	return ""
}

var catalog = assay.DefaultCatalog()
