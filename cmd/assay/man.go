package main

import (
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/assaydata/assay"
)

func newManCommand(s *streams) *cobra.Command {
	var folder string
	cmd := &cobra.Command{
		Use:   "man",
		Short: "Write manual pages",
		Long: `Write a manual page for every command to a folder, in section 1. Set
SOURCE_DATE_EPOCH for pages with a fixed date.`,
		Example: `  assay man --out ~/.local/share/man/man1
  man assay-serve`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if folder == "" {
				return usagef("--out is required")
			}
			return writeManPages(cmd.Root(), folder, s)
		},
	}
	cmd.Flags().StringVar(&folder, "out", "", "`FOLDER` to write to, created if missing")
	return withoutSettings(cmd)
}

func writeManPages(root *cobra.Command, folder string, s *streams) error {
	err := os.MkdirAll(folder, 0o755) //nolint:gosec // manual pages are for every user
	if err != nil {
		return err
	}
	root.DisableAutoGenTag = true
	header := &doc.GenManHeader{Section: "1", Source: "Assay " + assay.Release(), Manual: "Assay"}
	if err := doc.GenManTree(root, header, folder); err != nil {
		return err
	}
	s.say("wrote manual pages to %s", folder)
	return nil
}
