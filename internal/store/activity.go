package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"

	"github.com/assaydata/assay/internal/latency"
)

// transactions counts transactions of one kind.
type transactions struct{ took latency.Histogram }

// Failure is why a transaction failed.
type Failure string

// The failures that are not the caller's fault.
const (
	FailureDisk     Failure = "disk_full"
	FailureTimeout  Failure = "timeout"
	FailureDamage   Failure = "damaged"
	FailureDatabase Failure = "database" // anything else that the database or the way to it reports
)

// Failures lists them.
var Failures = [...]Failure{FailureDisk, FailureTimeout, FailureDamage, FailureDatabase}

type failures [len(Failures)]atomic.Uint64

// Activity is what a process has done with its database since it opened it.
type Activity struct {
	Reads, Writes latency.Counts // how long transactions took, with the work in them and the wait for locks
	Failed        map[Failure]uint64
}

// Activity returns it.
func (db *DB) Activity() Activity {
	a := Activity{Reads: db.reads.took.Read(), Writes: db.writes.took.Read(), Failed: map[Failure]uint64{}}
	for i, f := range Failures {
		a.Failed[f] = db.failures[i].Load()
	}
	return a
}

func (db *DB) countTransaction(write bool, took time.Duration, err error) {
	kind := &db.reads
	if write {
		kind = &db.writes
	}
	kind.took.Observe(took)
	if err == nil {
		return
	}
	failed, ok := failureOf(err)
	for i, f := range Failures {
		if ok && f == failed {
			db.failures[i].Add(1)
		}
	}
}

// failureOf says why a transaction failed; not ok if the caller ended it, or asked for what there is not.
func failureOf(err error) (f Failure, ok bool) {
	if errors.Is(err, context.Canceled) {
		return "", false
	}
	_, isPostgres := errors.AsType[*pgconn.PgError](err)
	_, isConnect := errors.AsType[*pgconn.ConnectError](err)
	_, isSQLite := errors.AsType[*sqlite.Error](err)
	_, isNetwork := errors.AsType[net.Error](err)
	switch {
	case DiskFull(err):
		return FailureDisk, true
	case errors.Is(err, context.DeadlineExceeded):
		return FailureTimeout, true
	case errors.Is(err, ErrDamaged):
		return FailureDamage, true
	case isPostgres, isConnect, isSQLite, isNetwork, errors.Is(err, driver.ErrBadConn):
		return FailureDatabase, true
	}
	return "", false
}
