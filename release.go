package assay

import (
	_ "embed"
	"regexp"
	"strings"
)

//go:embed CHANGELOG.md
var changelog string

// releaseHeading is a heading of CHANGELOG.md that names a release.
var releaseHeading = regexp.MustCompile(`^## \[?v?(\d+\.\d+\.\d+)\b`)

// Release is the newest release that CHANGELOG.md names. The changelog is the one place that states it, so that every
// way to build the program gives the same number.
func Release() string { return newestRelease(changelog) }

// newestRelease goes through the lines itself, because every command asks for the release as it starts, and a regular
// expression over all of it would take half a millisecond.
func newestRelease(changelog string) string {
	for line := range strings.Lines(changelog) {
		if !strings.HasPrefix(line, "## ") {
			continue
		}
		if heading := releaseHeading.FindStringSubmatch(line); heading != nil {
			return heading[1]
		}
	}
	return "0.0.0"
}
