package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
)

// UsageCount is how often a key called a route with one outcome on one day.
type UsageCount struct {
	Day      int64 // midnight UTC
	KeyID    string
	Route    string // its path, with the names of what callers choose: /api/gpu/{gpuName}
	Status   int
	Requests int64
}

// AddUsage adds to the request counts and sets when each key was last used. It raises no counter: no reader follows
// usage.
func (db *DB) AddUsage(ctx context.Context, rows []UsageCount, lastUsed map[string]int64) error {
	return db.write(ctx, func(tx *tx) error {
		for _, u := range rows {
			err := tx.exec(`INSERT INTO usage (day, key_id, route, status, requests) VALUES ($1, $2, $3, $4, $5)
				ON CONFLICT (day, key_id, route, status) DO UPDATE SET requests = usage.requests + excluded.requests`,
				u.Day, u.KeyID, u.Route, u.Status, u.Requests)
			if err != nil {
				return err
			}
		}
		for keyID, at := range lastUsed {
			err := tx.exec(`UPDATE keys SET last_used_at = $1
				WHERE key_id = $2 AND (last_used_at IS NULL OR last_used_at < $1)`, at, keyID)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// UsageOf selects whose usage is read: that of all keys of an account, of one key, or, with both, of the key if it
// belongs to the account.
type UsageOf struct {
	AccountID int64  // 0: any
	KeyID     string // empty: any
}

// Usage reads the counts of the days from the first to the last, oldest day first, then by key, route and status.
func (db *DB) Usage(ctx context.Context, of UsageOf, first, last int64) (rows []UsageCount, err error) {
	query, args := usageQuery(of, first, last)
	err = db.read(ctx, func(tx *tx) error {
		rows = nil
		return tx.each(query, args, func(scan scanFunc) error {
			var u UsageCount
			err := scan(&u.Day, &u.KeyID, &u.Route, &u.Status, &u.Requests)
			rows = append(rows, u)
			return err
		})
	})
	return rows, err
}

// usageQuery has a condition for each case: one for all would keep the databases from using the index by key.
func usageQuery(of UsageOf, first, last int64) (query string, args []any) {
	where, args := `day BETWEEN $1 AND $2`, []any{first, last}
	if of.KeyID != "" {
		args = append(args, of.KeyID)
		where += fmt.Sprintf(` AND key_id = $%d`, len(args))
	}
	if of.AccountID != 0 {
		args = append(args, of.AccountID)
		where += fmt.Sprintf(` AND key_id IN (SELECT key_id FROM keys WHERE account_id = $%d)`, len(args))
	}
	query = `SELECT day, key_id, route, status, requests FROM usage WHERE ` + where +
		` ORDER BY day, key_id, route, status`
	return query, args
}

// UsageTotal is how often a key was used in a period.
type UsageTotal struct {
	KeyID        string
	KeyName      string
	Email        string // of the account that the key belongs to; empty for an operator's key
	Organization string // that the key is based on, if any
	Requests     int64
	Failed       int64 // those of them whose status was 400 or more
}

// UsageTotals sums up the days from the first to the last for every key that was used, in the order of
// organizations, accounts and keys.
func (db *DB) UsageTotals(ctx context.Context, first, last int64) (totals []UsageTotal, err error) {
	err = db.read(ctx, func(tx *tx) error {
		totals = nil
		return tx.each(`SELECT t.key_id, coalesce(k.name, ''), coalesce(a.email, ''), coalesce(o.name, ''), t.requests,
				t.failed
			FROM (SELECT key_id, CAST(sum(requests) AS BIGINT) AS requests,
				CAST(sum(CASE WHEN status >= 400 THEN requests ELSE 0 END) AS BIGINT) AS failed
				FROM usage WHERE day BETWEEN $1 AND $2 GROUP BY key_id) t
			LEFT JOIN keys k ON k.key_id = t.key_id LEFT JOIN accounts a ON a.account_id = k.account_id
			LEFT JOIN organizations o ON o.org_id = k.org_id`,
			[]any{first, last}, func(scan scanFunc) error {
				var t UsageTotal
				err := scan(&t.KeyID, &t.KeyName, &t.Email, &t.Organization, &t.Requests, &t.Failed)
				totals = append(totals, t)
				return err
			})
	})
	slices.SortFunc(totals, func(a, b UsageTotal) int {
		return cmp.Or(strings.Compare(a.Organization, b.Organization), strings.Compare(a.Email, b.Email),
			strings.Compare(a.KeyID, b.KeyID))
	})
	return totals, err
}

// ForgetUsage removes the counts of all days before a day. Each day is a transaction of its own, so that no one waits
// long.
func (db *DB) ForgetUsage(ctx context.Context, before int64) error {
	for {
		more := false
		err := db.write(ctx, func(tx *tx) error {
			var oldest sql.NullInt64
			err := tx.QueryRowContext(ctx, `SELECT min(day) FROM usage`).Scan(&oldest)
			if more = err == nil && oldest.Valid && oldest.Int64 < before; !more {
				return err
			}
			return tx.exec(`DELETE FROM usage WHERE day = $1`, oldest.Int64)
		})
		if err != nil || !more {
			return err
		}
	}
}
