package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/assaydata/assay/internal/files"
	"github.com/assaydata/assay/internal/web"
)

// reloadable are the flags that SIGHUP reads again. A change of another flag needs a restart.
var reloadable = []string{
	"access-log", "account-limit", "key-limit", "log-level", "max-connections", "max-connections-per-address",
	"plan-limits", "proxy-header", "streams-per-address", "streams-per-key", "trusted-proxies",
}

// watchHangups returns the channel of SIGHUP, which no longer ends the program.
func watchHangups() chan os.Signal {
	hangups := make(chan os.Signal, 1) // several in a row are one
	signal.Notify(hangups, syscall.SIGHUP)
	return hangups
}

// reloads reloads at each SIGHUP.
func (n *node) reloads(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-n.hangups:
			n.reload()
		}
	}
}

// reload opens the log file again and reads the certificate and the settings again. If something is wrong with them,
// what was read before stays.
func (n *node) reload() {
	if err := n.logFile.reopen(); err != nil {
		n.log.Error("the log file cannot be opened again: the old one is used further", "error", err)
	}
	if n.certs != nil {
		n.certs.Reload()
	}
	next, restart, err := n.config.again()
	if err != nil {
		n.log.Error("the settings are not reloaded: something is wrong with them", "error", err)
		return
	}
	n.level.Set(next.logLevel)
	n.server.Apply(next.settings(n.log))
	if len(restart) > 0 {
		n.log.Warn("some settings have changed that need a restart", "flags", restart)
	}
	n.log.Info("reloaded the settings")
}

// settings are the part of the configuration that the server can change while it runs.
func (c *serverConfig) settings(log *slog.Logger) web.Settings {
	logOneIn := int64(c.accessLog)
	if logOneIn == 0 || c.logLevel > slog.LevelInfo {
		logOneIn = web.LogNone
	}
	return web.Settings{
		LogOneIn: logOneIn, TrustedProxies: c.trustedProxies, ProxyHeader: c.proxyHeader,
		KeyLimit: c.keyLimit, PlanLimits: c.planLimits, AccountLimit: c.accountLimit,
		Connections: withinDescriptors(c.connections, descriptorLimit(), log), Streams: c.streams,
	}
}

// readAgain makes a function that reads the configuration of a command again: the command line is as it was, the
// environment too, but the configuration file may have changed. It returns also the names of flags that have another
// value now and need a restart.
func readAgain(
	cmd *cobra.Command, register func(*serverConfig, *cobra.Command),
) func() (serverConfig, []string, error) {
	before := map[string]string{}
	cmd.Flags().VisitAll(func(f *pflag.Flag) { before[f.Name] = f.Value.String() })
	return func() (config serverConfig, restart []string, err error) {
		fresh := &cobra.Command{Use: cmd.Name()}
		register(&config, fresh)
		(&cobra.Command{Use: cmd.Root().Name()}).AddCommand(fresh) // sections of the file are named after its path
		cmd.Flags().Visit(func(f *pflag.Flag) {                    // those on the command line
			if err == nil && fresh.Flags().Lookup(f.Name) != nil {
				err = fresh.Flags().Set(f.Name, before[f.Name])
			}
		})
		if err != nil {
			return config, nil, err
		}
		var file *configFile
		if name := cmd.Flag("config").Value.String(); name != "" {
			if file, err = readConfigFile(name); err != nil {
				return config, nil, err
			}
		}
		if _, err := fillFlags(fresh, file); err != nil {
			return config, nil, err
		}
		fresh.Flags().VisitAll(func(f *pflag.Flag) {
			if before[f.Name] != f.Value.String() && !slices.Contains(reloadable, f.Name) {
				restart = append(restart, "--"+f.Name)
			}
		})
		return config, restart, nil
	}
}

// logFile is a log in a file, which can be moved away and opened again while it is written.
type logFile struct {
	name string
	mu   sync.Mutex
	file *os.File // guarded by mu
}

// openLogFile opens a log file. Without a name there is none.
func openLogFile(name string) (*logFile, error) {
	if name == "" {
		return nil, nil //nolint:nilnil // no file is not an error
	}
	l := &logFile{name: name}
	return l, l.reopen()
}

// reopen opens the file of that name, and closes the one before. If that fails, the one before stays.
func (l *logFile) reopen() error {
	if l == nil {
		return nil
	}
	file, err := files.Append(l.name)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		_ = l.file.Close() // what was written is with the system
	}
	l.file = file
	return nil
}

func (l *logFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Write(p)
}
