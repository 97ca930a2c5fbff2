// Command dist builds what a release consists of, in a folder:
//
//   - archives with the program for Linux, macOS and Windows,
//   - packages for Debian and for distributions with rpm, with a hardened systemd service,
//   - a container image, as an archive in the OCI layout,
//   - a bill of materials, and the checksums of all of it.
//
// Two builds of a commit are equal to the byte, on any machine and in any folder, so that anyone can check what they
// downloaded against the source. All times are therefore that of the commit, owners are root, and lists are sorted.
//
// It is a module of its own, because the libraries that write packages and images are many, and no part of the program.
//
//	make dist         # everything, into dist
//	make dist-short   # for this machine only, from the program that is already built; tests the installation
package main

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	var b builder
	var version string
	flag.StringVar(&b.root, "root", "../..", "`FOLDER` of the repository")
	flag.StringVar(&b.out, "out", "dist", "`FOLDER` to write to; it must not exist or be empty")
	flag.BoolVar(&b.short, "short", false, "build for this machine only, from bin/assay")
	flag.StringVar(&version, "version", "", "`VERSION` of the packages (default: that of the program)")
	flag.Parse()
	if err := b.build(version); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

// platform is an operating system and an architecture, as Go names them.
type platform struct{ os, arch string }

var platforms = []platform{
	{"linux", "amd64"}, {"linux", "arm64"},
	{"darwin", "amd64"}, {"darwin", "arm64"},
	{"windows", "amd64"}, {"windows", "arm64"},
}

// file is the name of the program there.
func (p platform) file() string {
	if p.os == "windows" {
		return "assay.exe"
	}
	return "assay"
}

// builder builds a release.
type builder struct {
	root, out string
	short     bool

	version   string
	commit    string
	at        time.Time // of the commit
	staged    string    // the folder of what is made on the way
	platforms []platform
}

// program is where the program for a platform is.
func (b *builder) program(p platform) string {
	return filepath.Join(b.staged, p.os+"-"+p.arch, p.file())
}

func (b *builder) build(version string) (err error) {
	if entries, err := os.ReadDir(b.out); err == nil && len(entries) > 0 {
		return fmt.Errorf("%s is not empty: remove it, or choose another folder with -out", b.out)
	}
	if err := os.MkdirAll(b.out, 0o755); err != nil {
		return err
	}
	if b.staged, err = os.MkdirTemp("", "assay-dist-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.staged)
	b.platforms = platforms
	if b.short {
		b.platforms = []platform{{"linux", runtime.GOARCH}}
	}
	for _, step := range []func() error{
		b.identify, b.compile, b.writeTexts, b.writeArchives, b.writePackages, b.writeMaterials, b.writeImage,
	} {
		if err := step(); err != nil {
			return err
		}
		if version != "" {
			b.version = version
		}
	}
	return writeChecksums(b.out)
}

// identify finds out what is built, from the program that make has built for this machine.
func (b *builder) identify() error {
	out, err := exec.Command(filepath.Join(b.root, "bin", "assay"), "version", "--json").Output()
	if err != nil {
		return fmt.Errorf("bin/assay version: %w (build it with `make build`)", err)
	}
	var built struct {
		Version, Commit string
		Modified        bool
	}
	if err := json.Unmarshal(out, &built); err != nil {
		return fmt.Errorf("bin/assay version: %w", err)
	}
	if built.Modified && !b.short {
		return fmt.Errorf("commit %s has local changes: commit or stash them, because no one could build this again", built.Commit)
	}
	seconds, err := b.git("log", "-1", "--format=%ct")
	if err != nil {
		return err
	}
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return fmt.Errorf("the time of the commit: %w", err)
	}
	b.at = time.Unix(unix, 0).UTC()
	if b.commit, err = b.git("rev-parse", "HEAD"); err != nil {
		return err
	}
	if !strings.HasPrefix(b.commit, built.Commit) && !b.short {
		return fmt.Errorf("bin/assay is of commit %s, the repository at %.12s: run `make build`", built.Commit, b.commit)
	}
	tags, err := b.git("tag", "--points-at", "HEAD")
	if err != nil {
		return err
	}
	b.version = versionOf(built.Version, strings.Fields(tags), b.at, b.commit)
	return nil
}

// versionOf is the release, if the commit has its tag. Any other commit is later than the newest release, and before the
// next one: package managers sort "0.5.0+git…" so.
func versionOf(release string, tags []string, at time.Time, commit string) string {
	if slices.Contains(tags, "v"+release) {
		return release
	}
	return fmt.Sprintf("%s+git%s.%.12s", release, at.Format("20060102150405"), commit)
}

func (b *builder) git(args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = b.root
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}

// compile builds the program for each platform. The folder and the time of a build leave no trace in it.
func (b *builder) compile() error {
	for _, p := range b.platforms {
		name := b.program(p)
		if b.short {
			if err := copyFile(name, filepath.Join(b.root, "bin", "assay"), 0o755); err != nil {
				return err
			}
			continue
		}
		fmt.Printf("dist: building for %s/%s\n", p.os, p.arch)
		target, err := filepath.Abs(name)
		if err != nil {
			return err
		}
		cmd := exec.Command(cmp.Or(os.Getenv("GO"), "go"), "build", "-trimpath", "-buildvcs=true", "-ldflags=-s -w", "-o", target, "./cmd/assay")
		cmd.Dir = b.root
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.os, "GOARCH="+p.arch, "GOFLAGS=-mod=readonly",
			"GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=")
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("building for %s/%s: %w", p.os, p.arch, err)
		}
	}
	return nil
}

// shells are those that the program writes completions for, and where their files belong.
var shells = []struct{ name, file string }{
	{"bash", "assay"}, {"zsh", "_assay"}, {"fish", "assay.fish"},
}

// writeTexts stages the manual pages and the completions, which the program writes itself.
func (b *builder) writeTexts() error {
	program, err := filepath.Abs(filepath.Join(b.root, "bin", "assay"))
	if err != nil {
		return err
	}
	man := exec.Command(program, "man", "--out", filepath.Join(b.staged, "man"))
	man.Env = append(os.Environ(), "SOURCE_DATE_EPOCH="+strconv.FormatInt(b.at.Unix(), 10))
	if out, err := man.CombinedOutput(); err != nil {
		return fmt.Errorf("assay man: %w: %s", err, out)
	}
	for _, shell := range shells {
		text, err := exec.Command(program, "completion", shell.name).Output()
		if err != nil {
			return fmt.Errorf("assay completion %s: %w", shell.name, err)
		}
		if err := writeFile(filepath.Join(b.staged, "completions", shell.file), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
