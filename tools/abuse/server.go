//go:build linux

package main

import (
	"context"
	"strconv"

	"github.com/assaydata/assay/tools/target"
)

// The addresses of loopback that take part. The server believes only these two when they name a client.
const (
	readerFrom = "127.0.0.1"
	proxyFrom  = "127.0.0.2"
)

// reading is what the well-behaved reader reads.
func reading(server string, keys []string) target.Reading {
	return target.Reading{
		Server: server, From: readerFrom, Rate: 100,
		Requests: []target.ReadRequest{
			{Path: "/api/gpu/H100%20SXM", Want: `"index_value":`},
			{Path: "/api/gpu/H100%20SXM/hourly?limit=24&order=desc", Keys: keys, Want: `"index_value":`},
			{Path: "/api/daily-index", Want: `"index_value":`},
			{Path: "/api/gpu/H200/index-history?limit=90", Keys: keys, Want: `"granularity":"daily"`},
		},
	}
}

// keyLimit is the server's limit per key and per signed-in account, in requests per minute. The few accounts share what
// the whole campaign sends as them, so the usual limit would leave little but refusals.
const keyLimit = 6000

// serve starts the server that is going to be attacked.
func serve(ctx context.Context, program, dir string, m target.Market) (*target.Server, error) {
	return target.Start(ctx, target.Command(program, dir, "serve", "--dir", m.Folder,
		"--trusted-proxies", readerFrom+","+proxyFrom, "--key-limit", strconv.Itoa(keyLimit)))
}
