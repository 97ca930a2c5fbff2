package account

import (
	"runtime"
	"sync/atomic"
)

// Hashing is what tests from outside the package see of the hashing of passwords.
type Hashing struct {
	Most    atomic.Int64 // how many were hashed at once, at most
	queue   *hashQueue
	running atomic.Int64
}

// HoldHashes makes every hash wait for release.
func (s *Service) HoldHashes(release <-chan struct{}) *Hashing {
	h := &Hashing{queue: &s.queue}
	h.queue.before = func() {
		n := h.running.Add(1)
		for most := h.Most.Load(); n > most && !h.Most.CompareAndSwap(most, n); most = h.Most.Load() {
			runtime.Gosched()
		}
		<-release
		h.running.Add(-1)
	}
	h.queue.once.Do(h.queue.init)
	return h
}

// Hashers is how many passwords may be hashed at once.
func (h *Hashing) Hashers() int { return cap(h.queue.running) }

// PlacesUnknown is how many callers that the server does not know may wait or hash.
func (h *Hashing) PlacesUnknown() int { return cap(h.queue.unknown) }

// Taken is how many callers wait or hash now.
func (h *Hashing) Taken() int { return len(h.queue.places) }
