package httpapi

import (
	"context"
	"time"

	"github.com/assaydata/assay"
)

// pingTimeout is how long the database may take to say that it is there.
const pingTimeout = time.Second

// dataset is how fresh a data family is.
type dataset struct {
	Latest     *string `json:"latest"`
	AgeSeconds *int64  `json:"age_seconds"`
}

// health answers how the service is: 503 when the database cannot be reached, although every read route goes on answering
// from memory.
func health(c *call) (answer, error) {
	timestamp := assay.FormatInstant(c.now.UnixMilli())
	ctx, cancel := context.WithTimeout(c.r.Context(), pingTimeout)
	defer cancel()
	if err := c.s.Ping(ctx); err != nil {
		c.cause = err
		return unhealthy(c, timestamp)
	}
	a, err := object(struct {
		Status    string   `json:"status"`
		Timestamp string   `json:"timestamp"`
		Database  string   `json:"database"`
		Version   string   `json:"version"`
		Synthetic bool     `json:"synthetic,omitempty"`
		Datasets  datasets `json:"datasets"`
	}{"healthy", timestamp, "connected", c.s.Version, c.snap.Synthetic, c.datasets()}, 0)
	a.fresh = true
	return a, err
}

func unhealthy(c *call, timestamp string) (answer, error) {
	e := &assay.Error{Kind: assay.Unavailable, Code: "unavailable", Message: "The database is unreachable."}
	a, err := object(struct {
		errorBody
		Status    string `json:"status"`
		Timestamp string `json:"timestamp"`
		Database  string `json:"database"`
	}{c.errorBody(e), "unhealthy", timestamp, "disconnected"}, 0)
	a.fresh, a.status = true, e.Kind.Status()
	return a, err
}

// datasets tells how fresh each family is.
type datasets struct {
	GPU    dataset `json:"gpu"`
	Memory dataset `json:"memory"`
	Models dataset `json:"models"`
	Coding dataset `json:"coding"`
	Sites  dataset `json:"sites"`
}

func (c *call) datasets() datasets {
	return datasets{
		GPU:    c.freshness(c.snap.Latest),
		Memory: c.freshness(c.snap.Memory.Latest()),
		Models: c.freshness(c.snap.Models.Latest()),
		Coding: c.freshness(c.snap.Coding.Latest()),
		Sites:  c.freshness(c.snap.Sites.Latest()),
	}
}

// freshness is the age of a family's newest instant; 0 stands for none.
func (c *call) freshness(newest int64) (d dataset) {
	if newest == 0 {
		return d
	}
	latest, age := assay.FormatInstant(newest), max(0, (c.now.UnixMilli()-newest)/assay.Second)
	return dataset{&latest, &age}
}
