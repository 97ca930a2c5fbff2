package httpapi

import (
	"encoding/json"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/limit/sharedlimit"
)

// healthPath is the one path that is answered without a snapshot.
const healthPath = "/health"

// pingTimeout is how long the database may take to say that it is there.
const pingTimeout = time.Second

// dataset is how fresh a data family is.
type dataset struct {
	Latest     *string `json:"latest"`
	AgeSeconds *int64  `json:"age_seconds"`
}

// condition is what /health says of a node, well or not.
type condition struct {
	Status     string         `json:"status"`
	Timestamp  string         `json:"timestamp"`
	Database   string         `json:"database"`
	Role       assay.NodeRole `json:"role"`
	AgeSeconds int64          `json:"age_seconds"` // since anything was heard of the database
}

// health answers how the node is. It is 503 when the database cannot be reached, although every read route goes on answering
// from memory, and when the node has no data yet or is about to end.
func health(c *call) (answer, error) {
	database := "connected"
	err := c.s.look(c.r.Context())
	if err != nil {
		database = "disconnected"
	}
	cond := condition{"healthy", assay.FormatInstant(c.now.UnixMilli()), database, c.s.Role, int64(c.s.age() / time.Second)}
	switch {
	case c.s.contact.draining.Load():
		return unwell(c, cond, "draining", "The node is shutting down.")
	case c.snap == nil && c.s.Role.Reads():
		return unwell(c, cond, "starting", "The node is starting and has no data yet.")
	case err != nil:
		return unwell(c, cond, "unhealthy", "The database is unreachable.")
	}
	a, err := object(struct {
		condition
		Version   string   `json:"version"`
		Synthetic bool     `json:"synthetic,omitempty"`
		Limits    limits   `json:"limits"`
		Datasets  datasets `json:"datasets"`
	}{cond, c.s.Version, c.snap != nil && c.snap.Synthetic, limits{c.s.Limits.Mode(), c.s.Limits.Counts()}, c.datasets()}, 0)
	a.fresh = true
	return a, err
}

func unwell(c *call, cond condition, status, message string) (answer, error) {
	e := &assay.Error{Kind: assay.Unavailable, Code: "unavailable", Message: message}
	cond.Status = status
	a, err := object(struct {
		errorBody
		condition
	}{c.errorBody(e), cond}, 0)
	a.fresh, a.status = true, e.Kind.Status()
	return a, err
}

// limits tells who counts the requests of callers, and how the node has fared with Redis.
type limits struct {
	Mode sharedlimit.Mode `json:"mode"`
	sharedlimit.Counts
}

// datasets says how recent the GPU index and each data family are. In JSON it is one object, with a member for each.
type datasets struct {
	gpu      dataset
	families [assay.NumFamilies]dataset
}

// MarshalJSON writes the members in the order of the families.
func (d datasets) MarshalJSON() ([]byte, error) {
	out := []byte(`{"gpu":`)
	raw, err := json.Marshal(d.gpu)
	if err != nil {
		return nil, err
	}
	out = append(out, raw...)
	for i, recent := range d.families {
		if raw, err = json.Marshal(recent); err != nil {
			return nil, err
		}
		out = assay.AppendString(append(out, ','), assay.Family(i).String())
		out = append(append(out, ':'), raw...)
	}
	return append(out, '}'), nil
}

// datasets tells nothing on a node that holds no data.
func (c *call) datasets() (d datasets) {
	if c.snap == nil {
		return d
	}
	d.gpu = c.freshness(c.snap.Latest)
	for i, observations := range c.snap.Observations {
		d.families[i] = c.freshness(observations.Latest())
	}
	return d
}

// freshness is the age of a family's newest instant; 0 stands for none.
func (c *call) freshness(newest int64) (d dataset) {
	if newest == 0 {
		return d
	}
	latest, age := assay.FormatInstant(newest), max(0, (c.now.UnixMilli()-newest)/assay.Second)
	return dataset{&latest, &age}
}
