package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/publish"
	"github.com/assaydata/assay/internal/store"
)

var methodologyCommand = &command{
	name: "methodology", arguments: "list|show|adopt [flags] [FILE]", summary: "show the rules of the index, or adopt a new version of them",
	details: `list names the versions and when they take effect; show prints one (--version, default the newest); adopt takes
a TOML file as the next version. It must take effect after everything that has been published: history
keeps the version it was made with. assay backtest shows beforehand what a version would change.

Keys of the file: version, effective, decimals; [fixing] zone, time; [minimum] transactions, providers; and, optional,
[winsorise] lower, upper; [cap] provider_share; [otpi] minimum_models, minimum_requests, below which a lab has no
token price on a day (1 each unless given).`,
	run: runMethodology,
}

func runMethodology(ctx context.Context, c *command, args []string, s streams) error {
	verb := ""
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		verb, args = args[0], args[1:]
	}
	flags := newFlags(c, s)
	var at place
	at.register(flags, "assay-data")
	wanted := flags.String("version", "", "`VERSION` to show (default: the newest)")
	if err := parse(flags, args); err != nil {
		return err
	}
	if verb != "list" && verb != "show" && verb != "adopt" {
		return usageError{errors.New("say what to do: assay methodology list, show or adopt FILE")}
	}
	if verb == "adopt" != (flags.NArg() == 1) {
		return usageError{errors.New("assay methodology adopt takes one file, list and show take none")}
	}
	db, err := openStore(ctx, at)
	if err != nil {
		return err
	}
	defer db.Close()
	schedule, err := publish.LoadSchedule(ctx, db)
	if err != nil {
		return err
	}
	if verb == "adopt" {
		return adoptMethodology(ctx, db, schedule, flags.Arg(0), s)
	}
	files, err := db.Methodologies(ctx)
	if err != nil {
		return err
	}
	if verb == "show" {
		return showMethodology(files, *wanted, s)
	}
	for _, f := range files {
		fmt.Fprintf(s.out, "%-16s in effect from %s, adopted %s\n", f.Version, assay.FormatInstant(f.Effective), assay.FormatInstant(f.Adopted))
	}
	return nil
}

func showMethodology(files []assay.MethodologyFile, version string, s streams) error {
	for i := len(files) - 1; i >= 0; i-- {
		if version == "" || files[i].Version == version {
			fmt.Fprint(s.out, files[i].Text)
			return nil
		}
	}
	return fmt.Errorf("there is no version %s; assay methodology list names them", version)
}

func adoptMethodology(ctx context.Context, db *store.DB, schedule index.Schedule, name string, s streams) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	m, err := index.ParseMethodology(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if _, ok := schedule.Version(m.Version); !ok {
		if _, err := schedule.With(m); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := db.AdoptMethodology(ctx, assay.MethodologyFile{Version: m.Version, Effective: m.Effective, Text: string(text)}); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	fmt.Fprintf(s.out, "adopted: version %s, in effect from %s\n", m.Version, assay.FormatInstant(m.Effective))
	return nil
}
