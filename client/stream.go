package client

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"mime"
	"net/http"
	"time"

	"github.com/assaydata/assay"
)

// Event is an event of a stream.
type Event struct {
	ID   string          // to resume after it; empty if the server has sent none
	Name string          // print, hour, day, correction, observation, notice, hello, gap, bye, or a word that is new
	Data json.RawMessage // one JSON object
}

// Decode decodes the data, as json.Unmarshal does.
func (e *Event) Decode(to any) error { return json.Unmarshal(e.Data, to) }

// Hello is the data of the event hello, with which each connection begins.
type Hello struct {
	Access           assay.Access `json:"access"`
	Version          int64        `json:"version"` // of the publication that the server has
	HeartbeatSeconds int          `json:"heartbeat_seconds"`
}

// Gap is the data of the event gap: events are missing after the one that the client has seen last. Reload what you
// show; CatchUp is the path of the corrections since.
type Gap struct {
	Reason  string `json:"reason"`
	CatchUp string `json:"catch_up"`
}

// Bye is the data of the event bye, with which the server ends a connection.
type Bye struct {
	Reason  string `json:"reason"` // slow_reader, key_revoked, shutdown, lifetime, or a word that is new
	Message string `json:"message"`
}

// Stream follows what the server publishes, until the context ends. It yields every event, also hello, gap and bye.
//
// When the connection is lost, it connects again after a random time that grows, and resumes after the last event that
// the loop has taken. If events are missing, there is an event gap. A connection that stays silent for three
// heartbeats counts as lost. The first connection fails like any other request; the stream also ends, with an error,
// when the key is revoked, or when the server refuses the request or no longer knows the route.
func (c *Client) Stream(ctx context.Context, p *StreamParams) iter.Seq2[Event, error] {
	first := valueOf(p)
	return func(yield func(Event, error) bool) {
		if !isSendable(first.LastEventID) {
			yield(Event{}, badArgument("LastEventID is not the id of an event"))
			return
		}
		f := &follower{client: c, params: first, lastID: first.LastEventID, yield: yield}
		f.params.LastEventID = "" // it is sent as a header
		for {
			err := f.connect(ctx)
			if errors.Is(err, errStopped) {
				return
			}
			if err = f.wait(ctx, err); err != nil {
				yield(Event{}, err)
				return
			}
		}
	}
}

const (
	streamRoute = "/api/stream"
	eventType   = "text/event-stream"

	// quietFor is how long a connection may stay silent before the server says how often it sends heartbeats.
	quietFor = 45 * time.Second
)

// follower follows a stream over its connections.
type follower struct {
	client *Client
	params StreamParams
	yield  func(Event, error) bool

	lastID string
	joined bool          // a connection was made before
	failed int           // connections since the last event
	retry  time.Duration // that the server asks for; 0 if it does not
}

// connect makes a connection and yields its events. It returns why that has ended.
func (f *follower) connect(ctx context.Context) error {
	t, err := newTarget(streamRoute, &f.params)
	if err != nil {
		return err
	}
	q := call{target: t, accept: eventType, lastEventID: f.lastID, lasting: true}
	response, err := f.open(ctx, q)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	if got, _, err := mime.ParseMediaType(response.Header.Get("Content-Type")); err != nil || got != eventType {
		return final{f.client.badResponse(response, "it is not a stream of events", nil)}
	}
	f.joined = true
	return f.read(response)
}

// open sends the request. Later ones are not tried again here: the stream itself waits and connects again.
func (f *follower) open(ctx context.Context, q call) (*http.Response, error) {
	if !f.joined {
		response, err := f.client.send(ctx, q)
		if err != nil {
			return nil, final{err}
		}
		return response, nil
	}
	response, err := f.client.attempt(ctx, q)
	switch {
	case err == nil:
		return response, nil
	case ctx.Err() == nil && (mayHelp(err) || err.Status >= 500):
		return nil, err
	}
	return nil, final{err}
}

// final is an error that ends a stream.
type final struct{ error }

func (f final) Unwrap() error { return f.error }

// read yields the events of a connection.
func (f *follower) read(response *http.Response) error {
	body, _ := response.Body.(*body) // as attempt made it
	body.pause = quietFor
	stream := newEvents(body)
	stream.id = f.lastID
	for {
		e, err := stream.next()
		f.retry = stream.retry
		if err != nil {
			return f.client.badResponse(response, "the stream has ended", err)
		}
		switch e.Name {
		case "hello":
			body.pause = patience(&e)
		case "gap", "bye": // a server may say these again and again
		default:
			f.failed = 0
		}
		if !f.yield(e, nil) {
			return errStopped
		}
		f.lastID = e.ID
		if e.Name == "bye" {
			return f.client.goodbye(&e)
		}
	}
}

// patience is how long a connection may stay silent: three of the heartbeats that the server promises.
func patience(e *Event) time.Duration {
	var hello Hello
	const longest = 10 * time.Minute
	if err := e.Decode(&hello); err != nil || hello.HeartbeatSeconds <= 0 {
		return quietFor
	}
	return min(3*time.Duration(min(hello.HeartbeatSeconds, 3600))*time.Second, longest)
}

// goodbye is why the server has ended a connection. A key that was revoked stays so.
func (c *Client) goodbye(e *Event) error {
	var bye Bye
	if err := e.Decode(&bye); err != nil {
		bye.Reason = "unknown"
	}
	if bye.Reason == "key_revoked" {
		return final{&assay.Error{Kind: assay.Unauthorized, Code: "key_revoked", Message: c.plain(bye.Message)}}
	}
	return &assay.Error{Kind: assay.Unavailable, Code: "connection", Message: "the server has ended the connection"}
}

// wait waits before another connection. It returns an error if there is to be none.
func (f *follower) wait(ctx context.Context, why error) error {
	if ended, ok := errors.AsType[final](why); ok {
		return ended.error
	}
	wait := max(backoff(f.failed), min(f.retry, longestReconnect))
	if e, ok := errors.AsType[*assay.Error](why); ok {
		wait = max(wait, e.RetryAfter)
	}
	f.failed++
	if ctx.Err() != nil || f.client.sleep(ctx, wait) != nil {
		return f.client.ended(ctx, nil)
	}
	return nil
}

// longestReconnect bounds what a stream's field retry can ask for.
const longestReconnect = 5 * time.Minute
