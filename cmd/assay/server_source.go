package main

import (
	"errors"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/pflag"
)

// serverSource is a server that a command reads from, and the key that it reads with.
type serverSource struct{ server, keyFile string }

func (c *serverSource) register(flags *pflag.FlagSet) {
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
}

// readKey reads the key, which is sent only where no one can read it on the way.
func (c *serverSource) readKey() (string, error) {
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
