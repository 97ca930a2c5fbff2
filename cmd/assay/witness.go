package main

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/assaydata/assay/internal/pin"
	"github.com/assaydata/assay/internal/witness"
	"github.com/assaydata/assay/verifier"
)

// witnessKeyFile is the private key of a witness, in its folder.
const witnessKeyFile = "witness-key.pem"

// witnessConfig is the configuration of a witness.
type witnessConfig struct {
	dir, name, addr string
	logs            []string // URLs
	logKeys         []string
}

func newWitnessCommand(s *streams) *cobra.Command {
	c := witnessConfig{}
	cmd := &cobra.Command{
		Use:   "witness",
		Short: "Sign the checkpoints of other servers' logs",
		Long: `Sign the checkpoints of other servers' logs, as a third party.

A server could show one history to one reader and another one to the next. A
witness keeps the last checkpoint of a log that it has seen, and signs the next
one only if the log has kept everything. Readers who ask for its signature all
see the same history. It needs no account at the server, and stores nothing of
the log. The server sends its checkpoints: its operator starts it with
--witness KEY=URL, with the key that this command prints. Other servers and
witnesses of C2SP's tlog-witness work too.

The key and the memory of the witness are in --dir: keep them, because a witness
without its memory would sign a second history. The key of a log is read from it
once and kept: compare the one that is printed with what its operator publishes.`,
		Example: `  assay witness --dir witness --name witness.example.com \
    --log https://assay.example.com --addr 0.0.0.0:8090`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error { return runWitness(cmd.Context(), &c, s) },
	}
	flags := cmd.Flags()
	flags.StringVar(&c.dir, "dir", "witness", "`FOLDER` of the witness; created if it is missing")
	flags.StringVar(&c.name, "name", "", "`NAME` of the witness, which no other one has: best the host that it runs on")
	parsedFlag(flags, "log", listFlag, "", "`URL,…` of the servers whose logs to sign", func(text string) error {
		c.logs = nil
		for _, url := range splitList(text) {
			if !strings.HasPrefix(url, "http://") && !strings.HasPrefix(url, "https://") {
				return fmt.Errorf("%q: must begin with http:// or https://", url)
			}
			c.logs = append(c.logs, strings.TrimRight(url, "/"))
		}
		return nil
	})
	addLogKeyFlag(flags, &c.logKeys)
	listen := serverConfig{addr: "127.0.0.1:8090"}
	parsedFlag(flags, "addr", textFlag, listen.addr, "`HOST:PORT` to listen on", func(text string) error {
		err := listen.setAddr(text)
		c.addr = listen.addr
		return err
	})
	c.addr = listen.addr
	return cmd
}

// addLogKeyFlag adds the flag for keys of a log that someone has told the user.
func addLogKeyFlag(flags *pflag.FlagSet, keys *[]string) {
	parsedFlag(flags, "log-key", listFlag, "",
		"`KEY,…` of the log, as its operator publishes them (default: the one that /log/vkey has at the first contact)",
		func(text string) error {
			*keys = splitList(text)
			for _, key := range *keys {
				if _, err := verifier.NewLog(key); err != nil {
					return err
				}
			}
			return nil
		})
}

func runWitness(ctx context.Context, c *witnessConfig, s *streams) error {
	if c.name == "" || len(c.logs) == 0 {
		return usagef("a witness needs --name and --log")
	}
	key, err := openWitnessKey(c.dir)
	if err != nil {
		return err
	}
	var logs []witness.KnownLog
	var met []string
	for _, url := range c.logs {
		pinned, err := pin.Open(ctx, c.dir, url, c.logKeys)
		if err != nil {
			return err
		}
		log, err := pinned.Log()
		if err != nil {
			return err
		}
		logs = append(logs, witness.KnownLog{Log: log, Follow: pinned.Follow})
		if pinned.IsNew {
			met = append(met, fmt.Sprintf("The key of the log at %s, kept from now on, is %s", url, pinned.Key))
		}
	}
	w, err := witness.Open(c.dir, c.name, key, logs, wallTime)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.addr)
	if err != nil {
		return err
	}
	s.say("Witness %s listens at http://%s", c.name, listener.Addr())
	for _, line := range met {
		s.say("%s", line)
	}
	fmt.Fprintln(s.out, w.Key())
	return serveWitness(ctx, listener, w.Handler(newLog(s.err, slog.LevelInfo, logJSON)))
}

// serveWitness serves until the context ends.
func serveWitness(ctx context.Context, listener net.Listener, handler http.Handler) error {
	const patience = 10 * time.Second // requests are small, and so are responses
	server := &http.Server{Handler: handler, ReadTimeout: patience, WriteTimeout: patience, IdleTimeout: time.Minute}
	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		stopped <- server.Shutdown(ctx)
	})
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		stop()
		return err
	}
	return <-stopped
}

// openWitnessKey reads the key of a witness, or creates it.
func openWitnessKey(dir string) (ed25519.PrivateKey, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	name := filepath.Join(dir, witnessKeyFile)
	key, err := readKeyFile(name)
	if err == nil && key == nil {
		return writeNewKey(name)
	}
	return key, err
}
