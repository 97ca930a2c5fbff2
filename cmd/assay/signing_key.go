package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

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
