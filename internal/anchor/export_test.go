package anchor

import (
	"context"
	"time"
)

// SetRequest lets a keeper ask a function.
func (k *Keeper) SetRequest(f func(ctx context.Context, url, text string, now time.Time) (Token, error)) {
	k.request = f
}

// How long a keeper waits.
const (
	LookEvery  = lookEvery
	RetryAfter = retryAfter
)
