package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assaydata/assay/internal/backtest"
)

func TestCheckChartFile(t *testing.T) {
	t.Parallel()
	f := func(name, content, want string) {
		t.Helper()
		file := filepath.Join(t.TempDir(), name)
		if content != "" {
			if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		err := checkChartFile(file)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: error %v, want %q", content, err, want)
		}
	}
	const refused = "is not the chart of a backtest"
	f("missing.svg", "", "")
	f("chart.svg", backtest.ChartMark+"\n<svg/>", "")
	f("windows.svg", backtest.ChartMark+"\r\n<svg/>", "") // saved by an editor
	f("cut-off.svg", backtest.ChartMark, "")
	f("drawing.svg", "<svg/>\n"+backtest.ChartMark, refused)
	f("notes.txt", "\n", refused)
	f("long.txt", strings.Repeat("x", 5000), refused)
	if err := checkChartFile(t.TempDir()); err == nil {
		t.Error("a folder would be replaced")
	}
}

func TestPrintNumbers(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	printNumbers(&b, [][]string{{"", "days", "on"}, {"H100 SXM", "1,000", "2026-07-05"}, {"all", "7", "-"}})
	const want = "" +
		"           days  on\n" +
		"H100 SXM  1,000  2026-07-05\n" +
		"all           7  -\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}
