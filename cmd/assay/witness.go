package main

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/assaydata/assay/internal/files"
	"github.com/assaydata/assay/internal/proof"
	"github.com/assaydata/assay/internal/witness"
	"github.com/assaydata/assay/verifier"
)

// witnessKeyFile is the private key of a witness, in its folder.
const witnessKeyFile = "witness-key.pem"

// witnessConfig is the configuration of a witness.
type witnessConfig struct {
	dir, name, addr string
	logs            []string // URLs
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
	listen := serverConfig{addr: "127.0.0.1:8090"}
	parsedFlag(flags, "addr", textFlag, listen.addr, "`HOST:PORT` to listen on", func(text string) error {
		err := listen.setAddr(text)
		c.addr = listen.addr
		return err
	})
	c.addr = listen.addr
	return cmd
}

func runWitness(ctx context.Context, c *witnessConfig, s *streams) error {
	if c.name == "" || len(c.logs) == 0 {
		return usagef("a witness needs --name and --log")
	}
	key, err := openWitnessKey(c.dir)
	if err != nil {
		return err
	}
	var keys, met []string
	for _, url := range c.logs {
		logKey, isNew, err := logKeyOf(ctx, c.dir, url)
		if err != nil {
			return err
		}
		keys = append(keys, logKey)
		if isNew {
			met = append(met, fmt.Sprintf("The key of the log at %s, kept from now on, is %s", url, logKey))
		}
	}
	w, err := witness.Open(c.dir, c.name, key, keys, wallTime)
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
	return serveWitness(ctx, listener, w.Handler(newLog(s.err, slog.LevelInfo)))
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
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return writeNewKey(name)
	}
	if err != nil {
		return nil, err
	}
	key, err := proof.DecodeKey(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return key, nil
}

// logKeyOf returns the key of the log of a server: the one that was kept or, the first time, the one that the server
// has.
func logKeyOf(ctx context.Context, dir, url string) (key string, isNew bool, err error) {
	sum := sha256.Sum256([]byte(url))
	file := filepath.Join(dir, hex.EncodeToString(sum[:8])+".vkey")
	kept, err := os.ReadFile(file)
	if err == nil {
		return strings.TrimSpace(string(kept)), false, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", false, err
	}
	text, err := fetchText(ctx, url+"/log/vkey")
	if err != nil {
		return "", false, err
	}
	if _, err := verifier.NewLog(text); err != nil {
		return "", false, fmt.Errorf("%s/log/vkey: %w", url, err)
	}
	return strings.TrimSpace(text), true, files.Replace(file, []byte(text))
}

// fetchText reads a small text.
func fetchText(ctx context.Context, url string) (string, error) {
	const patience, most = 10 * time.Second, 64 << 10
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(response.Body, most))
	if err != nil {
		return "", fmt.Errorf("read %s: %w", url, err)
	}
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s responds %s: %.200s", url, response.Status, text)
	}
	return string(text), nil
}
