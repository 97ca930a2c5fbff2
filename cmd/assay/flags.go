package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/assaydata/assay"
)

// Types of flags. A configuration file must use the matching TOML type.
const (
	textFlag     = "string"
	numberFlag   = "int"
	listFlag     = "list"
	instantFlag  = "instant"
	durationFlag = "duration"
	addressFlag  = "address" // may contain a password: no message shows its value
)

// parsedValue is a flag whose value is checked when it is read.
type parsedValue struct {
	kind, text string
	parse      func(string) error
}

func (v *parsedValue) Set(text string) error {
	if err := v.parse(text); err != nil {
		return err
	}
	v.text = text
	return nil
}

func (v *parsedValue) String() string { return v.text }

// Type is the flag's type.
func (v *parsedValue) Type() string { return v.kind }

// parsedFlag adds a flag whose value goes through parse. The default is only shown: the caller has set it.
func parsedFlag(flags *pflag.FlagSet, name, kind, shownDefault, usage string, parse func(string) error) {
	flags.Var(&parsedValue{kind: kind, text: shownDefault, parse: parse}, name, usage)
}

// addAddressFlag adds a flag that takes the address of a server; empty is none.
func addAddressFlag(flags *pflag.FlagSet, address *string, name, usage string, check func(string) error) {
	parsedFlag(flags, name, addressFlag, *address, usage, func(text string) error {
		if text != "" {
			if err := check(text); err != nil {
				return err
			}
		}
		*address = text
		return nil
	})
}

// quotedValue is a value in a message that a flag has refused, with a space before it; nothing if it may be secret.
func quotedValue(flag *pflag.Flag, value string) string {
	if flag.Value.Type() == addressFlag {
		return ""
	}
	return fmt.Sprintf(" %q", redactAddress(value))
}

// addInstantFlag adds a flag that takes a date or a date-time.
func addInstantFlag(flags *pflag.FlagSet, ms *int64, name, usage string) {
	parsedFlag(flags, name, instantFlag, "", usage, func(text string) error {
		at, _, err := assay.ParseInstant(text)
		if err != nil {
			return errors.New("must be YYYY-MM-DD, YYYY-MM-DD HH:MM:SS or an ISO 8601 date-time")
		}
		*ms = at
		return nil
	})
}

// addNumberFlag adds a flag that takes a whole number between bounds.
func addNumberFlag(flags *pflag.FlagSet, n *int, name string, lowest, highest int, usage string) {
	parsedFlag(flags, name, numberFlag, strconv.Itoa(*n), usage, parseNumber(n, lowest, highest))
}

// addOptionalNumberFlag adds a flag that takes a whole number from 1 on. The usage says what its absence means.
func addOptionalNumberFlag(flags *pflag.FlagSet, n *int, name string, highest int, usage string) {
	parsedFlag(flags, name, numberFlag, "", usage, parseNumber(n, 1, highest))
}

func parseNumber(n *int, lowest, highest int) func(text string) error {
	return func(text string) error {
		value, err := strconv.Atoi(text)
		if err != nil || value < lowest || value > highest {
			return fmt.Errorf("must be a whole number from %d to %d", lowest, highest)
		}
		*n = value
		return nil
	}
}

// addDurationFlag adds a flag that takes a time between bounds.
func addDurationFlag(flags *pflag.FlagSet, d *time.Duration, name string, lowest, highest time.Duration, usage string) {
	parsedFlag(flags, name, durationFlag, shortDuration(*d), usage, func(text string) error {
		value, err := time.ParseDuration(text)
		if err != nil || value < lowest || value > highest {
			from, to := shortDuration(lowest), shortDuration(highest)
			return fmt.Errorf("must be a time from %s to %s, such as 500ms or 10s", from, to)
		}
		*d = value
		return nil
	})
}

// shortDuration writes 10m instead of Go's 10m0s, and 2h instead of 2h0m0s.
func shortDuration(d time.Duration) string {
	text := d.String()
	if d >= time.Minute {
		text = strings.TrimSuffix(text, "0s")
	}
	if hours, whole := strings.CutSuffix(text, "h0m"); whole {
		text = hours + "h"
	}
	return text
}

// addChoiceFlag adds a flag that takes one of a few words, which the shell completes.
func addChoiceFlag(cmd *cobra.Command, value *string, name, usage string, choices ...string) {
	parsedFlag(cmd.Flags(), name, textFlag, *value, usage, func(text string) error {
		for _, choice := range choices {
			if text == choice {
				*value = text
				return nil
			}
		}
		return fmt.Errorf("must be %s", oneOf(choices))
	})
	completeFlag(cmd, name, choices...)
}

// completeFlag lets the shell complete a flag's value.
func completeFlag(cmd *cobra.Command, name string, choices ...string) {
	complete := cobra.FixedCompletions(choices, cobra.ShellCompDirectiveNoFileComp)
	if err := cmd.RegisterFlagCompletionFunc(name, complete); err != nil {
		panic(err) // the flag does not exist, or completes already
	}
}

// oneOf writes a list of choices: a, b or c.
func oneOf(choices []string) string {
	last := len(choices) - 1
	if last < 1 {
		return strings.Join(choices, "")
	}
	return strings.Join(choices[:last], ", ") + " or " + choices[last]
}

// addJSONFlag adds --json to a command that lists or shows something.
func addJSONFlag(cmd *cobra.Command, asJSON *bool) {
	cmd.Flags().BoolVar(asJSON, "json", false, "print one JSON document")
}

// valueError says what a flag takes, where the flag parser's own message is about Go.
func valueError(flag *pflag.Flag, err error) error {
	switch flag.Value.Type() {
	case "bool":
		return errors.New("must be true or false")
	case "int64":
		return errors.New("must be a whole number")
	}
	return err
}

// splitList splits a comma-separated list and drops empty parts.
func splitList(text string) (list []string) {
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	return list
}
