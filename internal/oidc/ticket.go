package oidc

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"golang.org/x/oauth2"
)

// TicketLength is how long a person may take at the provider.
const TicketLength = 10 * time.Minute

// ticket is what a browser keeps while it is at the provider.
type ticket struct {
	State    string `json:"s"`
	Nonce    string `json:"n"`
	Verifier string `json:"v"`
	Ends     int64  `json:"e"` // milliseconds
}

func newTicket(now time.Time) ticket {
	return ticket{
		State:    rand.Text(),
		Nonce:    rand.Text(),
		Verifier: oauth2.GenerateVerifier(),
		Ends:     now.Add(TicketLength).UnixMilli(),
	}
}

// seal writes a ticket as a text that fits a cookie, with its authentication code.
func (t ticket) seal(key []byte) string {
	text, err := json.Marshal(t)
	if err != nil {
		panic(err) // the fields are strings and a number
	}
	body := base64.RawURLEncoding.EncodeToString(text)
	return body + "." + authenticate(body, key)
}

func authenticate(body string, key []byte) string {
	mac := hmac.New(sha256.New, key)
	_, _ = mac.Write([]byte(body)) // a hash returns no error
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// openTicket reads a sealed ticket. Its authentication code must be right and it must not have ended.
func openTicket(text string, key []byte, now time.Time) (t ticket, err error) {
	body, code, _ := strings.Cut(text, ".")
	if !hmac.Equal([]byte(code), []byte(authenticate(body, key))) {
		return t, errors.New("there is no ticket, or its authentication code is wrong")
	}
	raw, err := base64.RawURLEncoding.DecodeString(body)
	if err != nil {
		return t, err
	}
	if err := json.Unmarshal(raw, &t); err != nil {
		return t, err
	}
	if now.UnixMilli() >= t.Ends {
		return t, errors.New("the ticket has ended")
	}
	return t, nil
}
