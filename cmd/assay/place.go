package main

import (
	"context"
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/assaydata/assay/internal/store"
)

// place is where a command's database is: the folder of --dir, or the address of --store.
type place struct {
	dir   string
	store string // empty: the database of SQLite in the folder
}

// register adds the flags, without which most commands mean nothing.
func (p *place) register(flags *flag.FlagSet, otherwise string) {
	dirFlag(flags, &p.dir, otherwise)
	flags.StringVar(&p.store, "store", "", "`ADDRESS` of the database: sqlite://FOLDER or postgres://…, whose password is better told in ASSAY_STORE (default sqlite:// and --dir)")
}

// dirFlag is the folder of the database, and of the files beside it.
func dirFlag(flags *flag.FlagSet, dir *string, otherwise string) {
	flags.StringVar(dir, "dir", otherwise, "`FOLDER` of the database; it is made when missing")
}

// isPlaceFlag tells the flags that every command with a database has.
func isPlaceFlag(name string) bool { return name == "dir" || name == "store" }

const sqliteScheme = "sqlite://"

// folder is where the files beside the database are, such as the signing key: with SQLite they are in its folder.
func (p place) folder() string {
	if folder, ok := strings.CutPrefix(p.store, sqliteScheme); ok {
		return folder
	}
	return p.dir
}

// address is what the store is opened with.
func (p place) address() string {
	if p.store == "" {
		return p.dir
	}
	return p.store
}

// String is the place as it may be shown: without user, password and options.
func (p place) String() string {
	if !store.IsPostgres(p.store) {
		return p.address()
	}
	u, err := url.Parse(p.store)
	if err != nil {
		return "postgres://…"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// flag is how the place is named on a command line, without what is secret.
func (p place) flag() string {
	if p.store == "" {
		return "--dir " + p.dir
	}
	return "--store " + p.String()
}

// flagsWith is the rest of a command line that can be repeated: the place, and what more is given. The whole address of a
// PostgreSQL database is not shown, and would have to be written down again; the folder has the signing key.
func (p place) flagsWith(more string) string {
	if store.IsPostgres(p.store) {
		return "--dir " + p.dir + " " + more + ", with the same --store or ASSAY_STORE"
	}
	return p.flag() + " " + more
}

// openStore opens the database of a place.
func openStore(ctx context.Context, at place) (*store.DB, error) {
	db, err := store.Open(ctx, at.address())
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", at.flag(), err)
	}
	return db, nil
}

// openExisting is openStore for commands that mean nothing without data: a folder that is not there is a slip of the hand,
// and opening it would make an empty database of it. PostgreSQL makes no database by itself.
func openExisting(ctx context.Context, at place) (*store.DB, error) {
	if at.store == "" || strings.HasPrefix(at.store, sqliteScheme) {
		if _, err := os.Stat(filepath.Join(at.folder(), store.FileName)); err != nil {
			return nil, fmt.Errorf("%s: there is no database in it: %w", at.flag(), err)
		}
	}
	return openStore(ctx, at)
}
