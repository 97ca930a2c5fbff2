package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// member is a file of an archive, and where its content is.
type member struct {
	name, source string
	mode         fs.FileMode
}

// members are what an archive for a platform has, in a folder of its own.
func (b *builder) members(p platform) ([]member, error) {
	folder := b.archiveName(p)
	list := []member{
		{path.Join(folder, p.file()), b.program(p), 0o755},
		{path.Join(folder, "LICENSE"), filepath.Join(b.root, "LICENSE"), 0o644},
		{path.Join(folder, "README.md"), filepath.Join(b.root, "README.md"), 0o644},
		{path.Join(folder, "CHANGELOG.md"), filepath.Join(b.root, "CHANGELOG.md"), 0o644},
	}
	for _, part := range []string{"man", "completions"} {
		names, err := filesIn(filepath.Join(b.staged, part))
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			list = append(list, member{path.Join(folder, part, name), filepath.Join(b.staged, part, name), 0o644})
		}
	}
	return list, nil
}

func (b *builder) archiveName(p platform) string {
	return fmt.Sprintf("assay-%s-%s-%s", b.version, p.os, p.arch)
}

// writeArchives writes an archive for each platform.
func (b *builder) writeArchives() error {
	for _, p := range b.platforms {
		list, err := b.members(p)
		if err != nil {
			return err
		}
		name, write := b.archiveName(p)+".tar.gz", writeTar
		if p.os == "windows" {
			name, write = b.archiveName(p)+".zip", writeZip
		}
		if err := create(filepath.Join(b.out, name), func(w io.Writer) error { return write(w, list, b.at) }); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func writeTar(w io.Writer, list []member, at time.Time) (err error) {
	packed, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(packed)
	for _, m := range list {
		text, err := os.ReadFile(m.source)
		if err != nil {
			return err
		}
		header := tar.Header{
			Name: m.name, Mode: int64(m.mode.Perm()), Size: int64(len(text)), ModTime: at, Uname: "root", Gname: "root",
			Format: tar.FormatUSTAR,
		}
		if err := archive.WriteHeader(&header); err != nil {
			return err
		}
		if _, err := archive.Write(text); err != nil {
			return err
		}
	}
	return errors.Join(archive.Close(), packed.Close())
}

func writeZip(w io.Writer, list []member, at time.Time) error {
	archive := zip.NewWriter(w)
	for _, m := range list {
		text, err := os.ReadFile(m.source)
		if err != nil {
			return err
		}
		header := zip.FileHeader{Name: m.name, Method: zip.Deflate, Modified: at}
		header.SetMode(m.mode)
		file, err := archive.CreateHeader(&header)
		if err != nil {
			return err
		}
		if _, err := file.Write(text); err != nil {
			return err
		}
	}
	return archive.Close()
}

const checksums = "SHA256SUMS"

// writeChecksums writes the checksums of all files in a folder, as sha256sum reads them.
func writeChecksums(folder string) error {
	names, err := filesIn(folder)
	if err != nil {
		return err
	}
	var sums strings.Builder
	for _, name := range names {
		sum := sha256.New()
		if err := readInto(sum, filepath.Join(folder, name)); err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sum.Sum(nil), name)
	}
	return writeFile(filepath.Join(folder, checksums), []byte(sums.String()), 0o644)
}

// filesIn lists the files of a folder, sorted.
func filesIn(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		if entry.Type().IsRegular() {
			names = append(names, entry.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

// create writes a file.
func create(name string, write func(io.Writer) error) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}

func writeFile(name string, text []byte, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, text, mode)
}

func copyFile(name, source string, mode fs.FileMode) error {
	text, err := os.ReadFile(source)
	if err != nil {
		return err
	}
	return writeFile(name, text, mode)
}

func readInto(w io.Writer, name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, file)
	return errors.Join(err, file.Close())
}

// compressed is a text as gzip, without a name or a time.
func compressed(text []byte) ([]byte, error) {
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	err = w.Close()
	return packed.Bytes(), err
}
