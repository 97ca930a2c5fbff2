package web

import (
	"context"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/redact"
)

// StatusConfig is what the status of a node depends on.
type StatusConfig struct {
	Role   NodeRole
	Ping   func(context.Context) error // does the database respond
	Behind func() time.Duration        // time since the data was last compared with the database; nil without one
	Now    func() time.Time
	Log    *slog.Logger
}

// NodeStatus knows whether the database responds and whether the node is shutting down. Requests read one pointer,
// which is nil as long as all is well.
type NodeStatus struct {
	StatusConfig
	lastContact atomic.Int64 // when the database last responded
	contact     atomic.Int32 // what the last check found
	draining    atomic.Bool
	publishing  atomic.Pointer[publishingReport] // nil on a node that does not publish
	warning     atomic.Pointer[warning]
	updating    sync.Mutex // held while a warning is made, so that an older one does not replace a newer one
}

// What a check of the database has found.
const (
	notChecked int32 = iota
	responding
	lost
)

// warning is what responses carry while something is wrong.
type warning struct {
	stale string // seconds since the last contact with the database; empty while that is recent
	close bool   // the connection is to end with the response
}

const (
	// checkEvery is how often the database is pinged.
	checkEvery = time.Second
	// pingTimeout is how long the database may take to respond. A busy one takes seconds and is not lost; with checkEvery
	// this is less than staleAfter.
	pingTimeout = 3 * time.Second
	// staleAfter is how old the last contact may be before responses say so: a few checks, so that a single failure is not
	// reported, and far less than the hour between publications.
	staleAfter = 5 * time.Second
)

// NewNodeStatus makes the status of a node that starts now.
func NewNodeStatus(config StatusConfig) *NodeStatus {
	s := &NodeStatus{StatusConfig: config}
	s.lastContact.Store(config.Now().UnixMilli())
	return s
}

// Publishing is whether publishing keeps up, as /health says it, and why not.
type Publishing struct {
	State  string `json:"publishing,omitempty"` // current, late, failing or held
	Reason string `json:"publishing_reason,omitempty"`
}

// publishingReport is what the publisher of this node said last, and when.
type publishingReport struct {
	Publishing

	at int64
}

// Publishing is late if the publisher has said nothing for so long. It usually reports every ten seconds.
const lateAfter = time.Minute

// ReportPublishing records what the publisher of this node says.
func (s *NodeStatus) ReportPublishing(p Publishing) {
	s.publishing.Store(&publishingReport{p, s.Now().UnixMilli()})
}

// Publishing returns what the publisher of this node said last; it is empty if there is none.
func (s *NodeStatus) Publishing() Publishing {
	report := s.publishing.Load()
	if report == nil {
		return Publishing{}
	}
	if s.Now().UnixMilli()-report.at > lateAfter.Milliseconds() {
		return Publishing{"late", "The last attempt ended at " + assay.FormatInstant(report.at) + "."}
	}
	return report.Publishing
}

// Watch checks the database until the context ends, so that responses can say how old they may be.
func (s *NodeStatus) Watch(ctx context.Context) error {
	ticker := time.NewTicker(checkEvery)
	defer ticker.Stop()
	for {
		s.CheckDatabase(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// Drain makes /health report that this node is shutting down, and ends each connection with its next response.
// Everything is served as before: load balancers need time to send requests elsewhere.
func (s *NodeStatus) Drain() {
	s.draining.Store(true)
	s.updateWarning()
}

// Draining reports whether the node is shutting down.
func (s *NodeStatus) Draining() bool { return s.draining.Load() }

// CheckDatabase pings the database. The log reports when contact is lost and when it is back, not every check.
func (s *NodeStatus) CheckDatabase(ctx context.Context) {
	pinging, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	err := s.Ping(pinging)
	switch {
	case err == nil:
		away := s.DataAge()
		s.lastContact.Store(s.Now().UnixMilli())
		if s.contact.Swap(responding) == lost {
			s.Log.Info("the database responds again", "after", away.Round(time.Millisecond).String())
		}
	case ctx.Err() == nil && s.contact.Swap(lost) != lost: // otherwise the watch was ended
		s.Log.Error("the database does not respond", "error", redact.Keys(err.Error()))
	}
	s.updateWarning()
}

// DatabaseResponds reports what the last check found. It is also false before the first check, and when checks no
// longer end, as with a disk that hangs: then nothing is known of the database.
func (s *NodeStatus) DatabaseResponds() bool {
	return s.contact.Load() == responding && s.sinceContact() < staleAfter
}

func (s *NodeStatus) sinceContact() time.Duration {
	return time.Duration(s.Now().UnixMilli()-s.lastContact.Load()) * time.Millisecond
}

// DataAge is how long ago the data was last known to be current.
func (s *NodeStatus) DataAge() time.Duration {
	age := s.sinceContact()
	if s.Behind != nil {
		age = max(age, s.Behind())
	}
	return max(0, age) // the clock may have been set back
}

// updateWarning decides what responses have to say from now on.
func (s *NodeStatus) updateWarning() {
	s.updating.Lock()
	defer s.updating.Unlock()
	w := warning{close: s.draining.Load()}
	if age := s.DataAge(); age >= staleAfter {
		w.stale = strconv.FormatInt(int64(age/time.Second), 10)
	}
	if w == (warning{}) {
		s.warning.Store(nil)
		return
	}
	s.warning.Store(&w)
}

// addHeaders puts the warning into the response.
func (s *NodeStatus) addHeaders(r *Request) {
	w := s.warning.Load()
	if w == nil {
		return
	}
	if w.stale != "" {
		r.SetHeader("X-Assay-Stale", w.stale)
	}
	r.out.headers.close = w.close
}

// retryAfterStart is when a caller may try again who came before the data was loaded.
const retryAfterStart = 5 * time.Second

// notServing is why a node without data serves nothing but its state.
func (s *NodeStatus) notServing() error {
	if !s.Role.Reads() {
		return &assay.Error{
			Kind: assay.NotFound, Code: "unknown_path",
			Message: "There is no such path here. This node publishes; it serves POST /api/ingest, /health, /livez and " +
				"/readyz only.",
		}
	}
	return &assay.Error{
		Kind: assay.Unavailable, Code: "unavailable", Message: "This node is starting and has no data yet. Try again later.",
		RetryAfter: retryAfterStart,
	}
}
