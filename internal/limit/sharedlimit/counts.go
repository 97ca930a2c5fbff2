package sharedlimit

import (
	"errors"
	"sync/atomic"
)

// Counts tell how a node has fared with Redis since it started.
type Counts struct {
	Fallbacks int64 `json:"fallbacks"` // how often it has turned from Redis to its own limiters
	Shared    int64 `json:"shared"`    // requests that Redis decided
	Alone     int64 `json:"alone"`     // requests that the node had to decide in place of Redis
	Late      int64 `json:"late"`      // those of them for which Redis was asked, and did not answer in time
}

type counts struct{ fallbacks, shared, alone, late atomic.Int64 }

// Counts are all zero without Redis.
func (r *Redis) Counts() Counts {
	if r == nil {
		return Counts{}
	}
	return Counts{r.counts.fallbacks.Load(), r.counts.shared.Load(), r.counts.alone.Load(), r.counts.late.Load()}
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
