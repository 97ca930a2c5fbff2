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

func (t *ticket) ends() int64 { return t.Ends }

// TicketID names a ticket until it has ended. The caller of Finish stores it, so that the ticket works once.
type TicketID struct {
	ID   [16]byte `json:"i"`
	Ends int64    `json:"e"` // milliseconds
}

func (t *ticket) id() TicketID {
	sum := sha256.Sum256([]byte(t.State))
	return TicketID{ID: [16]byte(sum[:16]), Ends: t.Ends}
}

// keptIdentity is what a browser keeps until the owner of an identity has proved that an account is theirs.
type keptIdentity struct {
	Issuer  string   `json:"i"`
	Subject string   `json:"s"`
	Email   string   `json:"m"`
	Name    string   `json:"n"`
	Ticket  TicketID `json:"t"`
}

func (k *keptIdentity) ends() int64 { return k.Ticket.Ends }

// SealIdentity writes an identity as a text for the browser to keep for TicketLength. It gets a ticket of its own: that
// of the sign-in is used.
func (p *Provider) SealIdentity(who Identity) string {
	fresh := newTicket(p.config.Now())
	return seal(keptIdentity{who.Issuer, who.Subject, who.Email, who.Name, fresh.id()}, p.identityKey)
}

// OpenIdentity reads an identity that SealIdentity wrote. ok is false if it is none or has ended.
func (p *Provider) OpenIdentity(text string) (who Identity, ok bool) {
	var kept keptIdentity
	if open(text, p.identityKey, p.config.Now(), &kept) != nil {
		return Identity{}, false
	}
	return Identity(kept), true
}

// seal writes a value as a text that fits a cookie, with its authentication code.
func seal(value any, key []byte) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // the fields are strings and numbers
	}
	body := base64.RawURLEncoding.EncodeToString(text)
	return body + "." + authenticate(body, key)
}

func authenticate(body string, key []byte) string {
	mac := hmac.New(sha256.New, key)
	_, _ = mac.Write([]byte(body)) // a hash returns no error
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// open reads a sealed value. Its authentication code must be right and it must not have ended.
func open(text string, key []byte, now time.Time, value interface{ ends() int64 }) error {
	body, code, _ := strings.Cut(text, ".")
	if !hmac.Equal([]byte(code), []byte(authenticate(body, key))) {
		return errors.New("there is no ticket, or its authentication code is wrong")
	}
	raw, err := base64.RawURLEncoding.DecodeString(body)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, value); err != nil {
		return err
	}
	if now.UnixMilli() >= value.ends() {
		return errors.New("the ticket has ended")
	}
	return nil
}
