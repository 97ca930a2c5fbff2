package main

import (
	"context"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/net/http/httpguts"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/tracing"
)

// traceConfig is where traces go.
type traceConfig struct {
	url         string // empty: nowhere
	oneIn       int
	headersFile string
}

func (c *traceConfig) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	addAddressFlag(flags, &c.url, "traces",
		"`URL` of an OpenTelemetry collector that takes traces over OTLP/HTTP, such as http://127.0.0.1:4318",
		tracing.CheckURL)
	c.oneIn = 100
	addNumberFlag(flags, &c.oneIn, "traces-one-in", 1, 1_000_000,
		"`NUMBER` of requests of which one is traced; imports and publications all are")
	flags.StringVar(&c.headersFile, "traces-headers-file", "",
		"`FILE` with headers for the collector, one NAME: VALUE per line, such as a token")
}

// headers reads the file of headers, which may be secret: errors show lines by number alone.
func (c *traceConfig) headers() (map[string]string, error) {
	if c.headersFile == "" {
		return nil, nil
	}
	if u, err := url.Parse(c.url); err == nil && !secureEnough(u) {
		return nil, usagef("--traces must begin with https:// with --traces-headers-file, unless it is on this computer")
	}
	text, err := os.ReadFile(c.headersFile)
	if err != nil {
		return nil, usagef("invalid value for --traces-headers-file: %w", err)
	}
	headers := map[string]string{}
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		if !httpguts.ValidHeaderFieldName(name) || value == "" || !httpguts.ValidHeaderFieldValue(value) {
			return nil, usagef("invalid value %q for --traces-headers-file: line %d must be NAME: VALUE", c.headersFile, number)
		}
		headers[http.CanonicalHeaderKey(name)] = value
	}
	return headers, nil
}

// openTraces prepares to send traces.
func (v *service) openTraces(ctx context.Context) (err error) {
	config := v.config.traces
	if config.url == "" {
		if config.headersFile != "" {
			return usagef("--traces is required with --traces-headers-file")
		}
		return nil
	}
	headers, err := config.headers()
	if err != nil {
		return err
	}
	v.tracer, err = tracing.Open(ctx, tracing.Config{
		URL: config.url, Headers: headers, OneIn: config.oneIn, Release: assay.Release(), Log: v.log,
	})
	return err
}

// lastTracesTimeout is how long sending the last traces may take.
const lastTracesTimeout = 3 * time.Second

// lastTraces sends the traces since the last batch, once no request is in flight anymore.
func (v *service) lastTraces(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastTracesTimeout)
	defer cancel()
	if err := v.tracer.Close(ctx); err != nil {
		v.log.Warn("the last traces cannot be sent", "error", err)
	}
}
