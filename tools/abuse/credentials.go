//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/keys"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/tools/target"
)

// revokedShare is how many keys there are for one that is revoked.
const revokedShare = 50

// readerKeys is how many keys the well-behaved reader has for itself.
const readerKeys = 4

// createKeys creates keys of the operator in the database: count that are valid, half of them Premium, and besides them
// those that are revoked and those of the reader.
func (c *cast) createKeys(ctx context.Context, folder string, count int) error {
	db, err := store.Open(ctx, "sqlite://"+folder)
	if err != nil {
		return err
	}
	defer db.Close()
	create := func(tier assay.Tier, list *[]string) (id string) {
		if err == nil {
			var secret keys.Secret
			var key store.Key
			secret, key, err = keys.Create(ctx, db, tier, "abuse", 0)
			*list, id = append(*list, secret.Reveal()), key.ID
		}
		return id
	}
	for range count / 2 {
		create(assay.Premium, &c.premium)
		create(assay.Full, &c.full)
	}
	for i := range count / revokedShare {
		id := create([]assay.Tier{assay.Premium, assay.Full}[i%2], &c.revoked)
		if err == nil {
			err = db.RevokeKey(ctx, id)
		}
	}
	for range readerKeys {
		create(assay.Full, &c.reader)
	}
	return err
}

// sessionsOfAccount is how many sessions each account has.
const sessionsOfAccount = 3

// startSessions signs in to all accounts, and creates keys that requests may rotate and revoke. Requests that may end
// sessions are sent only as the trial account, whose rights the premium account has too: they may end all others.
func (c *cast) startSessions(ctx context.Context, s *target.Server, accounts []target.Account) error {
	for i, a := range accounts {
		list := &c.sessions
		if a.Plan == "trial" {
			list = &c.spare
		}
		var keyIDs []string
		for n := range sessionsOfAccount {
			token, err := s.Session(ctx, a, address(1_000_000+i*sessionsOfAccount+n))
			if err != nil {
				return err
			}
			if n == 0 {
				if keyIDs, err = createAccountKeys(ctx, s, a, token); err != nil {
					return err
				}
			}
			*list = append(*list, session{token: token, tier: tierOf(a), keyIDs: keyIDs})
		}
		c.passwords = append(c.passwords, a.Password)
	}
	if len(c.spare) == 0 {
		return errors.New("the demo has no trial account")
	}
	return nil
}

// tierOf is what the sessions of an account may read.
func tierOf(a target.Account) tier {
	switch {
	case a.Plan == "full" || a.Organization != "":
		return fullTier
	case a.Plan == "none":
		return freeTier
	}
	return premiumTier
}

// keysOfAccount is how many keys an account creates for requests to rotate and revoke.
const keysOfAccount = 4

// createAccountKeys creates keys as an account that may, and returns their ids.
func createAccountKeys(
	ctx context.Context, s *target.Server, a target.Account, token string,
) (ids []string, err error) {
	if tierOf(a) == freeTier {
		return nil, nil
	}
	for range keysOfAccount {
		body := strings.NewReader(`{"name":"abuse"}`)
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL("/api/create-api-key"), body)
		if err != nil {
			return nil, err
		}
		request.Header.Set("Content-Type", "application/json")
		request.AddCookie(&http.Cookie{Name: target.SessionCookie, Value: token})
		text, _, err := s.Do(request, http.StatusCreated)
		if err != nil {
			return nil, err
		}
		var created struct{ Data struct{ ID string } }
		if err := json.Unmarshal(text, &created); err != nil {
			return nil, err
		}
		ids = append(ids, created.Data.ID)
	}
	return ids, nil
}
