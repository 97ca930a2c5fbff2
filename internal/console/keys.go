package console

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/access"
	"github.com/assaydata/assay/internal/account"
	"github.com/assaydata/assay/internal/keys"
	"github.com/assaydata/assay/internal/web"
)

// keysPage is how many keys a response has at most.
const keysPage = 1000

// listKeys serves the keys of an account, newest first.
func (c *Console) listKeys(r *web.Request) (web.Response, error) {
	unwritten := c.Usage.LastUsed() // before the store is read, which has every use that is not in it
	list, err := c.Accounts.KeysOf(r.Context(), r.Caller().AccountID)
	if err != nil {
		return web.Response{}, err
	}
	list, following, err := cut(r, list, keysPage)
	if err != nil {
		return web.Response{}, err
	}
	for i := range list {
		list[i].LastUsedAt = max(list[i].LastUsedAt, assay.Timestamp(unwritten[list[i].ID]))
	}
	return uncached(struct {
		Success bool `json:"success"`
		Count   int  `json:"count"`
		page
		Data []assay.Key `json:"data"`
	}{true, len(list), following, list})
}

// createdKey is the only response that contains a key's text.
type createdKey struct {
	Success  bool              `json:"success"`
	Key      string            `json:"key"`
	Replaces *replaced         `json:"replaces,omitempty"`
	Data     *assay.KeySummary `json:"data"`
}

// replaced is a key that another one replaces.
type replaced struct {
	ID        string          `json:"id"`
	ExpiresAt assay.Timestamp `json:"expires_at"`
}

// createKey makes a key of the tier that the account may create.
func (c *Console) createKey(r *web.Request) (web.Response, error) {
	var given struct {
		Name string `json:"name"`
	}
	if err := r.ReadJSON(&given, "name"); err != nil {
		return web.Response{}, err
	}
	request, err := idempotencyKey(r)
	if err != nil {
		return web.Response{}, err
	}
	secret, key, err := c.Accounts.CreateKey(r.Context(), r.Caller().AccountID, given.Name, request)
	return created(r, secret, &key, nil, err)
}

// created responds with a new key, or says why there is none.
func created(r *web.Request, secret keys.Secret, key *assay.Key, old *replaced, err error) (web.Response, error) {
	if errors.Is(err, access.ErrKeyRefused) {
		return keyRefused(r, access.ErrKeyRefused)
	}
	if err != nil && key.ID != "" {
		return keyExists(r, assay.AsError(err), key.ID)
	}
	if err != nil {
		return web.Response{}, err
	}
	shown := createdKey{Success: true, Key: secret.Reveal(), Replaces: old, Data: &key.KeySummary}
	return web.NoStore(http.StatusCreated, shown)
}

// keyExists is the response to a request that has created a key before.
func keyExists(r *web.Request, e *assay.Error, id string) (web.Response, error) {
	return web.NoStore(web.Status(e.Kind), struct {
		web.ErrorBody
		KeyID string `json:"key_id"`
	}{r.ErrorBody(e), id})
}

// idempotencyKey is what the caller calls the request; empty without the header.
func idempotencyKey(r *web.Request) (string, error) {
	values := r.Header("Idempotency-Key")
	if len(values) == 0 {
		return "", nil
	}
	name := values[0]
	strange := func(c rune) bool { return c <= ' ' || c > '~' }
	if len(values) > 1 || name == "" || len(name) > 255 || strings.ContainsFunc(name, strange) {
		return "", &assay.Error{
			Kind: assay.Invalid, Code: "invalid_parameter",
			Message: `Invalid value for the header "Idempotency-Key": must be 1 to 255 visible ASCII characters, once.`,
		}
	}
	return name, nil
}

// keyRefused is the one error whose body has another shape: the sentence is in both fields.
func keyRefused(r *web.Request, e *assay.Error) (web.Response, error) {
	body := r.ErrorBody(e)
	body.Error = body.Message
	return web.NoStore(web.Status(e.Kind), struct {
		Success bool `json:"success"`
		web.ErrorBody
	}{false, body})
}

// revokeKey ends a key for good.
func (c *Console) revokeKey(r *web.Request) (web.Response, error) {
	if err := c.Accounts.RevokeKey(r.Context(), r.Caller().AccountID, r.PathValue("id")); err != nil {
		return web.Response{}, err
	}
	return done()
}

const (
	defaultGrace = 24
	maxGrace     = int(account.MaxGrace / time.Hour)
)

// rotateKey makes a key that replaces another, which stays valid for a grace period.
func (c *Console) rotateKey(r *web.Request) (web.Response, error) {
	given := struct {
		GraceHours *int `json:"grace_hours"`
	}{}
	if r.HasBody() {
		if err := r.ReadJSON(&given, "grace_hours"); err != nil {
			return web.Response{}, err
		}
	}
	hours := defaultGrace
	if given.GraceHours != nil {
		hours = *given.GraceHours
	}
	if hours < 0 || hours > maxGrace {
		return web.Response{}, web.InvalidBody("grace_hours is %d, must be an integer from 0 to %d", hours, maxGrace)
	}
	id := r.PathValue("id")
	request, err := idempotencyKey(r)
	if err != nil {
		return web.Response{}, err
	}
	grace := time.Duration(hours) * time.Hour
	secret, key, err := c.Accounts.RotateKey(r.Context(), r.Caller().AccountID, id, grace, request)
	if err != nil {
		return created(r, secret, &key, nil, err)
	}
	old, err := c.keyOf(r, id)
	if err != nil {
		return web.Response{}, err
	}
	return created(r, secret, &key, &replaced{ID: id, ExpiresAt: old.ExpiresAt}, nil)
}

// keyOf finds a key of the account that is signed in.
func (c *Console) keyOf(r *web.Request, id string) (assay.Key, error) {
	list, err := c.Accounts.KeysOf(r.Context(), r.Caller().AccountID)
	if err != nil {
		return assay.Key{}, err
	}
	if i := slices.IndexFunc(list, func(k assay.Key) bool { return k.ID == id }); i >= 0 {
		return list[i], nil
	}
	return assay.Key{}, unknownKey(id)
}

func unknownKey(id string) error {
	return &assay.Error{
		Kind: assay.NotFound, Code: "unknown_key", Message: fmt.Sprintf("There is no key with the id %q.", web.Shown(id)),
	}
}
