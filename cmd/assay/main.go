// Command assay publishes compute price indices and serves them over HTTP. `assay help` lists what it does.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"os/user"
	"strings"
	"syscall"
	"time"

	"github.com/assaydata/assay/internal/store"
)

// version of the program; the API's own version is in its description.
const version = "0.1.0"

// Exit codes.
const (
	exitOK       = 0
	exitFailed   = 1
	exitUsage    = 2
	exitRejected = 3 // an import finished, but some rows were rejected
)

// errRejected ends an import that rejected rows.
var errRejected = errors.New("some rows were rejected")

// usageError is a command line that cannot be run.
type usageError struct{ error }

// streams are where a command reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// command is one word after assay.
type command struct {
	name, arguments, summary string
	details                  string
	run                      func(ctx context.Context, c *command, args []string, s streams) error
}

// commands lists them in the order of help. It is a function because help, one of them, prints it.
func commands() []*command {
	return []*command{
		demoCommand, serveCommand, importCommand, templateCommand, catalogCommand, publishCommand, keyCommand,
		accountCommand, orgCommand, grantCommand, auditCommand, keysCommand, lateCommand, conflictsCommand, verifyTransactionCommand, withdrawCommand,
		restateCommand, methodologyCommand, backtestCommand, verifyCommand, exportCommand, backupCommand, migrateCommand,
		{name: "help", arguments: "[COMMAND]", summary: "explain the commands, or one of them", run: runHelp},
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	go func() {
		<-ctx.Done()
		stop() // a second signal ends the program at once
	}()
	os.Exit(run(ctx, os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}))
}

func run(ctx context.Context, args []string, s streams) int {
	if len(args) == 0 {
		args = []string{"help"}
	}
	name := args[0]
	switch name {
	case "-h", "-help", "--help":
		name = "help"
	case "-v", "-version", "--version", "version":
		fmt.Fprintln(s.out, "assay", version)
		return exitOK
	}
	ctx = store.WithActor(ctx, "operator:"+userName())
	for _, c := range commands() {
		if c.name == name {
			return exitCode(c.run(ctx, c, args[1:], s), c.name, s.err)
		}
	}
	fmt.Fprintf(s.err, "assay: there is no command %q; assay help lists them\n", name)
	return exitUsage
}

// userName is who runs the program, by the name that the machine knows; unknown when it knows none.
func userName() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "unknown"
}

func exitCode(err error, name string, w io.Writer) int {
	var usage usageError
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return exitOK
	case errors.Is(err, errRejected):
		return exitRejected
	case errors.As(err, &usage):
		fmt.Fprintf(w, "assay %s: %v\nassay help %s tells more\n", name, err, name)
		return exitUsage
	}
	fmt.Fprintf(w, "assay %s: %v\n", name, err)
	return exitFailed
}

func runHelp(ctx context.Context, _ *command, args []string, s streams) error {
	if len(args) == 0 || args[0] == "help" {
		printOverview(s.out)
		return nil
	}
	for _, c := range commands() {
		if c.name == args[0] {
			return c.run(ctx, c, []string{"-help"}, s)
		}
	}
	return usageError{fmt.Errorf("there is no command %q", args[0])}
}

func printOverview(w io.Writer) {
	fmt.Fprint(w, "Assay publishes compute price indices and serves them over HTTP.\n\nUse: assay COMMAND [flags]\n\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-18s  %s\n", c.name, c.summary)
	}
	fmt.Fprint(w, "\nEvery flag can be given in the environment too: --addr as ASSAY_ADDR.\n"+
		"Exit codes: 0 done, 1 failed, 2 wrong command line, 3 an import rejected some rows.\n")
}

// printHelp explains one command.
func (c *command) printHelp(w io.Writer, flags *flag.FlagSet) {
	fmt.Fprintf(w, "Use: assay %s\n\n%s\n", strings.TrimSpace(c.name+" "+c.arguments), strings.TrimSpace(c.summary+".\n\n"+c.details))
	first := true
	flags.VisitAll(func(f *flag.Flag) {
		if first {
			fmt.Fprint(w, "\nFlags:\n")
			first = false
		}
		name, usage := flag.UnquoteUsage(f)
		fmt.Fprintf(w, "  %-28s %s", "--"+strings.TrimSpace(f.Name+" "+name), usage)
		if f.DefValue != "" && f.DefValue != "false" {
			fmt.Fprintf(w, " (default %s)", f.DefValue)
		}
		fmt.Fprintln(w)
	})
}

// thousands writes a count for people.
func thousands(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// rate is how many a second, for people.
func rate(n int, took time.Duration) string {
	return thousands(int(float64(n) / max(took.Seconds(), 0.001)))
}
