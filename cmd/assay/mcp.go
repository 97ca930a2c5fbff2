package main

import (
	"context"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/mcp"
	"github.com/assaydata/assay/verifier"
)

// mcpConfig is the configuration of the tools for an agent.
type mcpConfig struct {
	source  serverSource
	logKeys []string
}

func newMCPCommand(s *streams) *cobra.Command {
	var c mcpConfig
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Give an agent on this computer the data of a server",
		Long: `Give an agent on this computer the data of a server.

The agent starts this command and talks to it over standard input and output,
in the Model Context Protocol. Its tools ask the server: what they return is
what the key may read. An agent that can reach the server over HTTP does not
need this command: it finds the same tools at /mcp of the server. With this
command, verify_value checks proofs on this computer and not on the server.
docs/mcp.md says how to set up common agents.`,
		Example: `  assay mcp --server https://assay.example.com --key-file key.txt
  assay mcp --server http://127.0.0.1:8080`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error { return runMCP(cmd.Context(), &c, s) },
	}
	flags := cmd.Flags()
	c.source.register(flags)
	addLogKeyFlag(flags, &c.logKeys)
	return cmd
}

func runMCP(ctx context.Context, c *mcpConfig, s *streams) error {
	key, err := c.source.readKey()
	if err != nil {
		return err
	}
	if len(c.logKeys) > 0 {
		if _, err := verifier.NewLog(c.logKeys[0], c.logKeys[1:]...); err != nil {
			return usagef("invalid value for --log-key: %w", err)
		}
	}
	err = mcp.Run(ctx, mcp.Config{
		Source: mcp.NewRemote(c.source.server, key), Release: assay.Release(), Log: slog.New(slog.NewTextHandler(s.err, nil)),
		CheckedBy: "this computer", LogKeys: c.logKeys,
	}, io.NopCloser(s.in), unclosed{s.out})
	if ctx.Err() != nil {
		return nil //nolint:nilerr // the user has ended it
	}
	return err
}

// unclosed is standard output, which is not closed when the agent has gone.
type unclosed struct{ io.Writer }

// Close does nothing.
func (unclosed) Close() error { return nil }
