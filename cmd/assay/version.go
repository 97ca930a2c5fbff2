package main

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/api"
	"github.com/assaydata/assay/internal/store"
)

// programVersion says exactly which program this is.
type programVersion struct {
	Release  string `json:"version"`
	Commit   string `json:"commit"`   // empty where the program was not built in a git checkout
	Modified bool   `json:"modified"` // whether the checkout had changes that were not committed
	Go       string `json:"go"`
	Schema   int    `json:"schema"` // of the databases it uses
}

// shortCommit is how many characters of a commit are shown.
const shortCommit = 12

// newVersion reads the version from the program itself: the release comes from CHANGELOG.md, the rest from the Go
// toolchain. A program built by go build, go install or make build knows the same.
func newVersion() programVersion {
	v := programVersion{Release: assay.Release(), Schema: store.ProgramSchema()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	v.Go = info.GoVersion
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			v.Commit = setting.Value[:min(shortCommit, len(setting.Value))]
		case "vcs.modified":
			v.Modified = setting.Value == "true"
		}
	}
	return v
}

// commit is the commit, marked if the program was built with changes to it.
func (v programVersion) commit() string {
	if v.Modified {
		return v.Commit + "-dirty"
	}
	return v.Commit
}

// program is what /health shows.
func (v programVersion) program() api.Program {
	return api.Program{Release: v.Release, Commit: v.commit(), Schema: v.Schema}
}

// String is the version in one line.
func (v programVersion) String() string {
	commit := "commit unknown"
	if v.Commit != "" {
		commit = "commit " + v.commit()
	}
	return fmt.Sprintf("assay %s (%s, %s, schema %d)", v.Release, commit, v.Go, v.Schema)
}

func newVersionCommand(s *streams) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the release, commit, Go version and schema",
		Example: "  assay version\n  assay version --json",
		Args:    arguments(),
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return printJSON(s.out, newVersion())
			}
			fmt.Fprintln(s.out, newVersion())
			return nil
		},
	}
	addJSONFlag(cmd, &asJSON)
	return withoutSettings(cmd)
}
