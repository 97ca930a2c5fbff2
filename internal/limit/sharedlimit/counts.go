package sharedlimit

import (
	"errors"
	"sync/atomic"
)

// Counts describe how a node has used Redis since it started.
type Counts struct {
	Fallbacks int64 `json:"fallbacks"` // how often the node has changed from Redis to its own limiters
	Shared    int64 `json:"shared"`    // requests that Redis decided
	Alone     int64 `json:"alone"`     // requests that the node had to decide in place of Redis
	Late      int64 `json:"late"`      // those of Alone that were sent to Redis and got no reply in time
}

type counts struct{ fallbacks, shared, alone, late atomic.Int64 }

// Counts are all zero without Redis.
func (r *Redis) Counts() Counts {
	if r == nil {
		return Counts{}
	}
	return Counts{
		Fallbacks: r.counts.fallbacks.Load(),
		Shared:    r.counts.shared.Load(),
		Alone:     r.counts.alone.Load(),
		Late:      r.counts.late.Load(),
	}
}

// countAlone counts a request that the node decided in place of Redis, because of err or because it has fallen back.
func (r *Redis) countAlone(err error) {
	if r == nil {
		return
	}
	r.counts.alone.Add(1)
	if errors.Is(err, errLate) {
		r.counts.late.Add(1)
	}
}
