package publish

import "github.com/assaydata/assay/internal/store"

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
	return "The last attempt has failed. Its error is in the log of the publisher."
}
