package web

import (
	"strconv"
	"sync/atomic"

	"github.com/assaydata/assay"
)

const (
	noStore        = "no-store"
	forever        = "public, max-age=31536000, immutable"
	privateForever = "private, max-age=31536000, immutable"
)

// cacheControl makes the Cache-Control header. Nearly all requests of a second need the same, so the last one is
// cached.
type cacheControl struct{ last atomic.Pointer[cacheHeaders] }

// cacheHeaders are the headers of one second for responses that expire at the same time.
type cacheHeaders struct {
	second, expires int64
	full, minute    lifetime // until they expire; at most to the end of the minute
}

type lifetime struct{ public, private string }

// header lets caches keep a response until it expires, and a short-lived one at most to the end of the minute. A
// response that should have been replaced already may be cached for a second.
func (c *cacheControl) header(now, expires int64, shortLived, anonymous bool) string {
	made := c.last.Load()
	if made == nil || made.second != now || made.expires != expires {
		made = newCacheHeaders(now, expires)
		c.last.Store(made)
	}
	words := &made.full
	if shortLived {
		words = &made.minute
	}
	if anonymous {
		return words.public
	}
	return words.private
}

func newCacheHeaders(now, expires int64) *cacheHeaders {
	const minute = assay.Minute / assay.Second
	left := max(1, expires/assay.Second-now)
	return &cacheHeaders{
		second: now, expires: expires, full: newLifetime(left), minute: newLifetime(min(left, minute-now%minute)),
	}
}

// browserAge is how long a browser may keep what shared caches may keep until the next publication. A cache that
// rewrites Date or drops Age passes on max-age as if the response were new, so max-age is short: what a browser shows
// is never much older than what its cache has.
const browserAge = 60

func newLifetime(seconds int64) lifetime {
	age := strconv.FormatInt(seconds, 10)
	l := lifetime{public: "public, max-age=" + age, private: "private, max-age=" + age}
	if seconds > browserAge {
		l.public = "public, max-age=" + strconv.Itoa(browserAge) + ", s-maxage=" + age
	}
	return l
}
