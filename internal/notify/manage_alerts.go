package notify

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/account"
	"github.com/assaydata/assay/internal/alert"
	"github.com/assaydata/assay/internal/redact"
	"github.com/assaydata/assay/internal/store"
)

// Caps of an account: more than anyone needs, and few enough that evaluating and delivering stay quick.
const (
	MaxAlerts   = 50
	MaxWebhooks = 10
)

// maxName is how many characters the name of an alert or a webhook may have.
const maxName = 64

// newID is a random public id.
func newID() string { return strings.ToLower(rand.Text()) }

// NewAlert is what an owner says of a new alert.
type NewAlert struct {
	Name      string
	Rule      assay.AlertRule
	WebhookID *string
	Email     bool
	Paused    bool
}

// AlertChange is what an owner changes of an alert; nil leaves a field as it is.
type AlertChange struct {
	Name       *string
	Threshold  *assay.Nanos
	Percent    *assay.Nanos
	Direction  *string
	Hysteresis *assay.Nanos
	WebhookID  *string // empty: none
	Email      *bool
	Paused     *bool
}

func refuse(kind assay.Kind, code, format string, args ...any) error {
	return &assay.Error{Kind: kind, Code: code, Message: fmt.Sprintf(format, args...)}
}

var (
	errNoAccount = refuse(assay.Forbidden, "account_required",
		"Alerts belong to accounts, and this key belongs to none. Use a key that an account has created, or sign in.")
	errLowKey = refuse(assay.Forbidden, "key_too_low",
		"This key has less access than its account, so it cannot change alerts and webhooks. Use another key, or sign in.")
	errNoAlert   = refuse(assay.NotFound, "unknown_alert", "There is no such alert.")
	errNoWebhook = refuse(assay.NotFound, "unknown_webhook", "There is no such webhook.")
	errNoTarget  = refuse(assay.Invalid, "no_target", "The alert needs a target: a webhook_id, or email.")
	errMailOff   = refuse(assay.Invalid, "no_mail", "This server sends no mail: its operator has not configured it.")
)

// Alerts lists the alerts of a caller's account, oldest first.
func (s *Service) Alerts(ctx context.Context, caller assay.Caller) ([]assay.Alert, error) {
	if caller.AccountID == 0 {
		return nil, errNoAccount
	}
	stored, err := s.Store.AlertsOf(ctx, caller.AccountID)
	if err != nil {
		return nil, err
	}
	list := make([]assay.Alert, 0, len(stored))
	show, err := s.shower(ctx, caller.AccountID)
	if err != nil {
		return nil, err
	}
	for i := range stored {
		one, err := show(&stored[i])
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, nil
}

// shower reads what decides about the status of an account's alerts.
func (s *Service) shower(ctx context.Context, accountID int64) (func(*store.Alert) (assay.Alert, error), error) {
	catalog, err := s.Store.Catalog(ctx)
	if err != nil {
		return nil, err
	}
	endpoints, err := s.Store.EndpointsOf(ctx, accountID)
	if err != nil {
		return nil, err
	}
	view, _ := s.access(accountID)
	return func(stored *store.Alert) (a assay.Alert, err error) {
		a = assay.Alert{
			ID: stored.ID, Name: stored.Name, WebhookID: optional(stored.EndpointID), Email: stored.Email,
			Paused: stored.Paused, CreatedAt: assay.Timestamp(stored.CreatedAt), LastFiredAt: assay.Timestamp(stored.FiredAt),
		}
		if err := json.Unmarshal([]byte(stored.Rule), &a.AlertRule); err != nil {
			return a, fmt.Errorf("read alert %s: %w", stored.ID, err)
		}
		a.Status, a.Reason = s.status(stored, &a.AlertRule, view.Tier, &catalog, endpoints)
		return a, nil
	}, nil
}

// status says whether an alert watches and can be delivered.
func (s *Service) status(
	stored *store.Alert, rule *assay.AlertRule, tier assay.Tier, catalog *assay.Catalog, endpoints []store.Endpoint,
) (status string, reason *string) {
	if stored.Paused {
		return assay.AlertPaused, nil
	}
	if err := mayWatch(rule, tier, catalog, s.now()); err != nil {
		return assay.AlertNoAccess, new(noAccess(rule, err).Error())
	}
	for _, e := range endpoints {
		target := e.ID == stored.EndpointID || stored.Email && e.Kind == store.MailEndpoint && s.Mail != nil
		if target && e.DisabledAt == 0 {
			return assay.AlertActive, nil
		}
	}
	return assay.AlertUndeliverable, new("Everything that the alert is sent to is disabled or deleted.")
}

func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// noAccess says what an alert needs that its account does not have.
func noAccess(rule *assay.AlertRule, cause error) error {
	if errors.Is(cause, errNotListed) {
		return refuse(assay.Forbidden, "no_access", "The catalog does not list the series any more.")
	}
	needs, what := "Premium or Full", "this GPU model"
	if rule.Granularity != nil && *rule.Granularity == assay.Hourly.String() {
		needs, what = "Full", "hourly values"
	}
	return refuse(assay.Forbidden, "no_access", "Alerts on %s need %s access.", what, needs)
}

// writer returns the account of a caller who may change its alerts and webhooks. A key that has less access than its
// account may not: it could have what it may not read sent to itself.
func (s *Service) writer(ctx context.Context, caller assay.Caller) (context.Context, account.View, error) {
	view, ok := s.access(caller.AccountID)
	switch {
	case !ok:
		return ctx, view, errNoAccount
	case caller.Tier < view.Tier:
		return ctx, view, errLowKey
	}
	return store.WithActor(ctx, "account:"+view.Email), view, nil
}

// CreateAlert creates an alert. What it watches must be within the access of the account.
func (s *Service) CreateAlert(ctx context.Context, caller assay.Caller, n NewAlert) (a assay.Alert, err error) {
	ctx, view, err := s.writer(ctx, caller)
	if err != nil {
		return a, err
	}
	if err := checkName(n.Name); err != nil {
		return a, err
	}
	catalog, err := s.Store.Catalog(ctx)
	if err != nil {
		return a, err
	}
	rule, err := s.completed(n.Rule, &catalog, view.Tier)
	if err != nil {
		return a, err
	}
	stored := store.Alert{
		ID: "al_" + newID(), AccountID: caller.AccountID, Name: n.Name, Rule: rule, Email: n.Email, Paused: n.Paused,
	}
	if n.WebhookID != nil {
		stored.EndpointID = *n.WebhookID
	}
	if err := s.checkTargets(&stored); err != nil {
		return a, err
	}
	added, err := s.Store.AddAlert(ctx, stored, MaxAlerts, "ep_"+newID())
	if errors.Is(err, store.ErrTooMany) {
		return a, refuse(assay.Forbidden, "too_many_alerts", "An account has at most %d alerts. Delete one first.", MaxAlerts)
	}
	if err != nil {
		return a, translate(err)
	}
	return s.show(ctx, &added)
}

// completed checks a rule, completes it and returns it as it is stored.
func (s *Service) completed(rule assay.AlertRule, catalog *assay.Catalog, tier assay.Tier) (string, error) {
	if err := alert.Complete(&rule, catalog); err != nil {
		return "", err
	}
	if err := mayWatch(&rule, tier, catalog, s.now()); err != nil {
		return "", noAccess(&rule, err)
	}
	text, err := json.Marshal(rule)
	return string(text), err
}

func (s *Service) checkTargets(a *store.Alert) error {
	switch {
	case a.EndpointID == "" && !a.Email:
		return errNoTarget
	case a.Email && s.Mail == nil:
		return errMailOff
	}
	return nil
}

func (s *Service) show(ctx context.Context, stored *store.Alert) (assay.Alert, error) {
	show, err := s.shower(ctx, stored.AccountID)
	if err != nil {
		return assay.Alert{}, err
	}
	return show(stored)
}

// checkName refuses a name that is too long, cannot be shown on one line or holds an API key.
func checkName(name string) error {
	n := utf8.RuneCountInString(name)
	if n < 1 || n > maxName || assay.CheckVisible("name", name) != nil || redact.Keys(name) != name {
		return &assay.Error{
			Kind: assay.Invalid, Code: "invalid_parameter", Param: "name",
			Message: fmt.Sprintf("Invalid value for \"name\": must be 1 to %d visible characters, and no API key.", maxName),
		}
	}
	return nil
}

// ChangeAlert changes an alert, which then watches from now on.
func (s *Service) ChangeAlert(
	ctx context.Context, caller assay.Caller, id string, c AlertChange,
) (a assay.Alert, err error) {
	ctx, view, err := s.writer(ctx, caller)
	if err != nil {
		return a, err
	}
	catalog, err := s.Store.Catalog(ctx)
	if err != nil {
		return a, err
	}
	stored, err := s.Store.ChangeAlert(ctx, caller.AccountID, id, "ep_"+newID(), func(stored *store.Alert) error {
		return s.change(stored, c, &catalog, view.Tier)
	})
	if err != nil {
		return a, translate(err)
	}
	return s.show(ctx, &stored)
}

func (s *Service) change(stored *store.Alert, c AlertChange, catalog *assay.Catalog, tier assay.Tier) error {
	var rule assay.AlertRule
	if err := json.Unmarshal([]byte(stored.Rule), &rule); err != nil {
		return fmt.Errorf("read alert %s: %w", stored.ID, err)
	}
	rule = alert.Bare(rule)
	set(&stored.Name, c.Name)
	set(&stored.EndpointID, c.WebhookID)
	set(&stored.Email, c.Email)
	set(&stored.Paused, c.Paused)
	if err := checkName(stored.Name); err != nil {
		return err
	}
	if err := s.checkTargets(stored); err != nil && (c.WebhookID != nil || c.Email != nil) {
		return err
	}
	if c.Threshold == nil && c.Percent == nil && c.Direction == nil && c.Hysteresis == nil {
		return nil
	}
	for _, field := range []struct{ has, given **assay.Nanos }{
		{&rule.Threshold, &c.Threshold}, {&rule.Percent, &c.Percent}, {&rule.Hysteresis, &c.Hysteresis},
	} {
		if *field.given != nil {
			*field.has = *field.given
		}
	}
	if c.Direction != nil {
		rule.Direction = c.Direction
	}
	text, err := s.completed(rule, catalog, tier)
	stored.Rule = text
	return err
}

func set[T any](to *T, given *T) {
	if given != nil {
		*to = *given
	}
}

// RemoveAlert deletes an alert.
func (s *Service) RemoveAlert(ctx context.Context, caller assay.Caller, id string) error {
	ctx, _, err := s.writer(ctx, caller)
	if err != nil {
		return err
	}
	return translate(s.Store.RemoveAlert(ctx, caller.AccountID, id))
}

// translate turns errors of the store into those that callers read.
func translate(err error) error {
	for cause, shown := range map[error]error{
		store.ErrNoAlert: errNoAlert, store.ErrNoEndpoint: errNoWebhook, store.ErrNoAccount: errNoAccount,
		store.ErrNoDelivery: refuse(assay.NotFound, "unknown_delivery", "There is no such delivery."),
		store.ErrDisabled:   refuse(assay.Conflict, "webhook_disabled", "The webhook is disabled. Enable it first."),
	} {
		if errors.Is(err, cause) {
			return shown
		}
	}
	return err
}
