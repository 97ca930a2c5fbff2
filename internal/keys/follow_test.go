package keys

import (
	"errors"
	"testing"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

// A key that another process revokes or makes reaches a keyring that is running.
func TestKeyring_FollowsAnotherProcess(t *testing.T) {
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

// revokeElsewhere revokes a key by another process, and tells how long the keyring lets it count.
func revokeElsewhere(t *testing.T, k *Keyring, other *store.DB, secret Secret) time.Duration {
	t.Helper()
	if _, err := k.Lookup(secret.Reveal(), now); err != nil {
		t.Fatal(err)
	}
	if err := other.RevokeKey(t.Context(), secret.ID()); err != nil {
		t.Fatal(err)
	}
	return storetest.Eventually(t, "the revocation arrives", func() bool {
		_, err := k.Lookup(secret.Reveal(), now)
		return errors.Is(err, errInactive)
	})
}

// Every connection is cut, again and again, and at once a key is revoked: the notice of that may be lost, and the key does not
// count for longer all the same. A second is promised; on a busy machine some rounds may take longer, but not most.
func TestKeyring_RevokedRightAfterReconnect(t *testing.T) {
	address := storetest.Postgres(t)
	db, other := storetest.OpenIn(t, address), storetest.OpenIn(t, address)
	const rounds = 5
	secrets := make([]Secret, rounds)
	for i := range secrets {
		secrets[i] = create(t, db, assay.Full, 0)
	}
	k := newKeyring(t, db)
	storetest.Run(t, k.Run)
	late := 0
	for _, secret := range secrets {
		storetest.CutConnections(t, address)
		if took := revokeElsewhere(t, k, other, secret); took > time.Second {
			t.Logf("a revocation took %v", took)
			late++
		}
	}
	if late > rounds/2 {
		t.Errorf("%d of %d revocations right after a cut took more than a second", late, rounds)
	}
}
