package process

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

// ParseFlags parses the command line of a tool that takes only flags. The flag -assay has filled in the program that
// the tool runs; its path becomes absolute, because it runs in other folders. made is the target of make that builds
// it.
func ParseFlags(flags *flag.FlagSet, args []string, program *string, made string) error {
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	path, err := filepath.Abs(*program)
	if err == nil {
		*program = path
		_, err = os.Stat(path)
	}
	if err != nil {
		return fmt.Errorf("-assay: %w; run make %s", err, made)
	}
	return nil
}
