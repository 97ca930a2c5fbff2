package store

import (
	"context"
	"errors"
)

// Delivery is a message to an endpoint as it is stored.
type Delivery struct {
	ID           int64
	EndpointID   string
	Test         bool
	Message      Message
	Replay       bool
	CreatedAt    int64
	Attempts     int
	FirstAt      int64 // the first attempt; 0: none yet
	NextAt       int64 // no attempt before then
	ResponseCode int   // of the last attempt; 0: there was no response
	Error        string
	Delivered    bool
	DoneAt       int64 // 0: pending
}

// Errors of the methods about deliveries.
var (
	ErrNoDelivery = errors.New("there is no such delivery")
	ErrDisabled   = errors.New("the endpoint is disabled")
	ErrWaiting    = errors.New("one is waiting already")
	ErrLeaseLost  = errors.New("another node delivers now")
)

// keptDeliveries is how many deliveries of an endpoint are kept besides those that are pending.
const keptDeliveries = 500

const deliveryColumns = `delivery_id, endpoint_id, later, message_id, type, payload, replay, created_at, attempts,
	first_at, next_at, response_code, error, delivered, done_at`

func readDeliveries(tx *tx, where string, args ...any) (list []Delivery, err error) {
	err = tx.each(`SELECT `+deliveryColumns+` FROM deliveries WHERE `+where, args, func(scan scanFunc) error {
		var d Delivery
		var later bool
		err := scan(&d.ID, &d.EndpointID, &later, &d.Message.ID, &d.Message.Type, &d.Message.Payload, &d.Replay,
			&d.CreatedAt, &d.Attempts, &d.FirstAt, &d.NextAt, &d.ResponseCode, &d.Error, &d.Delivered, &d.DoneAt)
		d.Test = !later
		list = append(list, d)
		return err
	})
	return list, err
}

// queued says how a message goes into a queue.
type queued struct{ test, replay bool }

// queue adds a message at the end of an endpoint's queue; a test goes to its beginning.
func (tx *tx) queue(endpointID string, m Message, how queued) error {
	return tx.exec(`INSERT INTO deliveries (endpoint_id, later, message_id, type, payload, replay, created_at, attempts,
		first_at, next_at, response_code, error, delivered, done_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, 0, 0, 0, 0, '', 0, 0)`, endpointID, boolInt(!how.test), m.ID, m.Type, m.Payload,
		boolInt(how.replay), tx.now)
}

// QueueTest queues a test message for an enabled webhook. There is one at a time, and one in a while.
func (db *DB) QueueTest(
	ctx context.Context, accountID int64, endpointID string, m Message, pause int64,
) (Delivery, error) {
	return db.queueOne(ctx, accountID, endpointID, queued{test: true}, func(tx *tx) (Message, error) {
		last, err := readDeliveries(tx, `endpoint_id = $1 AND later = 0 ORDER BY delivery_id DESC LIMIT 1`, endpointID)
		if err == nil && len(last) > 0 && (last[0].DoneAt == 0 || abs(tx.now-last[0].CreatedAt) < pause) {
			err = ErrWaiting
		}
		return m, err
	})
}

// Replay queues the message of a delivery that is done again, under the same id.
func (db *DB) Replay(ctx context.Context, accountID int64, endpointID string, deliveryID int64) (Delivery, error) {
	return db.queueOne(ctx, accountID, endpointID, queued{replay: true}, func(tx *tx) (m Message, err error) {
		found, err := readDeliveries(tx, `endpoint_id = $1 AND delivery_id = $2`, endpointID, deliveryID)
		if err != nil {
			return m, err
		}
		if len(found) == 0 {
			return m, ErrNoDelivery
		}
		m = found[0].Message
		waiting, err := readDeliveries(tx, `endpoint_id = $1 AND done_at = 0 AND message_id = $2`, endpointID, m.ID)
		if err == nil && len(waiting) > 0 {
			err = ErrWaiting
		}
		return m, err
	})
}

// queueOne queues a message for an enabled webhook of an account, and returns its delivery.
func (db *DB) queueOne(
	ctx context.Context, accountID int64, endpointID string, how queued, message func(*tx) (Message, error),
) (d Delivery, err error) {
	err = db.write(ctx, func(tx *tx) error {
		e, err := oneEndpoint(tx, accountID, endpointID)
		switch {
		case err != nil:
			return err
		case e.Kind != WebhookEndpoint:
			return ErrNoEndpoint
		case e.DisabledAt != 0:
			return ErrDisabled
		}
		m, err := message(tx)
		if err != nil {
			return err
		}
		if err := tx.queue(endpointID, m, how); err != nil {
			return err
		}
		list, err := readDeliveries(tx, `endpoint_id = $1 ORDER BY delivery_id DESC LIMIT 1`, endpointID)
		if err == nil {
			d = list[0]
		}
		return err
	})
	return d, err
}

// DeliveriesOf lists deliveries of a webhook of an account, newest first: those before an id.
func (db *DB) DeliveriesOf(
	ctx context.Context, accountID int64, endpointID string, before int64, limit int,
) (list []Delivery, err error) {
	err = db.read(ctx, func(tx *tx) error {
		e, err := oneEndpoint(tx, accountID, endpointID)
		if err == nil && e.Kind != WebhookEndpoint {
			err = ErrNoEndpoint
		}
		if err != nil {
			return err
		}
		list, err = readDeliveries(tx, `endpoint_id = $1 AND delivery_id < $2 ORDER BY delivery_id DESC LIMIT $3`,
			endpointID, before, limit)
		return err
	})
	return list, err
}

// Due is the next delivery of an endpoint.
type Due struct {
	Delivery
	Endpoint Endpoint
}

// NextDeliveries lists the first pending delivery of every endpoint that has one. Only that may be attempted: an
// endpoint gets its messages in order.
func (db *DB) NextDeliveries(ctx context.Context) (list []Due, err error) {
	err = db.read(ctx, func(tx *tx) error {
		list = nil
		endpoints, err := readEndpoints(tx, `endpoint_id IN (SELECT endpoint_id FROM deliveries WHERE done_at = 0)`)
		if err != nil {
			return err
		}
		for _, e := range endpoints {
			first, err := readDeliveries(tx, `endpoint_id = $1 AND done_at = 0 ORDER BY later, delivery_id LIMIT 1`, e.ID)
			if err != nil {
				return err
			}
			for _, d := range first {
				list = append(list, Due{Delivery: d, Endpoint: e})
			}
		}
		return nil
	})
	return list, err
}

// Pending reports whether any delivery is pending.
func (db *DB) Pending(ctx context.Context) (pending bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, headTimeout)
	defer cancel()
	err = db.read(ctx, func(tx *tx) error {
		return tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM deliveries WHERE done_at = 0)`).Scan(&pending)
	})
	return pending, err
}

// Attempt is the outcome of one attempt to deliver.
type Attempt struct {
	ResponseCode int    // 0: there was no response
	Error        string // empty: it was delivered
	NextAt       int64  // when to try again; 0: never
	Disable      string // why the endpoint is disabled now; empty: it is not
	Notice       *Message
}

// FinishAttempt stores the outcome of an attempt, unless another node delivers now: then it returns ErrLeaseLost, and
// that node attempts the same delivery again, under the same message id.
func (db *DB) FinishAttempt(ctx context.Context, lease Lease, due Due, a Attempt) error {
	return db.write(ctx, func(tx *tx) error {
		if err := tx.checkLease(lease); err != nil {
			return err
		}
		doneAt := int64(0)
		if a.NextAt == 0 {
			doneAt = tx.now
		}
		changed, err := tx.changes(`UPDATE deliveries SET attempts = attempts + 1, response_code = $1, error = $2,
			first_at = CASE WHEN first_at = 0 THEN $3 ELSE first_at END, next_at = $4, delivered = $5, done_at = $6
			WHERE delivery_id = $7 AND done_at = 0`, a.ResponseCode, a.Error, tx.now, a.NextAt, boolInt(a.Error == ""), doneAt,
			due.ID)
		if err != nil || changed == 0 { // the webhook was removed or disabled meanwhile
			return err
		}
		if a.Disable != "" {
			return tx.disable(&due.Endpoint, a.Disable, a.Notice)
		}
		if doneAt == 0 {
			return nil
		}
		return tx.exec(`DELETE FROM deliveries WHERE endpoint_id = $1 AND done_at > 0 AND delivery_id <= (
			SELECT delivery_id FROM deliveries WHERE endpoint_id = $1 AND done_at > 0
			ORDER BY delivery_id DESC LIMIT 1 OFFSET $2)`, due.EndpointID, keptDeliveries)
	})
}

// giveUp ends all pending deliveries of an endpoint. Their owner can replay them.
func (tx *tx) giveUp(endpointID, reason string) error {
	return tx.exec(`UPDATE deliveries SET done_at = $1, next_at = 0, error = CASE WHEN error = '' THEN $2 ELSE error END
		WHERE endpoint_id = $3 AND done_at = 0`, tx.now, reason, endpointID)
}

func abs(n int64) int64 { return max(n, -n) }
