package main

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/assaydata/assay/internal/proof"
	"github.com/assaydata/assay/internal/store"
)

// signingKeyFile is the operator's private key, next to the database and never in it.
const signingKeyFile = "signing-key.pem"

func newSigningKeyCommand(s *streams) *cobra.Command {
	return parentCommand(&cobra.Command{
		Use:   "signing-key COMMAND",
		Short: "Manage the key that signs published days",
		Long: `Manage the key that signs published days.

Assay lists the records of each published day in a manifest and signs it with
the operator's Ed25519 key. The private key is the file ` + signingKeyFile + ` in the
database's folder, readable by its owner only. It is not in the database and
not in its backup: keep a copy. Days published before there was a key are
signed once there is one. The public key is also in the response of
/api/publications/latest.`,
		Example: `  assay signing-key init --dir data
  assay signing-key show --dir data`,
	}, newSigningKeyInitCommand(s), newSigningKeyShowCommand(s), newSigningKeyRotateCommand(s),
		newSigningKeyAcceptCommand(s))
}

func newSigningKeyInitCommand(s *streams) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:     "init",
		Short:   "Create the signing key",
		Long:    `Create the signing key. An existing key is never replaced: use rotate for that.`,
		Example: "  assay signing-key init --dir data",
		Args:    arguments(),
		RunE: func(*cobra.Command, []string) error {
			key, err := createSigningKey(dir)
			if err != nil {
				return err
			}
			s.say("created %s", filepath.Join(dir, signingKeyFile))
			fmt.Fprintf(s.out, "public key: %s\n", publicKeyText(key))
			return nil
		},
	}
	addDirFlag(cmd.Flags(), &dir, defaultFolder)
	return cmd
}

// signingKeyView is what signing-key show prints.
type signingKeyView struct {
	PublicKey string  `json:"public_key"`
	ID        string  `json:"id"`
	CreatedAt instant `json:"created_at"`
	File      string  `json:"file"`
}

func newSigningKeyShowCommand(s *streams) *cobra.Command {
	var dir string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Show the public key, its id and its age",
		Long: `Show the public half of the signing key: the key in base64, its id (the start of
the key's SHA-256), when it was created, and its file.`,
		Example: "  assay signing-key show --dir data\n  assay signing-key show --dir data --json",
		Args:    arguments(),
		RunE: func(*cobra.Command, []string) error {
			view, err := showSigningKey(dir)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(s.out, view)
			}
			fmt.Fprintf(s.out, "public key: %s\nid: %s\ncreated: %s\nfile: %s\n",
				view.PublicKey, view.ID, view.CreatedAt, view.File)
			return nil
		},
	}
	addDirFlag(cmd.Flags(), &dir, defaultFolder)
	addJSONFlag(cmd, &asJSON)
	return cmd
}

// newOldKeysShowCommand is show as it was before 0.5.0: one line, which scripts read.
func newOldKeysShowCommand(s *streams) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use: "show", Short: "Show the public key", Example: "  assay keys show --dir data", Args: arguments(),
		RunE: func(*cobra.Command, []string) error {
			view, err := showSigningKey(dir)
			if err != nil {
				return err
			}
			fmt.Fprintf(s.out, "public key: %s\n", view.PublicKey)
			return nil
		},
	}
	addDirFlag(cmd.Flags(), &dir, defaultFolder)
	return cmd
}

func showSigningKey(dir string) (view signingKeyView, err error) {
	key, err := readSigningKey(dir)
	if err != nil {
		return view, err
	}
	if key == nil {
		return view, fmt.Errorf("no signing key in %s; create one with 'assay signing-key init'", dir)
	}
	view.File = filepath.Join(dir, signingKeyFile)
	info, err := os.Stat(view.File)
	if err != nil {
		return view, err
	}
	// assay never changes the file, so its time is that of its creation.
	view.PublicKey, view.ID, view.CreatedAt = publicKeyText(key), signingKeyID(key), instant(info.ModTime().UnixMilli())
	return view, nil
}

func newSigningKeyRotateCommand(s *streams) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "rotate",
		Short: "Replace the signing key with a new one",
		Long: `Replace the signing key with a new one. Days signed from now on carry the new
public key. Days signed before stay as they are and stay verifiable: every
manifest names the key that signed it.

The old private key is kept as signing-key-ID.pem. A server that is running
signs with the old key until it is restarted. Publish the new public key where
you published the old one.`,
		Example: "  assay signing-key rotate --dir data",
		Args:    arguments(),
		RunE: func(*cobra.Command, []string) error {
			key, kept, err := rotateSigningKey(dir)
			if err != nil {
				return err
			}
			s.say("kept the old key as %s", kept)
			fmt.Fprintf(s.out, "public key: %s\n", publicKeyText(key))
			s.say("Restart servers that use this folder to sign with the new key.")
			return nil
		},
	}
	addDirFlag(cmd.Flags(), &dir, defaultFolder)
	return cmd
}

func newSigningKeyAcceptCommand(s *streams) *cobra.Command {
	var location databaseLocation
	cmd := &cobra.Command{
		Use:   "accept",
		Short: "Accept a signing key that differs from the last one",
		Long: `Accept the signing key of the folder for days signed from now on, although the
last day was signed with another one. A publisher refuses to start with such a
key, except after rotate, because it may be one that was restored or copied by
mistake. The audit log names who has accepted it.`,
		Example: "  assay signing-key accept --dir data",
		Args:    arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			view, err := showSigningKey(location.folder())
			if err != nil {
				return err
			}
			return withDatabase(cmd.Context(), location, func(db *store.DB) error {
				if err := db.AcceptSigningKey(cmd.Context(), view.ID); err != nil {
					return err
				}
				s.say("accepted the key %s", view.ID)
				return nil
			})
		},
	}
	location.register(cmd.Flags(), defaultFolder)
	return cmd
}

// signingKeyError is why a publisher does not start.
type signingKeyError struct{ text string }

func (e *signingKeyError) Error() string { return e.text }

// checkSigningKey checks that a key, nil if there is none, is the one that signed the last day, or one that the
// operator has put in its place.
func checkSigningKey(ctx context.Context, db *store.DB, dir string, key ed25519.PrivateKey) error {
	last, ok, err := db.LastManifest(ctx)
	if err != nil || !ok {
		return err
	}
	file, before := filepath.Join(dir, signingKeyFile), publicKeyID(last.PublicKey)
	if key == nil {
		return &signingKeyError{fmt.Sprintf("%s is missing: the last day was signed with the key %s. Put it back. "+
			"If it is lost, run 'assay signing-key init' and 'assay signing-key accept'", file, before)}
	}
	if signingKeyID(key) == before {
		return nil
	}
	if _, err := os.Stat(keptKeyFile(dir, before)); err == nil {
		return nil // after assay signing-key rotate
	}
	accepted, err := db.SigningKeyAccepted(ctx, signingKeyID(key))
	if err != nil || accepted {
		return err
	}
	return &signingKeyError{fmt.Sprintf("%s is the key %s, but the last day was signed with the key %s. "+
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

// signingKeyID is a short name of a key: the first eight bytes of the SHA-256 of its public half.
func signingKeyID(key ed25519.PrivateKey) string {
	return publicKeyID(key.Public().(ed25519.PublicKey))
}

func publicKeyID(key ed25519.PublicKey) string {
	sum := sha256.Sum256(key)
	return hex.EncodeToString(sum[:8])
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

// rotateSigningKey puts a new key in place of the old one, which stays under another name. The old key is linked to
// that name before the new one takes its place, so that at every moment there is a key and none is lost.
func rotateSigningKey(dir string) (key ed25519.PrivateKey, kept string, err error) {
	old, err := readSigningKey(dir)
	if err != nil {
		return nil, "", err
	}
	if old == nil {
		return nil, "", fmt.Errorf("no signing key in %s; create one with 'assay signing-key init'", dir)
	}
	current := filepath.Join(dir, signingKeyFile)
	kept = keptKeyFile(dir, signingKeyID(old))
	next := current + ".new"
	if err := os.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) { // from a rotation that was interrupted
		return nil, "", err
	}
	if key, err = writeNewKey(next); err != nil {
		return nil, "", err
	}
	if err := os.Link(current, kept); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, "", err
	}
	return key, kept, os.Rename(next, current)
}

// readSigningKey reads the key of a folder; nil if it has none.
func readSigningKey(dir string) (ed25519.PrivateKey, error) {
	file := filepath.Join(dir, signingKeyFile)
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the signing key in --dir %s: %w", dir, err)
	}
	key, err := proof.DecodeKey(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return key, nil
}
