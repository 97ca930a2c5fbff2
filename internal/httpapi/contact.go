package httpapi

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/keys"
)

// contact is what a server knows of its database and of its own end. Requests read the notice alone, one pointer, which is
// nil as long as all is well.
type contact struct {
	heard    atomic.Int64 // instant at which the database last answered
	lost     atomic.Bool  // the database has not answered the last time
	draining atomic.Bool
	notice   atomic.Pointer[notice]
	posting  sync.Mutex // held while a notice is made, so that an older one does not replace a newer one
}

// notice is what answers carry while something is out of the ordinary.
type notice struct {
	stale string // seconds since anything was heard of the database; empty while that is not long
	last  bool   // the connection is to end with the answer
}

const (
	// lookEvery is how often the database is asked whether it is there.
	lookEvery = time.Second
	// staleAfter is how long nothing may have been heard before answers say so: some looks, so that one that failed by
	// chance is not told, and far less than the hour between publications.
	staleAfter = 5 * time.Second
)

// Watch looks after the database until the context ends, so that answers can tell how old they may be.
func (s *Server) Watch(ctx context.Context) error {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		_ = s.look(ctx) // the notice and the log tell
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// Drain says in /health that this node is about to end, and ends each connection with its next answer. Everything is answered
// as before: balancers shall have the time to send nobody here any more.
func (s *Server) Drain() {
	s.contact.draining.Store(true)
	s.post()
}

// look asks the database whether it is there. The log hears when it goes and when it is back, and not of every look.
func (s *Server) look(ctx context.Context) error {
	asking, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	err := s.Ping(asking)
	switch {
	case err == nil:
		away := s.age()
		s.contact.heard.Store(s.Now().UnixMilli())
		if s.contact.lost.CompareAndSwap(true, false) {
			s.Log.Info("the database answers again", "after", away.Round(time.Millisecond).String())
		}
	case ctx.Err() == nil && s.contact.lost.CompareAndSwap(false, true): // else it is the asker who has gone
		s.Log.Error("the database does not answer", "error", keys.Redact(err.Error()))
	}
	s.post()
	return err
}

// age is how long nothing has been heard of the database.
func (s *Server) age() time.Duration {
	age := time.Duration(s.Now().UnixMilli()-s.contact.heard.Load()) * time.Millisecond
	if s.Behind != nil && s.Snapshots.Load() != nil {
		age = max(age, s.Behind())
	}
	return max(0, age) // the clock may have been set back
}

// post makes the notice anew.
func (s *Server) post() {
	s.contact.posting.Lock()
	defer s.contact.posting.Unlock()
	n := notice{last: s.contact.draining.Load()}
	if age := s.age(); age >= staleAfter {
		n.stale = strconv.FormatInt(int64(age/time.Second), 10)
	}
	if n == (notice{}) {
		s.contact.notice.Store(nil)
		return
	}
	s.contact.notice.Store(&n)
}

// carry puts the notice into the answer's header.
func (n *notice) carry(c *call) {
	if n.stale != "" {
		c.set("X-Assay-Stale", n.stale)
	}
	if n.last {
		c.Header()["Connection"] = []string{"close"}
	}
}

// retryAfterStart is when a caller may try again who came before the data were there, in seconds.
const retryAfterStart = "5"

// notServing is why a node without a snapshot answers nothing but /health.
func (c *call) notServing() error {
	if !c.s.Role.Reads() {
		return &assay.Error{Kind: assay.NotFound, Code: "unknown_path", Message: "There is no such path here. This node publishes; it answers /health alone."}
	}
	c.set("Retry-After", retryAfterStart)
	return &assay.Error{Kind: assay.Unavailable, Code: "unavailable", Message: "This node is starting and has no data yet. Try again later."}
}
