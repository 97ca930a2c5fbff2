package store

import "context"

// Endpoint is a target of alerts as it is stored: a webhook, or the email address of an account. Each has a queue of
// its own, so that one that fails delays no other.
type Endpoint struct {
	ID             string // public
	AccountID      int64
	Kind           string
	Name           string
	URL            string
	Secret         []byte // sealed
	OldSecret      []byte // sealed; empty: none
	OldUntil       int64
	CreatedAt      int64
	DisabledAt     int64 // 0: enabled
	DisabledReason string

	Waiting int // deliveries that are not done
}

// The kinds of endpoints.
const (
	WebhookEndpoint = "webhook"
	MailEndpoint    = "email"
)

// Why an endpoint is disabled.
const (
	DisabledByOwner = "owner"
	DisabledFailing = "failing" // every attempt has failed for a day
	DisabledGone    = "gone"    // it responded 410 Gone
)

const endpointColumns = `endpoint_id, account_id, kind, name, url, secret, old_secret, old_until, created_at,
	disabled_at, disabled_reason`

func readEndpoints(tx *tx, where string, args ...any) (list []Endpoint, err error) {
	err = tx.each(`SELECT `+endpointColumns+` FROM endpoints WHERE `+where+` ORDER BY created_at, endpoint_id`, args,
		func(scan scanFunc) error {
			var e Endpoint
			err := scan(&e.ID, &e.AccountID, &e.Kind, &e.Name, &e.URL, &e.Secret, &e.OldSecret, &e.OldUntil, &e.CreatedAt,
				&e.DisabledAt, &e.DisabledReason)
			list = append(list, e)
			return err
		})
	return list, err
}

// oneEndpoint finds an endpoint of an account, or returns ErrNoEndpoint.
func oneEndpoint(tx *tx, accountID int64, id string) (Endpoint, error) {
	list, err := readEndpoints(tx, `account_id = $1 AND endpoint_id = $2`, accountID, id)
	if err != nil || len(list) > 0 {
		return append(list, Endpoint{})[0], err
	}
	return Endpoint{}, ErrNoEndpoint
}

// EndpointsOf lists the endpoints of an account, oldest first.
func (db *DB) EndpointsOf(ctx context.Context, accountID int64) (list []Endpoint, err error) {
	err = db.read(ctx, func(tx *tx) error {
		if list, err = readEndpoints(tx, `account_id = $1`, accountID); err != nil {
			return err
		}
		for i := range list {
			err := tx.QueryRowContext(tx.ctx, `SELECT count(*) FROM deliveries WHERE done_at = 0 AND endpoint_id = $1`,
				list[i].ID).Scan(&list[i].Waiting)
			if err != nil {
				return err
			}
		}
		return nil
	})
	return list, err
}

// AddWebhook stores a new webhook, unless its account has as many as it may have.
func (db *DB) AddWebhook(ctx context.Context, e Endpoint, most int) (Endpoint, error) {
	err := db.write(ctx, func(tx *tx) error {
		owner, err := openAccount(tx, e.AccountID)
		if err != nil {
			return err
		}
		has, err := readEndpoints(tx, `account_id = $1 AND kind = $2`, e.AccountID, WebhookEndpoint)
		if err != nil {
			return err
		}
		if len(has) >= most {
			return ErrTooMany
		}
		e.Kind, e.CreatedAt = WebhookEndpoint, tx.now
		if err := insertEndpoint(tx, &e); err != nil {
			return err
		}
		return tx.audit("webhook.add", "account:"+owner.Email, detail{"webhook": e.ID})
	})
	return e, err
}

func insertEndpoint(tx *tx, e *Endpoint) error {
	return tx.exec(`INSERT INTO endpoints (`+endpointColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
		e.ID, e.AccountID, e.Kind, e.Name, e.URL, notNil(e.Secret), notNil(e.OldSecret), e.OldUntil, e.CreatedAt,
		e.DisabledAt, e.DisabledReason)
}

// notNil is an empty text in place of nil, which would be NULL.
func notNil(text []byte) []byte {
	if text == nil {
		return []byte{}
	}
	return text
}

// addMailEndpoint adds the endpoint for mail of an account, or enables it again.
func addMailEndpoint(tx *tx, accountID int64, id string) error {
	known, err := readEndpoints(tx, `account_id = $1 AND kind = $2`, accountID, MailEndpoint)
	if err != nil {
		return err
	}
	if len(known) > 0 {
		return tx.exec(`UPDATE endpoints SET disabled_at = 0, disabled_reason = '' WHERE endpoint_id = $1`, known[0].ID)
	}
	return insertEndpoint(tx, &Endpoint{ID: id, AccountID: accountID, Kind: MailEndpoint, CreatedAt: tx.now})
}

// ChangeWebhook lets change change the name, the URL, the secrets and whether a webhook of an account is enabled. What
// waits for a webhook that is disabled now will not be sent.
func (db *DB) ChangeWebhook(
	ctx context.Context, accountID int64, id, action string, change func(e *Endpoint, now int64) error,
) (e Endpoint, err error) {
	err = db.write(ctx, func(tx *tx) error {
		owner, err := accountByID(tx, accountID)
		if err != nil {
			return err
		}
		if e, err = oneEndpoint(tx, accountID, id); err != nil {
			return err
		}
		if e.Kind != WebhookEndpoint {
			return ErrNoEndpoint
		}
		if err := change(&e, tx.now); err != nil {
			return err
		}
		err = tx.exec(`UPDATE endpoints SET name = $1, url = $2, secret = $3, old_secret = $4, old_until = $5,
			disabled_at = $6, disabled_reason = $7 WHERE endpoint_id = $8`, e.Name, e.URL, notNil(e.Secret),
			notNil(e.OldSecret), e.OldUntil, e.DisabledAt, e.DisabledReason, e.ID)
		if err != nil {
			return err
		}
		if e.DisabledAt != 0 {
			if err := tx.giveUp(e.ID, "disabled"); err != nil {
				return err
			}
		}
		return tx.audit(action, "account:"+owner.Email, detail{"webhook": e.ID})
	})
	return e, err
}

// RemoveWebhook deletes a webhook with its deliveries. Alerts that were sent there are sent nowhere else instead.
func (db *DB) RemoveWebhook(ctx context.Context, accountID int64, id string) error {
	return db.write(ctx, func(tx *tx) error {
		owner, err := accountByID(tx, accountID)
		if err != nil {
			return err
		}
		e, err := oneEndpoint(tx, accountID, id)
		if err != nil {
			return err
		}
		if e.Kind != WebhookEndpoint {
			return ErrNoEndpoint
		}
		return inOrder(
			func() error { return tx.exec(`DELETE FROM deliveries WHERE endpoint_id = $1`, id) },
			func() error {
				return tx.exec(`UPDATE alerts SET endpoint_id = '', changed = changed + 1 WHERE endpoint_id = $1`, id)
			},
			func() error { return tx.exec(`DELETE FROM endpoints WHERE endpoint_id = $1`, id) },
			func() error { return tx.audit("webhook.remove", "account:"+owner.Email, detail{"webhook": id}) },
		)
	})
}

// disable disables an endpoint that cannot be delivered to, and queues a mail about it if its account gets any.
func (tx *tx) disable(e *Endpoint, reason string, notice *Message) error {
	owner, err := accountByID(tx, e.AccountID)
	if err != nil {
		return err
	}
	err = tx.exec(`UPDATE endpoints SET disabled_at = $1, disabled_reason = $2 WHERE endpoint_id = $3`,
		tx.now, reason, e.ID)
	if err != nil {
		return err
	}
	if err := tx.giveUp(e.ID, "disabled"); err != nil {
		return err
	}
	if err := tx.audit("webhook.disable", "account:"+owner.Email, detail{"webhook": e.ID, "reason": reason}); err != nil {
		return err
	}
	if notice == nil || e.Kind != WebhookEndpoint {
		return nil
	}
	if err := tx.mailEndpointFor(e.AccountID, "ep_"+notice.ID); err != nil {
		return err
	}
	mail, err := readEndpoints(tx, `account_id = $1 AND kind = $2 AND disabled_at = 0`, e.AccountID, MailEndpoint)
	if err != nil || len(mail) == 0 {
		return err
	}
	return tx.queue(mail[0].ID, *notice, queued{})
}

// mailEndpointFor adds the endpoint for mail of an account that has none.
func (tx *tx) mailEndpointFor(accountID int64, id string) error {
	known, err := readEndpoints(tx, `account_id = $1 AND kind = $2`, accountID, MailEndpoint)
	if err != nil || len(known) > 0 {
		return err
	}
	return addMailEndpoint(tx, accountID, id)
}
