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

// standardInput is the argument that stands for it.
const standardInput = "-"

// inputs are what an import reads.
type inputs struct {
	files   []string
	folders bool  // whether a folder was named
	skipped int   // files in folders whose name tells no format
	size    int64 // of all files together; without standard input, whose size nobody knows
}

// findFiles finds what the arguments name: files as they are, and the files below folders.
func findFiles(arguments []string) (found inputs, err error) {
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

func (in *inputs) add(name string, info fs.FileInfo) {
	in.files = append(in.files, name)
	in.size += info.Size()
}

// addFolder adds what can be read below a folder, in the order of the paths' bytes. A link to a file counts as one; a link
// to a folder is not followed, because it may lead back.
func (in *inputs) addFolder(folder string) error {
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
		return fmt.Errorf("%s: there is no file in this folder that can be read: allowed are %s", folder, ingest.Formats)
	}
	slices.Sort(in.files[first:])
	in.folders = true
	return nil
}

func (in *inputs) addEntry(name string, entry fs.DirEntry) error {
	if entry.IsDir() {
		return nil
	}
	info, err := os.Stat(name) // what a link leads to
	if err != nil {
		return err
	}
	switch {
	case !info.Mode().IsRegular():
	case ingest.Known(name):
		in.add(name, info)
	default:
		in.skipped++
	}
	return nil
}

// counted writes a number of things for people.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return thousands(n) + " " + thing + "s"
}

// countedReader counts what is read.
type countedReader struct {
	io.Reader
	n *atomic.Int64
}

func (c *countedReader) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// countedFile counts what is read, also where a Parquet file is read here and there.
type countedFile struct {
	*os.File
	n *atomic.Int64
}

func (c *countedFile) Read(p []byte) (int, error) {
	n, err := c.File.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// ReadAt reads at an offset.
func (c *countedFile) ReadAt(p []byte, offset int64) (int, error) {
	n, err := c.File.ReadAt(p, offset)
	c.n.Add(int64(n))
	return n, err
}
