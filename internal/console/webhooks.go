package console

import (
	"net/http"
	"strconv"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/notify"
	"github.com/assaydata/assay/internal/web"
)

// listWebhooks serves the webhooks of an account, oldest first.
func (c *Console) listWebhooks(r *web.Request) (web.Response, error) {
	list, err := c.Alerts.Webhooks(r.Context(), r.Caller())
	if err != nil {
		return web.Response{}, err
	}
	return uncached(struct {
		Success bool            `json:"success"`
		Count   int             `json:"count"`
		Data    []assay.Webhook `json:"data"`
	}{true, len(list), list})
}

// withSecret is the only response that contains the secret of a webhook.
type withSecret struct {
	Success bool          `json:"success"`
	Secret  string        `json:"secret"`
	Data    assay.Webhook `json:"data"`
}

// createWebhook creates a webhook.
func (c *Console) createWebhook(r *web.Request) (web.Response, error) {
	var given struct {
		Name string `json:"name"`
		URL  string `json:"url"`
	}
	if err := r.ReadJSON(&given, "name", "url"); err != nil {
		return web.Response{}, err
	}
	made, secret, err := c.Alerts.CreateWebhook(r.Context(), r.Caller(), notify.NewWebhook(given))
	if err != nil {
		return web.Response{}, err
	}
	return web.NoStore(http.StatusCreated, withSecret{true, secret, made})
}

// changeWebhook changes a webhook.
func (c *Console) changeWebhook(r *web.Request) (web.Response, error) {
	var given struct {
		Name    *string `json:"name"`
		URL     *string `json:"url"`
		Enabled *bool   `json:"enabled"`
	}
	if err := r.ReadJSON(&given, "name", "url", "enabled"); err != nil {
		return web.Response{}, err
	}
	change := notify.WebhookChange{Name: given.Name, URL: given.URL, Enabled: given.Enabled}
	changed, err := c.Alerts.ChangeWebhook(r.Context(), r.Caller(), r.PathValue("id"), change)
	if err != nil {
		return web.Response{}, err
	}
	return data(changed)
}

// removeWebhook deletes a webhook.
func (c *Console) removeWebhook(r *web.Request) (web.Response, error) {
	if err := c.Alerts.RemoveWebhook(r.Context(), r.Caller(), r.PathValue("id")); err != nil {
		return web.Response{}, err
	}
	return done()
}

// rotateSecret gives a webhook a new secret.
func (c *Console) rotateSecret(r *web.Request) (web.Response, error) {
	changed, secret, err := c.Alerts.RotateSecret(r.Context(), r.Caller(), r.PathValue("id"))
	if err != nil {
		return web.Response{}, err
	}
	return web.NoStore(http.StatusCreated, withSecret{true, secret, changed})
}

// testWebhook queues a test message.
func (c *Console) testWebhook(r *web.Request) (web.Response, error) {
	return queued(c.Alerts.Test(r.Context(), r.Caller(), r.PathValue("id")))
}

// queued responds with a delivery that was queued.
func queued(d assay.Delivery, err error) (web.Response, error) {
	if err != nil {
		return web.Response{}, err
	}
	return web.NoStore(http.StatusAccepted, struct {
		Success bool           `json:"success"`
		Data    assay.Delivery `json:"data"`
	}{true, d})
}

// maxDelivery is above the id of any delivery, and exact in every program that reads JSON.
const maxDelivery = 1<<53 - 1

// listDeliveries serves deliveries of a webhook, newest first.
func (c *Console) listDeliveries(r *web.Request) (web.Response, error) {
	before, err := r.Int("before", maxDelivery, 1, maxDelivery)
	if err != nil {
		return web.Response{}, err
	}
	limit, err := r.Int("limit", 100, 1, 500)
	if err != nil {
		return web.Response{}, err
	}
	list, err := c.Alerts.Deliveries(r.Context(), r.Caller(), r.PathValue("id"), int64(before), limit+1)
	if err != nil {
		return web.Response{}, err
	}
	var following page
	if len(list) > limit {
		list = list[:limit]
		following = pageBy(r, "before", list[limit-1].ID)
	}
	return uncached(struct {
		Success bool `json:"success"`
		Count   int  `json:"count"`
		page
		Data []assay.Delivery `json:"data"`
	}{true, len(list), following, list})
}

// replayDelivery queues the message of a delivery again.
func (c *Console) replayDelivery(r *web.Request) (web.Response, error) {
	id, err := strconv.ParseInt(r.PathValue("delivery"), 10, 64)
	if err != nil {
		id = 0 // there is none
	}
	return queued(c.Alerts.Replay(r.Context(), r.Caller(), r.PathValue("id"), id))
}
