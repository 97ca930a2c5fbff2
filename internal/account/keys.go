package account

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/access"
	"github.com/assaydata/assay/internal/keys"
	"github.com/assaydata/assay/internal/store"
)

// The statuses of a key.
const (
	StatusActive  = "active"
	StatusRevoked = "revoked"
	StatusEnded   = "ended"
)

// MaxGrace is the longest time that a rotated key may stay valid.
const MaxGrace = 7 * 24 * time.Hour

// maxKeys is how many active keys an account may have: more than anyone needs, and few enough that keys do not fill the
// memory of every node.
const maxKeys = 100

var (
	errNoKey       = &assay.Error{Kind: assay.NotFound, Code: "unknown_key", Message: "There is no such key."}
	errRotateEnded = &assay.Error{
		Kind: assay.Invalid, Code: "inactive_key", Message: "Only an active key can be rotated. Create a new one.",
	}
	errRotationPending = &assay.Error{
		Kind: assay.Invalid, Code: "rotation_pending",
		Message: "Another key replaces this one already. Rotate that one, or revoke this one.",
	}
	errRotateTier = &assay.Error{
		Kind: assay.Forbidden, Code: "key_creation_refused",
		Message: "Your access does not allow a key of this tier any more.",
	}
	errTooManyKeys = &assay.Error{
		Kind: assay.Forbidden, Code: "too_many_keys", Message: "An account has at most 100 active keys. Revoke one first.",
	}
	errInvalidGrace = &assay.Error{
		Kind: assay.Invalid, Code: "invalid_parameter", Message: "The grace is 0 to 168 hours.",
	}
)

// CreateKey creates a key of the tier that the account may create now. This node accepts the key before CreateKey
// returns. If the request has a name, a second one of that name creates nothing, and its error says which key the first
// has created.
func (s *Service) CreateKey(
	ctx context.Context, accountID int64, name, request string,
) (keys.Secret, assay.Key, error) {
	one, err := s.current(ctx, accountID)
	if err != nil {
		return keys.Secret{}, assay.Key{}, err
	}
	return s.createKey(as(ctx, one.Account), one, name, request)
}

func (s *Service) createKey(
	ctx context.Context, one *person, name, request string,
) (keys.Secret, assay.Key, error) {
	if err := checkKeyName(name); err != nil {
		return keys.Secret{}, assay.Key{}, err
	}
	tier, basis, org, err := one.keyTierAt(s.now())
	if err != nil {
		return keys.Secret{}, assay.Key{}, err
	}
	key := store.Key{Tier: tier, Name: name, AccountID: one.ID, Basis: string(basis), OrgID: org}
	return s.mint(ctx, key, func(ctx context.Context, k store.Key) (store.Key, error) {
		admit := func(existing []store.Key) error { return s.admitKey(existing, "") }
		return s.Store.CreateAccountKey(ctx, store.KeyRequest{Key: k, Name: requestName(request), Admit: admit})
	})
}

// RotateKey creates a key that replaces another, with the same name and tier. The old key stays valid for the grace
// period, unless it ends earlier, and cannot be rotated again. The name of a request is as in CreateKey.
func (s *Service) RotateKey(
	ctx context.Context, accountID int64, keyID string, grace time.Duration, request string,
) (keys.Secret, assay.Key, error) {
	if grace < 0 || grace > MaxGrace {
		return keys.Secret{}, assay.Key{}, errInvalidGrace
	}
	one, err := s.current(ctx, accountID)
	if err != nil {
		return keys.Secret{}, assay.Key{}, err
	}
	old, err := s.keyOf(ctx, accountID, keyID)
	if err != nil {
		return keys.Secret{}, assay.Key{}, err
	}
	now := s.now()
	tier, basis, org, err := one.keyTierAt(now)
	if err != nil {
		return keys.Secret{}, assay.Key{}, err
	}
	if tier < old.Tier {
		return keys.Secret{}, assay.Key{}, errRotateTier
	}
	next := store.Key{
		Tier: old.Tier, Name: old.Name, AccountID: accountID, Basis: string(basis), OrgID: org, Limit: old.Limit,
	}
	return s.mint(as(ctx, one.Account), next, func(ctx context.Context, k store.Key) (store.Key, error) {
		admit := func(existing []store.Key) error { return s.admitRotation(existing, old.ID, grace) }
		return s.Store.ReplaceKey(ctx, old.ID, now+grace.Milliseconds(),
			store.KeyRequest{Key: k, Name: requestName(request), Admit: admit})
	})
}

// requestName is the name of a request as it is stored: what a caller calls it is no one else's business.
func requestName(request string) string {
	if request == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(request))
	return hex.EncodeToString(sum[:])
}

// mint mints and saves a key like the given one. This node accepts it before its owner gets it.
func (s *Service) mint(
	ctx context.Context, k store.Key, save func(context.Context, store.Key) (store.Key, error),
) (keys.Secret, assay.Key, error) {
	secret, key, err := keys.MintAndSave(ctx, k, save)
	var made *store.KeyMadeError
	if errors.As(err, &made) {
		return keys.Secret{}, assay.Key{KeySummary: assay.KeySummary{ID: made.KeyID}}, &assay.Error{
			Kind: assay.Conflict, Code: "key_exists", Err: err,
			Message: fmt.Sprintf("A request with this Idempotency-Key has created the key %s. "+
				"If its text is lost, revoke it and create another one.", made.KeyID),
		}
	}
	if err != nil {
		return keys.Secret{}, assay.Key{}, err
	}
	s.refresh(ctx)
	return secret, s.show(key), nil
}

// RevokeKey revokes a key of an account.
func (s *Service) RevokeKey(ctx context.Context, accountID int64, keyID string) error {
	one, err := s.person(accountID)
	if err != nil {
		return err
	}
	key, err := s.keyOf(ctx, accountID, keyID)
	if err != nil {
		return err
	}
	if err := s.Store.RevokeKey(as(ctx, one.Account), key.ID); err != nil {
		return err
	}
	s.refresh(ctx)
	return nil
}

// KeysOf lists the keys of an account, newest first.
func (s *Service) KeysOf(ctx context.Context, accountID int64) ([]assay.Key, error) {
	list, err := s.Store.KeysOf(ctx, accountID)
	if err != nil {
		return nil, err
	}
	views := make([]assay.Key, 0, len(list))
	for _, k := range slices.Backward(list) {
		views = append(views, s.show(k))
	}
	return views, nil
}

// show is a key with its current status.
func (s *Service) show(k store.Key) assay.Key {
	v := assay.Key{
		KeySummary: assay.KeySummary{
			ID: k.ID, Name: k.Name, Prefix: keys.Prefix(k.Tier) + k.ID, Tier: k.Tier, CreatedAt: assay.Timestamp(k.CreatedAt),
		},
		ExpiresAt:  assay.Timestamp(s.people.Load().ends.Of(k)),
		LastUsedAt: assay.Timestamp(k.LastUsedAt),
		RevokedAt:  assay.Timestamp(k.RevokedAt),
		Status:     StatusActive,
	}
	switch {
	case v.RevokedAt != 0:
		v.Status = StatusRevoked
	case v.ExpiresAt != 0 && int64(v.ExpiresAt) <= s.now():
		v.Status = StatusEnded
	}
	return v
}

// current is an account, including what another process may have granted it a moment ago.
func (s *Service) current(ctx context.Context, accountID int64) (*person, error) {
	if err := s.Load(ctx); err != nil {
		return nil, err
	}
	one, err := s.person(accountID)
	if err == nil && one.ClosedAt != 0 {
		err = access.ErrKeyRefused
	}
	return one, err
}

func (s *Service) keyOf(ctx context.Context, accountID int64, keyID string) (store.Key, error) {
	list, err := s.Store.KeysOf(ctx, accountID)
	if err != nil {
		return store.Key{}, err
	}
	if i := slices.IndexFunc(list, func(k store.Key) bool { return k.ID == keyID }); i >= 0 {
		return list[i], nil
	}
	return store.Key{}, errNoKey
}

// admitRotation refuses to replace a key that is not active, or that another key replaces already: then it ends at a
// fixed time, as no other key of an account does.
func (s *Service) admitRotation(existing []store.Key, old string, grace time.Duration) error {
	at := slices.IndexFunc(existing, func(k store.Key) bool { return k.ID == old })
	switch {
	case at < 0:
		return errNoKey
	case s.show(existing[at]).Status != StatusActive:
		return errRotateEnded
	case existing[at].ExpiresAt != 0:
		return errRotationPending
	case grace > 0:
		return s.admitKey(existing, "")
	}
	return s.admitKey(existing, old)
}

// admitKey refuses one more key if an account has as many active ones as it may have, apart from one that ends now.
func (s *Service) admitKey(existing []store.Key, ending string) error {
	active := 0
	for _, k := range existing {
		if k.ID != ending && s.show(k).Status == StatusActive {
			active++
		}
	}
	if active >= maxKeys {
		return errTooManyKeys
	}
	return nil
}
