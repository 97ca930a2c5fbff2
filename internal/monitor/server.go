package monitor

import (
	"context"
	"time"

	"github.com/assaydata/assay/internal/fetch"
)

// Server is the server whose log a monitor follows.
type Server struct {
	URL string // without a slash at its end
	Key string // an API key; without one, only what is public is compared
}

// limits allow more than any bundle of entries, and any day of values.
var limits = fetch.Limits{Patience: 30 * time.Second, Most: 32 << 20}

// get requests a path.
func (s *Server) get(ctx context.Context, path string) (text []byte, status int, err error) {
	return limits.Get(ctx, s.URL+path, s.Key)
}
