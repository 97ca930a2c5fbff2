package console

import (
	"encoding/json"
	"net/http"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/notify"
	"github.com/assaydata/assay/internal/web"
)

// listAlerts serves the alerts of an account, oldest first.
func (c *Console) listAlerts(r *web.Request) (web.Response, error) {
	list, err := c.Alerts.Alerts(r.Context(), r.Caller())
	if err != nil {
		return web.Response{}, err
	}
	return uncached(struct {
		Success bool          `json:"success"`
		Count   int           `json:"count"`
		Data    []assay.Alert `json:"data"`
	}{true, len(list), list})
}

// givenAlert is the body that creates an alert.
type givenAlert struct {
	Name        string          `json:"name"`
	Type        assay.AlertType `json:"type"`
	GPU         *string         `json:"gpu_type"`
	Region      *string         `json:"region"`
	Granularity *string         `json:"granularity"`
	Threshold   *json.Number    `json:"threshold"`
	Percent     *json.Number    `json:"percent"`
	Window      *string         `json:"window"`
	Direction   *string         `json:"direction"`
	Hysteresis  *json.Number    `json:"hysteresis_percent"`
	WebhookID   *string         `json:"webhook_id"`
	Email       bool            `json:"email"`
	Paused      bool            `json:"paused"`
}

// createAlert creates an alert.
func (c *Console) createAlert(r *web.Request) (web.Response, error) {
	var given givenAlert
	err := r.ReadJSON(&given, "name", "type", "gpu_type", "region", "granularity", "threshold", "percent", "window",
		"direction", "hysteresis_percent", "webhook_id", "email", "paused")
	if err != nil {
		return web.Response{}, err
	}
	n := notify.NewAlert{
		Name: given.Name, WebhookID: given.WebhookID, Email: given.Email, Paused: given.Paused,
		Rule: assay.AlertRule{
			Type: given.Type, GPU: given.GPU, Region: given.Region, Granularity: given.Granularity, Window: given.Window,
			Direction: given.Direction,
		},
	}
	err = readDecimals(decimalField{"threshold", given.Threshold, &n.Rule.Threshold},
		decimalField{"percent", given.Percent, &n.Rule.Percent},
		decimalField{"hysteresis_percent", given.Hysteresis, &n.Rule.Hysteresis})
	if err != nil {
		return web.Response{}, err
	}
	made, err := c.Alerts.CreateAlert(r.Context(), r.Caller(), n)
	if err != nil {
		return web.Response{}, err
	}
	return web.NoStore(http.StatusCreated, struct {
		Success bool        `json:"success"`
		Data    assay.Alert `json:"data"`
	}{true, made})
}

// decimalField is a number of a body, and where it goes.
type decimalField struct {
	name  string
	given *json.Number
	to    **assay.Nanos
}

// readDecimals reads numbers exactly, which a floating point number would not be.
func readDecimals(fields ...decimalField) error {
	for _, f := range fields {
		if f.given == nil {
			continue
		}
		n, err := assay.ParseDecimal(f.given.String(), decimals)
		if err != nil {
			return &assay.Error{
				Kind: assay.Invalid, Code: "invalid_parameter", Param: f.name,
				Message: "Invalid value " + web.Shown(f.given.String()) + " for \"" + f.name +
					"\": must be a plain decimal number, such as 2.35.",
			}
		}
		value := assay.Nanos(n)
		*f.to = &value
	}
	return nil
}

// decimals is how many decimals a number may have.
const decimals = 9

// nullable is a text that may be null, which differs from one that is not given.
type nullable struct {
	given bool
	text  string
}

// UnmarshalJSON reads a text or null.
func (n *nullable) UnmarshalJSON(text []byte) error {
	n.given = true
	return json.Unmarshal(text, &n.text)
}

// changed is what a body changes the text to, with null as the empty text; nil if it does not.
func (n *nullable) changed() *string {
	if !n.given {
		return nil
	}
	return &n.text
}

// changeAlert changes an alert.
func (c *Console) changeAlert(r *web.Request) (web.Response, error) {
	var given struct {
		Name       *string      `json:"name"`
		Threshold  *json.Number `json:"threshold"`
		Percent    *json.Number `json:"percent"`
		Direction  *string      `json:"direction"`
		Hysteresis *json.Number `json:"hysteresis_percent"`
		WebhookID  nullable     `json:"webhook_id"`
		Email      *bool        `json:"email"`
		Paused     *bool        `json:"paused"`
	}
	err := r.ReadJSON(&given, "name", "threshold", "percent", "direction", "hysteresis_percent", "webhook_id", "email",
		"paused")
	if err != nil {
		return web.Response{}, err
	}
	change := notify.AlertChange{
		Name: given.Name, Direction: given.Direction, WebhookID: given.WebhookID.changed(), Email: given.Email,
		Paused: given.Paused,
	}
	err = readDecimals(decimalField{"threshold", given.Threshold, &change.Threshold},
		decimalField{"percent", given.Percent, &change.Percent},
		decimalField{"hysteresis_percent", given.Hysteresis, &change.Hysteresis})
	if err != nil {
		return web.Response{}, err
	}
	made, err := c.Alerts.ChangeAlert(r.Context(), r.Caller(), r.PathValue("id"), change)
	if err != nil {
		return web.Response{}, err
	}
	return data(made)
}

// removeAlert deletes an alert.
func (c *Console) removeAlert(r *web.Request) (web.Response, error) {
	if err := c.Alerts.RemoveAlert(r.Context(), r.Caller(), r.PathValue("id")); err != nil {
		return web.Response{}, err
	}
	return done()
}
