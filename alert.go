package assay

// AlertType says what an alert waits for.
type AlertType string

// The types of alerts.
const (
	PriceAbove   AlertType = "price_above"   // a value above a threshold
	PriceBelow   AlertType = "price_below"   // a value below a threshold
	PriceChange  AlertType = "price_change"  // a change in percent over an hour, a day or seven days
	Corrected    AlertType = "correction"    // a restatement of a series
	MissedFixing AlertType = "missed_fixing" // a day without a value
	NewModel     AlertType = "new_model"     // the first value of a GPU model
)

// AlertTypes lists the types.
var AlertTypes = []AlertType{PriceAbove, PriceBelow, PriceChange, Corrected, MissedFixing, NewModel}

// AlertRule is what an alert watches. Fields that its type does not use are empty.
type AlertRule struct {
	Type        AlertType `json:"type"`
	GPU         *string   `json:"gpu_type"`
	Region      *string   `json:"region"`
	Granularity *string   `json:"granularity"`
	Threshold   *Nanos    `json:"threshold"` // USD per GPU-hour
	Percent     *Nanos    `json:"percent"`
	Window      *string   `json:"window"`
	Direction   *string   `json:"direction"`
	Hysteresis  *Nanos    `json:"hysteresis_percent"`
}

// Alert is an alert as its owner sees it.
type Alert struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	AlertRule
	WebhookID   *string   `json:"webhook_id"` // where it is sent; nil for none
	Email       bool      `json:"email"`      // whether it is also sent to the account's email address
	Paused      bool      `json:"paused"`     // by its owner
	Status      string    `json:"status"`
	Reason      *string   `json:"status_reason"` // why it is not active
	CreatedAt   Timestamp `json:"created_at"`
	LastFiredAt Timestamp `json:"last_fired_at"`
}

// The statuses of an alert.
const (
	AlertActive        = "active"
	AlertPaused        = "paused"        // by its owner
	AlertNoAccess      = "no_access"     // its account may not read what it watches
	AlertUndeliverable = "undeliverable" // everything that it is sent to is disabled
)

// Webhook is an address that alerts are sent to, as its owner sees it.
type Webhook struct {
	ID             string    `json:"id"`
	Name           string    `json:"name"`
	URL            string    `json:"url"`
	Enabled        bool      `json:"enabled"`
	DisabledAt     Timestamp `json:"disabled_at"`
	DisabledReason *string   `json:"disabled_reason"`
	OldSecretUntil Timestamp `json:"old_secret_until"` // until when the secret before the last rotation signs too
	CreatedAt      Timestamp `json:"created_at"`
	Waiting        int       `json:"waiting"` // deliveries that are not done
}

// Delivery is one message to a webhook, with the outcome of its last attempt.
type Delivery struct {
	ID            int64     `json:"id"`
	MessageID     string    `json:"message_id"` // the header webhook-id
	Type          string    `json:"type"`
	Status        string    `json:"status"`
	Replay        bool      `json:"replay"`
	Attempts      int       `json:"attempts"`
	ResponseCode  *int      `json:"response_code"` // HTTP status of the last attempt; nil if there was none
	Error         *string   `json:"error"`         // of the last attempt
	CreatedAt     Timestamp `json:"created_at"`
	NextAttemptAt Timestamp `json:"next_attempt_at"`
	FinishedAt    Timestamp `json:"finished_at"`
}

// The statuses of a delivery.
const (
	DeliveryPending   = "pending"
	DeliveryDelivered = "delivered"
	DeliveryFailed    = "failed" // it will not be attempted again
)
