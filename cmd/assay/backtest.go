package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/backtest"
	"github.com/assaydata/assay/internal/family"
	"github.com/assaydata/assay/internal/files"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/live"
	"github.com/assaydata/assay/internal/store"
)

// backtestConfig is what to replay and where to draw it.
type backtestConfig struct {
	location                       databaseLocation
	methodology, against, gpu, svg string
	index, lab, models             string
	from, to                       int64
	days                           bool
}

func newBacktestCommand(s *streams) *cobra.Command {
	var config backtestConfig
	cmd := &cobra.Command{
		Use:   "backtest",
		Short: "Replay published history under another methodology",
		Long: `Recompute every published day of the global index under the methodology in a
TOML file, as if it had always been in effect, with the transactions known now.
Print how far the values are from the published ones, or from those of another
version on the same transactions (--against), and draw an SVG chart. Nothing is
published, adopted or changed.

With --index, compare an index of labs instead, with its values as they are now.
Both sides follow from the rows of models that count now. Its days are those of
UTC that have ended and begin in the period:

  workload        the like-for-like index over seven days: lfl of /api/workload
  workload-daily  the same over single days
  otpi            the token price: indexPerMtok of /api/otpi
  otpi-mix        that of the reference mix: mixPerMtok

The file has the form that assay methodology show prints. Its fixing must be the
one of the database. The columns of the table:

  days        published days in the period, or days with rows of the lab
  base        days on which the base of the comparison has a value
  candidate   days on which the file's methodology gives a value
  moved       days on which both have a value and they differ
  mean        mean difference in percent of the base; up and down cancel out
  mean abs    mean size of the difference in percent
  largest     largest difference in percent, and its day

A second table has the values of the last day. --days prints those of each day,
as CSV.`,
		Example: `  assay methodology show --dir data > candidate.toml
  assay backtest --dir data --methodology candidate.toml --gpu "H100 SXM"
  assay backtest --dir data --methodology candidate.toml --index workload --days`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := config.check(); err != nil {
				return err
			}
			return config.run(cmd.Context(), s)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&config.methodology, "methodology", "", "`FILE` of the methodology to try")
	flags.StringVar(&config.against, "against", "", "`VERSION` to compare with (default: the published values)")
	flags.StringVar(&config.gpu, "gpu", "", "`NAME` of the only GPU to replay")
	flags.StringVar(&config.index, "index", "",
		"`NAME` of the index of labs to compare: "+strings.Join(backtest.Indices(), ", ")+" (default: the prices of GPUs)")
	flags.StringVar(&config.lab, "lab", "", "`NAME` of the only lab to compare, with --index")
	flags.StringVar(&config.models, "model-family", "",
		"`NAME` of a family of models to compare, with --index workload or workload-daily (default: all models)")
	flags.BoolVar(&config.days, "days", false, "print every day as CSV instead of the tables")
	addInstantFlag(flags, &config.from, "from", "`INSTANT` of the first day (default: the first published)")
	addInstantFlag(flags, &config.to, "to", "`INSTANT` before which the last day ends (default: the last published)")
	flags.StringVar(&config.svg, "svg", "backtest.svg", "`FILE` for the chart; replaces the chart of an earlier backtest")
	config.location.register(flags, defaultFolder)
	return cmd
}

func (c *backtestConfig) check() error {
	switch {
	case c.methodology == "":
		return usagef("--methodology is required")
	case c.svg == "" || c.svg == "-":
		return usagef("invalid value %q for --svg: must be the name of a file", c.svg)
	case c.from != 0 && c.to != 0 && c.from >= c.to:
		return usagef("--from must be before --to")
	case c.index == "" && (c.lab != "" || c.models != ""):
		return usagef("--lab and --model-family need --index, one of %s", strings.Join(backtest.Indices(), ", "))
	case c.index == "":
		return nil
	case !slices.Contains(backtest.Indices(), c.index):
		return usagef("invalid value %q for --index: must be one of %s", c.index, strings.Join(backtest.Indices(), ", "))
	case c.gpu != "":
		return usagef("--gpu and --index cannot be used together: the indices are those of labs, which --lab names")
	case c.models != "" && !backtest.HasFamilies(c.index):
		return usagef("--model-family cannot be used with --index %s, which covers all models of a lab", c.index)
	}
	return nil
}

func (c *backtestConfig) run(ctx context.Context, s *streams) error {
	candidate, err := readMethodology(ctx, c.methodology)
	if err != nil {
		return err
	}
	if err := checkChartFile(c.svg); err != nil {
		return fmt.Errorf("--svg: %w", err)
	}
	comparison, note, err := c.compare(ctx, candidate, s)
	if err != nil {
		return err
	}
	if err := writeChart(c.svg, comparison.Chart(note)); err != nil {
		return fmt.Errorf("--svg: %w", err)
	}
	if c.days {
		if note != "" {
			s.note("%s", note)
		}
		s.note("chart: %s", c.svg)
		return printDays(s.out, comparison)
	}
	printComparison(s.out, comparison, note)
	s.say("\nchart: %s", c.svg)
	return nil
}

func readMethodology(ctx context.Context, name string) (m index.Methodology, err error) {
	text, err := files.Read(ctx, name, maxMethodologyFile)
	if err != nil {
		return m, fmt.Errorf("--methodology: %w", err)
	}
	if m, err = index.ParseMethodology(string(text)); err != nil {
		return m, fmt.Errorf("%s: %w", name, err)
	}
	return m, nil
}

// compare replays the database. The note says what readers of the figures must know.
func (c *backtestConfig) compare(
	ctx context.Context, candidate index.Methodology, s *streams,
) (comparison *backtest.Comparison, note string, err error) {
	db, err := openDatabase(ctx, c.location)
	if err != nil {
		return nil, "", err
	}
	defer db.Close()
	if err := c.checkNames(ctx, db); err != nil {
		return nil, "", err
	}
	synthetic, err := db.Setting(ctx, live.SettingSynthetic)
	if err != nil {
		return nil, "", err
	}
	if synthetic == "true" {
		note = "SYNTHETIC DATA: no figure here is a market price."
	}
	bar, start := newProgress(s), time.Now()
	options := backtest.Options{
		Candidate: candidate, Against: c.against, GPU: c.gpu, From: c.from, To: c.to,
		Index: c.index, Lab: c.lab, Models: c.models,
		Progress: func(done float64, transactions int) {
			bar.show("replaying", done, transactionRate(transactions, start))
		},
	}
	if comparison, err = backtest.Run(ctx, db, options); err != nil {
		bar.stop()
		return nil, "", err
	}
	bar.finish()
	return comparison, note, nil
}

// checkNames checks the names that must be in the catalog.
func (c *backtestConfig) checkNames(ctx context.Context, db *store.DB) error {
	if c.gpu != "" {
		return checkGPU(ctx, db, "--gpu", c.gpu)
	}
	if c.lab == "" {
		return nil
	}
	catalog, err := db.Catalog(ctx)
	if err != nil {
		return err
	}
	var names []string
	for _, lab := range catalog.Labs {
		names = append(names, lab.Lab)
	}
	if !slices.Contains(names, c.lab) {
		return usagef("invalid value %q for --lab: must be one of %s", c.lab, family.Listed(names))
	}
	return nil
}

// checkChartFile refuses an existing file that is not the chart of a backtest.
func checkChartFile(name string) error {
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
		return fmt.Errorf("%s exists and is not the chart of a backtest: choose another file", name)
	}
	return nil
}

// writeChart checks the file again: the replay took some time.
func writeChart(name string, svg []byte) error {
	if err := checkChartFile(name); err != nil {
		return err
	}
	return files.Write(name, svg)
}

func printComparison(w io.Writer, c *backtest.Comparison, note string) {
	first, last := c.Period()
	if c.Index != "" {
		fmt.Fprintf(w, "%s: ", c.Index)
	}
	fmt.Fprintf(w, "methodology %s against %s, %s to %s\n",
		c.Candidate, c.BaseName(), assay.FormatDay(first), assay.FormatDay(last))
	if note != "" {
		fmt.Fprintln(w, note)
	}
	fmt.Fprintln(w)
	rows := [][]string{{"", "days", "base", "candidate", "moved", "mean %", "mean abs %", "largest %", "on"}}
	latest := [][]string{{"last day", "base", "candidate", "difference %", "on"}}
	for i := range c.Series {
		series := &c.Series[i]
		rows = append(rows, summaryRow(series.Name, series.Summary()))
		if day := series.Last(); day != nil {
			base, candidate, difference := dayCells(day, "-", true)
			latest = append(latest, []string{series.Name, base, candidate, difference, assay.FormatDay(day.At)})
		}
	}
	printNumbers(w, append(rows, summaryRow("all", c.Summary())))
	if len(latest) > 1 {
		fmt.Fprintln(w)
		printNumbers(w, latest)
	}
	if stale := c.Stale(); stale > 0 {
		fmt.Fprintf(w, "\nOn %s of these days the published value would also differ under its own methodology, because\n"+
			"transactions arrived, were verified or were withdrawn since. --against VERSION compares on the same\n"+
			"transactions.\n", thousands(stale))
	}
}

func summaryRow(name string, s backtest.Summary) []string {
	row := []string{
		name, thousands(s.Days), thousands(s.Base), thousands(s.Candidate), thousands(s.Moved), "-", "-", "-", "-",
	}
	if s.Compared > 0 {
		row[5] = backtest.Percent(s.Mean, true)
		row[6] = backtest.Percent(s.MeanAbsolute, false)
		row[7] = backtest.Percent(s.Largest, true)
	}
	if s.LargestAt != 0 {
		row[8] = assay.FormatDay(s.LargestAt)
	}
	return row
}

// dayCells are the values of a day and their difference in percent, or a word for what is missing; signed puts a plus
// before a positive difference.
func dayCells(d *backtest.Day, none string, signed bool) (base, candidate, difference string) {
	base, candidate, difference = none, none, none
	if d.HasBase {
		base = d.Base.String()
	}
	if d.HasCandidate {
		candidate = d.Candidate.String()
	}
	if _, ok := d.Difference(); ok {
		difference = backtest.Percent(index.ChangePct(d.Candidate, d.Base), signed)
	}
	return base, candidate, difference
}

// printDays prints every day as CSV.
func printDays(w io.Writer, c *backtest.Comparison) error {
	kind := "gpu"
	if c.Index != "" {
		kind = "lab"
	}
	return writeCSV(w, func(row func(...string) error) error {
		err := row("date", kind, "base", "candidate", "difference_pct")
		for i := range c.Series {
			for k := range c.Series[i].Days {
				day := &c.Series[i].Days[k]
				base, candidate, difference := dayCells(day, "", false)
				err = errors.Join(err, row(assay.FormatDay(day.At), c.Series[i].Name, base, candidate, difference))
			}
		}
		return err
	})
}

// printNumbers aligns columns of numbers: the first and the last column to the left, the others to the right.
func printNumbers(w io.Writer, rows [][]string) {
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
