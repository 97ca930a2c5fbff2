package publish

import (
	"sync/atomic"

	"github.com/assaydata/assay/internal/store"
)

// Made is what a publisher has made since it started.
type Made struct {
	Values      int64 // daily and hourly, restated ones included
	Prints      int64 // of the minutes
	Records     int64 // of values of other families that became final
	Manifests   int64
	Checkpoints int64
}

type made struct{ values, prints, records, manifests, checkpoints count }

// count is a number that is read while it grows. Unlike atomic.Int64 it can be part of what is copied before its use.
type count int64

func (c *count) add(n int)   { atomic.AddInt64((*int64)(c), int64(n)) }
func (c *count) read() int64 { return atomic.LoadInt64((*int64)(c)) }

// Made returns it. It can be called at any time.
func (p *Publisher) Made() Made {
	return Made{
		Values: p.made.values.read(), Prints: p.made.prints.read(), Records: p.made.records.read(),
		Manifests: p.made.manifests.read(), Checkpoints: p.made.checkpoints.read(),
	}
}

// State says whether publishing keeps up.
type State string

// The states after a pass of Run.
const (
	Current State = "current" // everything that is due is published
	Failing State = "failing" // the pass ended with an error
	Held    State = "held"    // something is due that Run must not publish
)

// reporter reports the state after each pass, and logs when publishing is held and when it continues.
type reporter struct {
	p    *Publisher
	held bool // as the log says
}

func (r *reporter) passed(held string, err error) {
	state, reason := Current, ""
	switch {
	case err != nil:
		r.p.Log.Error("publish", "error", err)
		state, reason = Failing, failure(err)
	case held != "":
		state, reason = Held, held
	}
	if isHeld := held != ""; err == nil && isHeld != r.held {
		r.held = isHeld
		switch held {
		case "":
			r.p.Log.Info("publishing continues")
		case nothingYet: // a new database, as it should be
			r.p.Log.Info("publishing is held", "reason", held)
		default:
			r.p.Log.Error("publishing is held", "reason", held)
		}
	}
	if r.p.Report != nil {
		r.p.Report(state, reason)
	}
}

// failure is what everyone may read of an error. The error itself may name hosts, users and files.
func failure(err error) string {
	if store.DiskFull(err) {
		return "The disk is full."
	}
	if store.DiskReadOnly(err) {
		return "The disk is read-only."
	}
	return "The last attempt has failed. Its error is in the log of the publisher."
}
