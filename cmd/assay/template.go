package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/assaydata/assay/internal/ingest"
)

var templateCommand = &command{
	name: "template", arguments: "FAMILY [flags]", summary: "write an example file of a family of data",
	details: `The example goes to standard output, as CSV or, with --format ndjson, as NDJSON. It can be imported as it is:

  assay template utilization > readings.csv
  assay import utilization --dir try readings.csv

The families are ` + families() + `; assay help import explains their columns.`,
	run: runTemplate,
}

func runTemplate(_ context.Context, c *command, args []string, s streams) error {
	family := ""
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		family, args = args[0], args[1:]
	}
	flags := newFlags(c, s)
	format := flags.String("format", "csv", "`FORM` of the example: csv or ndjson")
	if err := parse(flags, args); err != nil {
		return err
	}
	if family == "" && flags.NArg() == 1 {
		family = flags.Arg(0)
	} else if err := noArguments(flags); err != nil {
		return err
	}
	schema, known := ingest.FindFamily(family)
	switch {
	case family == "":
		return usageError{errors.New("name a family; there are " + families())}
	case !known:
		return usageError{fmt.Errorf("there is no family %q; there are %s", family, families())}
	case *format == "csv":
		return schema.WriteCSV(s.out)
	case *format == "ndjson":
		return schema.WriteNDJSON(s.out)
	}
	return usageError{fmt.Errorf("invalid value %q for flag --format: allowed are csv and ndjson", *format)}
}
