package scripts_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// npmFolders are the folders with npm packages.
var npmFolders = []string{"../ui", "../sdk/typescript", "../tools/duckdb", "../tools/generators", "../tools/lint", "../tools/mcp", "../tools/peers/express"}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(readFile(t, path)), into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// commandFiles are the files whose commands install or run tools.
func commandFiles(t *testing.T) []string {
	t.Helper()
	files := []string{"../Makefile", "../.ci/run"}
	for _, folder := range npmFolders {
		files = append(files, folder+"/package.json")
	}
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if filepath.Ext(entry.Name()) == "" {
			files = append(files, entry.Name())
		}
	}
	return files
}

// No package gets to run code of its own when it is installed: npm follows the lockfile, and runs no install scripts.
func TestSupplyChain_InstallScriptsDisabled(t *testing.T) {
	t.Parallel()
	install := regexp.MustCompile(`\bnpm (install|i|add|update|rebuild|ci)\b.*`)
	installs := 0
	for _, file := range commandFiles(t) {
		for _, command := range install.FindAllString(readFile(t, file), -1) {
			installs++
			if !strings.HasPrefix(command, "npm ci ") || !strings.Contains(command, "--ignore-scripts") {
				t.Errorf("%s: %q: want npm ci --ignore-scripts", file, command)
			}
		}
	}
	if installs == 0 {
		t.Error("no command installs npm packages: the test looks in the wrong files")
	}
	for _, folder := range npmFolders {
		if !strings.Contains(readFile(t, folder+"/.npmrc"), "ignore-scripts=true\n") {
			t.Errorf("%s/.npmrc: want ignore-scripts=true, for those who call npm themselves", folder)
		}
		// With it, npm does not run the scripts around another one either.
		var project struct{ Scripts map[string]string }
		readJSON(t, folder+"/package.json", &project)
		for name := range project.Scripts {
			for other := range project.Scripts {
				if name == "pre"+other || name == "post"+other {
					t.Errorf("%s/package.json: npm run %s does not run %s", folder, other, name)
				}
			}
		}
	}
}

// lockedPackage is an entry of a lockfile.
type lockedPackage struct {
	Version              string
	Integrity            string
	OS, CPU, Libc        []string
	OptionalDependencies map[string]string
}

func readLockfile(t *testing.T, folder string) map[string]lockedPackage {
	t.Helper()
	var lockfile struct{ Packages map[string]lockedPackage }
	readJSON(t, folder+"/package-lock.json", &lockfile)
	if len(lockfile.Packages) < 2 {
		t.Fatalf("%s/package-lock.json names no packages", folder)
	}
	return lockfile.Packages
}

// fits reports whether a package may be installed on a platform.
func (p lockedPackage) fits(os, cpu, libc string) bool {
	has := func(list []string, word string) bool {
		return len(list) == 0 || word == "" || slices.Contains(list, word)
	}
	return has(p.OS, os) && has(p.CPU, cpu) && has(p.Libc, libc)
}

// The lockfile has the hash of every package, also of those that only other systems install: otherwise npm ci would
// refuse to work there, or would install what no one has seen.
func TestSupplyChain_LockfilesAreComplete(t *testing.T) {
	t.Parallel()
	for _, folder := range npmFolders {
		packages := readLockfile(t, folder)
		for name, p := range packages {
			if name != "" && !strings.HasPrefix(p.Integrity, "sha512-") {
				t.Errorf("%s: %s has no hash", folder, name)
			}
			var platforms []lockedPackage
			for optional, version := range p.OptionalDependencies {
				found, ok := packages[name+"/node_modules/"+optional]
				if !ok {
					found, ok = packages["node_modules/"+optional]
				}
				if !ok {
					t.Errorf("%s: %s may need %s %s, which is not in the lockfile", folder, name, optional, version)
				}
				platforms = append(platforms, found)
			}
			checkPlatforms(t, folder+": "+name, platforms)
		}
	}
}

// checkPlatforms checks that a package with a binary for Linux on x64 has one for every other supported platform.
func checkPlatforms(t *testing.T, name string, optional []lockedPackage) {
	t.Helper()
	has := func(os, cpu, libc string) bool {
		return slices.ContainsFunc(optional, func(p lockedPackage) bool { return p.fits(os, cpu, libc) })
	}
	if !has("linux", "x64", "glibc") {
		return
	}
	for _, platform := range [][3]string{
		{"linux", "x64", "musl"},
		{"linux", "arm64", "glibc"},
		{"linux", "arm64", "musl"},
		{"darwin", "x64", ""},
		{"darwin", "arm64", ""},
		{"win32", "x64", ""},
	} {
		if !has(platform[0], platform[1], platform[2]) {
			t.Errorf("%s has no package for %s", name, strings.Join(platform[:], " "))
		}
	}
}

// Every tool and package is one version, that a change of the repository names.
func TestSupplyChain_VersionsArePinned(t *testing.T) {
	t.Parallel()
	exact := regexp.MustCompile(`^(\$[a-z-]+|[0-9]+\.[0-9]+\.[0-9]+(-[0-9a-z.]+)?)$`)
	for _, folder := range npmFolders {
		var project struct{ Dependencies, DevDependencies, OptionalDependencies map[string]string }
		readJSON(t, folder+"/package.json", &project)
		locked := readLockfile(t, folder)
		lists := []map[string]string{project.Dependencies, project.DevDependencies, project.OptionalDependencies}
		for _, list := range lists {
			for name, version := range list {
				if !exact.MatchString(version) {
					t.Errorf("%s/package.json: %s is %q, want one version", folder, name, version)
				}
				if got := locked["node_modules/"+name].Version; got != version {
					t.Errorf("%s/package-lock.json: %s is %q, want %q", folder, name, got, version)
				}
			}
		}
	}
	floating := regexp.MustCompile(`@latest\b|\bnpx\b|\bgo install\b|\bnpm exec\b|curl [^\n]*\| *(ba)?sh`)
	for _, file := range commandFiles(t) {
		if found := floating.FindString(readFile(t, file)); found != "" {
			t.Errorf("%s has %q: name the tool in a go.mod or package.json with its version", file, found)
		}
	}
	for module, tool := range map[string]string{
		"../tools/lint/go.mod": "github.com/golangci/golangci-lint/v2", "../tools/vuln/go.mod": "golang.org/x/vuln",
		"../tools/tessera/go.mod":        "github.com/transparency-dev/tessera",
		"../tools/nats/go.mod":           "github.com/nats-io/nats-server/v2",
		"../tools/peers/victoria/go.mod": "github.com/VictoriaMetrics/VictoriaMetrics",
	} {
		text := readFile(t, module)
		if !regexp.MustCompile(`(?m)^(tool |\t)`+regexp.QuoteMeta(tool)).MatchString(text) ||
			!regexp.MustCompile(regexp.QuoteMeta(tool)+` v[0-9]+\.[0-9]+\.[0-9]+`).MatchString(text) {
			t.Errorf("%s does not pin %s", module, tool)
		}
	}
}

// vuln runs scripts/vuln with tools that behave as told.
func vuln(t *testing.T, govulncheck, npm string) (output string, status int) {
	t.Helper()
	tools := t.TempDir()
	for name, script := range map[string]string{"govulncheck": govulncheck, "npm": npm} {
		if err := os.WriteFile(filepath.Join(tools, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return runWith(t, []string{
		"GOVULNCHECK=" + filepath.Join(tools, "govulncheck"), "PATH=" + tools + ":" + os.Getenv("PATH"),
	}, nil, "vuln", ".")
}

func TestVuln(t *testing.T) {
	t.Parallel()
	const (
		clean   = `echo "No vulnerabilities found."`
		report  = `echo '{ "auditReportVersion": 2, "vulnerabilities": {} }'`
		noDB    = `echo 'govulncheck: fetching vulnerabilities: Get "https://vuln.go.dev/index": no such host' >&2; exit 1`
		noAudit = `echo '{'; echo '  "message": "405 Method Not Allowed - POST https://registry.example/bulk",'; echo '}'; exit 1`
	)
	f := func(name, govulncheck, npm string, want int, wanted ...string) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			output, status := vuln(t, govulncheck, npm)
			wantOutput(t, output, wanted...)
			if status != want {
				t.Errorf("status %d, want %d:\n%s", status, want, output)
			}
		})
	}
	f("passes", clean, report, 0, "vuln: no known vulnerability\n")
	f("fails on a vulnerable Go module", `echo "Vulnerability #1: GO-2026-0001"; exit 3`, report, 1,
		"GO-2026-0001", "vuln: VULNERABLE: see the output above of govulncheck\n")
	f("fails on a vulnerable npm package", clean, `echo '{ "auditReportVersion": 2, "name": "left-pad" }'; exit 1`, 1,
		"left-pad", "vuln: VULNERABLE: see the output above of npm audit in .\n")
	f("says what the network does not allow", noDB, noAudit, 0,
		`vuln: NOT CHECKED: govulncheck: the database https://vuln.go.dev cannot be reached: Get "https://vuln.go.dev/index": no such host`,
		"vuln: NOT CHECKED: npm audit in .: the registry gives no report: 405 Method Not Allowed")
	f("fails on one although the other cannot be checked", noDB, `echo '{ "auditReportVersion": 2 }'; exit 1`, 1,
		"NOT CHECKED: govulncheck", "VULNERABLE: see the output above of npm audit")
	f("fails if govulncheck fails otherwise", `echo "no go.mod file" >&2; exit 1`, report, 1, "vuln: govulncheck failed with status 1")
}
