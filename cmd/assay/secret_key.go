package main

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/assaydata/assay/internal/seal"
	"github.com/assaydata/assay/internal/store"
)

// secretKeyFile is the secret that second factors are sealed with, next to the database and never in it.
const secretKeyFile = "secret-key"

// readSecretKey reads the secret key of a server. Without a named file it is the one next to the database. With SQLite
// it is created when it is missing; nodes on PostgreSQL need the same file, which no node can create for the others, so
// there it is nil when it is missing.
func readSecretKey(named string, location databaseLocation) (*seal.Key, error) {
	file := named
	if file == "" {
		file = filepath.Join(location.folder(), secretKeyFile)
	}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) && named == "" {
		if store.IsPostgres(location.store) {
			return nil, nil //nolint:nilnil // no key is not an error
		}
		text, err = createSecretKey(file)
	}
	if err != nil {
		return nil, fmt.Errorf("read the secret key: %w", err)
	}
	key, err := seal.NewKey(bytes.TrimSpace(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return key, nil
}

// createSecretKey creates a secret key. If another process is faster, its key is the one.
func createSecretKey(file string) ([]byte, error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, err
	}
	random := make([]byte, seal.MinSecret)
	_, _ = rand.Read(random) // never fails
	text := []byte(base64.StdEncoding.EncodeToString(random) + "\n")
	temporary, err := os.CreateTemp(filepath.Dir(file), secretKeyFile+"-*.tmp") // only its owner can read it
	if err != nil {
		return nil, err
	}
	defer os.Remove(temporary.Name()) //nolint:errcheck // at worst a file is left that no one reads
	_, err = temporary.Write(text)
	if err := errors.Join(err, temporary.Sync(), temporary.Close()); err != nil {
		return nil, err
	}
	if err := os.Link(temporary.Name(), file); errors.Is(err, fs.ErrExist) {
		return os.ReadFile(file)
	} else if err != nil {
		return nil, err
	}
	return text, nil
}
