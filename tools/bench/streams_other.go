//go:build !linux

package main

import (
	"context"
	"errors"
	"time"
)

type streams struct{}

type arrivals struct {
	after   []time.Duration
	skipped int
}

// openStreams fails: only Linux says when bytes arrived.
func openStreams(context.Context, string, string, int) (*streams, error) {
	return nil, errors.New("-reach: needs Linux")
}

func allowDescriptors(count int) (int, error) { return count, nil }

func (*streams) collect() (a arrivals, err error) { return a, nil }

func (*streams) Close() {}
