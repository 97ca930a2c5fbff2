package main

import (
	"github.com/spf13/cobra"
)

// Groups of commands in the overview, in its order.
const (
	groupStart   = "start"
	groupPublish = "publish"
	groupProve   = "prove"
	groupAccess  = "access"
	groupOperate = "operate"
)

var commandGroups = []*cobra.Group{
	{ID: groupStart, Title: "Get started:"},
	{ID: groupPublish, Title: "Publish:"},
	{ID: groupProve, Title: "Prove:"},
	{ID: groupAccess, Title: "Access:"},
	{ID: groupOperate, Title: "Operate:"},
}

// newRootCommand builds the command tree. Commands are listed in the order of the overview.
func newRootCommand(s *streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "assay COMMAND",
		Short: "Publish compute price indices and serve them over HTTP",
		Long: `Assay publishes compute price indices and serves them over HTTP.

Set any flag on the command line, in the environment (--addr is ASSAY_ADDR) or
in a configuration file (--config). The command line wins over the environment,
and the environment over the file.

Exit codes:
  0  success
  1  the command failed
  2  the command line or a setting is wrong
  3  an import finished, but rejected some rows`,
		Example: `  assay demo
  assay init --dir data
  assay import transactions --dir data trades.csv
  assay publish --dir data
  assay serve --dir data --addr 0.0.0.0:8080`,
		Version:           newVersion().String(),
		SilenceErrors:     true, // reportError prints them
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true}, // newCompletionCommand has examples
	}
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	root.SetFlagErrorFunc(flagError)
	settings := &settings{}
	root.PersistentFlags().StringVar(&settings.file, "config", "", "configuration `FILE` (TOML)")
	root.PersistentFlags().BoolVarP(&s.quiet, "quiet", "q", false, "print only errors and requested output")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return settings.apply(cmd) }
	root.AddGroup(commandGroups...)
	addGroup(root, groupStart, newDemoCommand(s), newInitCommand(s), newServeCommand(s), newMCPCommand(s),
		newDownloadCommand(s))
	addGroup(root, groupPublish, newImportCommand(s), newIngestCommand(s), newTemplateCommand(s), newCatalogCommand(s),
		newMethodologyCommand(s), newSourceCommand(s), newPublishCommand(s), newLateCommand(s), newConflictsCommand(s),
		newTransactionCommand(s), newRestateCommand(s), newBacktestCommand(s), newNoticeCommand(s),
		newComplaintCommand(s))
	addGroup(root, groupProve, newVerifyCommand(s), newExportCommand(s), newProveMineCommand(s), newSigningKeyCommand(s),
		newWitnessCommand(s), newMonitorCommand(s))
	addGroup(root, groupAccess, newKeyCommand(s), newIngestKeyCommand(s), newAccountCommand(s), newOrgCommand(s),
		newGrantCommand(s), newUsageCommand(s), newAuditLogCommand(s))
	addGroup(root, groupOperate, newDBCommand(s), newBackupCommand(s), newMigrateCommand(s), newConfigCommand(s),
		newDoctorCommand(s), newCompletionCommand(s), newManCommand(s), newVersionCommand(s))
	help := withoutSettings(newHelpCommand())
	addGroup(root, groupOperate, help)
	root.SetHelpCommand(help)
	addRenamedCommands(root, s)
	setHelp(root)
	refuseRepeatedFlags(root)
	return root
}

func addGroup(root *cobra.Command, group string, commands ...*cobra.Command) {
	for _, c := range commands {
		c.GroupID = group
		root.AddCommand(c)
	}
}

// parentCommand completes a command that does nothing but hold others.
func parentCommand(parent *cobra.Command, children ...*cobra.Command) *cobra.Command {
	parent.Args = cobra.ArbitraryArgs // needCommand has a better message
	if parent.RunE == nil {
		parent.RunE = needCommand
	}
	parent.AddCommand(children...)
	return parent
}
