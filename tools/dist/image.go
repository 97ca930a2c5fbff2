package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// imageUser is the user in the image. It has no name of its own on the host.
const imageUser = 65532

// writeImage writes an image for each architecture of Linux, as one archive in the OCI layout. An image holds the program,
// a user, and folders for its data and for temporary files: no shell and no libraries.
func (b *builder) writeImage() error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range b.platforms {
		if p.os != "linux" {
			continue
		}
		image, err := b.image(p)
		if err != nil {
			return fmt.Errorf("image for %s: %w", p.arch, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: p.os, Architecture: p.arch}},
		})
	}
	whole := mutate.AppendManifests(mutate.IndexMediaType(empty.Index, types.OCIImageIndex), mutate.IndexAddendum{
		Add: index, Descriptor: v1.Descriptor{Annotations: map[string]string{"org.opencontainers.image.ref.name": b.version}},
	})
	folder := filepath.Join(b.staged, "image")
	if _, err := layout.Write(folder, whole); err != nil {
		return err
	}
	name := "assay-" + b.version + "-oci.tar"
	return create(filepath.Join(b.out, name), func(w io.Writer) error { return writeLayout(w, folder, b.at) })
}

func (b *builder) image(p platform) (v1.Image, error) {
	program, err := os.ReadFile(b.program(p))
	if err != nil {
		return nil, err
	}
	var files bytes.Buffer
	archive := tar.NewWriter(&files)
	add := func(name string, mode int64, owner int, text []byte) error {
		header := tar.Header{
			Name: name, Mode: mode, Uid: owner, Gid: owner, Size: int64(len(text)), ModTime: b.at, Typeflag: tar.TypeReg,
			Format: tar.FormatUSTAR,
		}
		if text == nil {
			header.Typeflag = tar.TypeDir
		}
		if err := archive.WriteHeader(&header); err != nil {
			return err
		}
		_, err := archive.Write(text)
		return err
	}
	for _, f := range []struct {
		name  string
		mode  int64
		owner int
		text  []byte
	}{
		{"etc/", 0o755, 0, nil},
		{"etc/group", 0o644, 0, fmt.Appendf(nil, "root:x:0:\nassay:x:%d:\n", imageUser)},
		{"etc/passwd", 0o644, 0, fmt.Appendf(nil,
			"root:x:0:0:root:/:/sbin/nologin\nassay:x:%d:%[1]d:assay:/var/lib/assay:/sbin/nologin\n", imageUser)},
		{"tmp/", 0o1777, 0, nil},
		{"usr/", 0o755, 0, nil},
		{"usr/bin/", 0o755, 0, nil},
		{"usr/bin/assay", 0o755, 0, program},
		{"var/", 0o755, 0, nil},
		{"var/lib/", 0o755, 0, nil},
		{"var/lib/assay/", 0o750, imageUser, nil},
	} {
		if err := add(f.name, f.mode, f.owner, f.text); err != nil {
			return nil, err
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(files.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	image, err := mutate.AppendLayers(mutate.MediaType(empty.Image, types.OCIManifestSchema1), layer)
	if err != nil {
		return nil, err
	}
	image = mutate.ConfigMediaType(image, types.OCIConfigJSON)
	return mutate.ConfigFile(image, &v1.ConfigFile{
		OS: p.os, Architecture: p.arch, Created: v1.Time{Time: b.at},
		RootFS: rootFS(image), History: []v1.History{{Created: v1.Time{Time: b.at}, CreatedBy: "assay " + b.version}},
		Config: v1.Config{
			User: fmt.Sprintf("%d:%[1]d", imageUser), WorkingDir: "/var/lib/assay",
			Entrypoint: []string{"/usr/bin/assay"}, Cmd: []string{"serve"},
			Env:          []string{"ASSAY_DIR=/var/lib/assay", "ASSAY_ADDR=0.0.0.0:8080"},
			ExposedPorts: map[string]struct{}{"8080/tcp": {}}, Volumes: map[string]struct{}{"/var/lib/assay": {}},
			Labels: map[string]string{
				"org.opencontainers.image.title": "Assay", "org.opencontainers.image.version": b.version,
				"org.opencontainers.image.revision": b.commit, "org.opencontainers.image.licenses": "Apache-2.0",
				"org.opencontainers.image.source": "https://github.com/assaydata/assay",
			},
			StopSignal: "SIGTERM",
		},
	})
}

// rootFS names the layers of an image. Images in memory always know them.
func rootFS(image v1.Image) v1.RootFS {
	config, err := image.ConfigFile()
	if err != nil {
		panic(err)
	}
	return config.RootFS
}

// writeLayout writes a folder as a tar archive.
func writeLayout(w io.Writer, folder string, at time.Time) error {
	archive := tar.NewWriter(w)
	err := filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(folder, name)
		if err != nil {
			return err
		}
		header := tar.Header{
			Name: filepath.ToSlash(inside), Mode: 0o644, Size: int64(len(text)), ModTime: at, Format: tar.FormatUSTAR,
		}
		if err := archive.WriteHeader(&header); err != nil {
			return err
		}
		_, err = archive.Write(text)
		return err
	})
	if err != nil {
		return err
	}
	return archive.Close()
}
