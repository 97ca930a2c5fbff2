package alert

import (
	"encoding/json"

	"github.com/assaydata/assay"
)

// Event is a message that an alert sends, in the shape that Standard Webhooks recommends.
type Event struct {
	Type      string          `json:"type"`
	Timestamp assay.Timestamp `json:"timestamp"` // when it was found
	Data      Data            `json:"data"`
}

// Data is what has happened. Fields that the type does not use are left out.
type Data struct {
	AlertID   string `json:"alert_id,omitempty"`
	AlertName string `json:"alert_name,omitempty"`
	Message   string `json:"message"` // a sentence for people

	GPU         *string         `json:"gpu_type,omitempty"`
	Region      *string         `json:"region,omitempty"`
	Granularity *string         `json:"granularity,omitempty"`
	At          assay.Timestamp `json:"timestamp,omitempty"` // the slot
	Value       *assay.Nanos    `json:"index_value,omitempty"`
	Version     int64           `json:"publication,omitempty"`

	Threshold     *assay.Nanos    `json:"threshold,omitempty"`
	Percent       *assay.Nanos    `json:"percent,omitempty"`
	Window        *string         `json:"window,omitempty"`
	ChangePercent *assay.Nanos    `json:"change_percent,omitempty"`
	EarlierValue  *assay.Nanos    `json:"earlier_value,omitempty"`
	EarlierAt     assay.Timestamp `json:"earlier_timestamp,omitempty"`

	Values      int             `json:"values,omitempty"`
	FirstAt     assay.Timestamp `json:"first_timestamp,omitempty"`
	LastAt      assay.Timestamp `json:"last_timestamp,omitempty"`
	Reason      string          `json:"reason,omitempty"`
	CorrectedAt assay.Timestamp `json:"corrected_at,omitempty"`

	WebhookID string `json:"webhook_id,omitempty"`

	Synthetic bool `json:"synthetic,omitempty"`
}

// TestType and DisabledType are the types of the messages that no alert sends.
const (
	TestType     = "webhook.test"
	DisabledType = "webhook.disabled"
)

// event begins a message of an alert about a value.
func (a *Alert) event(v Value) Event {
	value := v.Value
	return Event{Type: "alert." + string(a.Type), Data: Data{
		AlertID: a.ID, AlertName: a.Name, GPU: a.GPU, Region: a.Region, Granularity: a.Granularity,
		At: assay.Timestamp(v.At), Value: &value, Version: v.Version,
	}}
}

// Payload is the body of a message that was found at an instant.
func (e Event) Payload(now int64) []byte {
	e.Timestamp = assay.Timestamp(now)
	text, err := json.Marshal(e)
	if err != nil {
		panic(err) // texts and numbers
	}
	return text
}
