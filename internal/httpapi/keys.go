package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/access"
	"github.com/assaydata/assay/internal/account"
	"github.com/assaydata/assay/internal/keys"
)

// keyView is a key as its owner reads it.
type keyView struct {
	newKeyView
	ExpiresAt  *string `json:"expires_at"`
	LastUsedAt *string `json:"last_used_at"`
	RevokedAt  *string `json:"revoked_at"`
	Status     string  `json:"status"`
}

// newKeyView is what is told of a key when it is made.
type newKeyView struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Prefix    string `json:"prefix"`
	Tier      string `json:"tier"`
	CreatedAt string `json:"created_at"`
}

func newNewKeyView(k *account.KeyView) newKeyView {
	return newKeyView{k.ID, k.Name, k.Prefix, k.Tier.String(), assay.FormatInstant(k.CreatedAt)}
}

// listKeys answers the keys of an account, newest first.
func listKeys(c *call) (answer, error) {
	c.s.Usage.Settle(c.r.Context()) // it knows when each was last used
	list, err := c.s.Accounts.KeysOf(c.r.Context(), c.caller.AccountID)
	if err != nil {
		return answer{}, err
	}
	rows := []keyView{}
	for _, k := range list {
		rows = append(rows, keyView{newNewKeyView(&k), givenInstant(k.ExpiresAt), givenInstant(k.LastUsedAt), givenInstant(k.RevokedAt), k.Status})
	}
	return own(struct {
		Success bool      `json:"success"`
		Count   int       `json:"count"`
		Data    []keyView `json:"data"`
	}{true, len(rows), rows})
}

// createdKey is the only answer that a key's text is ever in.
type createdKey struct {
	Success  bool        `json:"success"`
	Key      string      `json:"key"`
	Replaces *replaced   `json:"replaces,omitempty"`
	Data     *newKeyView `json:"data"`
}

// replaced is the key whose place another has taken.
type replaced struct {
	ID        string  `json:"id"`
	ExpiresAt *string `json:"expires_at"`
}

// createKey makes a key of the tier that the account may create.
func createKey(c *call) (answer, error) {
	var given struct {
		Name string `json:"name"`
	}
	if err := c.readBody(&given, "name"); err != nil {
		return answer{}, err
	}
	secret, key, err := c.s.Accounts.CreateKey(c.r.Context(), c.caller.AccountID, given.Name)
	return c.created(secret, &key, nil, err)
}

// created answers a new key, or why there is none.
func (c *call) created(secret keys.Secret, key *account.KeyView, old *replaced, err error) (answer, error) {
	if errors.Is(err, access.ErrKeyRefused) {
		return c.keyRefused(access.ErrKeyRefused)
	}
	if err != nil {
		return answer{}, err
	}
	shown := newNewKeyView(key)
	a, err := own(createdKey{true, secret.Reveal(), old, &shown})
	a.status = http.StatusCreated
	return a, err
}

// keyRefused is the one error whose body has another shape: the sentence stands in both fields.
func (c *call) keyRefused(e *assay.Error) (answer, error) {
	body := c.errorBody(e)
	body.Error = body.Message
	a, err := own(struct {
		Success bool `json:"success"`
		errorBody
	}{false, body})
	a.status = e.Kind.Status()
	return a, err
}

// revokeKey ends a key for good.
func revokeKey(c *call) (answer, error) {
	if err := c.s.Accounts.RevokeKey(c.r.Context(), c.caller.AccountID, c.r.PathValue("id")); err != nil {
		return answer{}, err
	}
	return done()
}

const (
	defaultGrace = 24
	maxGrace     = int(account.MaxGrace / time.Hour)
)

// rotateKey makes a key in the place of another, which lives on for a while.
func rotateKey(c *call) (answer, error) {
	given := struct {
		GraceHours *int `json:"grace_hours"`
	}{}
	if c.r.ContentLength != 0 {
		if err := c.readBody(&given, "grace_hours"); err != nil {
			return answer{}, err
		}
	}
	hours := defaultGrace
	if given.GraceHours != nil {
		hours = *given.GraceHours
	}
	if hours < 0 || hours > maxGrace {
		return answer{}, badBody("has %d in the field grace_hours; allowed is a whole number from 0 to %d", hours, maxGrace)
	}
	id := c.r.PathValue("id")
	secret, key, err := c.s.Accounts.RotateKey(c.r.Context(), c.caller.AccountID, id, time.Duration(hours)*time.Hour)
	if err != nil {
		return c.created(secret, &key, nil, err)
	}
	old, err := c.keyOf(id)
	if err != nil {
		return answer{}, err
	}
	return c.created(secret, &key, &replaced{id, givenInstant(old.ExpiresAt)}, nil)
}

// keyOf finds a key of the account that is signed in.
func (c *call) keyOf(id string) (account.KeyView, error) {
	list, err := c.s.Accounts.KeysOf(c.r.Context(), c.caller.AccountID)
	if err != nil {
		return account.KeyView{}, err
	}
	if i := slices.IndexFunc(list, func(k account.KeyView) bool { return k.ID == id }); i >= 0 {
		return list[i], nil
	}
	return account.KeyView{}, unknownKey(id)
}

func unknownKey(id string) error {
	return &assay.Error{Kind: assay.NotFound, Code: "unknown_key", Message: fmt.Sprintf("There is no key with the id %q.", keys.Redact(shorten(id)))}
}
