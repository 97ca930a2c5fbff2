// Package download keeps a folder of bulk files current: it fetches the files of a server that are new, continues what
// was interrupted, and replaces a file whose month was restated.
//
// It does not trust the server. A name must be the one that follows from the file's hash, so no file is written
// outside of the folder of its dataset. No more bytes are written than the list has promised. Nothing gets its name
// before its hash was checked, and an earlier revision is removed only then. A crash leaves the files that were
// complete and parts, which the next run continues.
package download

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/client"
	"github.com/assaydata/assay/internal/bulk"
)

// Downloader downloads to one folder.
type Downloader struct {
	Client *client.Client
	Folder *os.Root
	// Report is called for each file that was downloaded.
	Report func(f *client.BulkFile)
	// Wait waits before another attempt, at most until the context ends.
	Wait func(ctx context.Context, d time.Duration) error
}

// Result is what a run has done.
type Result struct {
	Downloaded int
	Bytes      int64 // that were received
	Present    int   // files that were there
	Removed    int   // earlier revisions
}

// lists is how often the list is read again because a file of it has gone: the month was restated meanwhile, or the
// server is another node that does not have it yet.
const lists = 5

// All stands for all datasets.
const All = "all"

// Run downloads what is new of some datasets.
func (d *Downloader) Run(ctx context.Context, datasets []string) (total Result, err error) {
	for _, dataset := range datasets {
		if err := d.dataset(ctx, dataset, &total); err != nil {
			return total, err
		}
	}
	return total, nil
}

// dataset downloads what is new of a dataset, or of all.
func (d *Downloader) dataset(ctx context.Context, dataset string, total *Result) error {
	for attempt := 1; ; attempt++ {
		files, err := d.list(ctx, dataset)
		if err != nil {
			return err
		}
		gone := error(nil)
		for i := range files {
			present, err := d.month(ctx, &files[i], total)
			if present && attempt == 1 {
				total.Present++
			}
			if e, ok := errors.AsType[*assay.Error](err); ok && e.Code == "unknown_file" {
				gone = err
				continue
			}
			if err != nil {
				return fmt.Errorf("download %s: %w", files[i].Name, err)
			}
		}
		if gone == nil || attempt == lists {
			return gone
		}
		if err := d.Wait(ctx, time.Duration(attempt)*time.Second); err != nil {
			return err
		}
	}
}

// list returns the current files of a dataset, if all that the server says of them can be true.
func (d *Downloader) list(ctx context.Context, dataset string) (current []client.BulkFile, err error) {
	params := &client.BulkParams{Dataset: dataset}
	if dataset == All {
		params = nil
	}
	all, err := d.Client.Bulk(ctx, params)
	if err != nil {
		return nil, err
	}
	months := map[string]bool{}
	for i := range all.Data {
		f := &all.Data[i]
		if err := check(f, dataset); err != nil {
			return nil, err
		}
		if !f.Current {
			continue
		}
		month := f.Dataset + " " + f.Month
		if months[month] {
			return nil, fmt.Errorf("the server lists two current files of %s in %s", f.Dataset, f.Month)
		}
		months[month] = true
		current = append(current, *f)
	}
	return current, nil
}

// maxSize is more than any file has: a month of a billion rows.
const maxSize = 1 << 40

// check refuses a file that the server cannot have.
func check(f *client.BulkFile, dataset string) error {
	switch {
	case !bulk.FitsName(f.Name, f.Dataset, f.Month, f.SHA256):
		return fmt.Errorf("the server lists a file with the name %.200q, which is not that of a file of %.50q in %.50q",
			f.Name, f.Dataset, f.Month)
	case dataset != All && f.Dataset != dataset:
		return fmt.Errorf("the server lists %s, which is no file of %s", f.Name, dataset)
	case f.Size < 1 || f.Size > maxSize:
		return fmt.Errorf("the server lists %s with %d bytes", f.Name, f.Size)
	}
	return nil
}

// month makes sure that the file of a month is there, and no other one of the month. It reports whether it was there.
func (d *Downloader) month(ctx context.Context, f *client.BulkFile, total *Result) (present bool, err error) {
	name := path.Join(f.Dataset, f.Name)
	info, err := d.Folder.Lstat(name)
	switch {
	case err == nil && info.Mode().IsRegular() && info.Size() == f.Size:
		present = true
	case err == nil && !info.Mode().IsRegular():
		return false, fmt.Errorf("%s is there and is no file", name)
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return false, err
	default:
		if err := d.fetch(ctx, f, total); err != nil {
			return false, err
		}
		total.Downloaded++
		d.Report(f)
	}
	return present, d.removeOthers(f, total)
}

// removeOthers removes the other files of a month, and what was downloaded of them.
func (d *Downloader) removeOthers(f *client.BulkFile, total *Result) error {
	folder, err := d.Folder.Open(f.Dataset)
	if err != nil {
		return err
	}
	names, err := folder.Readdirnames(-1)
	if err := errors.Join(err, folder.Close()); err != nil {
		return err
	}
	slices.Sort(names)
	for _, name := range names {
		whole, isPart := strings.CutSuffix(name, part)
		if whole == f.Name || !isOf(whole, f) {
			continue
		}
		if err := d.Folder.Remove(path.Join(f.Dataset, name)); err != nil {
			return err
		}
		if !isPart {
			total.Removed++
		}
	}
	return nil
}

// isOf reports whether a name is that of a file of the same month.
func isOf(name string, f *client.BulkFile) bool {
	hash, ok := strings.CutPrefix(name, f.Dataset+"-"+f.Month+"-")
	if !ok || len(hash) != len(f.Name)-len(f.Dataset)-len(f.Month)-2 {
		return false
	}
	return strings.Trim(strings.TrimSuffix(hash, bulk.Extension), "0123456789abcdef") == "" &&
		strings.HasSuffix(hash, bulk.Extension)
}
