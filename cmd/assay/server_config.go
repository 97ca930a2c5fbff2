package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/limit/sharedlimit"
	"github.com/assaydata/assay/internal/web"
)

// serverConfig is the configuration of a process that serves.
type serverConfig struct {
	addr           string
	location       databaseLocation
	trustedProxies []netip.Prefix
	proxyHeader    string
	corsOrigins    []string
	standardHTTP   bool
	keyLimit       int
	planLimits     map[assay.Tier]int
	accountLimit   int // 0: ten times keyLimit
	usageDays      int // 0: forever
	connections    web.ConnectionLimits
	streams        web.Streams
	limits         string // may contain a password
	logFile        string
	logLevel       slog.Level
	logFormat      logFormat
	accessLog      accessLog
	signIn         signInConfig
	alerts         alertConfig
	admin          adminConfig
	traces         traceConfig
	tls            tlsConfig
	node           nodeConfig
	again          func() (next serverConfig, restart []string, err error) // reads the configuration again; see readAgain
}

func (c *serverConfig) register(cmd *cobra.Command, defaultDir string) {
	c.addr, c.node.role, c.keyLimit, c.accessLog = "127.0.0.1:8080", web.NodeAll, 600, 1
	c.logFormat = logJSON
	c.connections = web.ConnectionLimits{Total: 10_000, PerAddress: 256}
	c.streams = web.Streams{PerKey: 10, PerAddress: 10}
	flags := cmd.Flags()
	parsedFlag(flags, "addr", textFlag, c.addr, "`HOST:PORT` to listen on", c.setAddr)
	c.location.register(flags, defaultDir)
	addNumberFlag(flags, &c.keyLimit, "key-limit", 1, maxKeyLimit,
		"`NUMBER` of requests per minute and key on keyed routes")
	parsedFlag(flags, "plan-limits", listFlag, "",
		"`TIER=NUMBER,…`: requests per minute and key of a tier in place of --key-limit, such as full=3000", c.setPlanLimits)
	addOptionalNumberFlag(flags, &c.accountLimit, "account-limit", 10_000_000,
		"`NUMBER` of requests per minute of all keys and sessions of an account (default: ten times --key-limit)")
	addOptionalNumberFlag(flags, &c.usageDays, "usage-days", 36_500,
		"`NUMBER` of days for which request counts are kept (default: forever)")
	addAddressFlag(flags, &c.limits, "limits",
		"`URL` of a Redis that counts limits for all nodes, redis://HOST or redis://HOST,HOST…, or rediss://HOST?ca=FILE "+
			"for TLS (default: each node counts)",
		sharedlimit.CheckAddress)
	parsedFlag(flags, "trusted-proxies", listFlag, "",
		"`CIDR,…` of proxies whose --proxy-header and X-Forwarded-Proto are trusted", func(text string) (err error) {
			c.trustedProxies, err = parsePrefixes(text)
			return err
		})
	parsedFlag(flags, "proxy-header", textFlag, web.XForwardedFor,
		"`HEADER` in which trusted proxies name the client: X-Forwarded-For or Forwarded", c.setProxyHeader)
	completeFlag(cmd, "proxy-header", web.XForwardedFor, web.Forwarded)
	addNumberFlag(flags, &c.connections.Total, "max-connections", 1, 1_000_000,
		"`NUMBER` of connections at a time, fewer if the limit of open files requires it")
	addNumberFlag(flags, &c.connections.PerAddress, "max-connections-per-address", 1, 1_000_000,
		"`NUMBER` of connections at a time from one address, IPv6 by /64; trusted proxies are exempt")
	addNumberFlag(flags, &c.streams.PerKey, "streams-per-key", 1, 1_000_000,
		"`NUMBER` of streams at a time of one key, or of the sessions of one account")
	addNumberFlag(flags, &c.streams.PerAddress, "streams-per-address", 1, 1_000_000,
		"`NUMBER` of streams at a time of callers without a key from one address, IPv6 by /64")
	parsedFlag(flags, "http", textFlag, "fast",
		"`SERVER` of connections: fast, or standard to leave all to net/http", c.setHTTP)
	completeFlag(cmd, "http", "fast", "standard")
	parsedFlag(flags, "cors-origins", listFlag, "", "`ORIGIN,…` of web pages that may send API keys",
		func(text string) error {
			c.corsOrigins = splitList(text)
			return nil
		})
	flags.StringVar(&c.logFile, "log-file", "", "`FILE` to write the log to (default: standard error)")
	parsedFlag(flags, "log-level", textFlag, "info", "lowest `LEVEL` to log: info (also requests), warn or error",
		c.setLogLevel)
	completeFlag(cmd, "log-level", "info", "warn", "error")
	parsedFlag(flags, "log-format", textFlag, string(logJSON), "`FORMAT` of the log's lines: json or text",
		c.logFormat.set)
	completeFlag(cmd, "log-format", string(logJSON), string(logText))
	parsedFlag(flags, "access-log", textFlag, "all",
		"`REQUESTS` to log: all, off, or a number for one in so many and every failure of the server", c.accessLog.set)
	completeFlag(cmd, "access-log", "all", "off")
	c.signIn.register(cmd)
	c.alerts.register(cmd)
	c.admin.register(cmd)
	c.traces.register(cmd)
	c.tls.register(cmd)
}

func (c *serverConfig) setAddr(text string) error {
	if err := checkHostPort(text, "0.0.0.0:8080"); err != nil {
		return err
	}
	c.addr = text
	return nil
}

// checkHostPort checks an address to listen on.
func checkHostPort(text, example string) error {
	_, port, err := net.SplitHostPort(text)
	if err != nil {
		return errors.New("must be HOST:PORT, for example " + example)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return errors.New("the port must be a number from 0 to 65535")
	}
	return nil
}

func (c *serverConfig) setHTTP(text string) error {
	if text != "fast" && text != "standard" {
		return errors.New("must be fast or standard")
	}
	c.standardHTTP = text == "standard"
	return nil
}

// maxKeyLimit is more than a node serves.
const maxKeyLimit = 1_000_000

func (c *serverConfig) setPlanLimits(text string) error {
	c.planLimits = map[assay.Tier]int{}
	for _, part := range splitList(text) {
		name, number, _ := strings.Cut(part, "=")
		tier, err := assay.ParseTier(name)
		if err != nil {
			return fmt.Errorf("%q: must be %s=NUMBER or %s=NUMBER", part, assay.Premium, assay.Full)
		}
		var limit int
		if err := parseNumber(&limit, 1, maxKeyLimit)(number); err != nil {
			return fmt.Errorf("%q: %w", part, err)
		}
		c.planLimits[tier] = limit
	}
	return nil
}

func (c *serverConfig) setProxyHeader(text string) error {
	for _, header := range []string{web.XForwardedFor, web.Forwarded} {
		if strings.EqualFold(text, header) {
			c.proxyHeader = header
			return nil
		}
	}
	return fmt.Errorf("must be %s or %s", web.XForwardedFor, web.Forwarded)
}

func (c *serverConfig) setLogLevel(text string) error {
	switch text {
	case "info", "warn", "error":
		return c.logLevel.UnmarshalText([]byte(text))
	}
	return errors.New("must be info, warn or error")
}

func parsePrefixes(text string) (prefixes []netip.Prefix, err error) {
	for _, part := range splitList(text) {
		prefix, err := netip.ParsePrefix(part)
		if err != nil {
			address, addressErr := netip.ParseAddr(part)
			if addressErr != nil {
				return nil, fmt.Errorf("%q must be an address or a CIDR range such as 10.0.0.0/8", part)
			}
			prefix = netip.PrefixFrom(address, address.BitLen())
		}
		prefixes = append(prefixes, prefix.Masked())
	}
	return prefixes, nil
}
