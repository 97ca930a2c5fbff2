package intake

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/ingest"
	"github.com/assaydata/assay/internal/store"
)

// Queue keeps messages until they are settled. After a crash it delivers again what was not.
type Queue interface {
	// Fetch returns messages in their order. It waits for the first one, and not for more; it may also return none.
	Fetch(ctx context.Context) ([]Message, error)
}

// Message is a message of a queue: rows of one family, one JSON object a line.
type Message interface {
	Name() string // for the log, such as stream and number
	Data() []byte
	Stored() error               // settles it: all rows are stored
	Refused(reason string) error // settles it: some rows are not, and never will be
}

// Consumed says what became of the messages so far.
type Consumed struct{ Messages, Stored, Known, Refused int }

// Consume imports the messages of a queue until the context ends. A batch of messages is settled after its rows are in
// the database. A crash in between makes the queue deliver them again, and their rows are known: so each row is stored
// once. A database that fails is tried again with the same messages, and no more are fetched meanwhile.
func (s *Service) Consume(
	ctx context.Context, queue Queue, family ingest.Family, source string, progress func(Consumed),
) error {
	var total Consumed
	for ctx.Err() == nil {
		messages, err := queue.Fetch(ctx)
		if err != nil {
			if ctx.Err() == nil {
				s.Log.Warn("the queue does not deliver, trying again", "error", err)
				pause(ctx)
			}
			continue
		}
		for len(messages) > 0 && ctx.Err() == nil {
			done, err := s.settle(ctx, messages, family, source)
			if err != nil {
				if ctx.Err() == nil {
					s.Log.Error("messages are not stored, trying again", "from", messages[0].Name(), "error", err)
					pause(ctx)
				}
				continue
			}
			total.Messages += done.Messages
			total.Stored += done.Stored
			total.Known += done.Known
			total.Refused += done.Refused
			progress(total)
			break
		}
	}
	return nil
}

// queueRetry is how long a consumer waits after a failure.
const queueRetry = time.Second

func pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(queueRetry):
	}
}

// settle stores messages and settles them. A message that cannot be read to its end would keep the others out, so then
// each is stored alone.
func (s *Service) settle(
	ctx context.Context, messages []Message, family ingest.Family, source string,
) (done Consumed, err error) {
	reasons, result, err := s.storeMessages(ctx, messages, family, source)
	if _, unreadable := errors.AsType[ingest.FileError](err); unreadable && len(messages) > 1 {
		for i := range messages {
			one, err := s.settle(ctx, messages[i:i+1], family, source)
			if err != nil {
				return done, err
			}
			done.Messages += one.Messages
			done.Stored += one.Stored
			done.Known += one.Known
			done.Refused += one.Refused
		}
		return done, nil
	} else if unreadable {
		reasons[0] = err.Error()
	} else if err != nil {
		return done, err
	}
	done = Consumed{Messages: len(messages), Stored: result.Stored, Known: result.Known}
	for i, m := range messages {
		err := m.Stored
		if reason := reasons[i]; reason != "" {
			done.Refused++
			s.Log.Warn("a message is not stored whole", "message", m.Name(), "reason", reason)
			err = func() error { return m.Refused(reason) }
		}
		if err := err(); err != nil {
			return done, fmt.Errorf("settle %s: %w", m.Name(), err)
		}
	}
	return done, nil
}

// storeMessages stores the rows of messages as one delivery. reasons has, for each message, why some of its rows are
// not stored.
func (s *Service) storeMessages(
	ctx context.Context, messages []Message, family ingest.Family, source string,
) (reasons []string, result *Result, err error) {
	var body bytes.Buffer
	lastLines := make([]int, len(messages)) // of each message
	lines := 0
	for i, m := range messages {
		text := bytes.TrimRight(m.Data(), "\r\n")
		body.Write(text)
		body.WriteByte('\n')
		lines += 1 + bytes.Count(text, []byte("\n"))
		lastLines[i] = lines
	}
	reasons = make([]string, len(messages))
	sum := assay.Hash(sha256.Sum256(body.Bytes()))
	d := delivery{family: family, source: source, name: messages[0].Name() + ".ndjson"}
	d.refused = func(reject ingest.Reject) {
		i, _ := slices.BinarySearch(lastLines, reject.Line)
		if i < len(reasons) && reasons[i] == "" {
			reasons[i] = reject.Reason
		}
	}
	r, err := s.take(store.WithActor(ctx, "queue"), s.db.Load(), d, &body)
	if err != nil {
		return reasons, r.result, err
	}
	return reasons, r.result, s.finish(ctx, s.db.Load(), r, sum)
}
