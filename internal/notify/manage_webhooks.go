package notify

import (
	"context"
	"errors"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/alert"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/webhook"
)

const (
	// rotationGrace is how long the old secret of a webhook signs too.
	rotationGrace = assay.Day
	// testPause is how long after a test of a webhook the next one may follow: it is no tool for sending requests.
	testPause = 10 * assay.Second
	// secretPurpose is what the secrets of webhooks are sealed for.
	secretPurpose = "webhook secret"
)

var errNoSecretKey = refuse(assay.NotFound, "no_webhooks",
	"This server has no webhooks: its operator has not given it a secret key.")

// Webhooks lists the webhooks of a caller's account, oldest first.
func (s *Service) Webhooks(ctx context.Context, caller assay.Caller) ([]assay.Webhook, error) {
	if caller.AccountID == 0 {
		return nil, errNoAccount
	}
	stored, err := s.Store.EndpointsOf(ctx, caller.AccountID)
	list := make([]assay.Webhook, 0, len(stored))
	for i := range stored {
		if stored[i].Kind == store.WebhookEndpoint {
			list = append(list, s.showWebhook(&stored[i]))
		}
	}
	return list, err
}

func (s *Service) showWebhook(e *store.Endpoint) assay.Webhook {
	w := assay.Webhook{
		ID: e.ID, Name: e.Name, URL: e.URL, Enabled: e.DisabledAt == 0, DisabledAt: assay.Timestamp(e.DisabledAt),
		DisabledReason: optional(e.DisabledReason), CreatedAt: assay.Timestamp(e.CreatedAt), Waiting: e.Waiting,
	}
	if e.OldUntil > s.now() {
		w.OldSecretUntil = assay.Timestamp(e.OldUntil)
	}
	return w
}

// NewWebhook is what an owner says of a new webhook.
type NewWebhook struct{ Name, URL string }

// CreateWebhook creates a webhook, and returns its secret, which is not shown again.
func (s *Service) CreateWebhook(
	ctx context.Context, caller assay.Caller, n NewWebhook,
) (w assay.Webhook, secret string, err error) {
	ctx, _, err = s.writer(ctx, caller)
	if err != nil {
		return w, "", err
	}
	if s.Accounts.Secret == nil {
		return w, "", errNoSecretKey
	}
	if err := errors.Join(checkName(n.Name), s.checkURL(n.URL)); err != nil {
		return w, "", err
	}
	e := store.Endpoint{ID: "wh_" + newID(), AccountID: caller.AccountID, Name: n.Name, URL: n.URL}
	fresh := webhook.NewSecret()
	e.Secret = s.seal(e.ID, fresh)
	e, err = s.Store.AddWebhook(ctx, e, MaxWebhooks)
	if errors.Is(err, store.ErrTooMany) {
		return w, "", refuse(assay.Forbidden, "too_many_webhooks",
			"An account has at most %d webhooks. Delete one first.", MaxWebhooks)
	}
	if err != nil {
		return w, "", translate(err)
	}
	return s.showWebhook(&e), webhook.SecretText(fresh), nil
}

func (s *Service) checkURL(url string) error {
	if err := s.Sender.CheckURL(url); err != nil {
		return &assay.Error{
			Kind: assay.Invalid, Code: "invalid_url", Param: "url", Message: "Invalid value for \"url\": " + err.Error() + ".",
		}
	}
	return nil
}

func (s *Service) seal(endpointID string, secret []byte) []byte {
	return s.Accounts.Secret.Seal(secretPurpose, secret, []byte(endpointID))
}

// secrets opens the secrets that sign messages to an endpoint now.
func (s *Service) secrets(e *store.Endpoint) (list [][]byte, err error) {
	if s.Accounts.Secret == nil {
		return nil, errNoSecretKey
	}
	sealed := [][]byte{e.Secret}
	if len(e.OldSecret) > 0 && e.OldUntil > s.now() {
		sealed = append(sealed, e.OldSecret)
	}
	for _, one := range sealed {
		secret, err := s.Accounts.Secret.Open(secretPurpose, one, []byte(e.ID))
		if err != nil {
			return nil, err
		}
		list = append(list, secret)
	}
	return list, nil
}

// WebhookChange is what an owner changes of a webhook; nil leaves a field as it is.
type WebhookChange struct {
	Name    *string
	URL     *string
	Enabled *bool
}

// ChangeWebhook changes a webhook.
func (s *Service) ChangeWebhook(
	ctx context.Context, caller assay.Caller, id string, c WebhookChange,
) (w assay.Webhook, err error) {
	ctx, _, err = s.writer(ctx, caller)
	if err != nil {
		return w, err
	}
	e, err := s.Store.ChangeWebhook(ctx, caller.AccountID, id, "webhook.change", func(e *store.Endpoint, now int64) error {
		set(&e.Name, c.Name)
		set(&e.URL, c.URL)
		if c.Enabled != nil && *c.Enabled {
			e.DisabledAt, e.DisabledReason = 0, ""
		} else if c.Enabled != nil && e.DisabledAt == 0 {
			e.DisabledAt, e.DisabledReason = now, store.DisabledByOwner
		}
		return errors.Join(checkName(e.Name), s.checkURL(e.URL))
	})
	return s.showWebhook(&e), translate(err)
}

// RotateSecret gives a webhook a new secret, and returns it. The old one signs too for a day.
func (s *Service) RotateSecret(
	ctx context.Context, caller assay.Caller, id string,
) (w assay.Webhook, secret string, err error) {
	ctx, _, err = s.writer(ctx, caller)
	if err != nil {
		return w, "", err
	}
	if s.Accounts.Secret == nil {
		return w, "", errNoSecretKey
	}
	fresh := webhook.NewSecret()
	e, err := s.Store.ChangeWebhook(ctx, caller.AccountID, id, "webhook.rotate", func(e *store.Endpoint, now int64) error {
		e.OldSecret, e.OldUntil = e.Secret, now+rotationGrace
		e.Secret = s.seal(e.ID, fresh)
		return nil
	})
	if err != nil {
		return w, "", translate(err)
	}
	return s.showWebhook(&e), webhook.SecretText(fresh), nil
}

// RemoveWebhook deletes a webhook.
func (s *Service) RemoveWebhook(ctx context.Context, caller assay.Caller, id string) error {
	ctx, _, err := s.writer(ctx, caller)
	if err != nil {
		return err
	}
	return translate(s.Store.RemoveWebhook(ctx, caller.AccountID, id))
}

// Test queues a test message, which goes ahead of what waits and is attempted once.
func (s *Service) Test(ctx context.Context, caller assay.Caller, id string) (d assay.Delivery, err error) {
	ctx, _, err = s.writer(ctx, caller)
	if err != nil {
		return d, err
	}
	m := newMessage(alert.Event{
		Type: alert.TestType, Data: alert.Data{WebhookID: id, Message: "This is a test of the webhook."},
	}, s.now())
	stored, err := s.Store.QueueTest(ctx, caller.AccountID, id, m, testPause)
	if errors.Is(err, store.ErrWaiting) {
		return d, refuse(assay.Conflict, "test_pending",
			"A test was sent less than %d seconds ago, or waits. Look at the deliveries.", testPause/assay.Second)
	}
	return showDelivery(&stored), translate(err)
}

// Replay queues the message of a delivery again, under the same id.
func (s *Service) Replay(
	ctx context.Context, caller assay.Caller, id string, deliveryID int64,
) (d assay.Delivery, err error) {
	ctx, _, err = s.writer(ctx, caller)
	if err != nil {
		return d, err
	}
	stored, err := s.Store.Replay(ctx, caller.AccountID, id, deliveryID)
	if errors.Is(err, store.ErrWaiting) {
		return d, refuse(assay.Conflict, "delivery_pending", "This message waits to be delivered already.")
	}
	return showDelivery(&stored), translate(err)
}

// Deliveries lists deliveries of a webhook with ids below before, newest first.
func (s *Service) Deliveries(
	ctx context.Context, caller assay.Caller, id string, before int64, limit int,
) ([]assay.Delivery, error) {
	if caller.AccountID == 0 {
		return nil, errNoAccount
	}
	stored, err := s.Store.DeliveriesOf(ctx, caller.AccountID, id, before, limit)
	list := make([]assay.Delivery, 0, len(stored))
	for i := range stored {
		list = append(list, showDelivery(&stored[i]))
	}
	return list, translate(err)
}

func showDelivery(d *store.Delivery) assay.Delivery {
	shown := assay.Delivery{
		ID: d.ID, MessageID: d.Message.ID, Type: d.Message.Type, Status: assay.DeliveryPending, Replay: d.Replay,
		Attempts: d.Attempts, Error: optional(d.Error), CreatedAt: assay.Timestamp(d.CreatedAt),
		FinishedAt: assay.Timestamp(d.DoneAt),
	}
	switch {
	case d.DoneAt != 0 && d.Delivered:
		shown.Status = assay.DeliveryDelivered
	case d.DoneAt != 0:
		shown.Status = assay.DeliveryFailed
	default:
		shown.NextAttemptAt = assay.Timestamp(max(d.NextAt, d.CreatedAt))
	}
	if d.ResponseCode != 0 {
		shown.ResponseCode = new(d.ResponseCode)
	}
	return shown
}
