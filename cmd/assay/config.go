package main

import (
	"strings"

	"github.com/spf13/cobra"
)

func newConfigCommand(s *streams) *cobra.Command {
	return parentCommand(&cobra.Command{
		Use:   "config COMMAND",
		Short: "Check the configuration file and the settings in effect",
		Long: `Check the configuration file and the settings in effect.

The file is TOML; name it in --config or ASSAY_CONFIG. Its keys are the names of
flags. A key at the top applies to every command with that flag, a key in a
section to that command. The command line wins over the environment, and the
environment over the file:

  dir = "/var/lib/assay"

  [serve]
  addr = "0.0.0.0:8080"
  trusted-proxies = ["10.0.0.0/8"]

  [key.create]
  tier = "premium"`,
		Example: `  assay config check --config assay.toml`,
	}, newConfigCheckCommand(s))
}

func newConfigCheckCommand(s *streams) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check [COMMAND]",
		Short: "Check all settings and show those of a command (default: serve)",
		Long: `Check the configuration file and the environment, and show the settings of a
command, serve by default: their values and where each comes from. Passwords
and options in addresses are hidden. The exit code is 2 if a setting is wrong.`,
		Example: `  assay config check --config assay.toml
  ASSAY_CONFIG=assay.toml assay config check key create --json`,
		ValidArgsFunction: completeCommand,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{"serve"}
			}
			list, err := checkSettings(cmd.Flag("config").Value.String(), args)
			if err != nil {
				return err
			}
			return printList(s, asJSON, list, []string{"SETTING", "VALUE", "FROM"}, effectiveSetting.cells)
		},
	}
	addJSONFlag(cmd, &asJSON)
	return cmd
}

// checkSettings is what the settings of a command would be if it ran now without flags.
func checkSettings(configName string, command []string) ([]effectiveSetting, error) {
	root := newRootCommand(&streams{})
	cmd, rest, err := root.Find(command)
	if err != nil || len(rest) > 0 {
		return nil, usagef("unknown command %q", strings.Join(command, " "))
	}
	var file *configFile
	if configName != "" {
		if file, err = readConfigFile(configName); err != nil {
			return nil, err
		}
	}
	cmd.LocalFlags() // adds the flags that all commands share to those of the command
	return fillFlags(cmd, file)
}

func (e effectiveSetting) cells() []string {
	value := e.Value
	if value == "" {
		value = "-"
	}
	return []string{e.Name, value, e.Source}
}
