package assay

import (
	"regexp"
	"testing"
)

func TestRelease(t *testing.T) {
	t.Parallel()
	if release := Release(); !regexp.MustCompile(`^\d+\.\d+\.\d+$`).MatchString(release) || release == "0.0.0" {
		t.Errorf("the release is %q", release)
	}
	f := func(text, want string) {
		t.Helper()
		if got := newestRelease(text); got != want {
			t.Errorf("the release of %q is %q, want %s", text, got, want)
		}
	}
	f("# Changelog\n\n## [Unreleased]\n\n## [1.2.3] - 2026-11-15\n\n## [1.2.2] - 2026-11-01\n", "1.2.3")
	f("## 0.5.0 (unreleased)\n", "0.5.0")
	f("# Changelog\n\n### 1.2.3\n", "0.0.0")
}
