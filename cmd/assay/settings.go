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

// noSettings marks commands, by an annotation, that work whatever the environment and the configuration file contain.
const noSettings = "no-settings"

// withoutSettings marks a command.
func withoutSettings(cmd *cobra.Command) *cobra.Command {
	cmd.Annotations = map[string]string{noSettings: ""}
	return cmd
}

// apply fills in the flags of the command that is about to run.
func (s *settings) apply(cmd *cobra.Command) error {
	_, marked := cmd.Annotations[noSettings]
	if marked || cmd.DisableFlagParsing { // cobra's command behind completion parses no flags
		return nil
	}
	file, err := s.readFile(cmd)
	if err != nil {
		return err
	}
	_, err = fillFlags(cmd, file)
	return err
}

// readFile reads the configuration file in --config or ASSAY_CONFIG; nil if there is none.
func (s *settings) readFile(cmd *cobra.Command) (*configFile, error) {
	if _, err := setFromEnvironment(cmd.Flag("config")); err != nil {
		return nil, err
	}
	if s.file == "" {
		return nil, nil //nolint:nilnil // no file is not an error
	}
	return readConfigFile(s.file)
}

// effectiveSetting is the value of a flag and where it comes from.
type effectiveSetting struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Source string `json:"source"` // command line, a variable, FILE:LINE or default
}

// fillFlags fills in the flags of a command and says where each value comes from. The file may be nil.
func fillFlags(cmd *cobra.Command, file *configFile) (list []effectiveSetting, err error) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if err != nil || !configurable(f) {
			return
		}
		source := ""
		if source, err = fillFlag(cmd, f, file); err == nil {
			list = append(list, effectiveSetting{Name: f.Name, Value: redactAddress(f.Value.String()), Source: source})
		}
	})
	return list, err
}

// configurable reports whether a flag can be set in the environment and in the configuration file. What the operator
// confirms is confirmed once, on the command line.
func configurable(f *pflag.Flag) bool {
	return f.Name != "help" && f.Name != "config" && f.Name != "confirm"
}

func fillFlag(cmd *cobra.Command, f *pflag.Flag, file *configFile) (source string, err error) {
	if f.Changed {
		return "command line", nil
	}
	if source, err := setFromEnvironment(f); source != "" || err != nil {
		return source, err
	}
	if file != nil {
		if value, ok := file.find(settingsWords(cmd), f.Name); ok {
			return value.source(), value.set(f)
		}
	}
	return "default", nil
}

// setFromEnvironment sets a flag from its variable and returns the variable; empty if it is not set or the flag was
// given on the command line.
func setFromEnvironment(f *pflag.Flag) (variable string, err error) {
	variable = environmentVariable(f.Name)
	value, ok := os.LookupEnv(variable)
	if !ok || f.Changed {
		return "", nil
	}
	if err := f.Value.Set(value); err != nil {
		return "", usagef("invalid value%s in %s for --%s: %w", quotedValue(f, value), variable, f.Name, valueError(f, err))
	}
	return variable, nil
}

// environmentVariable is the name of a flag in the environment: --key-limit is ASSAY_KEY_LIMIT.
func environmentVariable(flag string) string {
	return "ASSAY_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// commandWords are the words that name a command, without assay.
func commandWords(cmd *cobra.Command) []string { return strings.Fields(cmd.CommandPath())[1:] }

// settingsOf names, by an annotation, the command whose section of the configuration file another one reads.
const settingsOf = "settings-of"

// settingsWords are the words of the section that a command reads.
func settingsWords(cmd *cobra.Command) []string {
	if other := cmd.Annotations[settingsOf]; other != "" {
		return strings.Fields(other)
	}
	return commandWords(cmd)
}
