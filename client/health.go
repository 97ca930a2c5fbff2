package client

import (
	"context"
	"net/http"
	"time"
)

// Health is the state of a server. Status is healthy, or says what is wrong: unhealthy (the server has lost its
// database and serves from memory), starting or draining. Then Version and what follows it are empty.
type Health struct {
	Status           string    `json:"status"`
	Timestamp        time.Time `json:"timestamp"`
	Database         string    `json:"database"` // connected or disconnected
	Role             string    `json:"role"`
	AgeSeconds       int64     `json:"age_seconds"` // since the data was last known to be current
	Publishing       string    `json:"publishing,omitempty"`
	PublishingReason string    `json:"publishing_reason,omitempty"`

	Message   string               `json:"message,omitempty"` // what is wrong, unless it is healthy
	Version   string               `json:"version,omitempty"`
	Commit    string               `json:"commit,omitempty"`
	Schema    int                  `json:"schema,omitempty"`
	Synthetic bool                 `json:"synthetic,omitempty"` // no figure is a market price
	Limits    *HealthLimits        `json:"limits,omitempty"`
	Datasets  map[string]Freshness `json:"datasets,omitempty"` // by family
}

// HealthLimits says whether the server counts requests together with others.
type HealthLimits struct {
	Mode      string `json:"mode"` // shared or local
	Fallbacks int64  `json:"fallbacks"`
	Shared    int64  `json:"shared"`
	Alone     int64  `json:"alone"`
	Late      int64  `json:"late"`
}

// Freshness is how new the newest data of a family is; nil without any.
type Freshness struct {
	Latest     *time.Time `json:"latest"`
	AgeSeconds *int64     `json:"age_seconds"`
}

// Health returns the state of the server, also if it is not healthy, which is no error. It is not tried again.
func (c *Client) Health(ctx context.Context) (*Health, error) {
	got, err := c.fetch(ctx, call{target: target{path: "/health"}, unhealthy: true})
	if err != nil {
		return nil, err
	}
	h := &Health{}
	if err := c.decode(got, h); err != nil {
		return nil, err
	}
	if got.StatusCode != http.StatusOK && h.Status == "healthy" {
		return nil, c.badResponse(got.Response, "its status and its body contradict each other", nil)
	}
	return h, nil
}
