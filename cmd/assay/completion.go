package main

import (
	"io"

	"github.com/spf13/cobra"
)

// newCompletionCommand prints completion scripts. It replaces cobra's, whose help has no examples.
func newCompletionCommand(s *streams) *cobra.Command {
	shell := func(name, about, example string, generate func(root *cobra.Command, w io.Writer) error) *cobra.Command {
		return withoutSettings(&cobra.Command{
			Use: name, Short: "Print the completion script for " + about, Example: example, Args: arguments(),
			RunE: func(cmd *cobra.Command, _ []string) error { return generate(cmd.Root(), s.out) },
		})
	}
	return parentCommand(&cobra.Command{
		Use:   "completion COMMAND",
		Short: "Print a shell completion script",
		Long: `Print a script that completes commands, flags and their values in your shell.
Load it in the current session, or install it for all sessions.`,
		Example: `  source <(assay completion bash)
  assay completion zsh > "${fpath[1]}/_assay"`,
	},
		shell("bash", "Bash", `  source <(assay completion bash)
  assay completion bash > ~/.local/share/bash-completion/completions/assay`,
			func(root *cobra.Command, w io.Writer) error { return root.GenBashCompletionV2(w, true) }),
		shell("zsh", "Zsh", `  assay completion zsh > "${fpath[1]}/_assay"`,
			func(root *cobra.Command, w io.Writer) error { return root.GenZshCompletion(w) }),
		shell("fish", "fish", `  assay completion fish > ~/.config/fish/completions/assay.fish`,
			func(root *cobra.Command, w io.Writer) error { return root.GenFishCompletion(w, true) }),
	)
}

// completeArgument completes one positional argument from a fixed set; the others are free text.
func completeArgument(position int, choices ...string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) != position {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return choices, cobra.ShellCompDirectiveNoFileComp
	}
}
