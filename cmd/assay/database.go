package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/assaydata/assay/internal/account"
	"github.com/assaydata/assay/internal/store"
)

// databaseLocation is where a command's database is: the folder in --dir, or the address in --store.
type databaseLocation struct {
	dir   string
	store string // empty: SQLite in dir
}

const defaultFolder = "assay-data"

// register adds --dir and --store.
func (l *databaseLocation) register(flags *pflag.FlagSet, defaultDir string) {
	addDirFlag(flags, &l.dir, defaultDir)
	addAddressFlag(flags, &l.store, "store",
		"database `ADDRESS`, sqlite://FOLDER or postgres://…; pass passwords in ASSAY_STORE (default: SQLite in --dir)",
		store.CheckAddress)
}

// addDirFlag adds the folder of the database and of the files next to it.
func addDirFlag(flags *pflag.FlagSet, dir *string, defaultDir string) {
	*dir = defaultDir
	addAddressFlag(flags, dir, "dir", "`FOLDER` of the database and the signing key", checkFolder)
}

// checkFolder refuses the address of a database, which may contain a password: it is not to become a folder's name.
func checkFolder(folder string) error {
	if strings.Contains(folder, "://") {
		return errors.New("must be a folder; pass the address of a database in --store")
	}
	return nil
}

const sqliteScheme = "sqlite://"

// folder is where the files next to the database are, such as the signing key. With SQLite it is the database's folder.
func (l databaseLocation) folder() string {
	if folder, ok := strings.CutPrefix(l.store, sqliteScheme); ok {
		return folder
	}
	return l.dir
}

// paths are the folder and those files in it that hold data or a key.
func (l databaseLocation) paths() []string {
	paths := []string{l.folder()}
	entries, _ := os.ReadDir(l.folder()) // a folder that is missing has none
	for _, entry := range entries {
		for _, prefix := range []string{store.FileName, "signing-key", secretKeyFile, acmeFolder} {
			if strings.HasPrefix(entry.Name(), prefix) {
				paths = append(paths, filepath.Join(l.folder(), entry.Name()))
			}
		}
	}
	return paths
}

// address is what the store is opened with.
func (l databaseLocation) address() string {
	if l.store == "" {
		return sqliteScheme + l.dir
	}
	return l.store
}

// String is the location without user, password and options, fit to be shown.
func (l databaseLocation) String() string {
	switch {
	case l.store == "":
		return l.dir
	case !store.IsPostgres(l.store):
		return l.store
	}
	u, err := url.Parse(l.store)
	if err != nil {
		return "postgres://…"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// asFlag is the flag that names this location, without secrets.
func (l databaseLocation) asFlag() string {
	if l.store == "" {
		return "--dir " + l.dir
	}
	return "--store " + l.String()
}

// asFlagsWith is the end of a command line to repeat: the location and further flags. The address of a PostgreSQL
// database cannot be shown whole, so the text refers to it; --dir is still needed for the signing key.
func (l databaseLocation) asFlagsWith(more string) string {
	if store.IsPostgres(l.store) {
		return "--dir " + l.dir + " " + more + ", with the same --store or ASSAY_STORE"
	}
	return l.asFlag() + " " + more
}

// asCommand is a command line of assay that names this location. The address of a PostgreSQL database cannot be shown
// whole, so the text refers to it.
func (l databaseLocation) asCommand(command string) string {
	if store.IsPostgres(l.store) {
		return "assay " + command + ", with the same --store or ASSAY_STORE"
	}
	return "assay " + command + " " + l.asFlag()
}

// openDatabase opens a database. It creates none and leaves its tables as they are; the error says which command does
// that.
func openDatabase(ctx context.Context, l databaseLocation) (*store.DB, error) {
	db, err := store.Open(ctx, l.address())
	if err != nil {
		return nil, l.explain(err)
	}
	db.Now = wallTime
	return db, nil
}

// explain says what to do about a database that cannot be opened.
func (l databaseLocation) explain(err error) error {
	schema, ok := errors.AsType[*store.SchemaError](err)
	switch {
	case errors.Is(err, store.ErrNoDatabase):
		return fmt.Errorf("there is no database in %s. Create one: %s", l, l.asCommand("init"))
	case ok && schema.Older():
		return fmt.Errorf("%s: %w. Upgrade it: %s", l, schema, l.asCommand("db upgrade"))
	}
	return fmt.Errorf("open %s: %w", l.asFlag(), err)
}

// createDatabase creates a database, or opens the one that another process has created meanwhile.
func createDatabase(ctx context.Context, l databaseLocation) (*store.DB, error) {
	db, err := store.Create(ctx, l.address())
	if errors.Is(err, store.ErrExists) {
		return openDatabase(ctx, l)
	}
	if err != nil {
		return nil, fmt.Errorf("create a database in %s: %w", l.asFlag(), err)
	}
	return db, nil
}

// withDatabase opens a database for the time of a call.
func withDatabase(ctx context.Context, l databaseLocation, call func(*store.DB) error) error {
	db, err := openDatabase(ctx, l)
	if err != nil {
		return err
	}
	defer db.Close()
	return call(db)
}

// withAccounts opens a database and loads its accounts for the time of a call.
func withAccounts(ctx context.Context, l databaseLocation, call func(*account.Service) error) error {
	return withDatabase(ctx, l, func(db *store.DB) error {
		accounts, err := loadAccounts(ctx, db)
		if err != nil {
			return err
		}
		return call(accounts)
	})
}
