package api

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/limit/sharedlimit"
	"github.com/assaydata/assay/internal/web"
)

// The paths that say how the node is. They are served without a snapshot.
const (
	healthPath = "/health"
	livePath   = "/livez"
	readyPath  = "/readyz"
)

var statePaths = []string{healthPath, livePath, readyPath}

// nodeState is what /livez and /readyz say when all is well.
type nodeState struct {
	Status string `json:"status"`
}

// live responds as long as the process serves requests at all. What it waits for does not matter: a restart would not
// help.
func live(query) (web.Response, error) { return web.NoStore(http.StatusOK, nodeState{"live"}) }

// ready says whether requests should be sent to this node: it has data, and is not shutting down. Unlike in /health the
// database may be unreachable, because a node with data serves it from memory.
func ready(q query) (web.Response, error) {
	status, message := q.api.Status, ""
	switch {
	case status.Draining():
		message = "The node is shutting down."
	case status.Role.Reads() && q.snap == nil:
		message = "The node is starting and has no data yet."
	case !status.Role.Reads() && !status.DatabaseResponds():
		message = "The database is unreachable."
	default:
		return web.NoStore(http.StatusOK, nodeState{"ready"})
	}
	return web.Response{}, &assay.Error{Kind: assay.Unavailable, Code: "unavailable", Message: message}
}

// condition is what /health says of a node, well or not.
type condition struct {
	Status     string       `json:"status"`
	Timestamp  string       `json:"timestamp"`
	Database   string       `json:"database"`
	Role       web.NodeRole `json:"role"`
	AgeSeconds int64        `json:"age_seconds"` // since the data was last known to be current
}

// health reports the state of the node. It is 503 when the database cannot be reached, although every read route still
// responds from memory, and when the node has no data yet or is shutting down. What it says of the database is what the
// last check found: a flood of requests must not become a flood of queries.
func health(q query) (web.Response, error) {
	status := q.api.Status
	database := "connected"
	responds := status.DatabaseResponds()
	if !responds {
		database = "disconnected"
	}
	is := condition{
		Status: "healthy", Timestamp: assay.FormatInstant(q.Milli()), Database: database,
		Role: status.Role, AgeSeconds: int64(status.DataAge() / time.Second),
	}
	switch {
	case status.Draining():
		return q.unhealthy(is, "draining", "The node is shutting down.")
	case q.snap == nil && status.Role.Reads():
		return q.unhealthy(is, "starting", "The node is starting and has no data yet.")
	case !responds:
		return q.unhealthy(is, "unhealthy", "The database is unreachable.")
	}
	return web.NoStore(http.StatusOK, struct {
		condition
		web.Publishing
		Program
		Synthetic bool     `json:"synthetic,omitempty"`
		Limits    limits   `json:"limits"`
		Datasets  datasets `json:"datasets"`
	}{
		condition: is, Publishing: q.publishing(), Program: q.api.Program, Synthetic: q.snap != nil && q.snap.Synthetic,
		Limits: limits{q.api.Limits.Mode(), q.api.Limits.Counts()}, Datasets: q.datasets(),
	})
}

// publishing is what the publisher of this node says. On a node without one it follows from the data.
func (q *query) publishing() web.Publishing {
	if said := q.api.Status.Publishing(); said.State != "" || q.snap == nil {
		return said
	}
	newest, now := gpuFamily.latest(q.snap), q.Milli()
	due := q.api.schedule(q.snap).LastDue(assay.Hourly, now-publishingTime)
	if newest != 0 && newest < due {
		return web.Publishing{State: "late", Reason: "The newest hour ended at " + assay.FormatInstant(newest) + "."}
	}
	return web.Publishing{State: "current"}
}

// publishingTime is how long publishing an hour, and noticing it, may take.
const publishingTime = assay.Minute

func (q *query) unhealthy(is condition, status, message string) (web.Response, error) {
	e := &assay.Error{Kind: assay.Unavailable, Code: "unavailable", Message: message}
	is.Status = status
	return web.NoStore(web.Status(e.Kind), struct {
		web.ErrorBody
		condition
	}{q.ErrorBody(e), is})
}

// limits reports where requests are counted, and how often the node could not use Redis.
type limits struct {
	Mode sharedlimit.Mode `json:"mode"`
	sharedlimit.Counts
}

// dataset is how current a data family is.
type dataset struct {
	Latest     *string `json:"latest"`
	AgeSeconds *int64  `json:"age_seconds"`
}

// Age is how old the newest data of a family is.
type Age struct {
	Family string
	Age    time.Duration
}

// Ages are those of all families that have data, as /health shows them.
func (a *API) Ages(now int64) (ages []Age) {
	snap := a.Snapshots.Load()
	if snap == nil {
		return nil
	}
	for _, f := range families {
		if newest := f.latest(snap); newest != 0 {
			ages = append(ages, Age{f.name, time.Duration(max(0, now-newest)) * time.Millisecond})
		}
	}
	return ages
}

// datasets are the families, in their order.
type datasets []dataset

// datasets are empty on a node that holds no data.
func (q *query) datasets() datasets {
	all := make(datasets, len(families))
	for i, f := range families {
		if q.snap != nil {
			all[i] = newDataset(f.latest(q.snap), q.Milli())
		}
	}
	return all
}

// newDataset is the age of a family's newest instant; 0 stands for none.
func newDataset(newest, now int64) (d dataset) {
	if newest == 0 {
		return d
	}
	latest, age := assay.FormatInstant(newest), max(0, (now-newest)/assay.Second)
	return dataset{&latest, &age}
}

// MarshalJSON writes an object with one member per family.
func (all datasets) MarshalJSON() ([]byte, error) {
	raw := []byte{'{'}
	for i, f := range families {
		if i > 0 {
			raw = append(raw, ',')
		}
		member, err := json.Marshal(all[i])
		if err != nil {
			return nil, err
		}
		raw = append(append(assay.AppendString(raw, f.name), ':'), member...)
	}
	return append(raw, '}'), nil
}
