// Command assay publishes compute price indices and serves them over HTTP.
//
// It is one program with a tree of commands, built with cobra. This package wires the packages below internal together
// and owns everything a person sees in a terminal; it computes nothing itself.
//
//   - main.go runs one command line and turns its error into an exit code.
//   - root.go builds the command tree; help.go lays out help; errors.go words what is wrong with a command line.
//   - Each command has a file and a constructor: newImportCommand in import.go, newKeyCommand in key.go.
//   - flags.go has the flag types. settings.go fills in flags from the environment and the configuration file, so a
//     command only ever reads its flags.
//   - database.go says where a command's database is (--dir and --store) and opens it.
//   - serve.go and node.go put a serving process together, in start-up order.
//
// A new command needs a constructor, an entry in root.go, and a Short, an Example and flags with usage texts; help,
// shell completion, man pages and docs/cli.md follow from those. Tests check that nothing is missing and that every
// example parses. Commands write through streams: requested output to out, messages to err, and whatever --quiet leaves
// out through its say and note methods.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	_ "golang.org/x/crypto/x509roots/fallback" // an image, or a small machine, has no certificates of authorities

	"github.com/assaydata/assay/internal/hasher"
	"github.com/assaydata/assay/internal/store"
)

func main() {
	hasher.Main()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	go func() {
		<-ctx.Done()
		stop() // a second signal ends the program immediately
	}()
	os.Exit(run(ctx, os.Args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr}))
}

// run runs one command line and returns its exit code.
func run(ctx context.Context, args []string, s streams) int {
	ctx = store.WithActor(ctx, "operator:"+userName())
	root := newRootCommand(&s)                //nolint:contextcheck // commands take the context of ExecuteContextC
	root.SetArgs(append([]string{}, args...)) // not nil: cobra would read os.Args
	cmd, err := root.ExecuteContextC(ctx)
	return reportError(s.err, cmd, err)
}

// streams are what a command reads from and writes to.
type streams struct {
	in       io.Reader
	out, err io.Writer
	quiet    bool // from --quiet
}
