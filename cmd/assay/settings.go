package main

import (
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// settings fills in the flags that the command line leaves out: from the environment, else from the configuration file.
// No other code reads the environment for settings.
type settings struct {
	file string // from --config
}

// apply fills in the flags of the command that is about to run.
func (s *settings) apply(cmd *cobra.Command) (err error) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if err == nil && !f.Changed && f.Name != "help" {
			err = setFromEnvironment(f)
		}
	})
	return err
}

func setFromEnvironment(f *pflag.Flag) error {
	variable := environmentVariable(f.Name)
	value, ok := os.LookupEnv(variable)
	if !ok {
		return nil
	}
	if err := f.Value.Set(value); err != nil {
		return usagef("invalid value %q in %s for --%s: %w", value, variable, f.Name, valueError(f, err))
	}
	return nil
}

// environmentVariable is the name of a flag in the environment: --key-limit is ASSAY_KEY_LIMIT.
func environmentVariable(flag string) string {
	return "ASSAY_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}
