//go:build linux

// Command drill breaks a highly available store on purpose and counts what that cost.
//
//	scripts/need postgres etcd haproxy patroni
//	go run ./internal/drill
//
// On loopback, in a temporary folder, it starts three PostgreSQL servers under Patroni with etcd, and HAProxy, which sends
// every connection to the primary. A writer inserts numbers through HAProxy, one after the other, and remembers those that were
// acknowledged. Then the primary is killed together with the Patroni that watches over it, as when a machine is lost, and the
// drill waits for the next acknowledged write.
//
// The goals: of the acknowledged numbers none is missing from the new primary, and no number is there twice. A goal that is
// missed, or a cluster that does not recover, ends the drill with status 1.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
)

func main() {
	// Children die with the thread that started them (package process), so that thread must live as long as we do.
	runtime.LockOSThread()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "drill:", err)
		stop()
		os.Exit(1)
	}
}

// run holds the drill in a folder of its own and prints the report. What the servers wrote is kept when the drill fails.
func run(ctx context.Context) error {
	c, err := newCluster()
	if err != nil {
		return err
	}
	err = c.drill(ctx)
	c.stop()
	if ctx.Err() != nil {
		err = errors.New("interrupted")
	} else if err != nil {
		return fmt.Errorf("%w\nwhat the servers wrote is in %s", err, c.Dir)
	}
	return errors.Join(err, os.RemoveAll(c.Dir))
}

func (c *cluster) drill(ctx context.Context) error {
	if err := c.start(ctx); err != nil {
		return err
	}
	r, err := failover(ctx, c)
	if err != nil {
		return err
	}
	fmt.Print(r)
	return r.check()
}
