package main

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/assaydata/assay/internal/proof"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/verifier"
)

// signingKeyError is why a publisher does not start.
type signingKeyError struct{ text string }

func (e *signingKeyError) Error() string { return e.text }

// checkSigningKey checks that a key, nil if there is none, is the one that signs the log. Before the log names one,
// that is the key of the last day.
func checkSigningKey(ctx context.Context, db *store.DB, dir string, key ed25519.PrivateKey) error {
	keys, err := db.SigningKeys(ctx)
	if err != nil {
		return err
	}
	current := keys.Current()
	if current == nil {
		last, ok, err := db.LastManifest(ctx)
		if err != nil || !ok {
			return err
		}
		current = last.PublicKey
	}
	file, before := filepath.Join(dir, signingKeyFile), proof.KeyID(current)
	if key == nil {
		return &signingKeyError{fmt.Sprintf("%s is missing: the last key that signed is %s. Put it back. "+
			"If it is lost, run 'assay signing-key init' and 'assay signing-key accept'", file, before)}
	}
	if current.Equal(key.Public()) {
		return nil
	}
	return &signingKeyError{fmt.Sprintf("%s is the key %s, but the last key that signed is %s. "+
		"Put that one back, or run 'assay signing-key accept' if you have replaced it on purpose",
		file, signingKeyID(key), before)}
}

// commandSigningKey reads the key that a command signs with. It is nil if there is none: then the server signs later.
func commandSigningKey(ctx context.Context, db *store.DB, dir string) (ed25519.PrivateKey, error) {
	key, err := readSigningKey(dir)
	if err != nil || key == nil {
		return nil, err
	}
	return key, checkSigningKey(ctx, db, dir, key)
}

func publicKeyText(key ed25519.PrivateKey) string {
	return base64.StdEncoding.EncodeToString(key.Public().(ed25519.PublicKey))
}

// signingKeyID is the short name of a key.
func signingKeyID(key ed25519.PrivateKey) string {
	return proof.KeyID(key.Public().(ed25519.PublicKey))
}

// keptKeyFile is where rotate keeps the key that it replaces.
func keptKeyFile(dir, id string) string { return filepath.Join(dir, "signing-key-"+id+".pem") }

// createSigningKey creates a key where there is none.
func createSigningKey(dir string) (ed25519.PrivateKey, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	key, err := writeNewKey(filepath.Join(dir, signingKeyFile))
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%s exists; replace it with 'assay signing-key rotate'", filepath.Join(dir, signingKeyFile))
	}
	return key, err
}

// writeNewKey writes a new key to a file that does not exist yet.
func writeNewKey(name string) (ed25519.PrivateKey, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	text, err := proof.EncodeKey(key)
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = file.Write(text)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return nil, errors.Join(err, os.Remove(name)) // part of a key would be in the way of the next attempt
	}
	return key, nil
}

// rotateSigningKey puts a new key in place of the old one, which stays under another name. The new key is on the disk
// before the log names it, and the old one is linked to its other name before the new one takes its place: so at every
// moment the key that the log names is there. A rotation that was interrupted is completed.
func rotateSigningKey(
	ctx context.Context, db *store.DB, dir, reason string,
) (key ed25519.PrivateKey, kept string, err error) {
	old, err := existingSigningKey(dir)
	if err != nil {
		return nil, "", err
	}
	keys, err := db.SigningKeys(ctx)
	if err != nil {
		return nil, "", err
	}
	current, next := filepath.Join(dir, signingKeyFile), filepath.Join(dir, signingKeyFile+".new")
	key, err = readKeyFile(next)
	if err != nil || key == nil || !keys.Current().Equal(key.Public()) { // the log does not know it
		if err := checkSigningKey(ctx, db, dir, old); err != nil {
			return nil, "", err
		}
		if err := os.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, "", err
		}
		if key, err = writeNewKey(next); err != nil {
			return nil, "", err
		}
		if err := addRotation(ctx, db, keys, old, key, reason); err != nil {
			return nil, "", errors.Join(err, os.Remove(next))
		}
	}
	kept = keptKeyFile(dir, signingKeyID(old))
	if err := os.Link(current, kept); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, "", err
	}
	return key, kept, os.Rename(next, current)
}

// addRotation adds the event of a rotation and, if the log does not name a key yet, that of the old one before it.
func addRotation(
	ctx context.Context, db *store.DB, keys *verifier.Keys, old, key ed25519.PrivateKey, reason string,
) error {
	var events []string
	rotate := keys.Next(verifier.KeyRotate, key.Public().(ed25519.PublicKey), wallTime())
	rotate.Reason = reason
	if keys.Current() == nil {
		begin := keys.Next(verifier.KeyBegin, old.Public().(ed25519.PublicKey), wallTime())
		text, err := begin.Sign(keys.Log(), old)
		if err != nil {
			return err
		}
		events = append(events, text)
		rotate.Number++
	}
	text, err := rotate.Sign(keys.Log(), old, key)
	if err != nil {
		return err
	}
	return db.AddKeyEvents(ctx, keys, append(events, text)...)
}

// acceptSigningKey lets a key sign from now on, without the signature of the one before.
func acceptSigningKey(ctx context.Context, db *store.DB, key ed25519.PrivateKey, reason string) error {
	keys, err := db.SigningKeys(ctx)
	if err != nil {
		return err
	}
	if keys.Current().Equal(key.Public()) {
		return nil
	}
	action := verifier.KeyAccept
	if keys.Current() == nil {
		action = verifier.KeyBegin
	}
	event := keys.Next(action, key.Public().(ed25519.PublicKey), wallTime())
	event.Reason = reason
	text, err := event.Sign(keys.Log(), key)
	if err != nil {
		return err
	}
	return db.AddKeyEvents(ctx, keys, text)
}

// revokeSigningKey declares that an earlier key is in wrong hands.
func revokeSigningKey(ctx context.Context, db *store.DB, dir, id, reason string) error {
	keys, err := db.SigningKeys(ctx)
	if err != nil {
		return err
	}
	key, err := existingSigningKey(dir)
	if err != nil {
		return err
	}
	if err := checkSigningKey(ctx, db, dir, key); err != nil {
		return err
	}
	if id == signingKeyID(key) {
		return fmt.Errorf("%s is the current key: replace it with 'assay signing-key rotate' first", id)
	}
	var known []string
	for _, e := range keys.Events() {
		if proof.KeyID(e.PublicKey) == id {
			event := keys.Next(verifier.KeyRevoke, e.PublicKey, wallTime())
			event.Reason = reason
			text, err := event.Sign(keys.Log(), key)
			if err != nil {
				return err
			}
			return db.AddKeyEvents(ctx, keys, text)
		}
		known = append(known, proof.KeyID(e.PublicKey))
	}
	return fmt.Errorf("no key %s has signed the log, only %s", id, strings.Join(known, ", "))
}

// existingSigningKey reads the key of a folder that must have one.
func existingSigningKey(dir string) (ed25519.PrivateKey, error) {
	key, err := readSigningKey(dir)
	if err == nil && key == nil {
		err = fmt.Errorf("no signing key in %s; create one with 'assay signing-key init'", dir)
	}
	return key, err
}

// readSigningKey reads the key of a folder; nil if it has none.
func readSigningKey(dir string) (ed25519.PrivateKey, error) {
	key, err := readKeyFile(filepath.Join(dir, signingKeyFile))
	if err != nil {
		return nil, fmt.Errorf("read the signing key in --dir %s: %w", dir, err)
	}
	return key, nil
}

// readKeyFile reads a private key; nil if there is no file.
func readKeyFile(name string) (ed25519.PrivateKey, error) {
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	key, err := proof.DecodeKey(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return key, nil
}
