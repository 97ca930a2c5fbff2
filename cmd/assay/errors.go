package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/assaydata/assay/internal/store"
)

// Exit codes. The help of assay documents them.
const (
	exitOK       = 0
	exitFailed   = 1
	exitUsage    = 2
	exitRejected = 3 // an import finished, but some rows were rejected
)

// errRejected ends an import that rejected rows. The rows have been reported by then.
var errRejected = errors.New("some rows were rejected")

// usageError is a command line that cannot be run.
type usageError struct{ error }

// usagef makes a usageError.
func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// reportError prints what went wrong, if anything, and returns the exit code.
func reportError(w io.Writer, cmd *cobra.Command, err error) int {
	var usage usageError
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errRejected):
		return exitRejected
	case !cmd.HasParent() && strings.HasPrefix(err.Error(), "unknown command "):
		// cobra finds this out before any code of ours runs, and has no error type for it.
		usage = usageError{unknownCommand(cmd, cobraUnknownWord(err))}
	case store.DiskFull(err):
		fmt.Fprintf(w, "%s: the disk is full: %v\n", cmd.CommandPath(), err)
		return exitFailed
	case store.DiskReadOnly(err):
		fmt.Fprintf(w, "%s: the disk, or the database's files on it, are read-only: %v\n", cmd.CommandPath(), err)
		return exitFailed
	case !errors.As(err, &usage):
		fmt.Fprintf(w, "%s: %v\n", cmd.CommandPath(), err)
		return exitFailed
	}
	if cmd.Name() == "help" {
		cmd = cmd.Root()
	}
	fmt.Fprintf(w, "%s: %v\nRun '%s --help' for usage.\n", cmd.CommandPath(), usage, cmd.CommandPath())
	return exitUsage
}

// cobraUnknownWord is the word in cobra's message: unknown command "word" for "assay".
func cobraUnknownWord(err error) string {
	var word string
	_, _ = fmt.Sscanf(err.Error(), "unknown command %q", &word) // no word: the message is still right
	return word
}

// unknownCommand names the commands that the user may have meant.
func unknownCommand(parent *cobra.Command, word string) error {
	text := fmt.Sprintf("unknown command %q", word)
	if similar := nearest(word, subcommandNames(parent)); similar != "" {
		return fmt.Errorf("%s. Did you mean %s?", text, similar)
	}
	if parent.HasParent() {
		return fmt.Errorf("%s. Commands: %s", text, strings.Join(subcommandNames(parent), ", "))
	}
	return errors.New(text)
}

func subcommandNames(parent *cobra.Command) (names []string) {
	for _, c := range parent.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return names
}

// needCommand is what a command that only holds others does when none of them is named.
func needCommand(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{unknownCommand(cmd, args[0])}
	}
	return usagef("missing command: %s", strings.Join(subcommandNames(cmd), ", "))
}

// flagError words what cobra's flag parser found wrong.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	var missing *pflag.ValueRequiredError
	switch {
	case errors.As(err, &unknown):
		return usageError{unknownFlag(cmd, unknown)}
	case errors.As(err, &invalid):
		flag, reason := invalid.GetFlag(), errors.Unwrap(invalid)
		if errors.Is(reason, errRepeated) {
			return usagef("--%s may be given only once", flag.Name)
		}
		return usagef("invalid value%s for --%s: %w",
			quotedValue(flag, invalid.GetValue()), flag.Name, valueError(flag, reason))
	case errors.As(err, &missing):
		return usagef("--%s needs a value", missing.GetFlag().Name)
	}
	return usageError{err}
}

// unknownFlag names the flag that the user may have meant. Before 0.5.0, long flags could have one dash.
func unknownFlag(cmd *cobra.Command, err *pflag.NotExistError) error {
	name := err.GetSpecifiedName()
	if short := err.GetSpecifiedShortnames(); short != "" {
		name, _, _ = strings.Cut(short, "=")
		if cmd.Flags().Lookup(name) != nil || name == "help" {
			return fmt.Errorf("unknown flag -%s. Long flags have two dashes: --%s", name, name)
		}
		if len(name) == 1 {
			return fmt.Errorf("unknown flag -%s", name)
		}
	}
	if similar := nearest(name, flagNames(cmd)); similar != "" {
		return fmt.Errorf("unknown flag --%s. Did you mean --%s?", name, similar)
	}
	return fmt.Errorf("unknown flag --%s", name)
}

// flagNames are the names of the flags that a command shows.
func flagNames(cmd *cobra.Command) (names []string) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	return names
}

// nearest is the name that differs least from a mistyped one, or empty if none is near: by one letter, by a third of
// them if the first one is right, or because one is the start of the other.
func nearest(typed string, names []string) (best string) {
	smallest := len(typed) + 1
	for _, name := range names {
		distance, limit := editDistance(typed, name), 1
		switch {
		case typed == "" || name == "":
			continue
		case strings.HasPrefix(name, typed), len(name) > 2 && strings.HasPrefix(typed, name):
			distance = min(distance, 1)
		case typed[0] == name[0]:
			limit = max(len(typed)/3, 2)
		}
		if distance <= limit && distance < smallest {
			best, smallest = name, distance
		}
	}
	return best
}

// editDistance counts the letters to insert, delete or replace to turn one word into the other (Levenshtein).
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// arguments lets a command take exactly the named arguments, or says which one is missing.
func arguments(names ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return usagef("missing %s", strings.Join(names[len(args):], " and "))
		case len(args) > len(names) && len(names) > 0:
			return usagef("unexpected argument %q (put quotes around values with spaces)", redactAddress(args[len(names)]))
		case len(args) > len(names):
			return usagef("unexpected argument %q", redactAddress(args[0]))
		}
		return nil
	}
}
