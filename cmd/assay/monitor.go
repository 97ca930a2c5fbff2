package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/assaydata/assay/internal/monitor"
	"github.com/assaydata/assay/internal/pin"
	"github.com/assaydata/assay/verifier"
)

// monitorConfig is the configuration of a monitor.
type monitorConfig struct {
	url, dir, keyFile string
	every             time.Duration
	once              bool
	records           int
	logKeys           []string
	witnesses         []string
	quorum            int
}

func newMonitorCommand(s *streams) *cobra.Command {
	c := monitorConfig{every: time.Minute, records: 20}
	cmd := &cobra.Command{
		Use:   "monitor URL",
		Short: "Find out whether a server cheats, as an outsider",
		Long: `Find out whether a server cheats, as an outsider.

The monitor keeps the last checkpoint that it has seen. It reads every entry
that is new, and checks that the log has kept everything and is the one that
its operator has signed. Of the records that are new, and of those that it has
seen before, it proves some, chosen at random, and compares the values that the
server shows with them. It needs no account; with an API key it compares more.

If the log was rewritten or cut, if it has two histories, or if a value is not
what its record says, the monitor ends with exit code 1, and what proves it is
in its folder, with both signed checkpoints. A server that does not respond is
asked again. The key of the log is read from it once and kept: compare the one
that is printed with what its operator publishes.`,
		Example: `  assay monitor https://assay.example.com --dir monitor
  assay monitor https://assay.example.com --dir monitor --once`,
		Args: arguments("URL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c.url = strings.TrimRight(args[0], "/")
			return runMonitor(cmd.Context(), &c, s)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&c.dir, "dir", "monitor", "`FOLDER` of the monitor's memory and evidence; created if it is missing")
	addDurationFlag(flags, &c.every, "every", time.Second, 24*time.Hour, "`TIME` between two rounds, such as 5m")
	flags.BoolVar(&c.once, "once", false, "check one round and end")
	addNumberFlag(flags, &c.records, "records", 0, 10_000, "`NUMBER` of records to prove in a round")
	flags.StringVar(&c.keyFile, "key-file", "", "`FILE` with an API key of the server")
	addLogKeyFlag(flags, &c.logKeys)
	parsedFlag(flags, "witness", listFlag, "", "`KEY,…` of witnesses that must have signed, see --quorum",
		func(text string) error {
			c.witnesses = splitList(text)
			return nil
		})
	addOptionalNumberFlag(flags, &c.quorum, "quorum", 100,
		"`NUMBER` of the witnesses that must have signed a checkpoint (default: all)")
	return cmd
}

func runMonitor(ctx context.Context, c *monitorConfig, s *streams) error {
	if !strings.HasPrefix(c.url, "http://") && !strings.HasPrefix(c.url, "https://") {
		return usagef("%q must begin with http:// or https://", c.url)
	}
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return err
	}
	m := &monitor.Monitor{
		Server: monitor.Server{URL: c.url}, Dir: c.dir, Records: c.records, Now: wallTime,
		Wait: func(ctx context.Context) error { return sleep(ctx, 10*time.Second) },
	}
	if c.keyFile != "" {
		text, err := os.ReadFile(c.keyFile)
		if err != nil {
			return err
		}
		m.Server.Key = strings.TrimSpace(string(text))
	}
	pinned, err := pin.Open(ctx, c.dir, c.url, c.logKeys)
	if err != nil {
		return err
	}
	if pinned.IsNew {
		s.say("The key of the log, kept from now on, is %s", pinned.Key)
	}
	if m.Log, err = c.witnessed(pinned.Log()); err != nil {
		return err
	}
	m.Follow = func(ctx context.Context) (*verifier.Log, error) {
		log, err := c.witnessed(pinned.Follow(ctx))
		if err == nil {
			s.say("The operator has changed the key of the log: %s/log/keys", c.url)
		}
		return log, err
	}
	if err := m.Load(); err != nil {
		return err
	}
	return c.follow(ctx, m, s)
}

// witnessed is the log with the witnesses that the caller asks for.
func (c *monitorConfig) witnessed(log *verifier.Log, err error) (*verifier.Log, error) {
	if err != nil || len(c.witnesses) == 0 {
		return log, err
	}
	quorum := c.quorum
	if quorum == 0 {
		quorum = len(c.witnesses)
	}
	asks, err := log.Require(quorum, c.witnesses...)
	if err != nil {
		return nil, usagef("invalid value for --witness: %w", err)
	}
	return asks, nil
}

// follow checks round after round.
func (c *monitorConfig) follow(ctx context.Context, m *monitor.Monitor, s *streams) error {
	for {
		report, err := m.Round(ctx)
		_, cheats := errors.AsType[*monitor.Evidence](err)
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // the user has ended it
		case cheats || c.once && err != nil:
			return err
		case err != nil:
			s.say("%s: not checked: %v", wallTime().UTC().Format(time.RFC3339), err)
		case report.New > 0 || c.once:
			s.say("%s: the log has %s entries, %s of them new; %d records and %d values are proven",
				wallTime().UTC().Format(time.RFC3339), thousands(int(report.Size)), thousands(int(report.New)),
				report.Records, report.Values)
		}
		if c.once {
			return nil
		}
		if sleep(ctx, c.every) != nil {
			return nil //nolint:nilerr // the user has ended it
		}
	}
}

// sleep waits, at most until the context ends.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
