package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/assaydata/assay/internal/ingest"
)

// standardInput is the argument that stands for standard input.
const standardInput = "-"

// inputFiles are the files that an import reads.
type inputFiles struct {
	files   []string
	folders bool  // whether a folder was named
	skipped int   // files in folders whose name has no known format
	size    int64 // of all files, without standard input
}

// findFiles finds what the arguments name: files, and the files below folders.
func findFiles(arguments []string) (found inputFiles, err error) {
	for _, name := range arguments {
		if name == standardInput {
			found.files = append(found.files, name)
			continue
		}
		info, err := os.Stat(name)
		if err != nil {
			return found, err
		}
		if !info.IsDir() {
			found.add(name, info)
			continue
		}
		if err := found.addFolder(name); err != nil {
			return found, err
		}
	}
	return found, nil
}

func (in *inputFiles) add(name string, info fs.FileInfo) {
	in.files = append(in.files, name)
	in.size += info.Size()
}

// has reports whether a file is among those to read.
func (in *inputFiles) has(name string) bool {
	info, err := os.Stat(name)
	return err == nil && slices.ContainsFunc(in.files, func(input string) bool {
		other, err := os.Stat(input)
		return err == nil && os.SameFile(info, other)
	})
}

// addFolder adds the readable files below a folder, in the byte order of their paths. A link to a file counts as a
// file; a link to a folder is not followed, because it may lead back.
func (in *inputFiles) addFolder(folder string) error {
	first := len(in.files)
	err := fs.WalkDir(os.DirFS(folder), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == "." {
			return err
		}
		if strings.HasPrefix(entry.Name(), ".") {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		return in.addEntry(filepath.Join(folder, path), entry)
	})
	if err != nil {
		return fmt.Errorf("look for files in %s: %w", folder, err)
	}
	if len(in.files) == first {
		return fmt.Errorf("no file to import in %s; known formats: %s", folder, ingest.Formats)
	}
	slices.Sort(in.files[first:])
	in.folders = true
	return nil
}

func (in *inputFiles) addEntry(name string, entry fs.DirEntry) error {
	if entry.IsDir() {
		return nil
	}
	info, err := os.Stat(name) // the target of a link
	if err != nil {
		return err
	}
	switch {
	case !info.Mode().IsRegular():
	case ingest.Format(name) != "":
		in.add(name, info)
	default:
		in.skipped++
	}
	return nil
}

// countingReader counts the bytes read.
type countingReader struct {
	io.Reader
	n *atomic.Int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// countingFile counts the bytes read, also those read at an offset, as from a Parquet file, which is always a regular
// file.
type countingFile struct {
	*os.File
	reader io.Reader // the file, until the context ends
	n      *atomic.Int64
}

func (c *countingFile) Read(p []byte) (int, error) {
	n, err := c.reader.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// ReadAt reads at an offset.
func (c *countingFile) ReadAt(p []byte, offset int64) (int, error) {
	n, err := c.File.ReadAt(p, offset)
	c.n.Add(int64(n))
	return n, err
}
