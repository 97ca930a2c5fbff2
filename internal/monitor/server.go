package monitor

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Server is the server whose log a monitor follows.
type Server struct {
	URL string // without a slash at its end
	Key string // an API key; without one, only what is public is compared
}

const (
	ok       = http.StatusOK
	notFound = http.StatusNotFound

	patience    = 30 * time.Second
	maxResponse = 32 << 20 // more than any bundle of entries, and any day of values
)

// get requests a path.
func (s *Server) get(ctx context.Context, path string) (text []byte, status int, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+path, nil)
	if err != nil {
		return nil, 0, err
	}
	if s.Key != "" {
		request.Header.Set("Authorization", "Bearer "+s.Key)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	text, err = io.ReadAll(io.LimitReader(response.Body, maxResponse+1))
	if err == nil && len(text) > maxResponse {
		err = fmt.Errorf("the response has more than %d bytes", maxResponse)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("GET %s: %w", path, err)
	}
	return text, response.StatusCode, nil
}

func unexpected(path string, status int, text []byte) error {
	return fmt.Errorf("GET %s: %d %s: %.200s", path, status, http.StatusText(status), text)
}
