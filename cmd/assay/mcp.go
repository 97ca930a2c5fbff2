package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/mcp"
	"github.com/assaydata/assay/verifier"
)

// mcpConfig is the configuration of the tools for an agent.
type mcpConfig struct {
	server, keyFile string
	logKeys         []string
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
	parsedFlag(flags, "server", textFlag, "", "`URL` of the server (required)", func(text string) error {
		parsed, err := url.Parse(text)
		isHTTP := err == nil && (parsed.Scheme == "http" || parsed.Scheme == "https")
		if !isHTTP || parsed.Host == "" || parsed.User != nil || parsed.RawQuery+parsed.Fragment != "" {
			return errors.New("must be http:// or https:// and a host, without a name, a query or a fragment")
		}
		c.server = text
		return nil
	})
	flags.StringVar(&c.keyFile, "key-file", "", "`FILE` with an API key of the server")
	addLogKeyFlag(flags, &c.logKeys)
	return cmd
}

func runMCP(ctx context.Context, c *mcpConfig, s *streams) error {
	key, err := c.readKey()
	if err != nil {
		return err
	}
	if len(c.logKeys) > 0 {
		if _, err := verifier.NewLog(c.logKeys[0], c.logKeys[1:]...); err != nil {
			return usagef("invalid value for --log-key: %w", err)
		}
	}
	err = mcp.Run(ctx, mcp.Config{
		Source: mcp.NewRemote(c.server, key), Release: assay.Release(), Log: slog.New(slog.NewTextHandler(s.err, nil)),
		CheckedBy: "this computer", LogKeys: c.logKeys,
	}, io.NopCloser(s.in), unclosed{s.out})
	if ctx.Err() != nil {
		return nil //nolint:nilerr // the user has ended it
	}
	return err
}

// readKey reads the key, which is sent only where no one can read it on the way.
func (c *mcpConfig) readKey() (string, error) {
	if c.server == "" {
		return "", usagef("--server is required")
	}
	if c.keyFile == "" {
		return "", nil
	}
	if address, err := url.Parse(c.server); err != nil || !secureEnough(address) {
		return "", usagef("--key-file needs a --server that begins with https://, or is on this computer")
	}
	text, err := os.ReadFile(c.keyFile)
	if err != nil {
		return "", err
	}
	key := strings.TrimSpace(string(text))
	if key == "" || strings.ContainsAny(key, " \t\r\n") {
		return "", usagef("invalid value %q for --key-file: the file must have one key", c.keyFile)
	}
	return key, nil
}

// unclosed is standard output, which is not closed when the agent has gone.
type unclosed struct{ io.Writer }

// Close does nothing.
func (unclosed) Close() error { return nil }
