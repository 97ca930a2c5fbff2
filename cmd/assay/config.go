package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"github.com/assaydata/assay"
)

// newFlags makes the flags of a command; they are parsed by parse.
func newFlags(c *command, s streams) *flag.FlagSet {
	flags := flag.NewFlagSet(c.name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Usage = func() { c.printHelp(s.out, flags) }
	return flags
}

// parse reads the command line and, for flags that are not on it, the environment. This is the only place that looks at
// the environment.
func parse(flags *flag.FlagSet, args []string) error {
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return usageError{errors.New(strings.Replace(err.Error(), "flag -", "flag --", 1))}
	}
	// The flag package stops at the first argument: a flag behind it would be taken for a file, and --dir for its default.
	for _, arg := range flags.Args() {
		if len(arg) > 1 && arg[0] == '-' {
			return usageError{fmt.Errorf("flag %s must stand before the arguments", arg)}
		}
	}
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	var bad error
	flags.VisitAll(func(f *flag.Flag) {
		variable := "ASSAY_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		value, ok := os.LookupEnv(variable)
		if !ok || given[f.Name] || bad != nil {
			return
		}
		if err := f.Value.Set(value); err != nil {
			bad = usageError{fmt.Errorf("invalid value %q in %s for flag --%s: %w", value, variable, f.Name, err)}
		}
	})
	return bad
}

// noArguments refuses arguments to a command that takes none.
func noArguments(flags *flag.FlagSet) error {
	if flags.NArg() > 0 {
		return usageError{fmt.Errorf("unexpected argument %q", flags.Arg(0))}
	}
	return nil
}

// serverConfig is what every command that serves can be told.
type serverConfig struct {
	addr           string
	at             place
	trustedProxies []netip.Prefix
	corsOrigins    []string
	keyLimit       int
	limits         string // may hold a password: it is checked by openLimits, whose errors do not show it
	logLevel       slog.Level
	signIn         signInConfig
	node           nodeConfig
}

func (c *serverConfig) register(flags *flag.FlagSet) {
	c.addr, c.node.role = "127.0.0.1:8080", assay.RoleAll
	flags.Func("addr", "`HOST:PORT` to listen on (default 127.0.0.1:8080)", func(s string) error {
		_, port, err := net.SplitHostPort(s)
		if err != nil {
			return errors.New("allowed is HOST:PORT, for example 0.0.0.0:8080")
		}
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n > 65535 {
			return errors.New("the port must be a number from 0 to 65535")
		}
		c.addr = s
		return nil
	})
	flags.Func("trusted-proxies", "`CIDR,…` of proxies whose X-Forwarded-For or Forwarded is believed (default none)", func(s string) (err error) {
		c.trustedProxies, err = parsePrefixes(s)
		return err
	})
	flags.Func("cors-origins", "`ORIGIN,…` of web pages that may send API keys (default none)", func(s string) error {
		c.corsOrigins = splitList(s)
		return nil
	})
	c.keyLimit = 600
	flags.Func("key-limit", "requests a `MINUTE` that one key may make on keyed routes (default 600)", func(s string) error {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > 1_000_000 {
			return errors.New("allowed is a whole number from 1 to 1000000")
		}
		c.keyLimit = n
		return nil
	})
	flags.StringVar(&c.limits, "limits", "", "`URL` of the Redis that counts for all nodes, redis://HOST or redis://HOST,HOST… (default none: each node counts by itself)")
	c.signIn.register(flags)
	flags.Func("log-level", "`LEVEL` to log from: info, warn or error; every request is logged at info (default info)", func(s string) error {
		switch s {
		case "info", "warn", "error":
			return c.logLevel.UnmarshalText([]byte(s))
		}
		return errors.New("allowed are info, warn and error")
	})
}

func parsePrefixes(s string) (prefixes []netip.Prefix, err error) {
	for _, text := range splitList(s) {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			address, addressErr := netip.ParseAddr(text)
			if addressErr != nil {
				return nil, fmt.Errorf("%q is not an address or a CIDR range such as 10.0.0.0/8", text)
			}
			prefix = netip.PrefixFrom(address, address.BitLen())
		}
		prefixes = append(prefixes, prefix.Masked())
	}
	return prefixes, nil
}

func splitList(s string) (list []string) {
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	return list
}

// instantFlag takes a date or a date-time.
func instantFlag(flags *flag.FlagSet, ms *int64, name, usage string) {
	flags.Func(name, usage, func(s string) error {
		at, _, err := assay.ParseInstant(s)
		if err != nil {
			return errors.New("allowed is YYYY-MM-DD, YYYY-MM-DD HH:MM:SS or an ISO 8601 date-time")
		}
		*ms = at
		return nil
	})
}
