package store

import (
	"context"
	"encoding/json"
	"math"
)

// AuditEntry is a row of the audit log: who did what, to whom or what, and how. No secret is in it.
type AuditEntry struct {
	ID      int64
	At      int64
	Actor   string // operator:NAME, account:EMAIL, or who else acts
	Action  string // a thing and what was done with it, such as grant.end
	Subject string // account:EMAIL, org:NAME, key:ID and the like
	Detail  string // JSON
}

// AuditFilter says which entries are wanted. The zero value wants all.
type AuditFilter struct {
	Subject string // exactly; empty: whatever it is
	Since   int64  // the first instant
	Limit   int    // of the newest; 0: all
}

// detail is what an entry says beside who, what and whom.
type detail map[string]any

type actorKey struct{}

// WithActor says who does what is done under the context. It is for the audit log.
func WithActor(ctx context.Context, actor string) context.Context {
	return context.WithValue(ctx, actorKey{}, actor)
}

// nobody stands in the log when nobody was named.
const nobody = "system"

// audit adds an entry to the log, in the transaction of what it tells.
func (tx *tx) audit(action, subject string, d detail) error {
	actor, ok := tx.ctx.Value(actorKey{}).(string)
	if !ok {
		actor = nobody
	}
	if d == nil {
		d = detail{}
	}
	text, err := json.Marshal(d)
	if err != nil {
		return err
	}
	return tx.exec(`INSERT INTO audit (at, actor, action, subject, detail) VALUES ($1, $2, $3, $4, $5)`, tx.now, actor, action, subject, string(text))
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
			WHERE ($1 = '' OR subject = $1) AND at >= $2 ORDER BY audit_id DESC LIMIT $3`, []any{f.Subject, f.Since, limit}, func(scan scanFunc) error {
			var e AuditEntry
			err := scan(&e.ID, &e.At, &e.Actor, &e.Action, &e.Subject, &e.Detail)
			entries = append(entries, e)
			return err
		})
	})
	return entries, err
}
