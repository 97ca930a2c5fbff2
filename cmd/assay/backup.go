package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/assaydata/assay/internal/store"
)

var backupCommand = &command{
	name: "backup", arguments: "[flags] FILE", summary: "copy the database to a file while it serves",
	details: `Writes a consistent copy to a new file. To restore it, put the file into an empty folder as ` + store.FileName + `.`,
	run:     runBackup,
}

func runBackup(ctx context.Context, c *command, args []string, s streams) error {
	flags := newFlags(c, s)
	var at place
	at.register(flags, "assay-data")
	if err := parse(flags, args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return usageError{errors.New("name the one file to write")}
	}
	db, err := openExisting(ctx, at)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := db.Backup(ctx, flags.Arg(0)); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "backed up %s to %s\n", at, flags.Arg(0))
	return nil
}
