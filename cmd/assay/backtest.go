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

	"github.com/spf13/cobra"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/backtest"
	"github.com/assaydata/assay/internal/files"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/live"
)

// backtestConfig is what to replay and where to draw it.
type backtestConfig struct {
	location                       databaseLocation
	methodology, against, gpu, svg string
	from, to                       int64
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

The file has the form that assay methodology show prints. Its fixing must be the
one of the database. The columns of the table:

  days        published days in the period, with or without a value
  base        days on which the base of the comparison has a value
  candidate   days on which the file's methodology gives a value
  moved       days on which both have a value and they differ
  mean        mean difference in percent of the base; up and down cancel out
  mean abs    mean size of the difference in percent
  largest     largest difference in percent, and its day`,
		Example: `  assay methodology show --dir data > candidate.toml
  assay backtest --dir data --methodology candidate.toml --gpu "H100 SXM"`,
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
	if c.gpu != "" {
		if err := checkGPU(ctx, db, "--gpu", c.gpu); err != nil {
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
	bar, start := newProgress(s), time.Now()
	options := backtest.Options{
		Candidate: candidate, Against: c.against, GPU: c.gpu, From: c.from, To: c.to,
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
	fmt.Fprintf(w, "methodology %s against %s, %s to %s\n",
		c.Candidate, c.BaseName(), assay.FormatDay(first), assay.FormatDay(last))
	if note != "" {
		fmt.Fprintln(w, note)
	}
	fmt.Fprintln(w)
	rows := [][]string{{"", "days", "base", "candidate", "moved", "mean %", "mean abs %", "largest %", "on"}}
	for i := range c.GPUs {
		rows = append(rows, summaryRow(c.GPUs[i].GPU, c.GPUs[i].Summary()))
	}
	printNumbers(w, append(rows, summaryRow("all", c.Summary())))
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
