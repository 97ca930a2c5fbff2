package main

import (
	"log/slog"
	"runtime"

	"github.com/assaydata/assay/internal/memfile"
	"github.com/assaydata/assay/internal/web"
)

// reservedDescriptors are kept for the database, the publisher, Redis and files, of so many. A pool of connections to
// PostgreSQL grows with the cores.
func reservedDescriptors(descriptors int) int {
	return 64 + 4*runtime.GOMAXPROCS(0) + memfile.Most(descriptors)
}

// leastConnections are served however few descriptors there are.
const leastConnections = 16

// withinDescriptors lowers the limits of connections if there are too few descriptors, so that clients never take those
// that the database and the publisher need, and one address never takes most of the rest.
func withinDescriptors(limits web.ConnectionLimits, descriptors int, log *slog.Logger) web.ConnectionLimits {
	available := max(leastConnections, descriptors-reservedDescriptors(descriptors))
	if limits.Total <= available {
		return limits
	}
	lowered := web.ConnectionLimits{Total: available, PerAddress: min(limits.PerAddress, available/4)}
	log.Warn("the limit of open files allows fewer connections than configured; raise it, or lower --max-connections",
		"open_files", descriptors, "max_connections", lowered.Total, "max_connections_per_address", lowered.PerAddress)
	return lowered
}
