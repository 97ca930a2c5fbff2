package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/assaydata/assay/internal/ingest"
)

func newTemplateCommand(s *streams) *cobra.Command {
	format := "csv"
	cmd := &cobra.Command{
		Use:   "template FAMILY",
		Short: "Print an example file of a data family",
		Long: paragraph(`Print an example file of a data family to standard output. It can be imported as it is. The
families are ` + strings.Join(familyNames(), ", ") + `. 'assay import FAMILY --help' explains the columns.`),
		Example: `  assay template utilization > readings.csv
  assay template transactions --format ndjson`,
		Args:              arguments("FAMILY"),
		ValidArgsFunction: completeArgument(0, familyNames()...),
		RunE: func(_ *cobra.Command, args []string) error {
			family, known := ingest.FindFamily(args[0])
			switch {
			case !known:
				return usagef("unknown family %q: must be one of %s", args[0], strings.Join(familyNames(), ", "))
			case format == "ndjson":
				return family.WriteNDJSON(s.out, family.Example...)
			}
			return family.WriteCSV(s.out, append([][]string{family.Names()}, family.Example...)...)
		},
	}
	addChoiceFlag(cmd, &format, "format", "`FORMAT` of the example: csv or ndjson", "csv", "ndjson")
	return cmd
}

// familyNames are the data families that can be imported, in the order of help.
func familyNames() []string {
	names := make([]string, len(ingest.Families))
	for i, f := range ingest.Families {
		names[i] = f.Name
	}
	return names
}
