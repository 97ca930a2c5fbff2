package keys

import (
	"errors"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// A key that another process revokes or makes reaches a keyring that is running.
func TestKeyring_FollowsAnotherProcess(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		other := storetest.Another(t, db)
		first := create(t, db, assay.Full, 0)
		k := newKeyring(t, db)
		storetest.Run(t, k.Run)
		revokeElsewhere(t, k, other, first)
		second := create(t, other, assay.Premium, 0)
		storetest.Eventually(t, "the new key arrives", func() bool {
			caller, _ := k.Lookup(second.Reveal(), now)
			return caller.KeyID == second.ID()
		})
	})
}

// revokeElsewhere revokes a key in another process, and waits until the keyring refuses it.
func revokeElsewhere(t *testing.T, k *Keyring, other *store.DB, secret Secret) {
	t.Helper()
	if _, err := k.Lookup(secret.Reveal(), now); err != nil {
		t.Fatal(err)
	}
	if err := other.RevokeKey(t.Context(), secret.ID()); err != nil {
		t.Fatal(err)
	}
	storetest.Eventually(t, "the revocation arrives", func() bool {
		_, err := k.Lookup(secret.Reveal(), now)
		return errors.Is(err, errInactive)
	})
}

// Every connection is cut again and again, and a key is revoked right after: the notice may be lost, and the revocation
// arrives all the same.
func TestKeyring_RevokedRightAfterReconnect(t *testing.T) {
	t.Parallel()
	address := storetest.Postgres(t)
	db, other := storetest.OpenIn(t, address), storetest.OpenIn(t, address)
	secrets := make([]Secret, 5)
	for i := range secrets {
		secrets[i] = create(t, db, assay.Full, 0)
	}
	k := newKeyring(t, db)
	storetest.Run(t, k.Run)
	for _, secret := range secrets {
		storetest.CutConnections(t, address)
		revokeElsewhere(t, k, other, secret)
	}
}
