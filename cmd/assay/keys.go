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

	"github.com/assaydata/assay/internal/proof"
)

var keysCommand = &command{
	name: "keys", arguments: "init|show [flags]", summary: "make the key that signs what is published, or show its public half",
	details: `Every day of published records is listed in a manifest that is signed with the operator's Ed25519 key.
init makes the key in the database's folder (signing-key.pem, readable by its owner alone) and never replaces
one; days published before are signed once there is a key. show prints the public key, which is also served at
/api/publications/latest. Keep a copy of the file: it is not in the database and not in its backup.`,
	run: runKeys,
}

// signingKeyFile is the operator's private key, beside the database and never inside it.
const signingKeyFile = "signing-key.pem"

func runKeys(_ context.Context, c *command, args []string, s streams) error {
	verb := ""
	if len(args) > 0 && args[0] != "" && args[0][0] != '-' {
		verb, args = args[0], args[1:]
	}
	flags := newFlags(c, s)
	var dir string
	dirFlag(flags, &dir, "assay-data")
	if err := parse(flags, args); err != nil {
		return err
	}
	if err := noArguments(flags); err != nil {
		return err
	}
	switch verb {
	case "init":
		key, err := makeSigningKey(dir)
		if err != nil {
			return err
		}
		fmt.Fprintf(s.out, "made %s\npublic key: %s\n", filepath.Join(dir, signingKeyFile), publicText(key))
		return nil
	case "show":
		key, err := signingKey(dir)
		if err != nil {
			return err
		}
		if key == nil {
			return fmt.Errorf("there is no key in %s: assay keys init makes one", dir)
		}
		fmt.Fprintf(s.out, "public key: %s\n", publicText(key))
		return nil
	}
	return usageError{errors.New("say what to do: assay keys init, or assay keys show")}
}

func publicText(key ed25519.PrivateKey) string {
	return base64.StdEncoding.EncodeToString(key.Public().(ed25519.PublicKey))
}

// makeSigningKey makes a new key. It never touches one that is there.
func makeSigningKey(dir string) (ed25519.PrivateKey, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	text, err := proof.EncodeKey(key)
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(filepath.Join(dir, signingKeyFile), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%s exists: a key is never replaced, because what it signed must stay provable", filepath.Join(dir, signingKeyFile))
	}
	if err != nil {
		return nil, err
	}
	_, err = file.Write(text)
	return key, errors.Join(err, file.Sync(), file.Close())
}

// signingKey reads the key of a folder; nil when it has none.
func signingKey(dir string) (ed25519.PrivateKey, error) {
	file := filepath.Join(dir, signingKeyFile)
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	key, err := proof.DecodeKey(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return key, nil
}
