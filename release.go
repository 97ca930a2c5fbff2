package assay

import (
	_ "embed"
	"regexp"
)

//go:embed CHANGELOG.md
var changelog string

// releaseHeading is a heading of CHANGELOG.md that names a release.
var releaseHeading = regexp.MustCompile(`(?m)^## \[?v?(\d+\.\d+\.\d+)\b`)

// Release is the newest release that CHANGELOG.md names. The changelog is the one place that states it, so that every
// way to build the program gives the same number.
func Release() string {
	heading := releaseHeading.FindStringSubmatch(changelog)
	if heading == nil {
		return "0.0.0"
	}
	return heading[1]
}
