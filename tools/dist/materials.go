package main

import (
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
)

// writeMaterials writes the bill of materials in the format of CycloneDX: the Go modules that the programs say they are
// built from, the Go release, and the npm packages that the dashboard is built from.
func (b *builder) writeMaterials() error {
	components := map[string]cyclonedx.Component{}
	add := func(kind, name, version string) {
		purl := fmt.Sprintf("pkg:%s/%s@%s", kind, strings.ReplaceAll(name, "@", "%40"), version)
		components[purl] = cyclonedx.Component{
			Type: cyclonedx.ComponentTypeLibrary, BOMRef: purl, Name: name, Version: version, PackageURL: purl,
		}
	}
	for _, p := range b.platforms {
		info, err := buildinfo.ReadFile(b.program(p))
		if err != nil {
			return err
		}
		add("golang", "std", strings.TrimPrefix(info.GoVersion, "go"))
		for _, module := range info.Deps {
			if module.Replace != nil {
				module = module.Replace
			}
			add("golang", module.Path, module.Version)
		}
	}
	packages, err := npmPackages(filepath.Join(b.root, "ui", "package-lock.json"))
	if err != nil {
		return err
	}
	for name, version := range packages {
		add("npm", name, version)
	}

	program := "pkg:golang/github.com/assaydata/assay@v" + b.version
	list := make([]cyclonedx.Component, 0, len(components))
	refs := make([]string, 0, len(components))
	for ref, component := range components {
		list, refs = append(list, component), append(refs, ref)
	}
	slices.SortFunc(list, func(x, y cyclonedx.Component) int { return strings.Compare(x.BOMRef, y.BOMRef) })
	slices.Sort(refs)
	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{
		Timestamp: b.at.Format(time.RFC3339),
		Component: &cyclonedx.Component{
			Type: cyclonedx.ComponentTypeApplication, BOMRef: program, Name: "assay", Version: b.version, PackageURL: program,
			Licenses: &cyclonedx.Licenses{{License: &cyclonedx.License{ID: "Apache-2.0"}}},
		},
	}
	bom.Components = &list
	bom.Dependencies = &[]cyclonedx.Dependency{{Ref: program, Dependencies: &refs}}
	return create(filepath.Join(b.out, "assay-"+b.version+".cdx.json"), func(w io.Writer) error {
		return cyclonedx.NewBOMEncoder(w, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
	})
}

// npmPackages returns the packages of a lockfile that end up in the dashboard, with their versions.
func npmPackages(lockfile string) (map[string]string, error) {
	text, err := os.ReadFile(lockfile)
	if err != nil {
		return nil, err
	}
	var lock struct {
		Packages map[string]struct {
			Version string
			Dev     bool
		}
	}
	if err := json.Unmarshal(text, &lock); err != nil {
		return nil, fmt.Errorf("%s: %w", lockfile, err)
	}
	packages := map[string]string{"svelte": lock.Packages["node_modules/svelte"].Version} // its runtime is compiled in
	for where, found := range lock.Packages {
		if _, name, ok := strings.Cut(where, "node_modules/"); ok && !found.Dev {
			packages[name] = found.Version
		}
	}
	return packages, nil
}
