package keys

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/internal/store/storetest"
)

const now = int64(1_800_000_000_000) // some instant; Lookup takes it as an argument

// create keeps a new key in the store.
func create(t testing.TB, db *store.DB, tier assay.Tier, expires int64) Secret {
	t.Helper()
	secret, _, err := Create(t.Context(), db, tier, "a test", expires)
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

func newKeyring(t testing.TB, db *store.DB) *Keyring {
	t.Helper()
	k := &Keyring{Store: db, Log: slog.New(slog.DiscardHandler)}
	if err := k.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return k
}

// A store that finds every id taken, or reports a failure as a taken id, must not be tried forever.
func TestMintAndSave_GivesUp(t *testing.T) {
	t.Parallel()
	drawn := map[string]bool{}
	save := func(_ context.Context, k store.Key) (store.Key, error) {
		drawn[k.ID] = true
		return k, errors.Join(io.ErrUnexpectedEOF, store.ErrKeyIDExists)
	}
	_, _, err := MintAndSave(t.Context(), store.Key{Tier: assay.Full}, save)
	if !errors.Is(err, store.ErrKeyIDExists) || !errors.Is(err, io.ErrUnexpectedEOF) || len(drawn) != mintAttempts {
		t.Errorf("%d ids were drawn, with the error %v; want %d and the store's error", len(drawn), err, mintAttempts)
	}
}

func TestMintAndSave_DrawsAgain(t *testing.T) {
	t.Parallel()
	var drawn []string
	save := func(_ context.Context, k store.Key) (store.Key, error) {
		if drawn = append(drawn, k.ID); len(drawn) == 1 {
			return store.Key{}, store.ErrKeyIDExists
		}
		return k, nil
	}
	secret, key, err := MintAndSave(t.Context(), store.Key{Tier: assay.Full}, save)
	if err != nil || len(drawn) != 2 || key.ID != drawn[1] || secret.ID() != drawn[1] {
		t.Errorf("drew %q and got the key %s, with the error %v", drawn, key.ID, err)
	}
}

func TestKeyring_Lookup(t *testing.T) {
	t.Parallel()
	storetest.Each(t, testLookup)
}

func testLookup(t *testing.T, db *store.DB) {
	premium, full := create(t, db, assay.Premium, 0), create(t, db, assay.Full, 0)
	trial, revoked := create(t, db, assay.Premium, now), create(t, db, assay.Full, now)
	if err := db.RevokeKey(t.Context(), revoked.ID()); err != nil {
		t.Fatal(err)
	}
	k := newKeyring(t, db)

	known := func(secret Secret, at int64, tier assay.Tier) {
		t.Helper()
		got, err := k.Lookup(secret.Reveal(), at)
		if want := (assay.Caller{Tier: tier, KeyID: secret.ID()}); err != nil || got != want {
			t.Errorf("got %+v (%v), want %+v", got, err, want)
		}
	}
	known(premium, now, assay.Premium)
	known(full, now, assay.Full)
	known(full, 1<<62, assay.Full) // without an end there is none
	known(trial, now-1, assay.Premium)

	refused := func(text string, at int64, code, message string) {
		t.Helper()
		caller, err := k.Lookup(text, at)
		e := assay.AsError(err)
		if caller != (assay.Caller{}) || e.Kind != assay.Unauthorized || e.Code != code || e.Message != message {
			t.Errorf("got %+v, %+v, want %s", caller, e, code)
		}
	}
	const inactive, invalid = "API key is inactive", "Invalid API key"
	refused(trial.Reveal(), now, "inactive_key", inactive) // its end is the first instant without it
	refused(trial.Reveal(), now+assay.Day, "inactive_key", inactive)
	refused(revoked.Reveal(), now-1, "inactive_key", inactive)
	refused(Mint(assay.Full).Reveal(), now, "invalid_key", invalid)
	refused("", now, "invalid_key", invalid)
	refused("sk_live_", now, "invalid_key", invalid)
	refused(full.String(), now, "invalid_key", invalid)
	wrong := []byte(full.Reveal())
	wrong[len(wrong)-1] ^= 1
	refused(string(wrong), now, "invalid_key", invalid)
}

// While the database is unreachable, the loaded keys stay valid.
func TestKeyring_StoreAway(t *testing.T) {
	t.Parallel()
	db, err := store.Create(t.Context(), "sqlite://"+t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	secret := create(t, db, assay.Full, 0)
	k := newKeyring(t, db)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := k.Load(t.Context()); err == nil {
		t.Error("a closed database was read")
	}
	if _, err := k.Lookup(secret.Reveal(), now); err != nil {
		t.Error(err)
	}
}

func TestCreate_KeepsOnlyTheHash(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db := storetest.OpenIn(t, dir)
	secret, key, err := Create(t.Context(), db, assay.Premium, "a name", now)
	if err != nil {
		t.Fatal(err)
	}
	want := store.Key{
		ID: secret.ID(), Hash: secret.Hash(), Tier: assay.Premium, Name: "a name",
		CreatedAt: key.CreatedAt, ExpiresAt: now,
	}
	if key != want || key.CreatedAt == 0 {
		t.Errorf("got %+v, want %+v", key, want)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	hash, found := secret.Hash(), false
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(content, []byte(secretPart(secret.Reveal()))) {
			t.Errorf("%s holds the secret", filepath.Base(file))
		}
		found = found || bytes.Contains(content, hash[:])
	}
	if !found {
		t.Error("no file holds the hash: the test looks in the wrong place")
	}
}
