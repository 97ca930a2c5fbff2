package process

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
)

// Main is the main function of a tool that starts servers: it parses the options, runs the tool and exits with the
// status. An interrupt ends the context, so that the tool stops its servers in order; a second one ends it at once.
func Main[Options any](
	name string,
	parse func(args []string) (Options, error),
	run func(context.Context, Options) error,
) {
	runtime.LockOSThread() // children end with the thread that started them, see EndWithParent
	o, err := parse(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	err = run(ctx, o)
	if ctx.Err() != nil {
		err = errors.New("interrupted")
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}
