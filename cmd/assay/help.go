package main

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpWidth is the width of a terminal that help fits into.
const helpWidth = 80

const helpTemplate = `{{with or .Long .Short}}{{. | trimTrailingWhitespaces}}{{end}}

{{.UsageString}}`

const usageTemplate = `Usage:
  {{.UseLine}}{{if .HasExample}}

Examples:
{{.Example}}{{end}}{{$cmd := .}}{{if .HasAvailableSubCommands}}{{if .Groups}}{{range $group := .Groups}}

{{.Title}}{{range $cmd.Commands}}{{if and (eq .GroupID $group.ID) (or .IsAvailableCommand (eq .Name "help"))}}
  {{rpad .Name .NamePadding}}  {{.Short}}{{end}}{{end}}{{end}}{{else}}

Commands:{{range .Commands}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding}}  {{.Short}}{{end}}{{end}}{{end}}{{end}}{{if .HasAvailableLocalFlags}}

Flags:
{{flagUsages .LocalFlags | trimTrailingWhitespaces}}{{end}}{{if .HasAvailableInheritedFlags}}

Global flags:
{{flagUsages .InheritedFlags | trimTrailingWhitespaces}}{{end}}{{if .HasAvailableSubCommands}}

Run '{{.CommandPath}} COMMAND --help' for more about a command.{{end}}
`

func init() {
	cobra.EnableCommandSorting = false // commands stay in the order of root.go
	cobra.AddTemplateFunc("flagUsages", flagUsages)
}

// setHelp gives a complete tree of commands our layout of help. Flags stay in the order in which they were added.
func setHelp(root *cobra.Command) {
	root.SetHelpTemplate(helpTemplate)
	root.SetUsageTemplate(usageTemplate)
	root.SetVersionTemplate("{{.Version}}\n")
	root.Flags().BoolP("version", "v", false, "print the version")
	eachCommand(root, func(cmd *cobra.Command) {
		cmd.Flags().SortFlags = false
		cmd.Flags().BoolP("help", "h", false, "show this help")
	})
}

// eachCommand calls f with a command and all commands below it.
func eachCommand(cmd *cobra.Command, f func(*cobra.Command)) {
	f(cmd)
	for _, c := range cmd.Commands() {
		eachCommand(c, f)
	}
}

// newHelpCommand is help as a command. Unlike cobra's, it fails on an unknown command.
func newHelpCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]",
		Short:   "Show help for a command",
		Example: "  assay help serve\n  assay help key create",
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			target, rest, err := root.Find(args)
			if err != nil || target.HasParent() && len(rest) > 0 && target.HasAvailableSubCommands() {
				word := args[0]
				if err == nil {
					root, word = target, rest[0]
				}
				return usageError{unknownCommand(root, word)}
			}
			return target.Help()
		},
		ValidArgsFunction: completeCommand,
	}
}

// completeCommand completes the name of a command.
func completeCommand(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	target, _, err := cmd.Root().Find(args)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var found []cobra.Completion
	for _, c := range target.Commands() {
		if c.IsAvailableCommand() && strings.HasPrefix(c.Name(), typed) {
			found = append(found, cobra.CompletionWithDesc(c.Name(), c.Short))
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

// flagUsages lists flags for help: the flag on one line and its text indented below where they do not fit next to each
// other. pflag's own list puts all texts behind the longest flag, which leaves little of 80 columns.
func flagUsages(flags *pflag.FlagSet) string {
	const indent = 28
	var text strings.Builder
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		name, usage := flagNameAndUsage(f)
		lines := wrap(usage, helpWidth-indent)
		if len(name) > indent-2 {
			fmt.Fprintln(&text, name)
			name = ""
		}
		for _, line := range lines {
			fmt.Fprintf(&text, "%-*s%s\n", indent, name, line)
			name = ""
		}
	})
	return text.String()
}

// ordinaryWord is a placeholder that is a word and not an abbreviation such as URL: texts have it in lower case.
var ordinaryWord = regexp.MustCompile(`^[A-Z]{4,}$`)

// flagNameAndUsage is the left and the right column of a flag in help.
func flagNameAndUsage(f *pflag.Flag) (name, usage string) {
	placeholder, usage := pflag.UnquoteUsage(f)
	name = "      --" + f.Name
	if f.Shorthand != "" {
		name = "  -" + f.Shorthand + ", --" + f.Name
	}
	if f.Value.Type() != "bool" && placeholder != "" {
		name += " " + placeholder
		if ordinaryWord.MatchString(placeholder) {
			usage = strings.Replace(usage, placeholder, strings.ToLower(placeholder), 1)
		}
	}
	switch f.DefValue {
	case "", "false", "0", "0s":
	default:
		usage += " (default " + f.DefValue + ")"
	}
	return name, usage
}

// paragraph breaks a text into lines that fit the terminal.
func paragraph(text string) string { return strings.Join(wrap(text, helpWidth), "\n") }

// wrap breaks a text into lines of at most so many columns.
func wrap(text string, width int) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case len([]rune(line))+1+len([]rune(word)) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	return append(lines, line)
}
