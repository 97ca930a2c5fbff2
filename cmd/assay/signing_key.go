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

	"github.com/spf13/cobra"

	"github.com/assaydata/assay/internal/proof"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/verifier"
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
		newSigningKeyRevokeCommand(s), newSigningKeyAcceptCommand(s))
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
	key, err := existingSigningKey(dir)
	if err != nil {
		return view, err
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
	var location databaseLocation
	var reason string
	cmd := &cobra.Command{
		Use:   "rotate",
		Short: "Replace the signing key with a new one",
		Long: `Replace the signing key with a new one. Days and checkpoints signed from now on
carry the new public key. Those signed before stay as they are and stay
verifiable. The change is signed with both keys and stands in the log, so that
everyone who knows the old public key can follow it to the new one.

The old private key is kept as signing-key-ID.pem. A server that uses the folder
signs with the new key at once; copy it to the folders of other nodes that
publish. If the old key is in wrong hands, revoke it then.`,
		Example: "  assay signing-key rotate --dir data --reason yearly",
		Args:    arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withDatabase(cmd.Context(), location, func(db *store.DB) error {
				key, kept, err := rotateSigningKey(cmd.Context(), db, location.folder(), reason)
				if err != nil {
					return err
				}
				s.say("kept the old key as %s", kept)
				fmt.Fprintf(s.out, "public key: %s\n", publicKeyText(key))
				return nil
			})
		},
	}
	addKeyReasonFlag(cmd, &reason)
	location.register(cmd.Flags(), defaultFolder)
	return cmd
}

func addKeyReasonFlag(cmd *cobra.Command, reason *string) {
	cmd.Flags().StringVar(reason, "reason", "", "`TEXT` that says why; everyone can read it in the log")
}

func newSigningKeyRevokeCommand(s *streams) *cobra.Command {
	var location databaseLocation
	var reason string
	cmd := &cobra.Command{
		Use:   "revoke ID",
		Short: "Declare that an earlier signing key is in wrong hands",
		Long: `Declare that an earlier signing key is in wrong hands. The statement is signed
with the current key and stands in the log. Monitors, witnesses and programs
that follow the log's keys no longer accept what the revoked key signs. What it
signed while it was in use stays in the log, and stays proven by the signatures
of later keys.

To revoke the current key, rotate it first.`,
		Example: "  assay signing-key revoke 1c2b3a4d5e6f7081 --reason stolen --dir data",
		Args:    arguments("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withDatabase(cmd.Context(), location, func(db *store.DB) error {
				if err := revokeSigningKey(cmd.Context(), db, location.folder(), args[0], reason); err != nil {
					return err
				}
				s.say("revoked the key %s", args[0])
				return nil
			})
		},
	}
	addKeyReasonFlag(cmd, &reason)
	location.register(cmd.Flags(), defaultFolder)
	return cmd
}

func newSigningKeyAcceptCommand(s *streams) *cobra.Command {
	var location databaseLocation
	var reason string
	cmd := &cobra.Command{
		Use:   "accept",
		Short: "Accept a signing key that differs from the last one",
		Long: `Accept the signing key of the folder for what is signed from now on, although
another one has signed before and did not sign the change, because it is lost. A
publisher refuses to start with such a key, because it may be one that was
restored or copied by mistake. The change stands in the log, and the audit log
names who has accepted the key. No one can follow it: monitors and witnesses
have to be told the new public key.`,
		Example: "  assay signing-key accept --dir data --reason lost",
		Args:    arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withDatabase(cmd.Context(), location, func(db *store.DB) error {
				key, err := existingSigningKey(location.folder())
				if err != nil {
					return err
				}
				if err := acceptSigningKey(cmd.Context(), db, key, reason); err != nil {
					return err
				}
				s.say("accepted the key %s", signingKeyID(key))
				return nil
			})
		},
	}
	addKeyReasonFlag(cmd, &reason)
	location.register(cmd.Flags(), defaultFolder)
	return cmd
}

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
