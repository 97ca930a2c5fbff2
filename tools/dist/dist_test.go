package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"debug/buildinfo"
	"encoding/json"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var at = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

const commit = "0123456789abcdef0123456789abcdef01234567"

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// output runs a command and returns what it prints.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// smallProgram is a program that compresses in no time: this test itself would take minutes with the real one.
var smallProgram = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "assay-dist-test-")
	if err != nil {
		return "", err
	}
	source := filepath.Join(folder, "main.go")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		return "", err
	}
	name := filepath.Join(folder, "small")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", name, source)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off", "GO111MODULE=off")
	return name, cmd.Run()
})

func TestMain(m *testing.M) {
	code := m.Run()
	if name, err := smallProgram(); err == nil {
		os.RemoveAll(filepath.Dir(name))
	}
	os.Exit(code)
}

// newBuilder returns a builder for some platforms that has staged a program for each of them.
func newBuilder(t *testing.T, program, version string, list ...platform) *builder {
	t.Helper()
	b := &builder{
		root: filepath.Join("..", ".."), out: t.TempDir(), staged: t.TempDir(), version: version, commit: commit, at: at,
		platforms: list,
	}
	for _, p := range list {
		must(t, copyFile(b.program(p), program, 0o755))
	}
	must(t, b.writeTexts())
	return b
}

func TestVersionOf(t *testing.T) {
	t.Parallel()
	f := func(want string, tags ...string) {
		t.Helper()
		if got := versionOf("0.6.0", tags, at, commit); got != want {
			t.Errorf("with the tags %q it is %q, want %q", tags, got, want)
		}
	}
	f("0.6.0", "v0.6.0")
	f("0.6.0", "other", "v0.6.0")
	f("0.6.0+git20261101120000.0123456789ab")
	f("0.6.0+git20261101120000.0123456789ab", "v0.5.0")
	for _, later := range []string{"0.6.0+git20261101120000.0123456789ab", "0.6.1", "0.7.0"} {
		output(t, "dpkg", "--compare-versions", later+"-1", "gt", "0.6.0-1")
	}
	output(t, "dpkg", "--compare-versions", "0.6.0+git20261101120000.0123456789ab-1", "lt", "0.6.1-1")
}

func TestBuild_FolderInUse(t *testing.T) {
	t.Parallel()
	b := builder{root: filepath.Join("..", ".."), out: t.TempDir(), short: true}
	must(t, os.WriteFile(filepath.Join(b.out, "mine"), nil, 0o600))
	if err := b.build(""); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("the error is %v", err)
	}
}

// Two builds in different folders are equal to the byte, and each file is what its name says.
func TestBuild_Twice(t *testing.T) {
	t.Parallel()
	program, err := smallProgram()
	must(t, err)
	var folders []string
	for range 2 {
		b := newBuilder(t, program, "0.6.0", platforms...)
		for _, step := range []func() error{b.writeArchives, b.writePackages, b.writeMaterials, b.writeImage} {
			must(t, step())
		}
		must(t, writeChecksums(b.out))
		folders = append(folders, b.out)
	}
	sums, err := os.ReadFile(filepath.Join(folders[0], checksums))
	must(t, err)
	again, err := os.ReadFile(filepath.Join(folders[1], checksums))
	must(t, err)
	if !bytes.Equal(sums, again) {
		t.Errorf("the builds differ:\n%s\n%s", sums, again)
	}
	var names []string
	for line := range strings.Lines(string(sums)) {
		names = append(names, strings.Fields(line)[1])
	}
	want := []string{
		"assay-0.6.0-1.aarch64.rpm", "assay-0.6.0-1.x86_64.rpm",
		"assay-0.6.0-darwin-amd64.tar.gz", "assay-0.6.0-darwin-arm64.tar.gz",
		"assay-0.6.0-linux-amd64.tar.gz", "assay-0.6.0-linux-arm64.tar.gz", "assay-0.6.0-oci.tar",
		"assay-0.6.0-windows-amd64.zip", "assay-0.6.0-windows-arm64.zip",
		"assay-0.6.0.cdx.json",
		"assay_0.6.0-1_amd64.deb", "assay_0.6.0-1_arm64.deb",
	}
	if !slices.Equal(names, want) {
		t.Errorf("built %q, want %q", names, want)
	}
	check := exec.Command("sha256sum", "--check", "--strict", "--quiet", checksums)
	check.Dir = folders[0]
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("sha256sum: %v\n%s", err, out)
	}
	checkArchive(t, filepath.Join(folders[0], "assay-0.6.0-darwin-arm64.tar.gz"), "assay-0.6.0-darwin-arm64/assay")
	checkArchive(t, filepath.Join(folders[0], "assay-0.6.0-windows-amd64.zip"), "assay-0.6.0-windows-amd64/assay.exe")
	checkRPM(t, filepath.Join(folders[0], "assay-0.6.0-1.aarch64.rpm"))
}

// checkArchive checks that an archive has everything in a folder of its own, and that no line says who built it, or when.
func checkArchive(t *testing.T, name, program string) {
	t.Helper()
	found := map[string]time.Time{}
	if strings.HasSuffix(name, ".zip") {
		found = zipMembers(t, name)
	} else {
		found = tarMembers(t, name)
	}
	folder := path.Dir(program)
	for _, want := range []string{
		program, folder + "/LICENSE", folder + "/README.md", folder + "/CHANGELOG.md", folder + "/man/assay.1",
		folder + "/man/assay-serve.1", folder + "/completions/assay", folder + "/completions/_assay",
	} {
		if _, ok := found[want]; !ok {
			t.Errorf("%s lacks %s", name, want)
		}
	}
	for member, changed := range found {
		if !strings.HasPrefix(member, folder+"/") || !changed.Equal(at) {
			t.Errorf("%s has %s of %s", name, member, changed)
		}
	}
}

func zipMembers(t *testing.T, name string) map[string]time.Time {
	t.Helper()
	archive, err := zip.OpenReader(name)
	must(t, err)
	defer archive.Close()
	found := map[string]time.Time{}
	for _, file := range archive.File {
		found[file.Name] = file.Modified
	}
	return found
}

func tarMembers(t *testing.T, name string) map[string]time.Time {
	t.Helper()
	file, err := os.Open(name)
	must(t, err)
	defer file.Close()
	packed, err := gzip.NewReader(file)
	must(t, err)
	found := map[string]time.Time{}
	for archive := tar.NewReader(packed); ; {
		header, err := archive.Next()
		if err == io.EOF {
			return found
		}
		must(t, err)
		found[header.Name] = header.ModTime
		if header.Uid != 0 || header.Uname != "root" {
			t.Errorf("%s belongs to %d (%s)", header.Name, header.Uid, header.Uname)
		}
	}
}

// checkRPM lets rpm itself read a package.
func checkRPM(t *testing.T, name string) {
	t.Helper()
	if got := output(t, "rpm", "-K", "--nosignature", name); !strings.Contains(got, "digests OK") {
		t.Errorf("rpm -K: %s", got)
	}
	format := "%{NAME} %{VERSION}-%{RELEASE} %{ARCH} %{LICENSE} %{BUILDHOST} %{BUILDTIME}"
	if got := output(t, "rpm", "-qp", "--qf", format, name); got != "assay 0.6.0-1 aarch64 Apache-2.0 localhost 1793534400" {
		t.Errorf("rpm -q: %s", got)
	}
	if got := output(t, "rpm", "-qpc", name); got != "/etc/assay/assay.toml\n" {
		t.Errorf("its configuration files: %q", got)
	}
	list := strings.Fields(output(t, "rpm", "-qpl", name))
	for _, want := range []string{
		"/usr/bin/assay", "/usr/lib/systemd/system/assay.service", "/usr/share/man/man1/assay-serve.1.gz",
		"/usr/share/zsh/site-functions/_assay", "/usr/share/bash-completion/completions/assay",
	} {
		if !slices.Contains(list, want) {
			t.Errorf("it lacks %s: %q", want, list)
		}
	}
	scripts := output(t, "rpm", "-qp", "--scripts", name)
	for _, want := range []string{"postinstall scriptlet", "preuninstall scriptlet", "postuninstall scriptlet", "useradd --system"} {
		if !strings.Contains(scripts, want) {
			t.Errorf("its scripts lack %q", want)
		}
	}
}

// The bill of materials lists what the program says it is built from, and the packages of the dashboard that readers load.
func TestMaterials(t *testing.T) {
	t.Parallel()
	program := filepath.Join("..", "..", "bin", "assay")
	b := newBuilder(t, program, "0.6.0", platform{runtime.GOOS, runtime.GOARCH})
	must(t, b.writeMaterials())
	text, err := os.ReadFile(filepath.Join(b.out, "assay-0.6.0.cdx.json"))
	must(t, err)
	var bom struct {
		BOMFormat, SpecVersion string
		Components             []struct{ Name, Version, Purl string }
	}
	must(t, json.Unmarshal(text, &bom))
	if bom.BOMFormat != "CycloneDX" || bom.SpecVersion == "" {
		t.Errorf("it begins with %.80s", text)
	}
	found := map[string]bool{}
	for _, c := range bom.Components {
		found[c.Purl] = true
	}
	info, err := buildinfo.ReadFile(program)
	must(t, err)
	for _, module := range info.Deps {
		if want := "pkg:golang/" + module.Path + "@" + module.Version; !found[want] {
			t.Errorf("it lacks %s", want)
		}
	}
	packages := slices.Collect(maps.Keys(found))
	for _, want := range []string{"pkg:npm/uplot@", "pkg:npm/svelte@", "pkg:npm/%40fontsource-variable/inter@", "pkg:golang/std@"} {
		if !slices.ContainsFunc(packages, func(purl string) bool { return strings.HasPrefix(purl, want) }) {
			t.Errorf("it lacks %s", want)
		}
	}
	if slices.ContainsFunc(packages, func(purl string) bool { return strings.HasPrefix(purl, "pkg:npm/eslint") }) {
		t.Error("it lists tools that no one loads")
	}
}
