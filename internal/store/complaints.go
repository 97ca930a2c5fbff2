package store

import (
	"context"
	"errors"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/proof"
)

// ErrNoComplaint is the error for an answer to a complaint that does not exist.
var ErrNoComplaint = errors.New("there is no such complaint")

// ReceiveComplaint records a question or complaint about the index, and returns its number.
func (db *DB) ReceiveComplaint(ctx context.Context, sender, text string) (complaint int64, err error) {
	err = db.write(ctx, func(tx *tx) error {
		complaint, err = tx.addComplaintEvent(proof.ComplaintEvent{
			Action: proof.ReceiveComplaint, Sender: sender, Text: text,
		})
		return err
	})
	return complaint, err
}

// AnswerComplaint records an answer. There may be several.
func (db *DB) AnswerComplaint(ctx context.Context, complaint int64, text string) error {
	return db.write(ctx, func(tx *tx) error {
		var found int
		err := tx.QueryRowContext(tx.ctx, `SELECT count(*) FROM complaint_events WHERE event = $1 AND action = $2`,
			complaint, proof.ReceiveComplaint).Scan(&found)
		if err != nil {
			return err
		}
		if found == 0 {
			return ErrNoComplaint
		}
		_, err = tx.addComplaintEvent(proof.ComplaintEvent{
			Complaint: complaint, Action: proof.AnswerComplaint, Text: text,
		})
		return err
	})
}

// addComplaintEvent adds an event. One without a complaint begins its own.
func (tx *tx) addComplaintEvent(c proof.ComplaintEvent) (number int64, err error) {
	err = tx.QueryRowContext(tx.ctx, `SELECT coalesce(max(event), 0) + 1 FROM complaint_events`).Scan(&c.Number)
	if err != nil {
		return 0, err
	}
	if c.Complaint == 0 {
		c.Complaint = c.Number
	}
	tx.logDue = true
	return c.Number, tx.exec(`INSERT INTO complaint_events (event, complaint, at, actor, action, sender, text)
		VALUES ($1, $2, $3, $4, $5, $6, $7)`, c.Number, c.Complaint, tx.now, tx.actor(), c.Action, c.Sender, c.Text)
}

// ComplaintEvents returns all complaints and answers, in their order.
func (db *DB) ComplaintEvents(ctx context.Context) (list []proof.ComplaintEvent, err error) {
	err = db.read(ctx, func(tx *tx) error {
		list, err = readComplaintEvents(tx, 0, assay.Latest)
		return err
	})
	return list, err
}

func readComplaintEvents(tx *tx, after, upTo int64) (list []proof.ComplaintEvent, err error) {
	err = tx.each(`SELECT event, complaint, at, actor, action, sender, text FROM complaint_events
		WHERE event > $1 AND event <= $2 ORDER BY event`, []any{after, upTo}, func(scan scanFunc) error {
		var c proof.ComplaintEvent
		err := scan(&c.Number, &c.Complaint, &c.At, &c.Actor, &c.Action, &c.Sender, &c.Text)
		list = append(list, c)
		return err
	})
	return list, err
}

func eachComplaintEntry(tx *tx, s proof.Salt, after, upTo int64, f entryFunc) error {
	list, err := readComplaintEvents(tx, after, upTo)
	if err != nil {
		return err
	}
	return eachEntry(list, s, proof.AppendComplaintEntry, f)
}
