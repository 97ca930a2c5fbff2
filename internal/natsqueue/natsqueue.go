// Package natsqueue reads a stream of NATS JetStream as a queue of messages with rows (intake.Queue).
//
// A consumer of JetStream is a position in a stream that the server keeps, with the messages that were delivered and
// not settled. It is durable: another process, or the same one after a crash, continues where the last one was. Two
// processes may share a consumer; then each message goes to one of them.
package natsqueue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/assaydata/assay/internal/intake"
)

// Config is where the messages come from.
type Config struct {
	Server      string // nats://HOST:PORT or tls://HOST:PORT, several separated by commas
	Stream      string
	Consumer    string // created if there is none
	Subject     string // only messages of it, when the consumer is created; empty for all
	Credentials string // file; empty for none
	CA          string // file with the authority of the servers' certificates; empty for those of the system
	Log         *slog.Logger
}

// CheckServer checks the addresses of servers. Secrets belong into the file of credentials.
func CheckServer(text string) error {
	for part := range strings.SplitSeq(text, ",") {
		u, err := url.Parse(part)
		if err != nil || u.Host == "" || u.Scheme != "nats" && u.Scheme != "tls" {
			return errors.New("must be nats://HOST:PORT or tls://HOST:PORT, several with commas between them")
		}
		if u.User != nil {
			return errors.New("must not contain a name or a password: use --credentials")
		}
	}
	return nil
}

// How much is fetched at a time, and how long messages are gathered after the first one. Each batch becomes an entry of
// the log, so a slow stream should not become one batch for each message.
const (
	mostMessages = 20_000
	mostBytes    = 16 << 20
	gather       = time.Second
	awaitFirst   = 5 * time.Second
)

// ackWait is how long a batch may take before the server delivers its messages again. That would be no harm.
const ackWait = 2 * time.Minute

// Queue reads a stream.
type Queue struct {
	conn     *nats.Conn
	consumer jetstream.Consumer
}

// Open connects to a server and finds or creates the consumer.
func Open(ctx context.Context, c Config) (*Queue, error) {
	options := []nats.Option{
		nats.Name("assay"), nats.MaxReconnects(-1),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				c.Log.Warn("the connection to NATS is lost, trying again", "error", err)
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { c.Log.Info("the connection to NATS is back") }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			c.Log.Warn("NATS reports an error", "error", err)
		}),
	}
	if c.Credentials != "" {
		if _, err := os.Stat(c.Credentials); err != nil {
			return nil, err
		}
		options = append(options, nats.UserCredentials(c.Credentials))
	}
	if c.CA != "" {
		options = append(options, nats.RootCAs(c.CA))
	}
	conn, err := nats.Connect(c.Server, options...)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", c.Server, err)
	}
	consumer, err := openConsumer(ctx, conn, c)
	if err != nil {
		conn.Close()
		return nil, err
	}
	return &Queue{conn: conn, consumer: consumer}, nil
}

func openConsumer(ctx context.Context, conn *nats.Conn, c Config) (jetstream.Consumer, error) {
	js, err := jetstream.New(conn)
	if err != nil {
		return nil, err
	}
	stream, err := js.Stream(ctx, c.Stream)
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", c.Stream, err)
	}
	consumer, err := stream.Consumer(ctx, c.Consumer)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		consumer, err = stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
			Durable: c.Consumer, AckPolicy: jetstream.AckExplicitPolicy, DeliverPolicy: jetstream.DeliverAllPolicy,
			FilterSubject: c.Subject, AckWait: ackWait, MaxAckPending: 2 * mostMessages,
		})
	}
	if err != nil {
		return nil, fmt.Errorf("consumer %s of the stream %s: %w", c.Consumer, c.Stream, err)
	}
	switch have := consumer.CachedInfo().Config; {
	case have.AckPolicy != jetstream.AckExplicitPolicy:
		return nil, fmt.Errorf("consumer %s of the stream %s settles messages by itself (ack policy %s): "+
			"a crash would lose rows. Create one with the ack policy explicit, or name a new one",
			c.Consumer, c.Stream, have.AckPolicy)
	case have.FilterSubject != c.Subject && c.Subject != "":
		return nil, fmt.Errorf("consumer %s of the stream %s exists with the subject %q, not %q: name a new one",
			c.Consumer, c.Stream, have.FilterSubject, c.Subject)
	}
	return consumer, nil
}

// Close ends the connection. What was not settled is delivered again.
func (q *Queue) Close() { q.conn.Close() }

// Fetch returns messages. After the first one it gathers more for a moment.
func (q *Queue) Fetch(ctx context.Context) (list []intake.Message, err error) {
	size := 0
	add := func(batch jetstream.MessageBatch, err error) error {
		if err != nil {
			return err
		}
		for m := range batch.Messages() {
			list = append(list, message{m})
			size += len(m.Data())
		}
		return batch.Error()
	}
	first, cancel := context.WithTimeout(ctx, awaitFirst)
	defer cancel()
	err = add(q.consumer.Fetch(1, jetstream.FetchContext(first)))
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout) {
		err = nil // there is nothing new
	}
	if len(list) == 0 || err != nil {
		return list, err
	}
	more, cancelMore := context.WithTimeout(ctx, gather)
	defer cancelMore()
	for size < mostBytes && len(list) < mostMessages && more.Err() == nil {
		// What has been fetched is stored, whatever happens to the rest.
		if err := add(q.consumer.FetchBytes(mostBytes-size, jetstream.FetchContext(more))); err != nil {
			break
		}
	}
	return list, nil
}

// message is a message of JetStream.
type message struct{ jetstream.Msg }

// Name is the stream and the message's number in it.
func (m message) Name() string {
	meta, err := m.Metadata()
	if err != nil {
		return m.Subject()
	}
	return fmt.Sprintf("%s-%d", meta.Stream, meta.Sequence.Stream)
}

// Stored settles the message.
func (m message) Stored() error { return m.Ack() }

// Refused settles the message, and tells the server why, which announces that to whom it concerns.
func (m message) Refused(reason string) error { return m.TermWithReason(reason) }
