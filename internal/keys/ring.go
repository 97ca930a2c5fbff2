package keys

import (
	"maps"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
)

// ring is the keys as of one load. It is not changed afterwards, so that requests need no lock. It is cut into parts by
// the first byte of the hash, and shares with the ring before those in which no key has changed.
type ring struct {
	counters store.Counters // at that time
	ends     *Ends
	parts    [256]map[[32]byte]entry
}

type entry struct {
	caller  assay.Caller
	expires int64 // 0: never
	revoked bool
}

// newRing is a ring without keys, as of before the first change.
func newRing() *ring { return &ring{ends: NewEnds(&store.Directory{})} }

func (r *ring) find(hash [32]byte) (entry, bool) {
	found, ok := r.parts[hash[0]][hash]
	return found, ok
}

// with returns a ring that also has the keys in the list, as they are now.
func (r *ring) with(counters store.Counters, ends *Ends, list []store.Key) *ring {
	next := &ring{counters: counters, ends: ends, parts: r.parts}
	var copied [256]bool
	for _, key := range list {
		part := &next.parts[key.Hash[0]]
		if !copied[key.Hash[0]] {
			copied[key.Hash[0]] = true
			if *part = maps.Clone(*part); *part == nil {
				*part = map[[32]byte]entry{}
			}
		}
		caller := assay.Caller{Tier: key.Tier, KeyID: key.ID, AccountID: key.AccountID, Limit: key.Limit}
		(*part)[key.Hash] = entry{caller: caller, expires: ends.Of(key), revoked: key.RevokedAt != 0}
	}
	return next
}
