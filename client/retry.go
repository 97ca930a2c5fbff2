package client

import (
	"crypto/tls"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/assaydata/assay"
)

// The first wait without a Retry-After is up to firstWait, each next one up to twice as long, and none over
// longestWait.
const (
	firstWait   = 500 * time.Millisecond
	longestWait = 16 * time.Second
)

// backoff is a random wait before the next attempt, so that many clients that failed together do not come back
// together.
func backoff(attempt int) time.Duration {
	most := longestWait
	if attempt < 5 { // 500 ms << 5 is the longest wait
		most = firstWait << attempt
	}
	return time.Duration(rand.Int64N(int64(most))) + 1 //nolint:gosec // no one gains from guessing it
}

// mayHelp reports whether another attempt may succeed: the server is busy, or it did not respond. A certificate that is
// not accepted stays so.
func mayHelp(e *assay.Error) bool {
	if _, refused := errors.AsType[*tls.CertificateVerificationError](e); refused {
		return false
	}
	return e.Status == http.StatusTooManyRequests || e.Status == http.StatusServiceUnavailable ||
		e.Status == 0 && (e.Code == "connection" || e.Code == "timeout")
}
