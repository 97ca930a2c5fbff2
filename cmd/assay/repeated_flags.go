package main

import (
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// errRepeated refuses a flag that is given twice.
var errRepeated = errors.New("it is given twice")

// givenValue is the value of a flag that may be given once: of two values the last would silently win. A list has the
// values of both.
type givenValue struct {
	pflag.Value
	flag *pflag.Flag
}

// Set takes a value. The flag has changed if the command line has given one before.
func (v *givenValue) Set(text string) error {
	switch {
	case !v.flag.Changed:
		return v.Value.Set(text)
	case v.Type() == listFlag:
		return v.Value.Set(v.String() + "," + text)
	}
	return errRepeated
}

// refuseRepeatedFlags applies to all flags of a command and of those below it, except switches: they are on however
// often they are given.
func refuseRepeatedFlags(root *cobra.Command) {
	wrap := func(f *pflag.Flag) {
		if _, done := f.Value.(*givenValue); !done && f.Value.Type() != "bool" {
			f.Value = &givenValue{Value: f.Value, flag: f}
		}
	}
	eachCommand(root, func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(wrap)
		cmd.PersistentFlags().VisitAll(wrap)
	})
}
