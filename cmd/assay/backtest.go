package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/backtest"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/live"
)

var backtestCommand = &command{
	name: "backtest", arguments: "--methodology FILE [flags]", summary: "replay published history under another methodology",
	details: `Computes every published day of the global index again under the methodology of a TOML file, as if it had
always been in effect, with the transactions as they are known now. Prints how far its values are from the
published ones, or from those that another version gives on the same transactions (--against), and draws an
SVG chart. Nothing is published, adopted or changed.

The columns of the table:
  days        published days of the time asked for, with a value or without
  base        days on which what is compared with has a value
  candidate   days on which the file's methodology gives a value
  moved       days on which both have a value, and not the same
  mean        mean difference in percent of the base, up and down offset each other
  mean abs    mean size of the difference in percent
  largest     largest difference in percent, and its day

The file is written like the one that assay methodology show prints; it must fix the day at the same time.`,
	run: runBacktest,
}

// backtestFlags is what the command can be told.
type backtestFlags struct {
	at                             place
	methodology, against, gpu, svg string
	from, to                       int64
}

func runBacktest(ctx context.Context, c *command, args []string, s streams) error {
	var f backtestFlags
	if err := f.parse(c, args, s); err != nil {
		return err
	}
	candidate, err := readMethodology(f.methodology)
	if err != nil {
		return err
	}
	if err := mayReplace(f.svg); err != nil {
		return fmt.Errorf("--svg: %w", err)
	}
	comparison, note, err := f.compare(ctx, candidate, s)
	if err != nil {
		return err
	}
	if err := writeChart(f.svg, comparison.Chart(note)); err != nil {
		return fmt.Errorf("--svg: %w", err)
	}
	printComparison(s.out, comparison, note)
	fmt.Fprintf(s.out, "\nchart: %s\n", f.svg)
	return nil
}

func (f *backtestFlags) parse(c *command, args []string, s streams) error {
	flags := newFlags(c, s)
	f.at.register(flags, "assay-data")
	flags.StringVar(&f.methodology, "methodology", "", "`FILE` of the methodology to try")
	flags.StringVar(&f.against, "against", "", "`VERSION` to compare with (default: what was published)")
	flags.StringVar(&f.gpu, "gpu", "", "`NAME` of the only GPU to look at")
	instantFlag(flags, &f.from, "from", "`INSTANT` of the first day to look at (default: the first published)")
	instantFlag(flags, &f.to, "to", "`INSTANT` before which the last day ends (default: the last published)")
	flags.StringVar(&f.svg, "svg", "backtest.svg", "`FILE` to draw the chart to; an earlier backtest's is replaced")
	if err := parse(flags, args); err != nil {
		return err
	}
	switch {
	case flags.NArg() > 0:
		return noArguments(flags)
	case f.methodology == "":
		return usageError{errors.New("--methodology is missing")}
	case f.svg == "" || f.svg == "-":
		return usageError{fmt.Errorf("invalid value %q for flag --svg: allowed is the name of a file", f.svg)}
	case f.from != 0 && f.to != 0 && f.from >= f.to:
		return usageError{errors.New("--from must be before --to")}
	}
	return nil
}

func readMethodology(name string) (m index.Methodology, err error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return m, fmt.Errorf("--methodology: %w", err)
	}
	if m, err = index.ParseMethodology(string(text)); err != nil {
		return m, fmt.Errorf("%s: %w", name, err)
	}
	return m, nil
}

// compare replays the database; the note says what readers of the figures must know.
func (f *backtestFlags) compare(ctx context.Context, candidate index.Methodology, s streams) (comparison *backtest.Comparison, note string, err error) {
	db, err := openExisting(ctx, f.at)
	if err != nil {
		return nil, "", err
	}
	defer db.Close()
	if f.gpu != "" {
		if err := knownGPU(ctx, db, f.gpu); err != nil {
			return nil, "", err
		}
	}
	synthetic, err := db.Setting(ctx, live.SettingSynthetic)
	if err != nil {
		return nil, "", err
	}
	if synthetic == "true" {
		note = "SYNTHETIC DATA: no figure here is a market price."
	}
	bar, begun := newProgress(s.err), time.Now()
	options := backtest.Options{
		Candidate: candidate, Against: f.against, GPU: f.gpu, From: f.from, To: f.to,
		Progress: func(done float64, transactions int) {
			bar.show("replaying", done, fmt.Sprintf("%s transactions, %s/s", thousands(transactions), rate(transactions, time.Since(begun))))
		},
	}
	if comparison, err = backtest.Run(ctx, db, options); err != nil {
		bar.leave()
		return nil, "", err
	}
	bar.complete()
	return comparison, note, nil
}

// mayReplace refuses a file that is there and is no chart of a backtest.
func mayReplace(name string) error {
	file, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	line, err := bufio.NewReader(io.LimitReader(file, 1000)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if strings.TrimRight(line, "\r\n") != backtest.ChartMark {
		return fmt.Errorf("%s is there, and it is not the chart of a backtest: name another file", name)
	}
	return nil
}

// writeChart asks once more: the replay took its time.
func writeChart(name string, svg []byte) error {
	if err := mayReplace(name); err != nil {
		return err
	}
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	_, err = file.Write(svg)
	return errors.Join(err, file.Close())
}

// printComparison prints the table.
func printComparison(w io.Writer, c *backtest.Comparison, note string) {
	first, last := c.Period()
	fmt.Fprintf(w, "methodology %s against %s, %s to %s\n", c.Candidate, c.BaseName(), assay.FormatDay(first), assay.FormatDay(last))
	if note != "" {
		fmt.Fprintln(w, note)
	}
	fmt.Fprintln(w)
	rows := [][]string{{"", "days", "base", "candidate", "moved", "mean %", "mean abs %", "largest %", "on"}}
	for i := range c.GPUs {
		rows = append(rows, summaryRow(c.GPUs[i].GPU, c.GPUs[i].Summary()))
	}
	printTable(w, append(rows, summaryRow("all", c.Summary())))
	if stale := c.Stale(); stale > 0 {
		fmt.Fprintf(w, "\nOn %s of these days the published value would differ under its own methodology too, because of what\n"+
			"arrived, was verified or was withdrawn since. --against VERSION compares on the same transactions.\n", thousands(stale))
	}
}

func summaryRow(name string, s backtest.Summary) []string {
	row := []string{name, thousands(s.Days), thousands(s.Base), thousands(s.Candidate), thousands(s.Moved), "-", "-", "-", "-"}
	if s.Compared > 0 {
		row[5], row[6], row[7] = backtest.Percent(s.Mean, true), backtest.Percent(s.MeanAbsolute, false), backtest.Percent(s.Largest, true)
	}
	if s.LargestAt != 0 {
		row[8] = assay.FormatDay(s.LargestAt)
	}
	return row
}

// printTable aligns columns: names and the last to the left, numbers to the right.
func printTable(w io.Writer, rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len(cell))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		fmt.Fprintf(&line, "%-*s", widths[0], row[0])
		for i, cell := range row[1 : len(row)-1] {
			fmt.Fprintf(&line, "  %*s", widths[i+1], cell)
		}
		fmt.Fprintf(w, "%s  %s\n", line.String(), row[len(row)-1])
	}
}
