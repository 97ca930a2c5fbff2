package notify

import (
	"context"
	"encoding/json"

	"github.com/assaydata/assay/internal/alert"
	"github.com/assaydata/assay/internal/mail"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/webhook"
)

// sendMail sends a message as a mail.
func (s *Service) sendMail(ctx context.Context, to string, due *store.Due) webhook.Result {
	if s.Mail == nil {
		return webhook.Result{Error: errNoMail}
	}
	m, err := compose(&due.Message)
	if err != nil {
		s.Log.Error("a mail cannot be written", "message", due.Message.ID, "error", err)
		return webhook.Result{Error: errMail}
	}
	m.To = to
	if err := s.Mail.Send(ctx, m); err != nil {
		if ctx.Err() == nil {
			s.Log.Warn("a mail was not sent", "message", due.Message.ID, "error", err)
		}
		return webhook.Result{Error: errMail}
	}
	return webhook.Result{}
}

// compose writes the mail of a message.
func compose(m *store.Message) (mail.Message, error) {
	var event struct {
		Data struct {
			AlertName string `json:"alert_name"`
			Message   string `json:"message"`
			Synthetic bool   `json:"synthetic"`
		} `json:"data"`
	}
	if err := json.Unmarshal(m.Payload, &event); err != nil {
		return mail.Message{}, err
	}
	subject := "Alert: " + event.Data.AlertName
	if m.Type == alert.DisabledType {
		subject = "A webhook was disabled"
	}
	text := event.Data.Message + "\n"
	if event.Data.Synthetic {
		text += "\nThe data of this server is synthetic: no figure is a market price.\n"
	}
	text += "\nTo change or delete alerts, sign in and open Settings.\n"
	return mail.Message{ID: m.ID, Subject: subject, Text: text}, nil
}
