package main

import (
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	"github.com/goreleaser/nfpm/v2/rpm"
)

// packagers are the kinds of packages.
var packagers = []struct {
	kind string
	nfpm.Packager
}{{"deb", deb.Default}, {"rpm", rpm.DefaultRPM}}

// writePackages writes a package of each kind for each architecture of Linux.
func (b *builder) writePackages() error {
	for _, p := range b.platforms {
		if p.os != "linux" {
			continue
		}
		for _, packager := range packagers {
			if _, err := b.writePackage(p, packager.kind, packager); err != nil {
				return fmt.Errorf("%s package for %s: %w", packager.kind, p.arch, err)
			}
		}
	}
	return nil
}

// writePackage writes a package and returns the name of its file.
func (b *builder) writePackage(p platform, kind string, packager nfpm.Packager) (string, error) {
	info, err := b.packageInfo(p, kind)
	if err != nil {
		return "", err
	}
	if err := nfpm.PrepareForPackager(info, kind); err != nil {
		return "", err
	}
	name := filepath.Join(b.out, packager.ConventionalFileName(info))
	return name, create(name, func(w io.Writer) error { return packager.Package(info, w) })
}

// packageInfo describes a package. The distributions differ in where completions for zsh belong and in who adds users.
func (b *builder) packageInfo(p platform, kind string) (*nfpm.Info, error) {
	contents, err := b.packageContents(p, kind)
	if err != nil {
		return nil, err
	}
	script := func(name string) string { return filepath.Join(b.root, "deploy", "package", name) }
	info := &nfpm.Info{
		Name: "assay", Arch: p.arch, Platform: "linux", Version: b.version, VersionSchema: "none", Release: "1",
		Section: "net", Priority: "optional",
		Maintainer: "The Assay maintainers <maintainers@assay.invalid>", Vendor: "Assay",
		Homepage: "https://github.com/assaydata/assay", License: "Apache-2.0",
		Description: "market-data server for compute\n" +
			"Assay turns verified GPU rental transactions, memory readings, token prices and\n" +
			"usage into published indices, and serves them as a read-only REST API.",
		MTime: b.at,
		Overridables: nfpm.Overridables{
			Depends:  []string{"passwd"},
			Umask:    0o022,
			Contents: contents,
			Scripts: nfpm.Scripts{
				PostInstall: script("postinstall.sh"), PreRemove: script("preremove.sh"), PostRemove: script("postremove.sh"),
			},
			Deb: nfpm.Deb{Compression: "zstd"},
			RPM: nfpm.RPM{
				Compression: "zstd", BuildHost: "localhost", Group: "System Environment/Daemons",
				Summary: "market-data server for compute",
			},
		},
	}
	if kind == "rpm" {
		info.Depends = []string{"shadow-utils"}
	}
	return nfpm.WithDefaults(info), nil
}

func (b *builder) packageContents(p platform, kind string) (files.Contents, error) {
	var list files.Contents
	add := func(destination, source string, mode os.FileMode, kind string) {
		list = append(list, &files.Content{
			Destination: destination, Source: source, Type: kind,
			FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: mode, MTime: b.at},
		})
	}
	deploy := filepath.Join(b.root, "deploy", "package")
	add("/usr/bin/assay", b.program(p), 0o755, files.TypeFile)
	add("/usr/lib/systemd/system/assay.service", filepath.Join(deploy, "assay.service"), 0o644, files.TypeFile)
	add("/etc/assay/assay.toml", filepath.Join(deploy, "assay.toml"), 0o644, files.TypeConfigNoReplace)
	add("/usr/share/doc/assay/copyright", filepath.Join(b.root, "LICENSE"), 0o644, files.TypeFile)
	add("/usr/share/doc/assay/README.md", filepath.Join(b.root, "README.md"), 0o644, files.TypeFile)
	add("/usr/share/doc/assay/CHANGELOG.md", filepath.Join(b.root, "CHANGELOG.md"), 0o644, files.TypeFile)
	folders := map[string]string{
		"bash": "/usr/share/bash-completion/completions", "fish": "/usr/share/fish/vendor_completions.d",
		"zsh": "/usr/share/zsh/vendor-completions",
	}
	if kind == "rpm" {
		folders["zsh"] = "/usr/share/zsh/site-functions"
	}
	for _, shell := range shells {
		add(path.Join(folders[shell.name], shell.file), filepath.Join(b.staged, "completions", shell.file), 0o644, files.TypeFile)
	}
	pages, err := filesIn(filepath.Join(b.staged, "man"))
	if err != nil {
		return nil, err
	}
	for _, page := range pages {
		text, err := os.ReadFile(filepath.Join(b.staged, "man", page))
		if err != nil {
			return nil, err
		}
		if text, err = compressed(text); err != nil {
			return nil, err
		}
		staged := filepath.Join(b.staged, "man.gz", page+".gz")
		if err := writeFile(staged, text, 0o644); err != nil {
			return nil, err
		}
		add("/usr/share/man/man1/"+page+".gz", staged, 0o644, files.TypeFile)
	}
	return list, nil
}
