package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/account"
	"github.com/assaydata/assay/internal/store"
)

// verb is what a command can do with accounts, organizations or grants: its word, what it takes, and how it is done.
type verb struct {
	name      string
	arguments []string // what they are, for messages
	flags     []string // that go with it, besides --dir and --store
	changes   bool     // whether it may make the database
	run       func(ctx context.Context, people *account.Service, args []string, s streams) error
}

// runVerb reads the word of a command, holds flags and arguments against it, and does it. The arguments may stand before the
// flags or behind them.
func runVerb(ctx context.Context, c *command, flags *flag.FlagSet, verbs []verb, args []string, s streams) error {
	var at place
	at.register(flags, "assay-data")
	words := 0
	for words < len(args) && !strings.HasPrefix(args[words], "-") {
		words++
	}
	if err := parse(flags, args[words:]); err != nil {
		return err
	}
	said := append(slices.Clone(args[:words]), flags.Args()...)
	v, err := chooseVerb(c, flags, verbs, said)
	if err != nil {
		return usageError{err}
	}
	open := openExisting
	if v.changes {
		open = openStore
	}
	db, err := open(ctx, at)
	if err != nil {
		return err
	}
	defer db.Close()
	people, err := loadPeople(ctx, db)
	if err != nil {
		return err
	}
	return v.run(ctx, people, said[1:], s)
}

// loadPeople knows everybody in a database, for a command that looks once.
func loadPeople(ctx context.Context, db *store.DB) (*account.Service, error) {
	people := &account.Service{Store: db, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
	return people, people.Load(ctx)
}

func chooseVerb(c *command, flags *flag.FlagSet, verbs []verb, said []string) (verb, error) {
	names := make([]string, len(verbs))
	for i, v := range verbs {
		names[i] = v.name
	}
	i := -1
	if len(said) > 0 {
		i = slices.Index(names, said[0])
	}
	if i < 0 {
		return verb{}, fmt.Errorf("say what to do: %s", strings.Join(names, ", "))
	}
	v := verbs[i]
	if len(said)-1 != len(v.arguments) {
		return v, fmt.Errorf("use: assay %s; put what has spaces in quotes", strings.Join(append([]string{c.name, v.name}, v.arguments...), " "))
	}
	var wrong error
	flags.Visit(func(f *flag.Flag) {
		if !isPlaceFlag(f.Name) && !slices.Contains(v.flags, f.Name) {
			wrong = fmt.Errorf("--%s does not go with assay %s %s", f.Name, c.name, v.name)
		}
	})
	return v, wrong
}

// instantOr is an instant for people, or a word where there is none.
func instantOr(ms int64, none string) string {
	if ms == 0 {
		return none
	}
	return assay.FormatInstant(ms)
}
