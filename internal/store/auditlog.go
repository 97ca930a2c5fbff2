package store

import (
	"context"
	"encoding/json"
	"math"
	"slices"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/proof"
)

// AuditEntry is an entry of the audit log.
type AuditEntry = proof.AuditEntry

// AuditFilter selects entries. The zero value selects all.
type AuditFilter struct {
	Subject string // the exact subject; empty: any
	Since   int64  // the first instant
	Limit   int    // how many of the newest; 0: all
}

// detail is the details of an entry.
type detail map[string]any

type actorKey struct{}

// WithActor sets the actor that the audit log names for changes made with the context.
func WithActor(ctx context.Context, actor string) context.Context {
	return context.WithValue(ctx, actorKey{}, actor)
}

// noActor is the actor of changes made without WithActor.
const noActor = "system"

// audit adds an entry to the log, in the transaction of the change.
func (tx *tx) audit(action, subject string, d detail) error {
	if d == nil {
		d = detail{}
	}
	text, err := json.Marshal(d)
	if err != nil {
		return err
	}
	tx.logDue = true
	return tx.exec(`INSERT INTO audit (at, actor, action, subject, detail) VALUES ($1, $2, $3, $4, $5)`,
		tx.now, tx.actor(), action, subject, string(text))
}

// actor is who makes the change.
func (tx *tx) actor() string {
	if actor, ok := tx.ctx.Value(actorKey{}).(string); ok {
		return actor
	}
	return noActor
}

// publishing is the subject of what an operator says about publishing as a whole.
const publishing = "publishing"

// The two things that an operator says about it.
const (
	confirmPublishing = "publishing.confirm"
	declareComplete   = "publishing.complete"
)

// ConfirmPublishing records that the operator wants everything published up to an instant, whatever is missing, and
// takes the clock for right.
func (db *DB) ConfirmPublishing(ctx context.Context, until int64) error {
	return db.sayOfPublishing(ctx, confirmPublishing, until)
}

// DeclareComplete records the operator's word that everything is received that can be published up to an instant.
func (db *DB) DeclareComplete(ctx context.Context, until int64) error {
	return db.sayOfPublishing(ctx, declareComplete, until)
}

func (db *DB) sayOfPublishing(ctx context.Context, action string, until int64) error {
	return db.write(ctx, func(tx *tx) error {
		return tx.audit(action, publishing, detail{"until": assay.FormatInstant(until)})
	})
}

// PublishingConfirmed reports whether an operator has confirmed publishing in a period, its ends included.
func (db *DB) PublishingConfirmed(ctx context.Context, from, to int64) (bool, error) {
	entries, err := db.AuditLog(ctx, AuditFilter{Subject: publishing, Since: from})
	confirms := func(e AuditEntry) bool { return e.Action == confirmPublishing && e.At <= to }
	return slices.ContainsFunc(entries, confirms), err
}

// LastWord returns when an operator last confirmed publishing or declared it complete, up to now; 0 for never.
func (db *DB) LastWord(ctx context.Context, now int64) (at int64, err error) {
	entries, err := db.AuditLog(ctx, AuditFilter{Subject: publishing})
	for _, e := range entries {
		if e.At <= now {
			at = max(at, e.At)
		}
	}
	return at, err
}

// AuditLog reads the log, newest first.
func (db *DB) AuditLog(ctx context.Context, f AuditFilter) (entries []AuditEntry, err error) {
	limit := int64(math.MaxInt64)
	if f.Limit > 0 {
		limit = int64(f.Limit)
	}
	err = db.read(ctx, func(tx *tx) error {
		entries = nil
		return tx.each(`SELECT audit_id, at, actor, action, subject, detail FROM audit
			WHERE ($1 = '' OR subject = $1) AND at >= $2 ORDER BY audit_id DESC LIMIT $3`,
			[]any{f.Subject, f.Since, limit}, func(scan scanFunc) error {
				var e AuditEntry
				err := scan(&e.ID, &e.At, &e.Actor, &e.Action, &e.Subject, &e.Detail)
				entries = append(entries, e)
				return err
			})
	})
	return entries, err
}
