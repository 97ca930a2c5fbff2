package store

import (
	"context"
	"errors"

	"github.com/assaydata/assay"
)

// Alert is an alert as it is stored.
type Alert struct {
	ID         string // public
	AccountID  int64
	Name       string
	Rule       string // JSON, which the store does not read
	EndpointID string // the webhook it is sent to; empty: none
	Email      bool
	Paused     bool
	CreatedAt  int64
	Since      int64 // it watches what is published from then on
	Changed    int64 // how often its owner has changed it
	Armed      bool  // whether it fires when its condition holds
	FiredAt    int64 // 0: never
}

// Errors of the methods about alerts.
var (
	ErrNoAlert    = errors.New("there is no such alert")
	ErrTooMany    = errors.New("the account has as many as it may have")
	ErrNoEndpoint = errors.New("there is no such endpoint")
)

const alertColumns = `alert_id, account_id, name, rule, endpoint_id, email, paused, created_at, since, changed, armed,
	fired_at`

// Alerts lists all alerts that are not paused.
func (db *DB) Alerts(ctx context.Context) ([]Alert, error) { return db.alerts(ctx, `paused = 0`) }

// AlertsOf lists the alerts of an account, oldest first.
func (db *DB) AlertsOf(ctx context.Context, accountID int64) ([]Alert, error) {
	return db.alerts(ctx, `account_id = $1`, accountID)
}

func (db *DB) alerts(ctx context.Context, where string, args ...any) (list []Alert, err error) {
	err = db.read(ctx, func(tx *tx) error {
		list, err = readAlerts(tx, where, args...)
		return err
	})
	return list, err
}

func readAlerts(tx *tx, where string, args ...any) (list []Alert, err error) {
	err = tx.each(`SELECT `+alertColumns+` FROM alerts WHERE `+where+` ORDER BY created_at, alert_id`, args,
		func(scan scanFunc) error {
			var a Alert
			err := scan(&a.ID, &a.AccountID, &a.Name, &a.Rule, &a.EndpointID, &a.Email, &a.Paused, &a.CreatedAt, &a.Since,
				&a.Changed, &a.Armed, &a.FiredAt)
			list = append(list, a)
			return err
		})
	return list, err
}

// AddAlert stores a new alert, which is armed, unless its account has as many as it may have. With an alert that goes
// by mail comes the account's endpoint for mail, whose id is the given one if it is new.
func (db *DB) AddAlert(ctx context.Context, a Alert, most int, mailID string) (Alert, error) {
	err := db.write(ctx, func(tx *tx) error {
		owner, err := openAccount(tx, a.AccountID)
		if err != nil {
			return err
		}
		var has int
		err = tx.QueryRowContext(tx.ctx, `SELECT count(*) FROM alerts WHERE account_id = $1`, a.AccountID).Scan(&has)
		if err != nil {
			return err
		}
		if has >= most {
			return ErrTooMany
		}
		a.CreatedAt, a.Since, a.Armed = tx.now, tx.now, true
		if err := checkTargets(tx, &a, mailID); err != nil {
			return err
		}
		err = tx.exec(`INSERT INTO alerts (`+alertColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
			a.ID, a.AccountID, a.Name, a.Rule, a.EndpointID, boolInt(a.Email), boolInt(a.Paused), a.CreatedAt, a.Since,
			a.Changed, boolInt(a.Armed), a.FiredAt)
		if err != nil {
			return err
		}
		return tx.audit("alert.add", "account:"+owner.Email, detail{"alert": a.ID})
	})
	return a, err
}

// ChangeAlert lets change change the name, the rule, the targets and the pause of an alert. The alert then watches from
// now on, and is armed.
func (db *DB) ChangeAlert(
	ctx context.Context, accountID int64, id, mailID string, change func(*Alert) error,
) (a Alert, err error) {
	err = db.write(ctx, func(tx *tx) error {
		list, err := readAlerts(tx, `account_id = $1 AND alert_id = $2`, accountID, id)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return ErrNoAlert
		}
		a = list[0]
		if err := change(&a); err != nil {
			return err
		}
		if err := checkTargets(tx, &a, mailID); err != nil {
			return err
		}
		a.Since, a.Armed = tx.now, true
		a.Changed++
		return tx.exec(`UPDATE alerts SET name = $1, rule = $2, endpoint_id = $3, email = $4, paused = $5, since = $6,
			changed = $7, armed = 1 WHERE alert_id = $8`, a.Name, a.Rule, a.EndpointID, boolInt(a.Email), boolInt(a.Paused),
			a.Since, a.Changed, a.ID)
	})
	return a, err
}

// checkTargets checks that an alert goes to a webhook of its account, and adds the account's endpoint for mail if the
// alert needs one.
func checkTargets(tx *tx, a *Alert, mailID string) error {
	if a.EndpointID != "" {
		found, err := readEndpoints(tx, `endpoint_id = $1 AND account_id = $2 AND kind = $3`, a.EndpointID, a.AccountID,
			WebhookEndpoint)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return ErrNoEndpoint
		}
	}
	if !a.Email {
		return nil
	}
	return addMailEndpoint(tx, a.AccountID, mailID)
}

// RemoveAlert deletes an alert. What it has sent stays in the deliveries.
func (db *DB) RemoveAlert(ctx context.Context, accountID int64, id string) error {
	return db.write(ctx, func(tx *tx) error {
		owner, err := accountByID(tx, accountID)
		if err != nil {
			return err
		}
		removed, err := tx.changes(`DELETE FROM alerts WHERE account_id = $1 AND alert_id = $2`, accountID, id)
		if err != nil {
			return err
		}
		if removed == 0 {
			return ErrNoAlert
		}
		return tx.audit("alert.remove", "account:"+owner.Email, detail{"alert": id})
	})
}

// changes runs a statement and returns how many rows it changed.
func (tx *tx) changes(query string, args ...any) (int64, error) {
	result, err := tx.ExecContext(tx.ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// openAccount finds an account that is not closed.
func openAccount(tx *tx, id int64) (assay.Account, error) {
	a, err := accountByID(tx, id)
	if err == nil && a.ClosedAt != 0 {
		err = ErrNoAccount
	}
	return a, err
}

// AlertedTo is up to where alerts have been evaluated.
type AlertedTo struct{ Publication, Notice int64 }

// The counters of AlertedTo.
const (
	alertedPublication = "alerted_publication"
	alertedNotice      = "alerted_notice"
)

// AlertedTo reads up to where alerts have been evaluated, and up to where they can be.
func (db *DB) AlertedTo(ctx context.Context) (done, available AlertedTo, err error) {
	ctx, cancel := context.WithTimeout(ctx, headTimeout)
	defer cancel()
	err = db.read(ctx, func(tx *tx) error {
		if done, err = readAlertedTo(tx); err != nil {
			return err
		}
		if available.Publication, err = tx.counter("publication"); err != nil {
			return err
		}
		available.Notice, err = tx.counter("notices")
		return err
	})
	return done, available, err
}

func readAlertedTo(tx *tx) (done AlertedTo, err error) {
	if done.Publication, err = tx.counter(alertedPublication); err != nil {
		return done, err
	}
	done.Notice, err = tx.counter(alertedNotice)
	return done, err
}

// Fired is the outcome of evaluating an alert.
type Fired struct {
	Alert    Alert // as it was evaluated, with its new state
	Messages []Message
}

// Message is what an alert sends to each of its endpoints.
type Message struct {
	ID      string
	Type    string
	Payload []byte
}

// FinishAlerts stores the outcome of an evaluation, and that everything up to an instant was evaluated, in one
// transaction: nothing is sent twice and nothing is lost, however the process ends. It returns ErrOvertaken if another
// node has evaluated the same. An alert that its owner has changed meanwhile sends nothing: it watches from then on.
func (db *DB) FinishAlerts(ctx context.Context, from, to AlertedTo, outcome []Fired) error {
	return db.write(ctx, func(tx *tx) error {
		done, err := readAlertedTo(tx)
		if err != nil {
			return err
		}
		if done != from {
			return ErrOvertaken
		}
		for i := range outcome {
			if err := tx.fire(&outcome[i]); err != nil {
				return err
			}
		}
		const set = `UPDATE counters SET value = $1 WHERE name = $2`
		if err := tx.exec(set, to.Publication, alertedPublication); err != nil {
			return err
		}
		return tx.exec(set, to.Notice, alertedNotice)
	})
}

// fire stores the new state of an alert, and queues its messages.
func (tx *tx) fire(f *Fired) error {
	a := &f.Alert
	if len(f.Messages) > 0 {
		a.FiredAt = tx.now
	}
	changed, err := tx.changes(`UPDATE alerts SET armed = $1, fired_at = $2 WHERE alert_id = $3 AND changed = $4`,
		boolInt(a.Armed), a.FiredAt, a.ID, a.Changed)
	if err != nil || changed == 0 || len(f.Messages) == 0 {
		return err
	}
	targets, err := readEndpoints(tx, `disabled_at = 0 AND account_id = $1 AND (endpoint_id = $2 OR kind = $3 AND $4 = 1)`,
		a.AccountID, a.EndpointID, MailEndpoint, boolInt(a.Email))
	if err != nil {
		return err
	}
	for _, target := range targets {
		for _, m := range f.Messages {
			if err := tx.queue(target.ID, m, queued{}); err != nil {
				return err
			}
		}
	}
	return nil
}

// HasValue reports whether a series has a value that a version up to the given one published.
func (db *DB) HasValue(ctx context.Context, key SeriesKey, upTo int64) (has bool, err error) {
	err = db.read(ctx, func(tx *tx) error {
		return tx.each(`SELECT 1 FROM points WHERE series_id = (`+selectSeriesID+`) AND version <= $4
			AND value_nanos IS NOT NULL LIMIT 1`, []any{key.GPU, key.Region, key.Grain.String(), upTo},
			func(scanFunc) error {
				has = true
				return nil
			})
	})
	return has, err
}
